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

/* Edges as they come out of a file: ids of 64 bits or, where all of them fit that, of 32. */
struct gnn_edge_batch {
	const uint64_t *src, *dst;     /* NULL when these are there: */
	const uint32_t *src32, *dst32;
	const float    *weight;        /* NULL: no weights */
	uint64_t        count;
	uint64_t        bits;          /* the union of all ids */
};

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

/* Some edges of a batch, at most `count` of them; `wide` has room for their ids twice. */
static inline struct gnn_edges gnn_edge_batch_slice(const struct gnn_edge_batch *b, uint64_t first,
	uint64_t count, uint64_t *wide)
{
	uint64_t n = gnn_min_u64(count, b->count - first);
	const float *weight = b->weight == NULL ? NULL : b->weight + first;

	if (b->src != NULL)
		return (struct gnn_edges){b->src + first, b->dst + first, weight, n};
	for (uint64_t i = 0; i < n; i++) {
		wide[i] = b->src32[first + i];
		wide[n + i] = b->dst32[first + i];
	}
	return (struct gnn_edges){wide, wide + n, weight, n};
}

GNN_END_DECLS

#endif
