/*
 * cuda/grad_attend.cu - attention over a block, forward and backward, and its scores.
 *
 * A warp takes one head of one destination (of one source where gradients go back to sources). The
 * maximum and sums of a softmax are over entries by lane, then by a fixed tree; rows are added one
 * entry at a time, columns by lane. Deterministic. What is kept by dropout is drawn again.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda_grad.h"
#include "base/rng.h"
#include "op/expf.h"

enum { WARP = 32 };

#define EPSILON 1e-16f /* PyG adds it to every denominator */

static __device__ __forceinline__ float leaky(float x, float slope)
{
	return x > 0.0f ? x : slope * x;
}

static __device__ __forceinline__ float warp_sum(float x)
{
	for (int k = WARP / 2; k > 0; k /= 2)
		x += __shfl_xor_sync(~0u, x, k);
	return x;
}

static __device__ __forceinline__ float warp_max(float x)
{
	for (int k = WARP / 2; k > 0; k /= 2)
		x = fmaxf(x, __shfl_xor_sync(~0u, x, k));
	return x;
}

static __device__ __forceinline__ uint64_t key_of(const gnn_attend_args &a, uint64_t v)
{
	return a.drop.below == 0 ? 0 : gnn_rng_u64(a.drop.seed, a.drop.stream, a.id[v]);
}

/* 1 / (1 - p), or 0 for what is dropped: entry e of v (from 0), head k. */
static __device__ __forceinline__ float kept(const gnn_attend_args &a, uint64_t key, uint64_t e,
	uint32_t k)
{
	if (a.drop.below == 0)
		return 1.0f;
	return gnn_drop_draw(key, (uint32_t)(e * a.heads + k)) < a.drop.below ? 0.0f
		: a.drop.scale;
}

static __device__ __forceinline__ const float *dy_of(const gnn_attend_args &a, uint64_t v,
	uint32_t k)
{
	return a.mean ? a.dy + v * a.channels : a.dy + (v * a.heads + k) * a.channels;
}

static __device__ __forceinline__ float share_of(const gnn_attend_args &a)
{
	return a.mean ? 1.0f / (float)a.heads : 1.0f;
}

static __device__ __forceinline__ float dot(const float *x, const float *y, uint32_t count,
	uint32_t lane)
{
	float sum = 0.0f;

	for (uint32_t c = lane; c < count; c += WARP)
		sum = fmaf(x[c], y[c], sum);
	return warp_sum(sum);
}

static __global__ void attend_kernel(gnn_attend_args a)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint64_t stride = gnn_grid_stride() / WARP, heads = a.heads;

	for (uint64_t i = gnn_grid_first() / WARP; i < a.dst_rows * heads; i += stride) {
		const uint64_t v = i / heads, first = a.first[v], end = a.first[v + 1];
		const uint32_t k = (uint32_t)(i % heads);
		const float t = a.score[v * 2 * heads + heads + k];
		const uint64_t key = key_of(a, v);
		float most = -INFINITY, sum = 0.0f;

		for (uint64_t e = first + lane; e < end; e += WARP) {
			const float x = leaky(a.score[a.src[e] * 2 * heads + k] + t, a.slope);

			a.alpha[e * heads + k] = x;
			most = fmaxf(most, x);
		}
		most = warp_max(most);
		for (uint64_t e = first + lane; e < end; e += WARP) {
			const float x = gnn_expf(a.alpha[e * heads + k] - most);

			a.alpha[e * heads + k] = x;
			sum += x;
		}
		sum = warp_sum(sum) + EPSILON;
		for (uint64_t e = first + lane; e < end; e += WARP)
			a.alpha[e * heads + k] /= sum;
		__syncwarp();
		for (uint32_t c = lane; c < a.channels; c += WARP) {
			float y = 0.0f;

			for (uint64_t e = first; e < end; e++)
				y = fmaf(kept(a, key, e - first, k) * a.alpha[e * heads + k],
					a.z[(a.src[e] * heads + k) * a.channels + c], y);
			a.y[i * a.channels + c] = y;
		}
	}
}

/* dlogit of a destination's entries, and their sum. */
static __global__ void back_destination_kernel(gnn_attend_args a)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint64_t stride = gnn_grid_stride() / WARP, heads = a.heads;
	const float share = share_of(a);

	for (uint64_t i = gnn_grid_first() / WARP; i < a.dst_rows * heads; i += stride) {
		const uint64_t v = i / heads, first = a.first[v], end = a.first[v + 1];
		const uint32_t k = (uint32_t)(i % heads);
		const float t = a.score[v * 2 * heads + heads + k];
		const uint64_t key = key_of(a, v);
		float mean = 0.0f, sum = 0.0f;

		for (uint64_t e = first; e < end; e++) {
			const float d = kept(a, key, e - first, k) * share * dot(dy_of(a, v, k),
				a.z + (a.src[e] * heads + k) * a.channels, a.channels, lane);

			mean = fmaf(a.alpha[e * heads + k], d, mean);
			if (lane == 0)
				a.dlogit[e * heads + k] = d;
		}
		__syncwarp();
		for (uint64_t e = first + lane; e < end; e += WARP) {
			const float x = a.score[a.src[e] * 2 * heads + k] + t;
			const float d = a.alpha[e * heads + k] *
				(a.dlogit[e * heads + k] - mean) * (x > 0.0f ? 1.0f : a.slope);

			a.dlogit[e * heads + k] = d;
			sum += d;
		}
		sum = warp_sum(sum);
		if (lane == 0)
			a.dscore[v * 2 * heads + heads + k] = sum;
	}
}

/* dz of a source, but for what comes through the scores, and the first half of its dscore. */
static __global__ void back_source_kernel(gnn_attend_args a)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint64_t stride = gnn_grid_stride() / WARP, heads = a.heads;
	const float share = share_of(a);

	for (uint64_t i = gnn_grid_first() / WARP; i < a.src_rows * heads; i += stride) {
		const uint64_t u = i / heads, first = a.back_first[u], end = a.back_first[u + 1];
		const uint32_t k = (uint32_t)(i % heads);

		for (uint32_t c = lane; c < a.channels; c += WARP) {
			float dz = 0.0f;

			for (uint64_t n = first; n < end; n++) {
				const uint64_t v = a.back_dst[n], e = a.back_entry[n];

				dz = fmaf(kept(a, key_of(a, v), e - a.first[v], k) * share *
					a.alpha[e * heads + k], dy_of(a, v, k)[c], dz);
			}
			a.dz[i * a.channels + c] = dz;
		}
		if (lane == 0) {
			float ds = 0.0f;

			for (uint64_t n = first; n < end; n++)
				ds += a.dlogit[a.back_entry[n] * heads + k];
			a.dscore[u * 2 * heads + k] = ds;
			if (u >= a.dst_rows)
				a.dscore[u * 2 * heads + heads + k] = 0.0f;
		}
	}
}

static unsigned grid_of(uint64_t warps)
{
	return gnn_grid(warps, GNN_BLOCK_THREADS / WARP);
}

extern "C" int gnn_cuda_run_attend(const struct gnn_attend_args *a, void *stream)
{
	if (a->dst_rows == 0)
		return GNN_OK;
	attend_kernel<<<grid_of(a->dst_rows * a->heads), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(*a);
	GNN_RET_LAUNCH("attention");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_attend_back(const struct gnn_attend_args *a, void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;

	if (a->dst_rows == 0)
		return GNN_OK;
	back_destination_kernel<<<grid_of(a->dst_rows * a->heads), GNN_BLOCK_THREADS, 0, s>>>(*a);
	GNN_RET_LAUNCH("attention, backward to logits");
	back_source_kernel<<<grid_of(a->src_rows * a->heads), GNN_BLOCK_THREADS, 0, s>>>(*a);
	GNN_RET_LAUNCH("attention, backward to rows");
	return GNN_OK;
}

static __global__ void score_kernel(gnn_score_args a)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint64_t stride = gnn_grid_stride() / WARP, heads = a.heads;

	for (uint64_t i = gnn_grid_first() / WARP; i < a.rows * heads; i += stride) {
		const uint64_t r = i / heads, k = i % heads;
		const float *z = a.z + i * a.channels;
		const float s = dot(z, a.att_src + k * a.channels, a.channels, lane);
		const float t = dot(z, a.att_dst + k * a.channels, a.channels, lane);

		if (lane == 0) {
			a.score[r * 2 * heads + k] = s;
			a.score[r * 2 * heads + heads + k] = t;
		}
	}
}

extern "C" int gnn_cuda_run_score(const struct gnn_score_args *a, void *stream)
{
	if (a->rows == 0)
		return GNN_OK;
	score_kernel<<<grid_of(a->rows * a->heads), GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(
		*a);
	GNN_RET_LAUNCH("scores");
	return GNN_OK;
}
