/*
 * report/axis.h - round numbers along an axis, in a unit that fits them.
 *
 * Flow     chart, sheet -> [axis] -> text
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread
 * Fails    never; ranges are finite (report/series.h)
 *
 * Ticks are multiples of 1, 2 or 5 times a power of ten of the unit: MiB and GiB are powers of
 * 1024, MB/s and millions are powers of 1000, times are ms, s, min or h.
 */
#ifndef GNN_REPORT_AXIS_H
#define GNN_REPORT_AXIS_H

#include "base/decl.h"

enum gnn_unit {
	GNN_UNIT_NUMBER, /* as it is */
	GNN_UNIT_COUNT,  /* whole numbers */
	GNN_UNIT_BYTES,
	GNN_UNIT_RATE,   /* bytes a second */
	GNN_UNIT_TIME,   /* seconds */
	GNN_UNIT_TEXT,   /* of tables alone */
};

enum { GNN_TICK_BYTES = 32, GNN_FIGURE_BYTES = 40 };

struct gnn_axis {
	double      low, high;   /* the ends, as values came */
	double      first, step; /* of the ticks, in `scale` */
	uint32_t    ticks;
	double      scale;       /* what one of the unit is */
	const char *unit;        /* "GiB"; "" */
	int         digits;      /* behind the point */
};

GNN_BEGIN_DECLS

/* About `wanted` ticks from low to high. loose: the ends move outwards to ticks. */
void gnn_axis_fit(struct gnn_axis *a, double low, double high, enum gnn_unit unit,
	uint32_t wanted, bool loose);
double      gnn_axis_tick (const struct gnn_axis *a, uint32_t i); /* as values came */
const char *gnn_axis_label(const struct gnn_axis *a, uint32_t i, char to[GNN_TICK_BYTES]);

/* One value for people: "1.50 GiB", "0.8125", "2m05s". */
const char *gnn_figure(char to[GNN_FIGURE_BYTES], double value, enum gnn_unit unit);

GNN_END_DECLS

#endif
