/*
 * base/rng.h - counter-based random numbers: a draw is a function of its key alone.
 *
 * Flow     (seed, stream, counter) -> [rng] -> number
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never
 *
 * The same on every backend, thread count and rank count. The mixer is the finaliser of
 * splitmix64 applied after each word of the key.
 */
#ifndef GNN_BASE_RNG_H
#define GNN_BASE_RNG_H

#include "base/decl.h"

GNN_HOST_DEVICE static inline uint64_t gnn_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Uniform 64 bits for (seed, stream, counter). */
GNN_HOST_DEVICE static inline uint64_t gnn_rng_u64(uint64_t seed, uint64_t stream, uint64_t counter)
{
	uint64_t h = gnn_mix64(seed + 0x9e3779b97f4a7c15u);

	h = gnn_mix64(h ^ (stream + 0x9e3779b97f4a7c15u));
	return gnn_mix64(h ^ (counter * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u));
}

/* Uniform in [0, 1) with 53 bits. */
static inline double gnn_rng_unit(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1.0p-53;
}

/* Uniform in [0, n), n > 0, by the high half of a product. */
GNN_HOST_DEVICE static inline uint64_t gnn_rng_below(uint64_t bits, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)bits * n) >> 64);
}

GNN_BEGIN_DECLS

/* Standard normal by Box-Muller from two draws with counters 2k and 2k+1. */
double gnn_rng_normal(uint64_t seed, uint64_t stream, uint64_t k);

GNN_END_DECLS

#endif
