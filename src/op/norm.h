/*
 * op/norm.h - factors of rows that depend on degrees only.
 *
 * Flow     degrees -> [norm] -> the vectors of row programs
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * deg(v) = listed in-degree, less listed self-loops if the conv drops them, plus 1 if its own row
 * counts. The norms "OUT" take the listed out-degree instead, by the same rule. With weighted
 * degrees deg(v) is a sum of weights that was made before.
 */
#ifndef GNN_OP_NORM_H
#define GNN_OP_NORM_H

#include "base/decl.h"

#include <math.h>

/* A per-row factor that depends on degrees only. */
enum gnn_norm {
	GNN_NORM_NONE,     /* no vector */
	GNN_NORM_RSQRT_IN, /* deg > 0 ? 1 / sqrt(deg) : 0 */
	GNN_NORM_INV_IN,   /* 1 / max(deg, 1) */
	GNN_NORM_DEG_IN,   /* max(deg, 1) */
	GNN_NORM_COUNT_IN, /* deg: for GNN_ROW_EMPTY */
	GNN_NORM_RSQRT_OUT, /* as RSQRT_IN */
	GNN_NORM_INV_OUT,   /* as INV_IN */
};

static inline bool gnn_norm_is_out(enum gnn_norm norm)
{
	return norm == GNN_NORM_RSQRT_OUT || norm == GNN_NORM_INV_OUT;
}

/* The factor of one vertex from its deg, rounded once, for every backend alike. */
GNN_HOST_DEVICE static inline float gnn_norm_value(enum gnn_norm norm, double deg)
{
	switch (norm) {
	case GNN_NORM_RSQRT_IN:
	case GNN_NORM_RSQRT_OUT:
		return deg != 0 ? (float)(1.0 / sqrt(deg)) : 0.0f; /* NaN below 0 */
	case GNN_NORM_INV_IN:
	case GNN_NORM_INV_OUT:
		return (float)(1.0 / (deg > 0 ? deg : 1.0));
	case GNN_NORM_DEG_IN:
		return (float)(deg > 0 ? deg : 1.0);
	case GNN_NORM_COUNT_IN:
		return (float)deg;
	case GNN_NORM_NONE:
		break;
	}
	return 1.0f;
}

/*
 * Degrees of a range of vertices. deg(v) = degree[v], less loops[v] if drop_loops, plus 1 if
 * own_counts.
 */
struct gnn_factors_args {
	enum gnn_norm   norm;
	bool            drop_loops, own_counts;
	const uint32_t *degree; /* (rows) listed in-degrees, or out-degrees where the norm is OUT */
	const uint32_t *loops;  /* (rows) listed self-loops, or NULL: none */
	uint64_t        fanout; /* degree counted at most, loops and own row apart; 0: no limit */
	const float    *weighted; /* (rows) deg itself, or NULL: by the counts above */
	uint64_t        rows;
	float          *to;     /* (rows) */
};

/* deg of row i. */
GNN_HOST_DEVICE static inline double gnn_factors_deg(const struct gnn_factors_args *a, uint64_t i)
{
	uint64_t deg = a->degree[i];

	if (a->weighted != NULL)
		return (double)a->weighted[i];
	if (a->drop_loops && a->loops != NULL)
		deg -= a->loops[i];
	if (a->fanout != 0 && deg > a->fanout)
		deg = a->fanout;
	return (double)(deg + (uint64_t)a->own_counts);
}

#endif
