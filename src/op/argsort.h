/*
 * op/argsort.h - a stable sort of (key, id) pairs by key, in parallel.
 *
 * Flow     positions, degrees -> [argsort] -> order
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller; `threads` inside, whose number changes nothing
 * Fails    never
 */
#ifndef GNN_OP_ARGSORT_H
#define GNN_OP_ARGSORT_H

#include "base/decl.h"

#include <string.h>

struct gnn_sort_pair {
	uint64_t key;
	gnn_vid  id;
};

/* A key that sorts as the number does, which is 0 or more. */
static inline uint64_t gnn_sort_key(double position)
{
	uint64_t key;

	memcpy(&key, &position, sizeof(key));
	return key;
}

GNN_BEGIN_DECLS

/* Ascending by key, equal keys as they came. `spare` is as large; the result is in `pair`. */
void gnn_argsort(struct gnn_sort_pair *pair, struct gnn_sort_pair *spare, uint64_t count,
	uint32_t threads);

GNN_END_DECLS

#endif
