/* base/shuffle.c - see shuffle.h. */
#include "base/shuffle.h"

#include "base/rng.h"

/* The inverse of an odd number mod 2^64: Newton's step doubles the right bits, 3 at first. */
static uint64_t inverse_of(uint64_t odd)
{
	uint64_t x = odd;

	for (int bits = 3; bits < 64; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

void gnn_shuffle_init(struct gnn_shuffle *s, uint64_t count, uint64_t seed, uint64_t stream)
{
	uint32_t bits = gnn_log2_ceil(count);

	GNN_ASSERT(count > 0);
	s->count = count;
	s->mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	s->half = bits < 2 ? 1 : (bits + 1) / 2;
	for (uint64_t r = 0; r < GNN_SHUFFLE_ROUNDS; r++) {
		s->round[r].mul = gnn_rng_u64(seed, stream, 2 * r) | 1;
		s->round[r].add = gnn_rng_u64(seed, stream, 2 * r + 1);
		s->round[r].inverse = inverse_of(s->round[r].mul);
	}
}
