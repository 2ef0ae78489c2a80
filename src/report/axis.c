/* report/axis.c - see axis.h. */
#include "report/axis.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>

enum { TICKS_MAX = 16 };

struct scale {
	double from; /* the least value that is shown in it */
	double one;
	const char *name;
};

static const struct scale counts[] = {
	{0, 1, ""}, {1e4, 1e3, "thousands"}, {1e6, 1e6, "millions"}, {1e9, 1e9, "1e9"},
	{1e12, 1e12, "1e12"}, {0, 0, NULL},
};
static const struct scale sizes[] = {
	{0, 1, "B"}, {0x1p10, 0x1p10, "KiB"}, {0x1p20, 0x1p20, "MiB"}, {0x1p30, 0x1p30, "GiB"},
	{0x1p40, 0x1p40, "TiB"}, {0, 0, NULL},
};
static const struct scale rates[] = {
	{0, 1, "B/s"}, {1e3, 1e3, "kB/s"}, {1e6, 1e6, "MB/s"}, {1e9, 1e9, "GB/s"}, {0, 0, NULL},
};
static const struct scale times[] = {
	{0, 1e-3, "ms"}, {.5, 1, "s"}, {600, 60, "min"}, {7200, 3600, "h"}, {0, 0, NULL},
};
static const struct scale plain[] = {{0, 1, ""}, {0, 0, NULL}};

static const struct scale *scale_of(enum gnn_unit unit, double most)
{
	const struct scale *s = unit == GNN_UNIT_COUNT ? counts : unit == GNN_UNIT_BYTES ? sizes :
		unit == GNN_UNIT_RATE ? rates : unit == GNN_UNIT_TIME ? times : plain;

	while (s[1].name != NULL && most >= s[1].from)
		s++;
	return s;
}

/* The least of 1, 2, 5 times a power of ten that is not below. */
static double round_up(double step)
{
	double power = pow(10, floor(log10(step)));
	double times_power = step / power;

	return power * (times_power <= 1 ? 1 : times_power <= 2 ? 2 : times_power <= 5 ? 5 : 10);
}

void gnn_axis_fit(struct gnn_axis *a, double low, double high, enum gnn_unit unit,
	uint32_t wanted, bool loose)
{
	double most = fmax(fabs(low), fabs(high)), last;
	const struct scale *s;

	if (high - low <= most * 1e-6) { /* one value: it stands in the middle, 0 at the bottom */
		double around = unit == GNN_UNIT_COUNT ? 1 : most > 0 ? most * .1 : 1;

		low = low == 0 ? 0 : low - fmax(around, most * 1e-6);
		high += fmax(around, most * 1e-6);
		most = fmax(fabs(low), fabs(high));
	}
	s = scale_of(unit, most);
	low /= s->one;
	high /= s->one;
	a->scale = s->one;
	a->unit = s->name;
	a->step = round_up((high - low) / wanted);
	if (unit == GNN_UNIT_COUNT && s->one == 1)
		a->step = fmax(a->step, 1);
	a->first = (loose ? floor(low / a->step + 1e-9) : ceil(low / a->step - 1e-9)) * a->step;
	last = (loose ? ceil(high / a->step - 1e-9) : floor(high / a->step + 1e-9)) * a->step;
	a->ticks = (uint32_t)fmin(fmax(round((last - a->first) / a->step) + 1, 0), TICKS_MAX);
	a->low = (loose ? a->first : low) * s->one;
	a->high = (loose ? last : high) * s->one;
	a->digits = (int)fmin(fmax(-floor(log10(a->step) + 1e-9), 0), 12);
}

double gnn_axis_tick(const struct gnn_axis *a, uint32_t i)
{
	return (a->first + i * a->step) * a->scale;
}

const char *gnn_axis_label(const struct gnn_axis *a, uint32_t i, char to[GNN_TICK_BYTES])
{
	double v = a->first + i * a->step;

	if (fabs(v) < a->step * 1e-6)
		v = 0; /* not -0 */
	if (fabs(v) >= 1e7 || (a->step < 1e-6 && v != 0))
		snprintf(to, GNN_TICK_BYTES, "%.6g", v);
	else
		snprintf(to, GNN_TICK_BYTES, "%.*f", a->digits, v);
	return to;
}

const char *gnn_figure(char to[GNN_FIGURE_BYTES], double value, enum gnn_unit unit)
{
	char text[GNN_UNITS_BYTES];

	if (unit == GNN_UNIT_BYTES && value >= 0 && value < 1e18)
		snprintf(to, GNN_FIGURE_BYTES, "%s", gnn_units_bytes(text, value));
	else if (unit == GNN_UNIT_RATE && value >= 0 && value < 1e18)
		snprintf(to, GNN_FIGURE_BYTES, "%s", gnn_units_rate(text, value, "B"));
	else if (unit == GNN_UNIT_TIME && value >= .01 && value < 1e9)
		snprintf(to, GNN_FIGURE_BYTES, "%s", gnn_units_time(text, value));
	else if (unit == GNN_UNIT_TIME && value >= 0 && value < .01)
		snprintf(to, GNN_FIGURE_BYTES, "%.2f ms", value * 1e3);
	else if (unit == GNN_UNIT_COUNT && value >= 1e5 && value < 1e18)
		snprintf(to, GNN_FIGURE_BYTES, "%s", gnn_units_count(text, value));
	else if (unit == GNN_UNIT_COUNT && fabs(value) < 1e5 && value == floor(value))
		snprintf(to, GNN_FIGURE_BYTES, "%.0f", value);
	else if (unit == GNN_UNIT_NUMBER && fabs(value) < 10 && fabs(value) >= .001)
		snprintf(to, GNN_FIGURE_BYTES, "%.4f", value);
	else
		snprintf(to, GNN_FIGURE_BYTES, "%.4g", value);
	return to;
}
