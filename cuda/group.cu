/*
 * cuda/group.cu - the edges of a chunk grouped by destination, in source order.
 *
 * An entry is one 64-bit word: destination, own flag, row of the chunk. Entries are laid out in
 * source order, own rows in front of their lists, and sorted by CUB's radix sort over the
 * destination's bits alone, which is stable. Destinations count from the first of the range;
 * entries that are dropped (loops, other destinations, what is in no sample) get the range's
 * count, past all others. Weights move with their entries. The row of an entry may be another than
 * the place of its list (sources): the sort does not look at it. Group starts are selected where
 * the destination changes. Deterministic: every place is computed, nothing is claimed by atomics.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

/* The row of the chunk whose list holds edge e. */
static __device__ __forceinline__ uint64_t row_of_edge(const uint64_t *offsets, uint64_t rows,
	uint64_t e)
{
	uint64_t low = 0, high = rows; /* offsets[low] <= e < offsets[high] */

	while (high - low > 1) {
		const uint64_t middle = (low + high) / 2;

		if (offsets[middle] <= e)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static __device__ __forceinline__ uint64_t neighbor_at(const gnn_edge_list &l, uint64_t i)
{
	return l.dtype == GNN_U32 ? ((const uint32_t *)l.neighbors)[i]
		: ((const uint64_t *)l.neighbors)[i];
}

/* The row at hand whose list is the `row`th. */
static __device__ __forceinline__ uint64_t source_of(const gnn_edge_list &l, uint64_t row)
{
	return l.source != nullptr ? l.source[row] : row;
}

/* The first neighbour of [low, high) that is v, which stands at `high`. */
static __device__ uint64_t first_copy(const gnn_edge_list &l, uint64_t low, uint64_t high,
	uint64_t v)
{
	while (low < high) {
		const uint64_t middle = (low + high) / 2;

		if (neighbor_at(l, middle) < v)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether edge i of the list, in row `row` and to v, is in the sample of v. */
static __device__ bool is_sampled(const gnn_edge_list &l, uint64_t row, uint64_t i, uint64_t v)
{
	const uint64_t begin = l.offsets[row];
	const bool cut = begin < l.edge_begin;
	const uint64_t low = cut ? 0 : begin - l.edge_begin;
	uint64_t first = i, copy;

	if (i > low && neighbor_at(l, i - 1) == v)
		first = first_copy(l, low, i, v);
	copy = i - first + (first == 0 && cut ? l.copies : 0);
	return gnn_draw_keeps(&l.sample, gnn_draw_source(&l.sample, l.first_vertex + row, copy),
		v);
}

static __global__ void edges_kernel(gnn_edge_list l, uint64_t *key, float *weight,
	uint32_t row_bits, uint64_t vertices, uint32_t *broken)
{
	for (uint64_t i = gnn_grid_first(); i < l.edge_end - l.edge_begin; i += gnn_grid_stride()) {
		const uint64_t row = row_of_edge(l.offsets, l.rows, l.edge_begin + i);
		const uint64_t owns = !l.own || row < l.row_begin ? 0 : row - l.row_begin + 1;
		uint64_t v = neighbor_at(l, i);

		if (v >= vertices)
			*broken = 1;
		if (v - l.to.first >= l.to.count || (l.drop_loops && v == l.first_vertex + row) ||
			(l.sample.fanout != 0 && !l.drawn && !is_sampled(l, row, i, v)))
			v = l.to.first + l.to.count;
		key[i + owns] = ((v - l.to.first) << row_bits) | source_of(l, row);
		if (l.weighted)
			weight[i + owns] = l.weights[i];
	}
}

static __global__ void owns_kernel(gnn_edge_list l, uint64_t *key, float *weight,
	uint32_t row_bits)
{
	for (uint64_t i = gnn_grid_first(); i < l.row_end - l.row_begin; i += gnn_grid_stride()) {
		const uint64_t begin = l.offsets[l.row_begin + i];
		const uint64_t edges = begin > l.edge_begin ? begin - l.edge_begin : 0;
		const uint64_t row = source_of(l, l.row_begin + i);
		const bool here = l.source == nullptr || row < l.own_rows;
		uint64_t v = l.first_vertex + row - l.to.first;

		if (l.weighted)
			weight[edges + i] = l.own_weights == nullptr || !here ? 1.0f
				: l.own_weights[l.first_vertex + row];
		if (v >= l.to.count || !here)
			v = l.to.count;
		key[edges + i] = (v << row_bits) | (UINT64_C(1) << (row_bits - 1)) | row;
	}
}

static __global__ void decode_kernel(const uint64_t *key, uint64_t entries, uint32_t row_bits,
	uint64_t vertices, uint32_t *src, uint8_t *head, uint64_t *counter)
{
	const uint64_t own = UINT64_C(1) << (row_bits - 1);

	for (uint64_t i = gnn_grid_first(); i < entries; i += gnn_grid_stride()) {
		const uint64_t k = key[i], v = k >> row_bits;
		const bool stays = v != vertices;

		src[i] = (uint32_t)(k & (own - 1)) | ((k & own) != 0 ? GNN_OWN_BIT : 0);
		head[i] = stays && (i == 0 || (key[i - 1] >> row_bits) != v);
		/* The last entry that stays says how many there are; with none, entry 0 says so. */
		if (stays && (i + 1 == entries || (key[i + 1] >> row_bits) == vertices))
			counter[1] = i + 1;
		if (i == 0 && !stays)
			counter[1] = 0;
	}
}

/* Entries that were drawn count for the population. */
static __global__ void scale_kernel(const uint64_t *key, uint64_t entries, uint32_t row_bits,
	gnn_range to, gnn_draw s, float *weight, bool weighted)
{
	for (uint64_t i = gnn_grid_first(); i < entries; i += gnn_grid_stride()) {
		const uint64_t v = key[i] >> row_bits;
		const bool own = ((key[i] >> (row_bits - 1)) & 1) != 0;
		const float w = weighted ? weight[i] : 1.0f;

		weight[i] = own || v == to.count ? w : w * gnn_draw_scale(&s, to.first + v);
	}
}

static __global__ void groups_kernel(const uint64_t *key, uint64_t *first, uint64_t *vertex,
	uint64_t *carry, const uint64_t *counter, uint32_t row_bits, gnn_range to,
	const uint64_t *hub_bits, const uint64_t *hub_rank)
{
	const uint64_t groups = counter[0];

	for (uint64_t g = gnn_grid_first(); g <= groups; g += gnn_grid_stride()) {
		uint64_t v, word, below;

		if (g == groups) {
			first[g] = counter[1];
			continue;
		}
		vertex[g] = key[first[g]] >> row_bits;
		v = to.first + vertex[g];
		word = hub_bits[v >> 6];
		below = word & ((UINT64_C(1) << (v & 63)) - 1);
		carry[g] = ((word >> (v & 63)) & 1) == 0 ? GNN_NO_CARRY
			: hub_rank[v >> 6] + __popcll(below) - to.carry_first;
	}
}

static int cub_failed(cudaError_t error)
{
	cudaGetLastError();
	return gnn_err(GNN_EOS, "CUDA refuses to group edges: %s", cudaGetErrorString(error));
}

struct entry_buffers {
	cub::DoubleBuffer<uint64_t> key;
	cub::DoubleBuffer<float>    weight;
	bool                        weighted;
};

static cudaError_t sort_entries(const struct gnn_cuda_group *g, void *scratch, size_t *bytes,
	entry_buffers *b, uint64_t entries, cudaStream_t stream)
{
	const int low = (int)g->row_bits, high = (int)(g->row_bits + g->vertex_bits);

	if (!b->weighted)
		return cub::DeviceRadixSort::SortKeys(scratch, *bytes, b->key, (int64_t)entries,
			low, high, stream);
	return cub::DeviceRadixSort::SortPairs(scratch, *bytes, b->key, b->weight,
		(int64_t)entries, low, high, stream);
}

static entry_buffers buffers_of(const struct gnn_cuda_group *g, bool weighted)
{
	return {cub::DoubleBuffer<uint64_t>(g->key[0], g->key[1]),
		cub::DoubleBuffer<float>(g->weight[0], g->weight[1]), weighted};
}

static cudaError_t select_heads(const struct gnn_cuda_group *g, void *scratch, size_t *bytes,
	uint64_t entries, cudaStream_t stream)
{
	return cub::DeviceSelect::Flagged(scratch, *bytes, thrust::counting_iterator<uint64_t>(0),
		g->head, g->first, g->counter, (int64_t)entries, stream);
}

extern "C" int gnn_cuda_group_scratch(const struct gnn_cuda_group *g, uint64_t *bytes)
{
	entry_buffers bare = buffers_of(g, false), weighed = buffers_of(g, true);
	size_t sort = 0, pairs = 0, select = 0;
	cudaError_t error = sort_entries(g, nullptr, &sort, &bare, g->entries, nullptr);

	if (error == cudaSuccess)
		error = sort_entries(g, nullptr, &pairs, &weighed, g->entries, nullptr);
	if (error == cudaSuccess)
		error = select_heads(g, nullptr, &select, g->entries, nullptr);
	if (error != cudaSuccess)
		return cub_failed(error);
	sort = sort > pairs ? sort : pairs;
	*bytes = sort > select ? sort : select;
	return GNN_OK;
}

extern "C" int gnn_cuda_run_group(const struct gnn_cuda_group *g, const struct gnn_edge_list *l,
	struct gnn_edge_batch *out, void *stream)
{
	const uint64_t edges = l->edge_end - l->edge_begin;
	const uint64_t owns = l->own ? l->row_end - l->row_begin : 0, entries = edges + owns;
	const unsigned grid = gnn_grid(entries, GNN_BLOCK_THREADS);
	const bool scaled = l->sample.fanout != 0 && l->sample.scaled;
	const bool weighs = l->weighted || scaled;
	entry_buffers b = buffers_of(g, l->weighted);
	cudaStream_t s = (cudaStream_t)stream;
	size_t bytes = g->scratch_bytes;
	cudaError_t error;

	GNN_ASSERT(entries <= g->entries && (!weighs || g->weight[0] != NULL));
	memset(out, 0, sizeof(*out));
	if (entries == 0)
		return GNN_OK;
	if (edges > 0)
		edges_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(*l, g->key[0], g->weight[0],
			g->row_bits, g->vertices, g->broken);
	if (owns > 0)
		owns_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(*l, g->key[0], g->weight[0],
			g->row_bits);
	GNN_RET_LAUNCH("grouping");
	error = sort_entries(g, g->scratch, &bytes, &b, entries, s);
	if (error != cudaSuccess)
		return cub_failed(error);
	decode_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(b.key.Current(), entries, g->row_bits,
		l->to.count, g->src, g->head, g->counter);
	if (scaled)
		scale_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(b.key.Current(), entries,
			g->row_bits, l->to, l->sample, b.weight.Current(), l->weighted);
	error = select_heads(g, g->scratch, &bytes, entries, s);
	if (error != cudaSuccess)
		return cub_failed(error);
	groups_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(b.key.Current(), g->first, g->vertex,
		g->carry, g->counter, g->row_bits, l->to, g->hub_bits, g->hub_rank);
	GNN_RET_LAUNCH("grouping");
	out->group_count = entries < l->to.count ? entries : l->to.count;
	out->group_counter = g->counter;
	out->entry_count = entries;
	out->vertex = g->vertex;
	out->slot = g->vertex;
	out->carry = g->carry;
	out->first = g->first;
	out->src = g->src;
	out->weight = weighs ? b.weight.Current() : NULL;
	return GNN_OK;
}
