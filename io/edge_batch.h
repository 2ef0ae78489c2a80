/*
 * io/edge_batch.h - edges in three arrays, as they are handed from one module to the next.
 *
 * Flow     included by importers, generators, builder and its modules
 * Owns     nothing
 * Lends    nothing
 * Thread   plain data
 * Fails    never
 */
#ifndef GNN_IO_EDGE_BATCH_H
#define GNN_IO_EDGE_BATCH_H

#include "base/decl.h"

/* The arrays are borrowed for the call. */
struct gnn_edges {
	const uint64_t *src;
	const uint64_t *dst;
	const float    *weight; /* NULL: no weights */
	uint64_t        count;
};

GNN_BEGIN_DECLS

/* The union of all ids. */
static inline uint64_t gnn_edges_bits(const struct gnn_edges *e)
{
	uint64_t bits = 0;

	for (uint64_t i = 0; i < e->count; i++)
		bits |= e->src[i] | e->dst[i];
	return bits;
}

/* The edges from `first` on, at most `count` of them. */
static inline struct gnn_edges gnn_edges_slice(const struct gnn_edges *e, uint64_t first,
	uint64_t count)
{
	return (struct gnn_edges){
		e->src + first, e->dst + first, e->weight == NULL ? NULL : e->weight + first,
		gnn_min_u64(count, e->count - first),
	};
}

GNN_END_DECLS

#endif
