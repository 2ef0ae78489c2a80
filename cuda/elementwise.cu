/*
 * cuda/elementwise.cu - rows widened to f32 and taken through column-wise operations in one pass.
 *
 *   to[r][j] = step_n(... step_1(widen(from[r][j])))
 *
 * from (rows, width) f32 f16 bf16 u8, to (rows, width) f32, any pitch. Deterministic: an element
 * depends on itself alone. One thread takes four neighbouring columns, with 16-byte accesses where
 * pitch and address allow. Grid-stride.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda.h"
#include "op/expf.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ __forceinline__ float widen(float x) { return x; }
static __device__ __forceinline__ float widen(__half x) { return __half2float(x); }
static __device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
static __device__ __forceinline__ float widen(uint8_t x) { return (float)x; }

static __device__ __forceinline__ float act_of(float x, int act, float slope)
{
	switch (act) {
	case GNN_ACT_RELU:
		return x < 0.0f ? 0.0f : x;
	case GNN_ACT_ELU:
		return x > 0.0f ? x : gnn_expm1f(x);
	case GNN_ACT_LEAKY_RELU:
		return x > 0.0f ? x : slope * x;
	case GNN_ACT_TANH:
		return gnn_tanhf(x);
	default:
		return x;
	}
}

static __device__ __forceinline__ float step_of(const gnn_cuda_step &s, float x, uint64_t row,
	uint32_t column)
{
	const bool inside = column - s.first < s.count;

	switch (s.kind) {
	case GNN_ROW_BIAS:
		return x + s.a[column];
	case GNN_ROW_AFFINE:
		return fmaf(x, s.a[column], s.b[column]);
	case GNN_ROW_ACT:
		return act_of(x, s.act, s.slope);
	case GNN_ROW_STANDARD:
		return (x - s.center) * s.factor;
	case GNN_ROW_SCALE:
		return inside ? s.a[row] * x : x;
	default: /* GNN_ROW_EMPTY */
		return inside && s.a[row] == 0.0f ? 0.0f : x;
	}
}

/* Four items with one access of 4 x sizeof(T) bytes. */
template <typename T> struct alignas(4 * sizeof(T)) four {
	T v[4];
};

template <typename T, bool WIDE>
static __global__ void elementwise_kernel(const T *from, uint64_t from_pitch, float *to,
	uint64_t to_pitch, uint64_t rows, uint32_t width, gnn_cuda_steps steps)
{
	const uint32_t quads = (width + 3) / 4;

	for (uint64_t i = gnn_grid_first(); i < rows * quads; i += gnn_grid_stride()) {
		const uint64_t row = i / quads;
		const uint32_t column = (uint32_t)(i % quads) * 4;
		const uint32_t n = width - column < 4 ? width - column : 4;
		const T *x = from + row * from_pitch + column;
		float *y = to + row * to_pitch + column;
		gnn_f4 v;

		if (WIDE && n == 4) {
			const four<T> q = *reinterpret_cast<const four<T> *>(x);
#pragma unroll
			for (int k = 0; k < 4; k++)
				v.v[k] = widen(q.v[k]);
		} else {
#pragma unroll
			for (int k = 0; k < 4; k++)
				v.v[k] = (uint32_t)k < n ? widen(x[k]) : 0.0f;
		}
		for (int s = 0; s < steps.count; s++)
#pragma unroll
			for (int k = 0; k < 4; k++)
				if ((uint32_t)k < n)
					v.v[k] = step_of(steps.step[s], v.v[k], row, column + k);
		if (WIDE && n == 4) {
			gnn_store4(y, v);
		} else {
#pragma unroll
			for (int k = 0; k < 4; k++)
				if ((uint32_t)k < n)
					y[k] = v.v[k];
		}
	}
}

static __global__ void fill_kernel(float *to, float value, uint64_t count)
{
	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride())
		to[i] = value;
}

static __global__ void factors_kernel(gnn_factors_args a)
{
	for (uint64_t i = gnn_grid_first(); i < a.rows; i += gnn_grid_stride())
		a.to[i] = gnn_norm_value(a.norm, gnn_factors_deg(&a, i));
}

template <typename T>
static int launch_elementwise(const struct gnn_cuda_elementwise *e, cudaStream_t stream)
{
	const bool wide = gnn_aligned16(e->to, e->to_pitch * sizeof(float)) &&
		((uintptr_t)e->from | e->from_pitch * sizeof(T)) % (4 * sizeof(T)) == 0;
	const unsigned grid = gnn_grid(e->rows * ((e->width + 3) / 4), GNN_BLOCK_THREADS);
	const T *from = (const T *)e->from;

	if (wide)
		elementwise_kernel<T, true><<<grid, GNN_BLOCK_THREADS, 0, stream>>>(from,
			e->from_pitch, e->to, e->to_pitch, e->rows, e->width, e->steps);
	else
		elementwise_kernel<T, false><<<grid, GNN_BLOCK_THREADS, 0, stream>>>(from,
			e->from_pitch, e->to, e->to_pitch, e->rows, e->width, e->steps);
	GNN_RET_LAUNCH("elementwise");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_elementwise(const struct gnn_cuda_elementwise *e, void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;

	GNN_ASSERT(e->steps.count <= GNN_CUDA_STEPS_MAX);
	if (e->rows == 0 || e->width == 0)
		return GNN_OK;
	switch (e->dtype) {
	case GNN_F32:
		return launch_elementwise<float>(e, s);
	case GNN_F16:
		return launch_elementwise<__half>(e, s);
	case GNN_BF16:
		return launch_elementwise<__nv_bfloat16>(e, s);
	case GNN_U8:
		return launch_elementwise<uint8_t>(e, s);
	default:
		return gnn_err(GNN_EBUG, "rows of type %s", gnn_dtype_name(e->dtype));
	}
}

extern "C" int gnn_cuda_run_fill(float *to, float value, uint64_t count, void *stream)
{
	if (count == 0)
		return GNN_OK;
	fill_kernel<<<gnn_grid(count, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(to, value, count);
	GNN_RET_LAUNCH("fill");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_factors(const struct gnn_factors_args *a, void *stream)
{
	if (a->rows == 0)
		return GNN_OK;
	factors_kernel<<<gnn_grid(a->rows, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(*a);
	GNN_RET_LAUNCH("factors");
	return GNN_OK;
}
