/*
 * report/series.h - a curve of any length in bounded memory.
 *
 * Flow     record -> [series] -> chart
 * Owns     its samples
 * Lends    them, until the next value
 * Thread   one caller
 * Fails    GNN_EOS no memory
 *
 * Values come in order of x. Up to GNN_SERIES_MAX samples are single values; when there are more,
 * neighbours become one that keeps its mean, its lowest and its highest value: no peak is lost.
 * What is not a number, is beyond 1e300, or goes back in x is left out.
 */
#ifndef GNN_REPORT_SERIES_H
#define GNN_REPORT_SERIES_H

#include "base/err.h"

enum { GNN_SERIES_MAX = 1024 };

struct gnn_sample {
	double   x;              /* of its first value */
	double   low, high, mean;
	double   high_x;         /* where `high` was */
	uint64_t values;
};

struct gnn_series {
	struct gnn_sample *sample;
	uint32_t count;
	uint64_t each;   /* values a full sample stands for */
	uint64_t values; /* that were taken */
	double   last_x;
};

GNN_BEGIN_DECLS

int  gnn_series_add (struct gnn_series *s, double x, double y);
void gnn_series_fini(struct gnn_series *s); /* of a zeroed one too, which it is again then */

/* The ends of both axes; false when there is no value. */
bool gnn_series_range(const struct gnn_series *s, double x[2], double y[2]);

GNN_END_DECLS

#endif
