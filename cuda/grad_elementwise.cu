/*
 * cuda/grad_elementwise.cu - operations of training that look at one element or one row.
 *
 *   gather   to[r] = widen(cache[place[id[r]]], or table[id[r]])    a warp takes rows behind one
 *            another: each lane looks one up, then all share every row, 16-byte accesses where
 *            rows are aligned, and of short rows several in flight; the table is device memory,
 *            or pinned host memory read in place, where with `shift` each access of a warp lies in
 *            whole 128-byte lines; dropout falls on what was read before it is written. A limited
 *            number of blocks are as large as blocks can be: who computes beside them loses the
 *            multiprocessors they are on
 *   dropout  a warp takes rows that lie behind one another, 16 bytes a lane
 *   activations, bias and mean over heads, optimiser: one thread an element, grid-stride
 *
 * Deterministic: an element depends on itself alone; the largest change is a maximum, and missed
 * rows are counted in integers.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda_grad.h"
#include "base/rng.h"
#include "op/expf.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { WARP = 32, LINE_BYTES = 128, FEW_BLOCKS_THREADS = 1024, FLIGHT = 4 };

static __device__ __forceinline__ float widen(float x) { return x; }
static __device__ __forceinline__ float widen(__half x) { return __half2float(x); }
static __device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
static __device__ __forceinline__ float widen(uint8_t x) { return (float)x; }

/* 16 bytes of items with one access. */
template <typename T> struct alignas(16) chunk {
	T v[16 / sizeof(T)];
};

/* A row's dropout. */
struct fall {
	uint64_t key;
	uint32_t below;
	float    scale;
};

template <bool DROP>
static __device__ __forceinline__ float behind(const fall &f, int64_t column, float x)
{
	if (!DROP)
		return x;
	return gnn_drop_draw(f.key, (uint32_t)column) < f.below ? 0.0f : x * f.scale;
}

/* To y[j]. */
template <typename T, bool DROP>
static __device__ __forceinline__ void put_chunk(float *y, int64_t j, const chunk<T> &q,
	const fall &f)
{
#pragma unroll
	for (int64_t k = 0; k < (int64_t)(16 / sizeof(T)); k += 4)
		gnn_store4(y + j + k, {{behind<DROP>(f, j + k, widen(q.v[k])),
			behind<DROP>(f, j + k + 1, widen(q.v[k + 1])),
			behind<DROP>(f, j + k + 2, widen(q.v[k + 2])),
			behind<DROP>(f, j + k + 3, widen(q.v[k + 3]))}});
}

/* A row by one warp, 16 bytes a lane; `WIDE`: rows are whole chunks, on both sides. */
template <typename T, bool WIDE, bool DROP>
static __device__ __forceinline__ void gather_row(float *y, const T *from, uint32_t width,
	bool shift, const fall &f)
{
	const int64_t items = 16 / sizeof(T), lane = threadIdx.x % WARP;
	const int64_t past = (uintptr_t)from % (shift ? LINE_BYTES : 16) / sizeof(T);

	for (int64_t j = lane * items - past; j < width; j += WARP * items) {
		chunk<T> q;

		if (j <= -items)
			continue;
		if (WIDE || (j >= 0 && j + items <= width)) {
			q = *reinterpret_cast<const chunk<T> *>(from + j);
		} else { /* chunks that reach over an end of the row */
#pragma unroll
			for (int64_t k = 0; k < items; k++)
				if (j + k >= 0 && j + k < width)
					q.v[k] = from[j + k];
		}
		if (WIDE) {
			put_chunk<T, DROP>(y, j, q, f);
			continue;
		}
#pragma unroll
		for (int64_t k = 0; k < items; k++)
			if (j + k >= 0 && j + k < width)
				y[j + k] = behind<DROP>(f, j + k, widen(q.v[k]));
	}
}

/* Fewer rows a warp where there are too few for all warps. */
static uint32_t rows_a_warp(uint64_t rows, uint64_t warps)
{
	const uint64_t fair = rows / warps;

	return (uint32_t)(fair < 1 ? 1 : fair > WARP ? WARP : fair);
}

/* Where a row comes from, NULL from nowhere, and where it goes. */
struct route {
	const char *from;
	uint64_t    row;
	bool        cached;
};

template <typename T>
static __device__ __forceinline__ route find_row(const gnn_gather_args &a, uint64_t r)
{
	const uint64_t id = a.id != NULL ? a.id[r] : r, bytes = a.width * sizeof(T);
	const uint32_t place = a.place != NULL ? a.place[id] : GNN_NO_PLACE;
	const bool cached = place != GNN_NO_PLACE;
	const char *from = cached ? (const char *)a.cache + place * bytes
		: a.table != NULL ? (const char *)a.table + id * bytes : NULL;

	return {from, a.row != NULL ? a.row[r] : r, cached};
}

template <typename V> static __device__ __forceinline__ V lane_value(V x, uint32_t lane)
{
	return (V)__shfl_sync(~0u, (unsigned long long)x, lane);
}

/* What a warp has found: a row a lane. */
struct found {
	route    mine;
	uint64_t key; /* of its dropout */
	unsigned cached;
};

template <typename T, bool WIDE, bool DROP>
static __device__ __forceinline__ void gather_one(const gnn_gather_args &a, const found &w,
	uint32_t k)
{
	const T *from = (const T *)lane_value((uintptr_t)w.mine.from, k);
	float *y = a.to + lane_value(w.mine.row, k) * a.width;
	const fall f = {DROP ? lane_value(w.key, k) : 0, a.drop.below, a.drop.scale};

	if (from != NULL)
		gather_row<T, WIDE, DROP>(y, from, a.width, a.shift && (w.cached >> k & 1) == 0, f);
}

/* Rows from k on of one chunk a lane at most: all are asked for before the first is written. */
template <typename T, bool DROP>
static __device__ __forceinline__ void gather_short(const gnn_gather_args &a, const found &w,
	uint32_t k)
{
	const uint32_t column = threadIdx.x % WARP * (16 / sizeof(T));
	const T *from[FLIGHT];
	chunk<T> q[FLIGHT];

#pragma unroll
	for (uint32_t i = 0; i < FLIGHT; i++) { /* lanes past the rows have found none */
		from[i] = (const T *)lane_value((uintptr_t)w.mine.from, k + i);
		if (from[i] != NULL && column < a.width)
			q[i] = *reinterpret_cast<const chunk<T> *>(from[i] + column);
	}
#pragma unroll
	for (uint32_t i = 0; i < FLIGHT; i++) {
		float *y = a.to + lane_value(w.mine.row, k + i) * a.width;
		const fall f = {DROP ? lane_value(w.key, k + i) : 0, a.drop.below, a.drop.scale};

		if (from[i] != NULL && column < a.width)
			put_chunk<T, DROP>(y, column, q[i], f);
	}
}

/* A warp takes `take` rows; a lane finds one of them. */
template <typename T, bool WIDE, bool DROP>
static __global__ void __launch_bounds__(FEW_BLOCKS_THREADS) gather_kernel(gnn_gather_args a,
	uint32_t take)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint64_t stride = gnn_grid_stride() / WARP * take;
	const bool is_short = WIDE && !a.shift && a.width * sizeof(T) <= WARP * 16;
	unsigned long long missed = 0;

	for (uint64_t base = gnn_grid_first() / WARP * take; base < a.rows; base += stride) {
		const uint32_t rows = (uint32_t)(a.rows - base < take ? a.rows - base : take);
		found w;

		w.mine = lane < rows ? find_row<T>(a, base + lane) : route{NULL, 0, true};
		w.key = DROP && lane < rows ?
			gnn_rng_u64(a.drop.seed, a.drop.stream, a.name[w.mine.row]) : 0;
		w.cached = __ballot_sync(~0u, w.mine.cached);
		missed += WARP - __popc(w.cached);
		for (uint32_t k = 0; k < rows; k += is_short ? FLIGHT : 1)
			if (is_short)
				gather_short<T, DROP>(a, w, k);
			else
				gather_one<T, WIDE, DROP>(a, w, k);
	}
	if (a.missed != NULL && lane == 0 && missed > 0)
		atomicAdd((unsigned long long *)a.missed, missed);
}

template <typename T, bool WIDE>
static void start_gather(const struct gnn_gather_args *a, cudaStream_t s)
{
	const bool few = a->blocks > 0;
	const unsigned threads = few ? (unsigned)FEW_BLOCKS_THREADS : (unsigned)GNN_BLOCK_THREADS;
	const uint64_t warps = threads / WARP;
	const uint32_t take = rows_a_warp(a->rows, warps * (few ? a->blocks : GNN_GRID_MAX / 4));
	unsigned grid = gnn_grid(a->rows, warps * take);

	if (few && grid > a->blocks)
		grid = a->blocks;
	if (a->drop.below > 0)
		gather_kernel<T, WIDE, true><<<grid, threads, 0, s>>>(*a, take);
	else
		gather_kernel<T, WIDE, false><<<grid, threads, 0, s>>>(*a, take);
}

template <typename T> static int launch_gather(const struct gnn_gather_args *a, cudaStream_t s)
{
	const uint64_t pitch = a->width * sizeof(T);

	if (gnn_aligned16(a->table, pitch) && gnn_aligned16(a->cache, pitch) &&
		gnn_aligned16(a->to, 0))
		start_gather<T, true>(a, s);
	else
		start_gather<T, false>(a, s);
	GNN_RET_LAUNCH("gather");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_gather(const struct gnn_gather_args *a, void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;

	GNN_ASSERT(a->drop.below == 0 || a->name != NULL);
	if (a->rows == 0 || a->width == 0)
		return GNN_OK;
	switch (a->dtype) {
	case GNN_F32:
		return launch_gather<float>(a, s);
	case GNN_F16:
		return launch_gather<__half>(a, s);
	case GNN_BF16:
		return launch_gather<__nv_bfloat16>(a, s);
	case GNN_U8:
		return launch_gather<uint8_t>(a, s);
	default:
		return gnn_err(GNN_EBUG, "a table of type %s", gnn_dtype_name(a->dtype));
	}
}

static __global__ void repeat_kernel(float *y, const float *row, uint64_t count, uint32_t width)
{
	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride())
		y[i] = row[i % width];
}

extern "C" int gnn_cuda_run_repeat(float *y, const float *row, uint64_t rows, uint32_t width,
	void *stream)
{
	if (rows * width == 0)
		return GNN_OK;
	repeat_kernel<<<gnn_grid(rows * width, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(y, row, rows * width, width);
	GNN_RET_LAUNCH("repeat");
	return GNN_OK;
}

template <int LANE> struct alignas(LANE * sizeof(float)) floats {
	float v[LANE];
};

/*
 * A warp takes `take` rows, which lie behind one another: a lane finds the key of one, and then all
 * lanes share their elements, LANE at a time.
 */
template <int LANE>
static __global__ void dropout_kernel(gnn_dropout_args a, uint32_t take)
{
	const uint32_t lane = threadIdx.x % WARP, per_row = a.width / LANE;
	const uint64_t stride = gnn_grid_stride() / WARP * take;

	for (uint64_t base = gnn_grid_first() / WARP * take; base < a.rows; base += stride) {
		const uint32_t rows = (uint32_t)(a.rows - base < take ? a.rows - base : take);
		const uint64_t mine = lane < rows ?
			gnn_rng_u64(a.drop.seed, a.drop.stream, a.id[base + lane]) : 0;
		const float *from = a.from + base * a.width;
		float *to = a.to + base * a.width;

		for (uint32_t at = lane; at - lane < rows * per_row; at += WARP) {
			const bool inside = at < rows * per_row;
			const uint32_t row = inside ? at / per_row : 0;
			const uint32_t column = (at - row * per_row) * LANE;
			const uint64_t key = __shfl_sync(~0u, mine, row);

			if (!inside)
				continue;
			floats<LANE> q = reinterpret_cast<const floats<LANE> *>(from)[at];
#pragma unroll
			for (uint32_t k = 0; k < LANE; k++)
				q.v[k] = gnn_drop_draw(key, column + k) < a.drop.below ? 0.0f
					: q.v[k] * a.drop.scale;
			reinterpret_cast<floats<LANE> *>(to)[at] = q;
		}
	}
}

extern "C" int gnn_cuda_run_dropout(const struct gnn_dropout_args *a, void *stream)
{
	const uint64_t pitch = a->width * sizeof(float);
	const uint32_t take = rows_a_warp(a->rows,
		GNN_GRID_MAX / 4 * (GNN_BLOCK_THREADS / WARP));
	const unsigned grid = gnn_grid(a->rows, (uint64_t)take * (GNN_BLOCK_THREADS / WARP));

	if (a->rows * a->width == 0)
		return GNN_OK;
	if (gnn_aligned16(a->from, pitch) && gnn_aligned16(a->to, pitch))
		dropout_kernel<4><<<grid, GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*a, take);
	else
		dropout_kernel<1><<<grid, GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*a, take);
	GNN_RET_LAUNCH("dropout");
	return GNN_OK;
}

static __global__ void activate_kernel(int act, float *y, uint64_t count)
{
	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride()) {
		if (act == GNN_ACT_RELU)
			y[i] = y[i] < 0.0f ? 0.0f : y[i];
		else
			y[i] = y[i] > 0.0f ? y[i] : gnn_expm1f(y[i]);
	}
}

static __global__ void activate_back_kernel(int act, const float *y, float *dy, uint64_t count)
{
	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride()) {
		if (act == GNN_ACT_RELU)
			dy[i] = y[i] > 0.0f ? dy[i] : 0.0f;
		else
			dy[i] *= y[i] > 0.0f ? 1.0f : y[i] + 1.0f;
	}
}

extern "C" int gnn_cuda_run_activate(const struct gnn_activate_args *a, bool back, void *stream)
{
	const unsigned grid = gnn_grid(a->count, GNN_BLOCK_THREADS);
	cudaStream_t s = (cudaStream_t)stream;

	GNN_ASSERT(a->act == GNN_ACT_NONE || a->act == GNN_ACT_RELU || a->act == GNN_ACT_ELU);
	if (a->act == GNN_ACT_NONE || a->count == 0)
		return GNN_OK;
	if (back)
		activate_back_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>((int)a->act, a->y, a->dy,
			a->count);
	else
		activate_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>((int)a->act, a->y, a->count);
	GNN_RET_LAUNCH("activation");
	return GNN_OK;
}

static __global__ void finish_kernel(gnn_finish_args a)
{
	for (uint64_t i = gnn_grid_first(); i < a.rows * a.channels; i += gnn_grid_stride()) {
		const uint64_t r = i / a.channels, c = i % a.channels;
		const float *x = a.x + r * a.heads * a.channels + c;
		float sum = x[0];

		for (uint32_t k = 1; k < a.heads; k++)
			sum += x[(uint64_t)k * a.channels];
		a.y[i] = (a.heads > 1 ? sum / (float)a.heads : sum) + a.bias[c];
	}
}

extern "C" int gnn_cuda_run_finish(const struct gnn_finish_args *a, void *stream)
{
	if (a->rows * a->channels == 0)
		return GNN_OK;
	finish_kernel<<<gnn_grid(a->rows * a->channels, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(*a);
	GNN_RET_LAUNCH("finish");
	return GNN_OK;
}

/* What one step of the optimiser is, with all that depends on the step alone worked out. */
struct step {
	float decay, shrink, step, root, lr, momentum, scale;
	bool  sgd, first;
};

/* Of floats that are not negative, the bits are ordered as the values. */
static __device__ __forceinline__ void note_most(float *most, float change)
{
	atomicMax((unsigned *)most, __float_as_uint(change));
}

static __global__ void update_kernel(float *w, const float *g, float *m, float *v, uint64_t count,
	struct step s, float *most)
{
	float largest = 0.0f;

	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride()) {
		const float d = s.scale * g[i] + s.decay * w[i];
		float change;

		if (s.sgd) {
			m[i] = s.first ? d : s.momentum * m[i] + d;
			change = s.lr * m[i];
		} else {
			m[i] = 0.9f * m[i] + (1.0f - 0.9f) * d;
			v[i] = 0.999f * v[i] + (1.0f - 0.999f) * d * d;
			change = s.shrink * w[i] + s.step * m[i] / (sqrtf(v[i]) * s.root + 1e-8f);
		}
		w[i] -= change;
		largest = fmaxf(largest, fabsf(change));
	}
	for (int k = WARP / 2; k > 0; k /= 2)
		largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, k));
	if (threadIdx.x % WARP == 0)
		note_most(most, largest);
}

extern "C" int gnn_cuda_run_update(const struct gnn_update_args *a, float *most, void *stream)
{
	struct step s;

	if (a->count == 0)
		return GNN_OK;
	s.sgd = a->kind == GNN_SGD;
	s.first = a->step == 1;
	s.decay = a->kind == GNN_ADAMW ? 0.0f : (float)a->weight_decay;
	s.shrink = a->kind == GNN_ADAMW ? (float)(a->lr * a->weight_decay) : 0.0f;
	s.step = (float)(a->lr / (1.0 - pow(0.9, (double)a->step)));
	s.root = (float)(1.0 / sqrt(1.0 - pow(0.999, (double)a->step)));
	s.lr = (float)a->lr;
	s.momentum = (float)a->momentum;
	s.scale = a->scale;
	update_kernel<<<gnn_grid(a->count, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(a->w, a->g, a->m, a->v, a->count, s, most);
	GNN_RET_LAUNCH("update");
	return GNN_OK;
}
