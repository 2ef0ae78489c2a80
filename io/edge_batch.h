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

#endif
