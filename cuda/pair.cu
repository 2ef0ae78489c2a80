/*
 * cuda/pair.cu - attention whose scores take both rows of an edge u -> v, as in GATv2.
 *
 *   score    = sum over c of att[k][c] leaky(m_u[k C + c] + t_v[k C + c])       head k, C channels
 *   MAX      s_v[k] = max(s_v[k], score)                              NaN wins
 *   SOFTMAX  s_v[k C + c] += w m_u[k C + c],  s_v[K C + k] += w       w = exp(score - max_v[k])
 *
 * message (rows, pitch), target (V, pitch), state (slots, pitch), entries of a group in source
 * order. A warp takes one destination and head; a score is summed by lanes at stride 32 and a
 * fixed tree, the same for both kernels, so that no weight passes 1. Columns stay in registers
 * over all entries, COLUMNS blocks of 32 at a time, and are added one entry at a time.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda.h"
#include "op/expf.h"

enum {
	COLUMNS = 4, /* of a lane in registers: 128 channels without a second walk */
	AHEAD = 4,   /* entries whose scores are under way at once */
};

struct pair_task {
	uint64_t vertex, slot, carry, begin, end;
	uint32_t head, lane, channels;
	const float *target, *att; /* of the head */
};

static __device__ __forceinline__ pair_task task_of(const gnn_aggregate_args &a, uint64_t task)
{
	const gnn_edge_batch &b = a.batch;
	const uint64_t group = task / a.heads;
	pair_task t;

	t.head = (uint32_t)(task % a.heads);
	t.lane = threadIdx.x % 32;
	t.channels = a.width / a.heads;
	t.vertex = b.vertex[group];
	t.slot = b.slot[group];
	t.carry = b.carry != nullptr ? b.carry[group] : GNN_NO_CARRY;
	t.begin = b.first[group];
	t.end = b.first[group + 1];
	t.target = a.target + t.vertex * a.target_pitch + t.head * t.channels;
	t.att = a.att + t.head * t.channels;
	return t;
}

static __device__ __forceinline__ const float *row_of(const gnn_aggregate_args &a,
	const pair_task &t, uint64_t e)
{
	const uint32_t src = a.batch.src[e];
	const uint64_t row = src & ~GNN_OWN_BIT;

	return ((src & GNN_OWN_BIT) != 0 ? a.own + row * a.own_pitch
		: a.message + row * a.message_pitch) + t.head * t.channels;
}

static __device__ __forceinline__ float score_of(const float *row, const pair_task &t, float slope)
{
	float part = 0.0f;

	for (uint32_t c = t.lane; c < t.channels; c += 32) {
		const float x = row[c] + t.target[c];

		part = fmaf(x > 0.0f ? x : slope * x, t.att[c], part);
	}
#pragma unroll
	for (int step = 16; step > 0; step /= 2)
		part += __shfl_xor_sync(0xffffffffu, part, step);
	return part;
}

/* Rows and scores of entries [e, e + AHEAD), as far as there are. */
static __device__ __forceinline__ void score_some(const gnn_aggregate_args &a, const pair_task &t,
	uint64_t e, const float **row, float *score)
{
#pragma unroll
	for (int i = 0; i < AHEAD; i++)
		row[i] = e + i < t.end ? row_of(a, t, e + i) : nullptr;
#pragma unroll
	for (int i = 0; i < AHEAD; i++)
		score[i] = row[i] != nullptr ? score_of(row[i], t, a.slope) : 0.0f;
}

static __device__ __forceinline__ void add(float *s, float *c, float w, float m, bool carried)
{
	if (carried) {
		const float y = fmaf(w, m, -*c);
		const float next = *s + y;

		*c = (next - *s) - y;
		*s = next;
	} else {
		*s = fmaf(w, m, *s);
	}
}

static __device__ uint64_t group_count(const gnn_aggregate_args &a)
{
	return a.batch.group_counter != nullptr ? *a.batch.group_counter : a.batch.group_count;
}

static __global__ void pair_max_kernel(gnn_aggregate_args a)
{
	const uint64_t tasks = group_count(a) * a.heads;

	for (uint64_t k = gnn_grid_first() / 32; k < tasks; k += gnn_grid_stride() / 32) {
		const pair_task t = task_of(a, k);
		float *state = a.state + t.slot * a.state_pitch + t.head;
		const float *row[AHEAD];
		float most = *state, score[AHEAD];

		for (uint64_t e = t.begin; e < t.end; e += AHEAD) {
			score_some(a, t, e, row, score);
#pragma unroll
			for (int i = 0; i < AHEAD; i++)
				if (row[i] != nullptr && (score[i] > most || score[i] != score[i]))
					most = score[i];
		}
		__syncwarp(); /* every lane has read the state */
		if (t.lane == 0)
			*state = most;
	}
}

/* Columns [first, first + 32 COLUMNS) of one head; with the first ones its denominator. */
static __device__ void sum_block(const gnn_aggregate_args &a, const pair_task &t, uint32_t first)
{
	const bool carried = t.carry != GNN_NO_CARRY && a.carry != nullptr;
	const float most = a.score_max[t.vertex * a.score_pitch + t.head];
	float *state = a.state + t.slot * a.state_pitch;
	float *carry = carried ? a.carry + t.carry * a.carry_pitch : nullptr;
	const uint64_t base = t.head * t.channels, under = (uint64_t)a.width + t.head;
	float s[COLUMNS] = {}, c[COLUMNS] = {}, score[AHEAD];
	float total = state[under], total_carry = carried ? carry[under] : 0.0f;
	const float *row[AHEAD];

#pragma unroll
	for (int i = 0; i < COLUMNS; i++) {
		const uint32_t column = first + t.lane + 32 * i;

		if (column < t.channels) {
			s[i] = state[base + column];
			c[i] = carried ? carry[base + column] : 0.0f;
		}
	}
	for (uint64_t e = t.begin; e < t.end; e += AHEAD) {
		score_some(a, t, e, row, score);
#pragma unroll
		for (int n = 0; n < AHEAD; n++) {
			const float w = gnn_expf(score[n] - most);

			if (row[n] == nullptr)
				break;
#pragma unroll
			for (int i = 0; i < COLUMNS; i++) {
				const uint32_t column = first + t.lane + 32 * i;

				if (column < t.channels)
					add(&s[i], &c[i], w, row[n][column], carried);
			}
			add(&total, &total_carry, w, 1.0f, carried);
		}
	}
#pragma unroll
	for (int i = 0; i < COLUMNS; i++) {
		const uint32_t column = first + t.lane + 32 * i;

		if (column < t.channels) {
			state[base + column] = s[i];
			if (carried)
				carry[base + column] = c[i];
		}
	}
	__syncwarp(); /* every lane has read the denominator */
	if (first == 0 && t.lane == 0) {
		state[under] = total;
		if (carried)
			carry[under] = total_carry;
	}
}

static __global__ void pair_softmax_kernel(gnn_aggregate_args a)
{
	const uint64_t tasks = group_count(a) * a.heads;

	for (uint64_t k = gnn_grid_first() / 32; k < tasks; k += gnn_grid_stride() / 32) {
		const pair_task t = task_of(a, k);

		for (uint32_t first = 0; first < t.channels; first += 32 * COLUMNS)
			sum_block(a, t, first);
	}
}

extern "C" int gnn_cuda_run_pair(const struct gnn_aggregate_args *a, void *stream)
{
	const uint64_t tasks = a->batch.group_count * a->heads;
	const unsigned grid = gnn_grid(tasks, GNN_BLOCK_THREADS / 32);

	GNN_ASSERT(gnn_combine_is_pair(a->combine) && a->batch.weight == NULL);
	GNN_ASSERT(a->heads > 0 && a->width % a->heads == 0);
	if (tasks == 0)
		return GNN_OK;
	if (a->combine == GNN_COMBINE_PAIR_MAX)
		pair_max_kernel<<<grid, GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*a);
	else
		pair_softmax_kernel<<<grid, GNN_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*a);
	GNN_RET_LAUNCH("attention of pairs");
	return GNN_OK;
}
