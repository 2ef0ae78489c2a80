/*
 * cuda/distinct.cuh - the draw of op/distinct.h by a warp: the same places, in ascending order.
 *
 * Flow     sample.cu -> [distinct] -> entries
 * Owns     nothing
 * Lends    nothing
 * Thread   device functions, called by all lanes of a warp with equal arguments
 * Fails    never
 */
#ifndef GNN_CUDA_DISTINCT_CUH
#define GNN_CUDA_DISTINCT_CUH

#include "op/distinct.h"

enum {
	GNN_WARP = 32,
	GNN_WARP_HELD = 8,                         /* places that a lane holds */
	GNN_WARP_DRAWS = GNN_WARP * GNN_WARP_HELD, /* of a long list at most */
};

static __device__ __forceinline__ uint32_t gnn_warp_lane()
{
	return threadIdx.x % GNN_WARP;
}

/* Of two registers a lane, the i-th of 64. */
static __device__ __forceinline__ uint32_t gnn_warp_at(uint32_t low, uint32_t high, uint32_t i)
{
	return __shfl_sync(~0u, i < GNN_WARP ? low : high, i % GNN_WARP);
}

/* k < n <= GNN_DRAW_SMALL places, as bits: the shuffled places are two registers a lane. */
static __device__ __forceinline__ uint64_t gnn_warp_draw_small(uint32_t k, uint32_t n, uint64_t key)
{
	const uint32_t lane = gnn_warp_lane();
	const uint32_t bits_low = (uint32_t)(gnn_draw_bits(key, lane) >> 32);
	const uint32_t bits_high = (uint32_t)(gnn_draw_bits(key, lane + GNN_WARP) >> 32);
	uint32_t low = lane, high = lane + GNN_WARP;
	uint64_t taken = 0;

	for (uint32_t i = 0; i < k; i++) {
		const uint64_t bits = gnn_warp_at(bits_low, bits_high, i);
		const uint32_t j = i + (uint32_t)((bits * (n - i)) >> 32);
		const uint32_t first = gnn_warp_at(low, high, i);

		taken |= UINT64_C(1) << gnn_warp_at(low, high, j);
		if (lane == j % GNN_WARP) {
			if (j < GNN_WARP)
				low = first;
			else
				high = first;
		}
	}
	return taken;
}

/*
 * k <= GNN_WARP_DRAWS places of a longer list: the lane gets those numbered lane, lane + 32, ...,
 * and how many of the others lie below each. `room` has k items.
 */
static __device__ __forceinline__ void gnn_warp_draw_large(uint64_t *room, uint32_t k, uint64_t n,
	uint64_t key, uint64_t place[GNN_WARP_HELD], uint32_t rank[GNN_WARP_HELD])
{
	const uint32_t lane = gnn_warp_lane();
	const uint64_t mine = gnn_draw_bits(key, lane);
	uint64_t word[GNN_DRAW_ROUNDS];

#pragma unroll
	for (int r = 0; r < GNN_DRAW_ROUNDS; r++)
		word[r] = __shfl_sync(~0u, mine, r);
#pragma unroll
	for (uint32_t c = 0; c < GNN_WARP_HELD; c++) {
		const uint32_t i = lane + c * GNN_WARP;

		rank[c] = 0;
		if (i < k)
			room[i] = place[c] = gnn_draw_place(i, n, word);
	}
	__syncwarp();
	for (uint32_t j = 0; j < k; j++) {
		const uint64_t other = room[j];

#pragma unroll
		for (uint32_t c = 0; c < GNN_WARP_HELD; c++)
			if (c * GNN_WARP < k)
				rank[c] += other < place[c];
	}
	__syncwarp();
}

#endif
