/*
 * infer/neighbors.h - a list of neighbours as it lies in a store: u32 or u64, ascending.
 *
 * Flow     included by feed, inlist
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 */
#ifndef GNN_INFER_NEIGHBORS_H
#define GNN_INFER_NEIGHBORS_H

#include "base/decl.h"

static inline gnn_vid gnn_neighbor_at(const void *neighbors, enum gnn_dtype dtype, uint64_t i)
{
	return dtype == GNN_U32 ? ((const uint32_t *)neighbors)[i] :
		((const uint64_t *)neighbors)[i];
}

/* The first of the neighbours [0, count) at or past v. */
static inline uint64_t gnn_neighbor_from(const void *neighbors, enum gnn_dtype dtype,
	uint64_t count, gnn_vid v)
{
	uint64_t low = 0;

	while (low < count) {
		uint64_t middle = low + (count - low) / 2;

		if (gnn_neighbor_at(neighbors, dtype, middle) < v)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* The first row in front of `to` whose list begins at or past `edge`, from `row` on. */
static inline uint64_t gnn_row_from(const uint64_t *offset, uint64_t row, uint64_t to,
	gnn_eid edge)
{
	while (row < to) {
		uint64_t middle = row + (to - row) / 2;

		if (offset[middle] < edge)
			row = middle + 1;
		else
			to = middle;
	}
	return row;
}

#endif
