/*
 * op/distinct.h - k distinct positions of a list of n, by a permutation keyed with what names them.
 *
 * Flow     (seed, global step, hop, vertex) -> key -> [distinct] -> positions
 * Owns     nothing
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * The sample is what a permutation of [0, n) has at its first k places. Up to GNN_DRAW_SMALL it is
 * Fisher and Yates's, uniform as the draws are. Longer lists take rounds of x = m x + a,
 * x ^= x >> half on the next power of two, sent through again while outside [0, n), in constant
 * time a place; on short lists those rounds would favour some sets.
 */
#ifndef GNN_OP_DISTINCT_H
#define GNN_OP_DISTINCT_H

#include "base/rng.h"

enum { GNN_DRAW_SMALL = 64, GNN_DRAW_ROUNDS = 6 };

/* The stream of one hop of one step, for gnn_rng_u64(seed, stream, vertex). */
GNN_HOST_DEVICE static inline uint64_t gnn_draw_stream(uint64_t step, uint32_t hop)
{
	return (step << 8 | hop) ^ UINT64_C(0x73616d706c650000); /* "sample" */
}

/* The i-th 64 bits of a key. */
GNN_HOST_DEVICE static inline uint64_t gnn_draw_bits(uint64_t key, uint64_t i)
{
	uint64_t x = key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

GNN_HOST_DEVICE static inline void gnn_draw_small(uint64_t *to, uint32_t k, uint32_t n,
	uint64_t key)
{
	uint8_t at[GNN_DRAW_SMALL];

	for (uint32_t i = 0; i < n; i++)
		at[i] = (uint8_t)i;
	for (uint32_t i = 0; i < k; i++) {
		/* The high half of a product with 32 of the bits: uneven by n / 2^32 at most. */
		const uint64_t bits = gnn_draw_bits(key, i) >> 32;
		const uint32_t j = i + (uint32_t)((bits * (n - i)) >> 32);

		to[i] = at[j];
		at[j] = at[i];
	}
}

/* The i-th place of a long list of n; `word` has the first GNN_DRAW_ROUNDS bits of the key. */
GNN_HOST_DEVICE static inline uint64_t gnn_draw_place(uint64_t i, uint64_t n,
	const uint64_t word[GNN_DRAW_ROUNDS])
{
	const uint32_t bits = 64 - (uint32_t)__builtin_clzll(n - 1), half = (bits + 1) / 2;
	const uint64_t mask = (UINT64_C(1) << (bits & 63)) - 1;
	uint64_t x = i;

	do {
		for (int r = 0; r < GNN_DRAW_ROUNDS; r++) {
			x = (x * (word[r] | 1) + (word[r] >> 32)) & mask;
			x ^= x >> half;
		}
	} while (x >= n);
	return x;
}

GNN_HOST_DEVICE static inline void gnn_draw_large(uint64_t *to, uint64_t k, uint64_t n,
	uint64_t key)
{
	uint64_t word[GNN_DRAW_ROUNDS];

	for (uint64_t r = 0; r < GNN_DRAW_ROUNDS; r++)
		word[r] = gnn_draw_bits(key, r);
	for (uint64_t i = 0; i < k; i++)
		to[i] = gnn_draw_place(i, n, word);
}

/* k positions, k < n < 2^63, in any order. */
GNN_HOST_DEVICE static inline void gnn_draw_distinct(uint64_t *to, uint64_t k,
	uint64_t n, uint64_t key)
{
	if (n <= GNN_DRAW_SMALL)
		gnn_draw_small(to, (uint32_t)k, (uint32_t)n, key);
	else
		gnn_draw_large(to, k, n, key);
}

#endif
