/*
 * cuda/rowwise.cu - row operations that need the whole row: ends of softmax, head means, scores,
 * norms.
 *
 *   DIVIDE     y[k C + c] = x[k C + c] / (x[K C + k] + epsilon), the tail as it is
 *   HEAD_MEAN  y[c] = (sum over k of x[k C + c]) / K, the tail as it is
 *   ADD        y[c] = x[c] + x[dim_out + c]
 *   SCORES     y[k] = z_k . att_src_k,  y[K + k] = z_k . att_dst_k
 *   L2NORM     y = x / max(|x|_2, epsilon)
 *   LAYERNORM  y = (x - mean) / sqrt(variance + epsilon), both of the row
 *
 * One warp a row (SCORES: a row and head), grid-stride. Deterministic: lanes take columns at
 * stride 32 and are added by a fixed tree.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda.h"

static __device__ __forceinline__ float warp_sum(float x)
{
#pragma unroll
	for (int step = 16; step > 0; step /= 2)
		x += __shfl_xor_sync(0xffffffffu, x, step);
	return x;
}

static __device__ __forceinline__ float warp_dot(const float *x, const float *w, uint32_t n,
	uint32_t lane)
{
	float part = 0.0f;

	for (uint32_t j = lane; j < n; j += 32)
		part = fmaf(x[j], w[j], part);
	return warp_sum(part);
}

static __global__ void divide_kernel(gnn_cuda_rowwise r)
{
	const uint32_t width = r.dim_out - r.tail, channels = width / r.heads;

	for (uint64_t i = gnn_grid_first(); i < r.rows * r.dim_out; i += gnn_grid_stride()) {
		const uint64_t row = i / r.dim_out;
		const uint32_t j = (uint32_t)(i % r.dim_out);
		const float *x = r.from + row * r.from_pitch;

		r.to[row * r.to_pitch + j] = j < width
			? x[j] / (x[width + j / channels] + r.epsilon) : x[j + r.heads];
	}
}

static __global__ void head_mean_kernel(gnn_cuda_rowwise r)
{
	const uint32_t channels = r.dim_out - r.tail;

	for (uint64_t i = gnn_grid_first(); i < r.rows * r.dim_out; i += gnn_grid_stride()) {
		const uint64_t row = i / r.dim_out;
		const uint32_t j = (uint32_t)(i % r.dim_out);
		const float *x = r.from + row * r.from_pitch;
		float sum = x[j];

		for (uint32_t k = 1; k < r.heads && j < channels; k++)
			sum += x[k * channels + j];
		r.to[row * r.to_pitch + j] = j < channels ? sum / (float)r.heads
			: x[r.heads * channels + j - channels];
	}
}

static __global__ void add_kernel(gnn_cuda_rowwise r)
{
	for (uint64_t i = gnn_grid_first(); i < r.rows * r.dim_out; i += gnn_grid_stride()) {
		const uint64_t row = i / r.dim_out;
		const uint32_t j = (uint32_t)(i % r.dim_out);
		const float *x = r.from + row * r.from_pitch;

		r.to[row * r.to_pitch + j] = x[j] + x[r.dim_out + j];
	}
}

static __global__ void scores_kernel(gnn_cuda_rowwise r)
{
	const uint32_t channels = r.dim_in / r.heads, lane = threadIdx.x % 32;

	for (uint64_t i = gnn_grid_first() / 32; i < r.rows * r.heads;
		i += gnn_grid_stride() / 32) {
		const uint64_t row = i / r.heads;
		const uint32_t k = (uint32_t)(i % r.heads);
		const float *z = r.from + row * r.from_pitch + k * channels;
		const float s = warp_dot(z, r.att_src + k * channels, channels, lane);
		const float t = warp_dot(z, r.att_dst + k * channels, channels, lane);

		if (lane == 0) {
			r.to[row * r.to_pitch + k] = s;
			r.to[row * r.to_pitch + r.heads + k] = t;
		}
	}
}

static __global__ void l2norm_kernel(gnn_cuda_rowwise r)
{
	const uint32_t lane = threadIdx.x % 32;

	for (uint64_t row = gnn_grid_first() / 32; row < r.rows; row += gnn_grid_stride() / 32) {
		const float *x = r.from + row * r.from_pitch;
		const float norm = sqrtf(warp_dot(x, x, r.dim_in, lane));
		const float by = norm < r.epsilon ? r.epsilon : norm;

		for (uint32_t j = lane; j < r.dim_out; j += 32)
			r.to[row * r.to_pitch + j] = x[j] / by;
	}
}

static __global__ void layernorm_kernel(gnn_cuda_rowwise r)
{
	const uint32_t lane = threadIdx.x % 32;
	const float n = (float)r.dim_in;

	for (uint64_t row = gnn_grid_first() / 32; row < r.rows; row += gnn_grid_stride() / 32) {
		const float *x = r.from + row * r.from_pitch;
		float part = 0.0f, mean, by;

		for (uint32_t j = lane; j < r.dim_in; j += 32)
			part += x[j];
		mean = warp_sum(part) / n;
		part = 0.0f;
		for (uint32_t j = lane; j < r.dim_in; j += 32)
			part = fmaf(x[j] - mean, x[j] - mean, part);
		by = sqrtf(warp_sum(part) / n + r.epsilon);
		for (uint32_t j = lane; j < r.dim_out; j += 32)
			r.to[row * r.to_pitch + j] = (x[j] - mean) / by;
	}
}

extern "C" int gnn_cuda_run_rowwise(const struct gnn_cuda_rowwise *r, void *stream)
{
	const uint64_t warps_per_block = GNN_BLOCK_THREADS / 32;
	cudaStream_t s = (cudaStream_t)stream;

	GNN_ASSERT(r->from != r->to);
	if (r->rows == 0 || r->dim_out == 0)
		return GNN_OK;
	switch (r->kind) {
	case GNN_ROW_DIVIDE:
		divide_kernel<<<gnn_grid(r->rows * r->dim_out, GNN_BLOCK_THREADS),
			GNN_BLOCK_THREADS, 0, s>>>(*r);
		break;
	case GNN_ROW_HEAD_MEAN:
		head_mean_kernel<<<gnn_grid(r->rows * r->dim_out, GNN_BLOCK_THREADS),
			GNN_BLOCK_THREADS, 0, s>>>(*r);
		break;
	case GNN_ROW_ADD:
		add_kernel<<<gnn_grid(r->rows * r->dim_out, GNN_BLOCK_THREADS),
			GNN_BLOCK_THREADS, 0, s>>>(*r);
		break;
	case GNN_ROW_SCORES:
		scores_kernel<<<gnn_grid(r->rows * r->heads, warps_per_block), GNN_BLOCK_THREADS, 0,
			s>>>(*r);
		break;
	case GNN_ROW_LAYERNORM:
		layernorm_kernel<<<gnn_grid(r->rows, warps_per_block), GNN_BLOCK_THREADS, 0,
			s>>>(*r);
		break;
	case GNN_ROW_L2NORM:
		l2norm_kernel<<<gnn_grid(r->rows, warps_per_block), GNN_BLOCK_THREADS, 0, s>>>(*r);
		break;
	default:
		return gnn_err(GNN_EBUG, "row operation %d", r->kind);
	}
	GNN_RET_LAUNCH("a row operation");
	return GNN_OK;
}
