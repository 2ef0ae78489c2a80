/*
 * op/lists.h - the in-lists of a graph, as an operation that samples reads them.
 *
 * Flow     train/lists.c -> [lists] -> sampling on the CPU and on the GPU, whole-graph block
 * Owns     nothing; plain data with borrowed arrays, in memory of whoever reads them
 * Lends    nothing
 * Thread   constant once filled
 * Fails    never
 */
#ifndef GNN_OP_LISTS_H
#define GNN_OP_LISTS_H

#include "base/err.h"

struct gnn_lists {
	uint64_t       vertices, edges;
	uint64_t      *first;    /* (V + 1) */
	void          *neighbor; /* (E) ascending in a list */
	enum gnn_dtype dtype;    /* of a neighbour: u32 or u64 */
	uint32_t      *loops;    /* (V) listed self-loops, or NULL: none at all */
	float         *weight;   /* (E), or NULL: edges have none, or none that count; with them */
	float         *degree;   /* (V) of GCN: weights of in-edges and of the own loop */
	float         *own;      /* (V) weight of the own loop: of the last listed one, else 1 */
};

GNN_HOST_DEVICE static inline gnn_vid gnn_lists_at(const struct gnn_lists *l, gnn_eid e)
{
	return l->dtype == GNN_U32 ? ((const uint32_t *)l->neighbor)[e]
		: ((const uint64_t *)l->neighbor)[e];
}

GNN_HOST_DEVICE static inline uint64_t gnn_lists_degree(const struct gnn_lists *l, gnn_vid v)
{
	return l->first[v + 1] - l->first[v];
}

GNN_HOST_DEVICE static inline uint64_t gnn_lists_loops(const struct gnn_lists *l, gnn_vid v)
{
	return l->loops == NULL ? 0 : l->loops[v];
}

/* The first edge of v whose source is `u` or greater. */
GNN_HOST_DEVICE static inline gnn_eid gnn_lists_find(const struct gnn_lists *l, gnn_vid v,
	gnn_vid u)
{
	gnn_eid low = l->first[v], high = l->first[v + 1];

	while (low < high) {
		const gnn_eid mid = low + (high - low) / 2;

		if (gnn_lists_at(l, mid) < u)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

#endif
