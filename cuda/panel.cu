/*
 * cuda/panel.cu - one dense panel in an order that depends on the row alone.
 *
 *   y[r][j] = sum over k of x[r][k] w[j][k], k ascending, one fmaf each
 *
 * x (panel rows, dim_in), w (dim_out, dim_in), y (panel rows, dim_out), any pitch. Tiles of 32 x 32
 * through shared memory, 256 threads with four rows each. For the shapes where cuBLAS fails its
 * check: correct first, a good fraction of its speed second.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda.h"

enum { TILE = 32, ROWS_EACH = 4 };

static __global__ void panel_kernel(gnn_cuda_panel p)
{
	__shared__ float x[TILE][TILE + 1], w[TILE][TILE + 1]; /* + 1: no two lanes in one bank */
	const uint32_t tx = threadIdx.x, ty = threadIdx.y;
	const uint64_t row = blockIdx.y * (uint64_t)TILE, column = blockIdx.x * (uint64_t)TILE;
	float sum[ROWS_EACH] = {};

	for (uint32_t k = 0; k < p.dim_in; k += TILE) {
		for (uint32_t i = ty; i < TILE; i += TILE / ROWS_EACH) {
			const bool inside = k + tx < p.dim_in;

			x[i][tx] = inside ? p.x[(row + i) * p.x_pitch + k + tx] : 0.0f;
			w[i][tx] = inside && column + i < p.dim_out
				? p.weight[(column + i) * p.dim_in + k + tx] : 0.0f;
		}
		__syncthreads();
		for (uint32_t j = 0; j < TILE; j++)
#pragma unroll
			for (int r = 0; r < ROWS_EACH; r++)
				sum[r] = fmaf(x[ty + r * (TILE / ROWS_EACH)][j], w[tx][j], sum[r]);
		__syncthreads();
	}
	if (column + tx >= p.dim_out)
		return;
#pragma unroll
	for (int r = 0; r < ROWS_EACH; r++)
		p.y[(row + ty + r * (TILE / ROWS_EACH)) * p.y_pitch + column + tx] = sum[r];
}

extern "C" int gnn_cuda_run_panel(const struct gnn_cuda_panel *p, void *stream)
{
	const dim3 grid((p->dim_out + TILE - 1) / TILE, GNN_CUDA_PANEL_ROWS / TILE);

	if (p->dim_out == 0)
		return GNN_OK;
	panel_kernel<<<grid, dim3(TILE, TILE / ROWS_EACH), 0, (cudaStream_t)stream>>>(*p);
	GNN_RET_LAUNCH("a dense panel");
	return GNN_OK;
}
