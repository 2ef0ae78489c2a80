/*
 * op/hop_sort.h - sorts the positions that were drawn of one list.
 *
 * Flow     hop_entries -> [hop_sort]
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 */
#ifndef GNN_OP_HOP_SORT_H
#define GNN_OP_HOP_SORT_H

#include "base/decl.h"

enum { GNN_HOP_INSERTED = 64 }; /* positions that are sorted by insertion */

/* Short lists by insertion, long ones by a heap: no recursion, no memory. */
GNN_HOST_DEVICE static inline void gnn_hop_sift(uint64_t *x, uint64_t i, uint64_t n)
{
	const uint64_t value = x[i];

	for (uint64_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && x[child + 1] > x[child])
			child++;
		if (x[child] <= value)
			break;
		x[i] = x[child];
	}
	x[i] = value;
}

GNN_HOST_DEVICE static inline void gnn_hop_sort(uint64_t *x, uint64_t n)
{
	if (n <= GNN_HOP_INSERTED) {
		for (uint64_t i = 1; i < n; i++) {
			const uint64_t value = x[i];
			uint64_t j = i;

			for (; j > 0 && x[j - 1] > value; j--)
				x[j] = x[j - 1];
			x[j] = value;
		}
		return;
	}
	for (uint64_t i = n / 2; i-- > 0;)
		gnn_hop_sift(x, i, n);
	for (uint64_t end = n; end-- > 1;) {
		const uint64_t most = x[0];

		x[0] = x[end];
		x[end] = most;
		gnn_hop_sift(x, 0, end);
	}
}

#endif
