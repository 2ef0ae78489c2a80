/*
 * cuda/places.cu - orders of vertices measured and moved; see op/places.h.
 *
 * GNN_PLACE_LANES threads take one list, so that its neighbours are read together; places and
 * centres are gathered, one sector each, which is what bounds both passes. What is summed over a
 * list is integer, or goes by lanes as op/places_fold.h says; dispersions are stored and summed by
 * one thread a block of vertices. Atomics are of integers only: deterministic, the CPU's bits. The
 * sort is CUB's stable radix sort of (position, id) laid out in the order of the places.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda_places.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

enum { KEY_BITS = 63 }; /* of doubles that are not negative */

static int cub_failed(cudaError_t error)
{
	cudaGetLastError();
	return gnn_err(GNN_EOS, "CUDA refuses to order vertices: %s", cudaGetErrorString(error));
}

/* --- places --- */

static __global__ void narrow_kernel(uint32_t *to, const uint64_t *from, uint64_t count)
{
	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride())
		to[i] = (uint32_t)from[i];
}

static __global__ void widen_kernel(uint64_t *to, const uint32_t *from, uint64_t count)
{
	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride())
		to[i] = from[i];
}

extern "C" int gnn_cuda_run_place_narrow(const struct gnn_cuda_place_work *w, void *stream)
{
	narrow_kernel<<<gnn_grid(w->vertices, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(w->place, w->key[0], w->vertices);
	GNN_RET_LAUNCH("places");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_place_widen(const struct gnn_cuda_place_work *w, const uint32_t *place,
	void *stream)
{
	widen_kernel<<<gnn_grid(w->vertices, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(w->key[0], place, w->vertices);
	GNN_RET_LAUNCH("places");
	return GNN_OK;
}

/* --- one list, by its lanes --- */

/* The lanes of the list that this thread is of. */
static __device__ __forceinline__ unsigned lanes_mask()
{
	return 0xffffu << (threadIdx.x % 32 / GNN_PLACE_LANES * GNN_PLACE_LANES);
}

static __device__ gnn_place_fold fold_list(const uint32_t *neighbor, uint64_t count,
	const uint32_t *place, uint32_t own, unsigned lane, unsigned mask)
{
	gnn_place_fold f = {0, 0, 0, {0, 0}};

#pragma unroll 4
	for (uint64_t i = lane; i < count; i += GNN_PLACE_LANES)
		gnn_place_take(&f, (int64_t)place[neighbor[i]] - (int64_t)own);
	for (unsigned half = GNN_PLACE_LANES / 2; half > 0; half /= 2) {
		const int64_t low = __shfl_xor_sync(mask, (long long)f.low, half);
		const int64_t high = __shfl_xor_sync(mask, (long long)f.high, half);
		const uint64_t words[2] = {
			__shfl_xor_sync(mask, (unsigned long long)f.squares[0], half),
			__shfl_xor_sync(mask, (unsigned long long)f.squares[1], half)};

		f.low = low < f.low ? low : f.low;
		f.high = high > f.high ? high : f.high;
		f.sum += __shfl_xor_sync(mask, (long long)f.sum, half);
		gnn_place_squares(&f, words[0], words[1]);
	}
	return f;
}

static __device__ gnn_centre sum_centres(const uint32_t *neighbor, uint64_t count,
	const gnn_centre *centre, unsigned lane, unsigned mask)
{
	gnn_centre sum = {0.0, 0.0};

#pragma unroll 4
	for (uint64_t i = lane; i < count; i += GNN_PLACE_LANES) {
		const double2 c = *reinterpret_cast<const double2 *>(&centre[neighbor[i]]);

		sum.pull += c.x;
		sum.weight += c.y;
	}
	for (unsigned half = GNN_PLACE_LANES / 2; half > 0; half /= 2) {
		sum.pull += __shfl_xor_sync(mask, sum.pull, half);
		sum.weight += __shfl_xor_sync(mask, sum.weight, half);
	}
	return sum;
}

/* --- measuring --- */

static __device__ void add_change(uint64_t *change, int64_t at, int64_t n)
{
	atomicAdd((unsigned long long *)&change[at], (unsigned long long)n);
}

/* What one list adds; by its first lane. */
static __device__ void note_list(const gnn_cuda_place_work &w, uint64_t v, uint64_t count,
	const gnn_place_fold &f)
{
	const int64_t own = w.place[v];

	((double *)w.key[1])[v] = gnn_place_dispersion(&f, count);
	if (w.centre != nullptr) {
		const gnn_centre c = gnn_place_centre(&f, count, (uint64_t)own);

		*reinterpret_cast<double2 *>(&w.centre[v]) = make_double2(c.pull, c.weight);
	}
	if (f.low != f.high) {
		add_change(w.key[0], own + f.low, 1);
		add_change(w.key[0], own + f.high, -1);
	}
}

static __global__ void spread_kernel(gnn_cuda_place_work w, gnn_cuda_place_lists in)
{
	const unsigned lane = threadIdx.x % GNN_PLACE_LANES, mask = lanes_mask();
	unsigned long long span = 0, bandwidth = 0;

	for (uint64_t i = gnn_grid_first() / GNN_PLACE_LANES; i < in.end - in.first;
		i += gnn_grid_stride() / GNN_PLACE_LANES) {
		const uint64_t begin = in.offsets[i], count = in.offsets[i + 1] - begin;
		const gnn_place_fold f = fold_list(in.neighbors + (begin - in.offsets[0]), count,
			w.place, w.place[in.first + i], lane, mask);

		if (lane != 0)
			continue;
		span += (uint64_t)(f.high - f.low);
		bandwidth = max(bandwidth, (unsigned long long)max((long long)f.high,
			(long long)-f.low));
		note_list(w, in.first + i, count, f);
	}
	__syncwarp();
	if (lane == 0) {
		atomicAdd((unsigned long long *)&w.totals->span, span);
		atomicMax((unsigned long long *)&w.totals->bandwidth, bandwidth);
	}
}

/* One thread a block, its terms in order. */
static __global__ void blocks_kernel(const double *term, uint64_t vertices, double *block,
	uint64_t blocks)
{
	for (uint64_t b = gnn_grid_first(); b < blocks; b += gnn_grid_stride()) {
		const uint64_t first = b * GNN_PLACE_BLOCK;
		const uint64_t end = min(first + GNN_PLACE_BLOCK, vertices);
		double sum = 0.0;

#pragma unroll 8
		for (uint64_t v = first; v < end; v++)
			sum += term[v];
		block[b] = sum;
	}
}

static cudaError_t scan_changes(const struct gnn_cuda_place_work *w, void *scratch, size_t *bytes,
	cudaStream_t s)
{
	int64_t *change = (int64_t *)w->key[0];

	return cub::DeviceScan::InclusiveSum(scratch, *bytes, change, change,
		(int64_t)w->vertices, s);
}

static cudaError_t sum_active(const struct gnn_cuda_place_work *w, void *scratch, size_t *bytes,
	cudaStream_t s)
{
	return cub::DeviceReduce::Sum(scratch, *bytes, (const int64_t *)w->key[0],
		w->totals == nullptr ? nullptr : &w->totals->active_sum, (int64_t)w->vertices, s);
}

static cudaError_t peak_active(const struct gnn_cuda_place_work *w, void *scratch, size_t *bytes,
	cudaStream_t s)
{
	return cub::DeviceReduce::Max(scratch, *bytes, (const int64_t *)w->key[0],
		w->totals == nullptr ? nullptr : &w->totals->active_peak, (int64_t)w->vertices, s);
}

static cudaError_t sort_keys(const struct gnn_cuda_place_work *w, void *scratch, size_t *bytes,
	cub::DoubleBuffer<uint64_t> *key, cub::DoubleBuffer<uint32_t> *id, cudaStream_t s)
{
	return cub::DeviceRadixSort::SortPairs(scratch, *bytes, *key, *id, (int64_t)w->vertices, 0,
		KEY_BITS, s);
}

extern "C" int gnn_cuda_places_scratch(uint64_t vertices, bool moves, uint64_t *bytes)
{
	const gnn_cuda_place_work w = {vertices, nullptr, nullptr, {nullptr, nullptr},
		{nullptr, nullptr}, nullptr, nullptr, nullptr, 0};
	cub::DoubleBuffer<uint64_t> key(nullptr, nullptr);
	cub::DoubleBuffer<uint32_t> id(nullptr, nullptr);
	size_t wants[4] = {0, 0, 0, 0};
	cudaError_t error = scan_changes(&w, nullptr, &wants[0], nullptr);

	if (error == cudaSuccess)
		error = sum_active(&w, nullptr, &wants[1], nullptr);
	if (error == cudaSuccess)
		error = peak_active(&w, nullptr, &wants[2], nullptr);
	if (error == cudaSuccess && moves)
		error = sort_keys(&w, nullptr, &wants[3], &key, &id, nullptr);
	if (error != cudaSuccess)
		return cub_failed(error);
	*bytes = 1;
	for (size_t want : wants)
		*bytes = want > *bytes ? want : *bytes;
	return GNN_OK;
}

static unsigned lists_grid(const struct gnn_cuda_place_lists *l)
{
	return gnn_grid((l->end - l->first) * GNN_PLACE_LANES, GNN_BLOCK_THREADS);
}

extern "C" int gnn_cuda_run_spread(const struct gnn_cuda_place_work *w,
	const struct gnn_cuda_place_lists *in, void *stream)
{
	GNN_ASSERT(in->first <= in->end && in->end <= w->vertices);
	spread_kernel<<<lists_grid(in), GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*w, *in);
	GNN_RET_LAUNCH("measuring an order");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_spread_end(const struct gnn_cuda_place_work *w, void *stream)
{
	const uint64_t blocks = (w->vertices + GNN_PLACE_BLOCK - 1) / GNN_PLACE_BLOCK;
	cudaStream_t s = (cudaStream_t)stream;
	size_t bytes = w->scratch_bytes;
	cudaError_t error = cudaSuccess;

	if (w->vertices == 0)
		return GNN_OK;
	blocks_kernel<<<gnn_grid(blocks, 32), 32, 0, s>>>((const double *)w->key[1], w->vertices,
		w->block, blocks);
	GNN_RET_LAUNCH("dispersions");
	error = scan_changes(w, w->scratch, &bytes, s);
	bytes = w->scratch_bytes;
	if (error == cudaSuccess)
		error = sum_active(w, w->scratch, &bytes, s);
	bytes = w->scratch_bytes;
	if (error == cudaSuccess)
		error = peak_active(w, w->scratch, &bytes, s);
	return error == cudaSuccess ? GNN_OK : cub_failed(error);
}

/* --- moving --- */

static __global__ void pull_kernel(gnn_cuda_place_work w, gnn_cuda_place_lists out)
{
	const unsigned lane = threadIdx.x % GNN_PLACE_LANES, mask = lanes_mask();

	for (uint64_t i = gnn_grid_first() / GNN_PLACE_LANES; i < out.end - out.first;
		i += gnn_grid_stride() / GNN_PLACE_LANES) {
		const uint64_t begin = out.offsets[i], v = out.first + i;
		const gnn_centre sum = sum_centres(out.neighbors + (begin - out.offsets[0]),
			out.offsets[i + 1] - begin, w.centre, lane, mask);
		const gnn_centre own = w.centre[v];

		if (lane != 0)
			continue;
		w.key[0][w.place[v]] = (uint64_t)__double_as_longlong((own.pull + sum.pull) /
			(own.weight + sum.weight));
		w.id[0][w.place[v]] = (uint32_t)v;
	}
}

static __global__ void place_kernel(uint32_t *place, const uint32_t *id, uint64_t vertices,
	gnn_cuda_place_totals *totals)
{
	unsigned long long changed = 0;

	for (uint64_t i = gnn_grid_first(); i < vertices; i += gnn_grid_stride()) {
		const uint32_t v = id[i];

		changed += place[v] != (uint32_t)i;
		place[v] = (uint32_t)i;
	}
	if (changed != 0)
		atomicAdd((unsigned long long *)&totals->changed, changed);
}

extern "C" int gnn_cuda_run_pull(const struct gnn_cuda_place_work *w,
	const struct gnn_cuda_place_lists *out, void *stream)
{
	GNN_ASSERT(out->first <= out->end && out->end <= w->vertices && w->centre != NULL);
	pull_kernel<<<lists_grid(out), GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*w, *out);
	GNN_RET_LAUNCH("moving vertices");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_place_sort(const struct gnn_cuda_place_work *w, void *stream)
{
	cub::DoubleBuffer<uint64_t> key(w->key[0], w->key[1]);
	cub::DoubleBuffer<uint32_t> id(w->id[0], w->id[1]);
	cudaStream_t s = (cudaStream_t)stream;
	size_t bytes = w->scratch_bytes;
	cudaError_t error;

	if (w->vertices == 0)
		return GNN_OK;
	error = sort_keys(w, w->scratch, &bytes, &key, &id, s);
	if (error != cudaSuccess)
		return cub_failed(error);
	place_kernel<<<gnn_grid(w->vertices, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0, s>>>(
		w->place, id.Current(), w->vertices, w->totals);
	GNN_RET_LAUNCH("places");
	return GNN_OK;
}
