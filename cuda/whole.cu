/*
 * cuda/whole.cu - moments of blocks of rows, and two matrices merged into one.
 *
 *   MOMENTS  mean = (sum of x) / n,  spread = sum of (x - mean)^2     of 256 rows, in double
 *   SUM      to = to + from
 *   MAX      to = max(to, from)                                       NaN wins
 *
 * A thread block takes one block of rows; its threads take elements at stride 256 and are added by
 * a fixed tree: the bits depend on the rows alone.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda.h"

static __device__ double block_sum(double x, double *shared)
{
	shared[threadIdx.x] = x;
	__syncthreads();
	for (int step = GNN_BLOCK_THREADS / 2; step > 0; step /= 2) {
		if (threadIdx.x < step)
			shared[threadIdx.x] += shared[threadIdx.x + step];
		__syncthreads();
	}
	x = shared[0];
	__syncthreads();
	return x;
}

static __global__ void moments_kernel(gnn_moments_args a)
{
	__shared__ double shared[GNN_BLOCK_THREADS];
	const uint64_t blocks = (a.rows + GNN_MOMENT_ROWS - 1) / GNN_MOMENT_ROWS;

	for (uint64_t k = blockIdx.x; k < blocks; k += gridDim.x) {
		const uint64_t first = k * GNN_MOMENT_ROWS;
		const uint64_t rows = a.rows - first < GNN_MOMENT_ROWS ? a.rows - first
			: GNN_MOMENT_ROWS;
		const float *from = a.from + first * a.from_pitch;
		const uint64_t count = rows * a.width;
		double part = 0.0, mean;

		for (uint64_t i = threadIdx.x; i < count; i += GNN_BLOCK_THREADS)
			part += (double)from[i / a.width * a.from_pitch + i % a.width];
		mean = block_sum(part, shared) / (double)count;
		part = 0.0;
		for (uint64_t i = threadIdx.x; i < count; i += GNN_BLOCK_THREADS) {
			const double apart =
				(double)from[i / a.width * a.from_pitch + i % a.width] - mean;

			part += apart * apart;
		}
		part = block_sum(part, shared);
		if (threadIdx.x == 0)
			a.to[k] = {(double)count, mean, part};
	}
}

static __global__ void merge_kernel(gnn_merge_args a)
{
	for (uint64_t i = gnn_grid_first(); i < a.rows * a.width; i += gnn_grid_stride()) {
		const uint64_t row = i / a.width, column = i % a.width;
		const float x = a.from[row * a.from_pitch + column];
		float *to = a.to + row * a.to_pitch + column;

		if (a.how == GNN_MERGE_SUM)
			*to += x;
		else if (x > *to || x != x)
			*to = x;
	}
}

extern "C" int gnn_cuda_run_moments(const struct gnn_moments_args *a, void *stream)
{
	if (a->rows == 0 || a->width == 0)
		return GNN_OK;
	moments_kernel<<<gnn_grid(a->rows, GNN_MOMENT_ROWS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(*a);
	GNN_RET_LAUNCH("moments");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_merge(const struct gnn_merge_args *a, void *stream)
{
	if (a->rows == 0 || a->width == 0)
		return GNN_OK;
	merge_kernel<<<gnn_grid(a->rows * a->width, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(*a);
	GNN_RET_LAUNCH("merge");
	return GNN_OK;
}
