/* report/series.c - see series.h. */
#include "report/series.h"

#include "base/mem.h"

#include <math.h>

#define BEYOND  1e300  /* differences of what is smaller are finite */
#define NOTHING 1e-290 /* what is smaller is 0: its logarithm and quotients are numbers */

static struct gnn_sample merged(const struct gnn_sample *a, const struct gnn_sample *b)
{
	double weight = (double)b->values / (double)(a->values + b->values);

	return (struct gnn_sample){.x = a->x, .mean = a->mean + (b->mean - a->mean) * weight,
		.low = fmin(a->low, b->low), .high = fmax(a->high, b->high),
		.high_x = b->high > a->high ? b->high_x : a->high_x,
		.values = a->values + b->values};
}

static void fold(struct gnn_series *s)
{
	for (uint32_t i = 0; i < s->count / 2; i++)
		s->sample[i] = merged(&s->sample[2 * i], &s->sample[2 * i + 1]);
	s->count /= 2;
	s->each *= 2;
}

int gnn_series_add(struct gnn_series *s, double x, double y)
{
	struct gnn_sample one = {x, y, y, y, x, 1}, *last;
	int rc = GNN_OK;

	if (!(fabs(x) < BEYOND) || !(fabs(y) < BEYOND))
		return GNN_OK;
	if (fabs(y) < NOTHING)
		one.low = one.high = one.mean = 0;
	if (fabs(x) < NOTHING)
		one.x = one.high_x = 0;
	if (s->sample != NULL && one.x < s->last_x)
		return GNN_OK;
	if (s->sample == NULL) {
		GNN_NEW_ARRAY(s->sample, GNN_SERIES_MAX, GNN_MEM_MISC);
		s->each = 1;
	}
	s->values++;
	s->last_x = one.x;
	last = s->count > 0 ? &s->sample[s->count - 1] : NULL;
	if (last != NULL && last->values < s->each) {
		*last = merged(last, &one);
		goto out;
	}
	if (s->count == GNN_SERIES_MAX)
		fold(s);
	s->sample[s->count++] = one;
out:
	return rc;
}

void gnn_series_fini(struct gnn_series *s)
{
	gnn_mem_free(s->sample);
	*s = (struct gnn_series){0};
}

bool gnn_series_range(const struct gnn_series *s, double x[2], double y[2])
{
	x[0] = y[0] = INFINITY;
	x[1] = y[1] = -INFINITY;
	for (uint32_t i = 0; i < s->count; i++) {
		x[0] = fmin(x[0], s->sample[i].x);
		x[1] = fmax(x[1], s->sample[i].x);
		y[0] = fmin(y[0], s->sample[i].low);
		y[1] = fmax(y[1], s->sample[i].high);
	}
	return s->count > 0;
}
