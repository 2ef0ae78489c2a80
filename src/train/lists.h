/*
 * train/lists.h - the in-lists of a store in memory: what a sampler draws from.
 *
 * Flow     store -> [lists] -> sampler, whole-graph block
 * Owns     offsets, neighbours, self-loop counts
 * Lends    nothing
 * Thread   constant once loaded
 * Fails    GNN_EDATA offsets that do not ascend, a neighbour outside the graph; GNN_EIO; GNN_EOS
 */
#ifndef GNN_TRAIN_LISTS_H
#define GNN_TRAIN_LISTS_H

#include "io/store.h"

struct gnn_lists {
	uint64_t       vertices, edges;
	uint64_t      *first;    /* (V + 1) */
	void          *neighbor; /* (E) ascending in a list */
	enum gnn_dtype dtype;    /* of a neighbour: u32 or u64 */
	uint32_t      *loops;    /* (V) listed self-loops, or NULL: none at all */
};

GNN_BEGIN_DECLS

int  gnn_lists_load(struct gnn_lists **out, const struct gnn_store *s);
void gnn_lists_free(struct gnn_lists *l); /* NULL is fine */

GNN_END_DECLS

static inline gnn_vid gnn_lists_at(const struct gnn_lists *l, gnn_eid e)
{
	return l->dtype == GNN_U32 ? ((const uint32_t *)l->neighbor)[e]
		: ((const uint64_t *)l->neighbor)[e];
}

static inline uint64_t gnn_lists_degree(const struct gnn_lists *l, gnn_vid v)
{
	return l->first[v + 1] - l->first[v];
}

static inline uint64_t gnn_lists_loops(const struct gnn_lists *l, gnn_vid v)
{
	return l->loops == NULL ? 0 : l->loops[v];
}

/* The first edge of v whose source is `u` or greater. */
static inline gnn_eid gnn_lists_find(const struct gnn_lists *l, gnn_vid v, gnn_vid u)
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
