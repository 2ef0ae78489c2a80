/*
 * order/spread.h - how far apart an order puts the in-neighbours of each vertex.
 *
 * Flow     in-lists, ranks -> [spread] -> report; centres -> taurus
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller; `threads` inside, whose number changes no bit
 * Fails    as the lists
 *
 * The in-neighbours N(v) of v are the listed ones, duplicates each, and v itself: its own row is an
 * event too. d(v) is their number. With rank p, v is active from min p(N(v)) to max p(N(v)).
 *   span        C = sum over v of max p(N(v)) - min p(N(v)): rows kept, summed over all steps
 *   dispersion  J = sum over v of 1/d(v) sum over u in N(v) of (p(u) - mean p(N(v)))^2
 *   bandwidth   B = the largest |p(u) - p(v)| of an edge
 *   peak        the most vertices active at a time; the mean is C / V
 */
#ifndef GNN_ORDER_SPREAD_H
#define GNN_ORDER_SPREAD_H

#include "order/lists.h"

struct gnn_spread {
	uint64_t span;
	double   dispersion;
	uint64_t bandwidth;
	uint64_t peak_active;
	double   mean_active;
};

/* The mean rank of N(v), by 1/d(v): what v pulls its in-neighbours to, and how hard. */
struct gnn_centre {
	double pull;   /* mean / d(v) */
	double weight; /* 1 / d(v) */
};

struct gnn_spread_work {
	const uint64_t    *rank;   /* (V) of each vertex */
	int64_t           *change; /* (V + 1) of active vertices at each rank; overwritten */
	struct gnn_centre *centre; /* (V) written; NULL: not wanted */
	double            *block;  /* (gnn_spread_blocks) overwritten */
	uint32_t           threads;
};

GNN_BEGIN_DECLS

uint64_t gnn_spread_blocks(uint64_t vertices);
int gnn_spread_measure(struct gnn_spread *out, struct gnn_lists *l, uint64_t vertices,
	const struct gnn_spread_work *w);

GNN_END_DECLS

#endif
