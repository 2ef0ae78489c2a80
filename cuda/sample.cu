/*
 * cuda/sample.cu - the blocks of a batch: entries counted, listed, numbered, weighed, turned.
 *
 * The entries of a destination are a warp's work: a uniform draw looks at k places of a list, labor
 * at all of it, 32 entries at a time. Rows are numbered in the order of entries as the CPU does:
 * each vertex keeps the least entry that names it (a minimum, whatever the order of arrival), those
 * entries are counted by a scan, and the count is the row. A block is turned by CUB's radix sort
 * over sources, which is stable.
 */
#include "cuda/common.cuh"
#include "cuda/distinct.cuh"
#include "cuda/gnn_cuda_sample.h"
#include "op/hop_entries.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

enum { WARP = GNN_WARP };

static int cub_failed(cudaError_t error)
{
	cudaGetLastError();
	return gnn_err(GNN_EOS, "CUDA refuses to sample: %s", cudaGetErrorString(error));
}

static __global__ void enter_kernel(uint32_t *table, const uint64_t *id, uint64_t count,
	bool there)
{
	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride())
		table[id[i]] = there ? (uint32_t)i : GNN_NO_ROW;
}

extern "C" int gnn_cuda_run_enter(uint32_t *table, const uint64_t *id, uint64_t count, bool there,
	void *stream)
{
	if (count == 0)
		return GNN_OK;
	enter_kernel<<<gnn_grid(count, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		(cudaStream_t)stream>>>(table, id, count, there);
	GNN_RET_LAUNCH("sampling");
	return GNN_OK;
}

/* Messages of a list that labor takes, by all lanes of a warp. */
static __device__ uint64_t count_taken(const gnn_hop &h, uint64_t v)
{
	const gnn_hop_list l = gnn_hop_list_of(&h, v);
	uint64_t count = 0;

	for (uint64_t p = 0; p < l.population; p += WARP) {
		const uint64_t at = p + gnn_warp_lane();
		const bool takes = at < l.population &&
			gnn_hop_takes(&h, gnn_hop_source(&h, &l, at), l.population);

		count += __popc(__ballot_sync(~0u, takes));
	}
	return count;
}

static __global__ void count_kernel(gnn_hop h, gnn_hop_rows rows)
{
	for (uint64_t i = gnn_grid_first(); i < rows.dst_count; i += gnn_grid_stride())
		rows.first[i + 1] = gnn_hop_count(&h, rows.id[i]) + h.rule.own;
}

static __global__ void count_labor_kernel(gnn_hop h, gnn_hop_rows rows)
{
	for (uint64_t i = gnn_grid_first() / WARP; i < rows.dst_count;
	     i += gnn_grid_stride() / WARP) {
		const uint64_t v = rows.id[i], n = gnn_rule_population(&h.rule, &h.lists, v);
		const uint64_t count = gnn_hop_looks(&h, n) ? count_taken(h, v) : n;

		if (gnn_warp_lane() == 0)
			rows.first[i + 1] = count + h.rule.own;
	}
}

static __global__ void answer_kernel(const uint64_t *from, uint64_t *answer)
{
	*answer = *from;
}

extern "C" int gnn_cuda_run_count(const struct gnn_cuda_sample *work, const struct gnn_hop *h,
	const struct gnn_hop_rows *rows, void *stream)
{
	const uint64_t n = rows->dst_count;
	cudaStream_t s = (cudaStream_t)stream;
	size_t bytes = work->scratch_bytes;
	cudaError_t error = cudaMemsetAsync(rows->first, 0, sizeof(*rows->first), s);

	if (error == cudaSuccess && n > 0) {
		if (h->sampling == GNN_SAMPLE_LABOR)
			count_labor_kernel<<<gnn_grid(n, GNN_BLOCK_THREADS / WARP),
				GNN_BLOCK_THREADS, 0, s>>>(*h, *rows);
		else
			count_kernel<<<gnn_grid(n, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
				s>>>(*h, *rows);
		GNN_RET_LAUNCH("sampling");
		error = cub::DeviceScan::InclusiveSum(work->scratch, bytes, rows->first + 1,
			rows->first + 1, (int64_t)n, s);
	}
	if (error != cudaSuccess)
		return cub_failed(error);
	answer_kernel<<<1, 1, 0, s>>>(rows->first + n, work->answer);
	GNN_RET_LAUNCH("sampling");
	return GNN_OK;
}

/* Where a warp puts the sources of v: the own row in front of the first that is no less. */
struct listing {
	uint64_t v, *to;
	bool own;
	uint64_t below; /* sources that are less */
};

static __device__ __forceinline__ void put(listing *l, bool inside, uint64_t rank, uint64_t u)
{
	if (inside)
		l->to[rank + (l->own && u >= l->v)] = u;
	l->below += __popc(__ballot_sync(~0u, inside && u < l->v));
}

static __device__ void list_whole(const gnn_hop &h, const gnn_hop_list &from, listing *l)
{
	for (uint64_t p = 0; p < from.population; p += WARP) {
		const uint64_t at = p + gnn_warp_lane();
		const bool inside = at < from.population;

		put(l, inside, at, inside ? gnn_hop_source(&h, &from, at) : 0);
	}
}

static __device__ void list_small(const gnn_hop &h, const gnn_hop_list &from, uint64_t key,
	listing *l)
{
	const uint64_t taken = gnn_warp_draw_small((uint32_t)h.k, (uint32_t)from.population, key);

	for (uint32_t at = gnn_warp_lane(); at < GNN_DRAW_SMALL; at += WARP) {
		const bool inside = (taken >> at & 1) != 0;

		put(l, inside, __popcll(taken & ((UINT64_C(1) << at) - 1)),
			inside ? gnn_hop_source(&h, &from, at) : 0);
	}
}

static __device__ void list_large(const gnn_hop &h, const gnn_hop_list &from, uint64_t key,
	listing *l)
{
	uint64_t place[GNN_WARP_HELD];
	uint32_t rank[GNN_WARP_HELD];

	gnn_warp_draw_large(l->to, (uint32_t)h.k, from.population, key, place, rank);
#pragma unroll
	for (uint32_t c = 0; c < GNN_WARP_HELD; c++) {
		const bool inside = gnn_warp_lane() + c * WARP < h.k;

		put(l, inside, rank[c], inside ? gnn_hop_source(&h, &from, place[c]) : 0);
	}
}

static __global__ void list_kernel(gnn_hop h, gnn_hop_rows rows, uint64_t *entry)
{
	for (uint64_t i = gnn_grid_first() / WARP; i < rows.dst_count;
	     i += gnn_grid_stride() / WARP) {
		const uint64_t v = rows.id[i], key = gnn_rng_u64(h.seed, h.stream, v);
		const gnn_hop_list from = gnn_hop_list_of(&h, v);
		listing l = {v, entry + rows.first[i], h.rule.own, 0};

		if (from.population > h.k && h.k > GNN_WARP_DRAWS) { /* as the CPU does */
			if (gnn_warp_lane() == 0)
				gnn_hop_entries(&h, v, l.to, NULL,
					rows.first[i + 1] - rows.first[i]);
			continue;
		}
		if (from.population <= h.k)
			list_whole(h, from, &l);
		else if (from.population <= GNN_DRAW_SMALL)
			list_small(h, from, key, &l);
		else
			list_large(h, from, key, &l);
		if (l.own && gnn_warp_lane() == 0)
			l.to[l.below] = v;
	}
}

static __global__ void list_labor_kernel(gnn_hop h, gnn_hop_rows rows, uint64_t *entry)
{
	for (uint64_t i = gnn_grid_first() / WARP; i < rows.dst_count;
	     i += gnn_grid_stride() / WARP) {
		const uint64_t v = rows.id[i];
		const gnn_hop_list l = gnn_hop_list_of(&h, v);
		const bool looks = gnn_hop_looks(&h, l.population);
		uint64_t *to = entry + rows.first[i], count = 0;

		for (uint64_t p = 0; p < l.population; p += WARP) {
			const uint64_t at = p + gnn_warp_lane();
			const bool inside = at < l.population;
			const uint64_t u = inside ? gnn_hop_source(&h, &l, at) : 0;
			const bool takes = inside &&
				(!looks || gnn_hop_takes(&h, u, l.population));
			const uint32_t taken = __ballot_sync(~0u, takes);
			const uint32_t below = taken & ((1u << gnn_warp_lane()) - 1);

			if (takes)
				to[count + __popc(below)] = u;
			count += __popc(taken);
		}
		__syncwarp();
		if (h.rule.own && gnn_warp_lane() == 0)
			gnn_hop_put_own(v, to, count);
	}
}

extern "C" int gnn_cuda_run_list(const struct gnn_hop *h, const struct gnn_hop_rows *rows,
	uint64_t *entry, void *stream)
{
	const uint64_t n = rows->dst_count;
	cudaStream_t s = (cudaStream_t)stream;

	if (n == 0)
		return GNN_OK;
	if (h->sampling == GNN_SAMPLE_LABOR)
		list_labor_kernel<<<gnn_grid(n, GNN_BLOCK_THREADS / WARP), GNN_BLOCK_THREADS, 0,
			s>>>(*h, *rows, entry);
	else
		list_kernel<<<gnn_grid(n, GNN_BLOCK_THREADS / WARP), GNN_BLOCK_THREADS, 0,
			s>>>(*h, *rows, entry);
	GNN_RET_LAUNCH("sampling");
	return GNN_OK;
}

/* Rows that are there lie below id_count, so that no entry takes their place. */
static __global__ void claim_kernel(gnn_number_args a)
{
	for (uint64_t e = gnn_grid_first(); e < a.entry_count; e += gnn_grid_stride())
		atomicMin(&a.table[a.entry[e]], (uint32_t)(a.id_count + e));
}

static __global__ void flag_kernel(gnn_number_args a, uint32_t *flag)
{
	for (uint64_t e = gnn_grid_first(); e < a.entry_count; e += gnn_grid_stride())
		flag[e] = a.table[a.entry[e]] == (uint32_t)(a.id_count + e);
}

/* place: flags in front of each entry. */
static __global__ void place_kernel(gnn_number_args a, const uint32_t *flag,
	const uint32_t *place, uint64_t *answer)
{
	for (uint64_t e = gnn_grid_first(); e < a.entry_count; e += gnn_grid_stride()) {
		const uint64_t row = a.id_count + place[e];

		if (flag[e] != 0) {
			a.id[row] = a.entry[e];
			a.table[a.entry[e]] = (uint32_t)row;
		}
		if (e + 1 == a.entry_count)
			*answer = place[e] + flag[e];
	}
}

static __global__ void src_kernel(gnn_number_args a)
{
	for (uint64_t e = gnn_grid_first(); e < a.entry_count; e += gnn_grid_stride())
		a.src[e] = a.table[a.entry[e]];
}

extern "C" int gnn_cuda_run_number(const struct gnn_cuda_sample *work,
	const struct gnn_number_args *a, void *stream)
{
	const unsigned grid = gnn_grid(a->entry_count, GNN_BLOCK_THREADS);
	cudaStream_t s = (cudaStream_t)stream;
	size_t bytes = work->scratch_bytes;
	cudaError_t error;

	GNN_ASSERT(a->entry_count > 0 && a->entry_count <= work->items);
	claim_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(*a);
	flag_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(*a, work->key);
	GNN_RET_LAUNCH("sampling");
	error = cub::DeviceScan::ExclusiveSum(work->scratch, bytes, work->key, work->value,
		(int64_t)a->entry_count, s);
	if (error != cudaSuccess)
		return cub_failed(error);
	place_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(*a, work->key, work->value, work->answer);
	src_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(*a);
	GNN_RET_LAUNCH("sampling");
	return GNN_OK;
}

static __global__ void norm_kernel(gnn_hop h, gnn_weigh_args a)
{
	for (uint64_t i = gnn_grid_first(); i < a.src_count; i += gnn_grid_stride())
		a.norm[i] = gnn_rule_norm(&h.rule, &h.lists, a.rows.id[i]);
}

static __global__ void weigh_kernel(gnn_hop h, gnn_weigh_args a)
{
	const gnn_hop_rows &r = a.rows;

	for (uint64_t i = gnn_grid_first(); i < r.dst_count; i += gnn_grid_stride())
		gnn_hop_weigh(&h, r.id[i], i, a.src + r.first[i], r.first[i + 1] - r.first[i],
			a.norm, a.weight + r.first[i]);
}

extern "C" int gnn_cuda_run_weigh(const struct gnn_hop *h, const struct gnn_weigh_args *a,
	void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;

	if (a->rows.dst_count == 0)
		return GNN_OK;
	if (h->rule.weighting == GNN_WEIGH_GCN)
		norm_kernel<<<gnn_grid(a->src_count, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
			s>>>(*h, *a);
	weigh_kernel<<<gnn_grid(a->rows.dst_count, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		s>>>(*h, *a);
	GNN_RET_LAUNCH("sampling");
	return GNN_OK;
}

static __global__ void number_kernel(uint32_t *to, uint64_t count)
{
	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride())
		to[i] = (uint32_t)i;
}

/* The last of [0, count) whose first is at most e. */
static __device__ uint64_t destination_of(const uint64_t *first, uint64_t count, uint64_t e)
{
	uint64_t low = 0, high = count;

	while (high - low > 1) {
		const uint64_t middle = (low + high) / 2;

		if (first[middle] <= e)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static __global__ void back_kernel(gnn_turn_args a)
{
	for (uint64_t i = gnn_grid_first(); i < a.entry_count; i += gnn_grid_stride()) {
		const uint64_t e = a.back_entry[i];

		a.back_dst[i] = (uint32_t)destination_of(a.first, a.dst_count, e);
		if (a.weight != nullptr)
			a.back_weight[i] = a.weight[e];
	}
}

/* Where each source begins in the sorted sources. */
static __global__ void back_first_kernel(gnn_turn_args a, const uint32_t *key)
{
	for (uint64_t u = gnn_grid_first(); u <= a.src_count; u += gnn_grid_stride()) {
		uint64_t low = 0, high = a.entry_count;

		while (low < high) {
			const uint64_t middle = (low + high) / 2;

			if (key[middle] < u)
				low = middle + 1;
			else
				high = middle;
		}
		a.back_first[u] = low;
	}
}

static cudaError_t sort_sources(void *scratch, size_t *bytes, const uint32_t *src,
	uint32_t *key_out, const uint32_t *value, uint32_t *value_out, uint64_t count, int bits,
	cudaStream_t s)
{
	return cub::DeviceRadixSort::SortPairs(scratch, *bytes, src, key_out, value, value_out,
		(int64_t)count, 0, bits, s);
}

extern "C" int gnn_cuda_run_turn(const struct gnn_cuda_sample *work,
	const struct gnn_turn_args *a, void *stream)
{
	const unsigned grid = gnn_grid(a->entry_count, GNN_BLOCK_THREADS);
	const int bits = a->src_count < 2 ? 1 : 64 - __builtin_clzll(a->src_count - 1);
	cudaStream_t s = (cudaStream_t)stream;
	size_t bytes = work->scratch_bytes;
	cudaError_t error = cudaSuccess;

	GNN_ASSERT(a->entry_count <= work->items);
	if (a->entry_count > 0) {
		number_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(work->value, a->entry_count);
		GNN_RET_LAUNCH("sampling");
		error = sort_sources(work->scratch, &bytes, a->src, work->key_out, work->value,
			a->back_entry, a->entry_count, bits, s);
	}
	if (error != cudaSuccess)
		return cub_failed(error);
	back_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(*a);
	back_first_kernel<<<gnn_grid(a->src_count + 1, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		s>>>(*a, work->key_out);
	GNN_RET_LAUNCH("sampling");
	return GNN_OK;
}

extern "C" int gnn_cuda_sample_scratch(uint64_t items, uint64_t *bytes)
{
	size_t need[3] = {0, 0, 0};
	uint64_t *wide = nullptr;
	uint32_t *narrow = nullptr;
	cudaError_t error = cub::DeviceScan::InclusiveSum(nullptr, need[0], wide, wide,
		(int64_t)items);

	if (error == cudaSuccess)
		error = cub::DeviceScan::ExclusiveSum(nullptr, need[1], narrow, narrow,
			(int64_t)items);
	if (error == cudaSuccess)
		error = sort_sources(nullptr, &need[2], narrow, narrow, narrow, narrow, items, 32,
			nullptr);
	if (error != cudaSuccess)
		return cub_failed(error);
	need[0] = need[0] > need[1] ? need[0] : need[1];
	*bytes = need[0] > need[2] ? need[0] : need[2];
	return GNN_OK;
}
