/*
 * base/shuffle.h - a keyed permutation of [0, n) in constant memory, and its inverse.
 *
 * Flow     (n, seed, stream) -> init -> [shuffle] -> place of each number, number at each place
 * Owns     nothing
 * Lends    nothing
 * Thread   constant once set up
 * Fails    never
 *
 * Rounds of x = m x + a, x ^= x >> half on the next power of two, each one to one; what falls
 * outside [0, n) is sent through again until it falls inside (cycle walking, under two turns on
 * average), which leaves a permutation of [0, n).
 */
#ifndef GNN_BASE_SHUFFLE_H
#define GNN_BASE_SHUFFLE_H

#include "base/decl.h"

enum { GNN_SHUFFLE_ROUNDS = 4 };

struct gnn_shuffle {
	uint64_t count;
	uint64_t mask;  /* of the next power of two */
	uint32_t half;  /* at least half of its bits, so that x ^= x >> half is its own inverse */
	struct {
		uint64_t mul, inverse; /* odd, and mul * inverse == 1 mod 2^64 */
		uint64_t add;
	} round[GNN_SHUFFLE_ROUNDS];
};

GNN_BEGIN_DECLS

/* A permutation of [0, count), count > 0. */
void gnn_shuffle_init(struct gnn_shuffle *s, uint64_t count, uint64_t seed, uint64_t stream);

static inline uint64_t gnn_shuffle_map(const struct gnn_shuffle *s, uint64_t x)
{
	do {
		for (int r = 0; r < GNN_SHUFFLE_ROUNDS; r++) {
			x = (x * s->round[r].mul + s->round[r].add) & s->mask;
			x ^= x >> s->half;
		}
	} while (x >= s->count);
	return x;
}

/* gnn_shuffle_unmap(s, gnn_shuffle_map(s, x)) == x */
static inline uint64_t gnn_shuffle_unmap(const struct gnn_shuffle *s, uint64_t x)
{
	do {
		for (int r = GNN_SHUFFLE_ROUNDS - 1; r >= 0; r--) {
			x ^= x >> s->half;
			x = ((x - s->round[r].add) * s->round[r].inverse) & s->mask;
		}
	} while (x >= s->count);
	return x;
}

GNN_END_DECLS

#endif
