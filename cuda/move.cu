/*
 * cuda/move.cu - rows of one matrix to rows of another.
 *
 *   to[moves[i].to][c] = from[moves[i].from][c]    i < count, c < width
 *
 * or i in the place of one of the two, as op/moves.h has it.
 *
 * Row-major float matrices with a pitch; 16 bytes at a time where both are aligned. A grid-stride
 * loop over the vectors of all rows. Every element has one writer: deterministic.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda.h"

template <int LANES>
static __global__ void move_kernel(gnn_move_args a)
{
	const uint64_t vectors = (a.width + LANES - 1) / LANES;

	for (uint64_t k = gnn_grid_first(); k < a.count * vectors; k += gnn_grid_stride()) {
		const uint64_t i = k / vectors, column = k % vectors * LANES;
		const gnn_move m = a.moves[i];
		const uint64_t row = a.rule == GNN_MOVE_SCATTER ? i : m.from;
		const float *from = a.from + row * a.from_pitch + column;
		float *to = a.to + (a.rule == GNN_MOVE_GATHER ? i : m.to) * a.to_pitch + column;

		if (LANES == 4)
			gnn_store4(to, gnn_load4(from));
		else
			*to = *from;
	}
}

extern "C" int gnn_cuda_run_move(const struct gnn_move_args *a, void *stream)
{
	const bool wide = a->width % 4 == 0 &&
		gnn_aligned16(a->from, a->from_pitch * sizeof(float)) &&
		gnn_aligned16(a->to, a->to_pitch * sizeof(float));
	const unsigned grid = gnn_grid(a->count * (wide ? a->width / 4 : a->width),
		GNN_BLOCK_THREADS);

	if (a->count == 0 || a->width == 0)
		return GNN_OK;
	if (wide)
		move_kernel<4><<<grid, GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*a);
	else
		move_kernel<1><<<grid, GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*a);
	GNN_RET_LAUNCH("move");
	return GNN_OK;
}
