/*
 * cuda/aggregate.cu - message rows combined into the states of their destinations.
 *
 *   SUM      s = s + m           with a carry row: y = m - c; t = s + y; c = (t - s) - y; s = t
 *   MAX, MIN s = max(s, w m), min(s, w m)     NaN wins; w of the entry where there are weights
 *   SOFTMAX  s = fmaf(w, m, s)       w = exp(leaky(s_u + t_v) - leaky(max_u s_u + t_v)) per head
 *
 * message (rows, pitch), state (slots, pitch), entries of a group in source order. A team of lanes,
 * a warp or a power of two below it for narrow rows, takes one destination and one block of
 * TEAM x LANE columns, keeps it in registers over all entries and adds them one at a time: the
 * order is that of the list, so the bits depend on nothing else. Row
 * numbers and rows of the next entries are fetched ahead of their additions.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda.h"
#include "op/expf.h"

/* Rows in flight for each warp, to cover the latency of HBM: few in many warps, or many in few. */
enum { AHEAD_SHORT = 2, AHEAD_LONG = 8 };

static __device__ __forceinline__ float leaky(float x, float slope)
{
	return x > 0.0f ? x : slope * x;
}

/* The row of an entry, and the factor that its combination is given. */
static __device__ __forceinline__ const float *row_of(const gnn_aggregate_args &a, uint32_t src)
{
	const uint64_t row = src & ~GNN_OWN_BIT;

	return (src & GNN_OWN_BIT) != 0 ? a.own + row * a.own_pitch
		: a.message + row * a.message_pitch;
}

template <int LANE> struct columns {
	float v[LANE];
};

template <int LANE>
static __device__ __forceinline__ columns<LANE> load(const float *p, bool inside)
{
	columns<LANE> x = {};

	if (!inside)
		return x;
	if constexpr (LANE == 4) {
		const gnn_f4 q = gnn_load4(p);
#pragma unroll
		for (int k = 0; k < 4; k++)
			x.v[k] = q.v[k];
	} else {
		x.v[0] = *p;
	}
	return x;
}

template <int LANE>
static __device__ __forceinline__ void store(float *p, const columns<LANE> &x, bool inside)
{
	if (!inside)
		return;
	if constexpr (LANE == 4)
		gnn_store4(p, {{x.v[0], x.v[1], x.v[2], x.v[3]}});
	else
		*p = x.v[0];
}

/* One entry into the sum, plain or with Kahan's carry. */
template <int LANE>
static __device__ __forceinline__ void add(columns<LANE> *s, columns<LANE> *c, float w,
	const columns<LANE> &m, bool carried)
{
#pragma unroll
	for (int k = 0; k < LANE; k++) {
		if (carried) {
			const float y = fmaf(w, m.v[k], -c->v[k]);
			const float next = s->v[k] + y;

			c->v[k] = (next - s->v[k]) - y;
			s->v[k] = next;
		} else {
			s->v[k] = fmaf(w, m.v[k], s->v[k]);
		}
	}
}

/*
 * What each entry is weighted with: per entry for SUM, per entry and head for SOFTMAX, whose
 * denominators do not see the weights of edges.
 */
template <bool SOFTMAX, bool DENOMINATOR>
static __device__ __forceinline__ float weight_of(const gnn_aggregate_args &a, uint64_t e,
	uint32_t src, uint32_t head, float at_dst, float most)
{
	if constexpr (SOFTMAX) {
		const uint64_t row = src & ~GNN_OWN_BIT;
		const float score = a.score_src[row * a.score_pitch + head] + at_dst;

		const float w = gnn_expf(leaky(score, a.slope) - most);

		return DENOMINATOR || a.batch.weight == nullptr ? w : w * a.batch.weight[e];
	} else {
		const float w = (src & GNN_OWN_BIT) != 0 ? a.own_factor : 1.0f;

		return a.batch.weight != nullptr ? w * a.batch.weight[e] : w;
	}
}

/*
 * `place` is the lane's among all teams of the group. Columns are those of the messages; SOFTMAX
 * has one more task a group whose lanes are heads and whose messages are ones: the denominators.
 */
template <int LANE, int AHEAD, bool SOFTMAX, bool DENOMINATOR>
static __device__ void sum_group(const gnn_aggregate_args &a, uint64_t group, uint64_t place)
{
	const gnn_edge_batch &b = a.batch;
	const uint64_t column = DENOMINATOR ? place : place * LANE;
	const uint64_t width = DENOMINATOR ? a.heads : a.width;
	const bool inside = column < width;
	const uint32_t head = !SOFTMAX || !inside ? 0 :
		DENOMINATOR ? (uint32_t)column : (uint32_t)(column / (a.width / a.heads));
	const uint64_t vertex = b.vertex[group], at = DENOMINATOR ? a.width + column : column;
	const bool carried = b.carry != nullptr && b.carry[group] != GNN_NO_CARRY;
	float *s_row = a.state + b.slot[group] * a.state_pitch + at;
	float *c_row = carried ? a.carry + b.carry[group] * a.carry_pitch + at : nullptr;
	columns<LANE> s = load<LANE>(s_row, inside), c = {};
	float at_dst = 0.0f, most = 0.0f;

	if (carried)
		c = load<LANE>(c_row, inside);
	if constexpr (SOFTMAX) {
		at_dst = a.score_dst[vertex * a.score_pitch + head];
		most = leaky(a.score_max[vertex * a.score_pitch + head] + at_dst, a.slope);
		if (a.score_min != nullptr) {
			const float least = a.score_min[vertex * a.heads + head];
			const float other = leaky(least + at_dst, a.slope);

			most = other > most ? other : most;
		}
	}
	for (uint64_t e = b.first[group], end = b.first[group + 1]; e < end; e += AHEAD) {
		columns<LANE> m[AHEAD];
		float w[AHEAD];

#pragma unroll
		for (int i = 0; i < AHEAD; i++) {
			const bool there = e + i < end;
			const uint32_t src = there ? b.src[e + i] : 0;

			if constexpr (DENOMINATOR)
				m[i].v[0] = 1.0f;
			else
				m[i] = load<LANE>(row_of(a, src) + column, inside && there);
			w[i] = there ? weight_of<SOFTMAX, DENOMINATOR>(a, e + i, src, head, at_dst,
				most) : 0.0f;
		}
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
			if (e + i < end)
				add(&s, &c, w[i], m[i], carried);
	}
	store<LANE>(s_row, s, inside);
	if (carried)
		store<LANE>(c_row, c, inside);
}

template <int LANE, int AHEAD, bool LEAST>
static __device__ void max_group(const gnn_aggregate_args &a, uint64_t group, uint64_t place)
{
	const gnn_edge_batch &b = a.batch;
	const uint64_t column = place * LANE;
	const bool inside = column < a.width;
	float *s_row = a.state + b.slot[group] * a.state_pitch + column;
	columns<LANE> s = load<LANE>(s_row, inside);

	for (uint64_t e = b.first[group], end = b.first[group + 1]; e < end; e += AHEAD) {
		columns<LANE> m[AHEAD];
		float w[AHEAD];

#pragma unroll
		for (int i = 0; i < AHEAD; i++) {
			const bool there = e + i < end;

			m[i] = load<LANE>(row_of(a, there ? b.src[e + i] : 0) + column,
				inside && there);
			w[i] = there && b.weight != nullptr ? b.weight[e + i] : 1.0f;
		}
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
#pragma unroll
			for (int k = 0; k < LANE; k++) {
				const float x = w[i] * m[i].v[k];

				if (e + i < end && (x != x || (LEAST ? x < s.v[k] : x > s.v[k])))
					s.v[k] = x;
			}
	}
	store<LANE>(s_row, s, inside);
}

/* Tasks of a team: (group, block of columns), the blocks of one group side by side. */
template <int LANE, int AHEAD, int COMBINE>
static __global__ void aggregate_kernel(gnn_aggregate_args a, uint32_t team)
{
	const uint64_t groups = a.batch.group_counter != nullptr ? *a.batch.group_counter
		: a.batch.group_count;
	const uint64_t blocks = (a.width + team * LANE - 1) / (team * LANE);
	const uint64_t extra = COMBINE == GNN_COMBINE_SOFTMAX ? (a.heads + team - 1) / team : 0;
	const uint32_t lane = threadIdx.x % team;

	for (uint64_t t = gnn_grid_first() / team; t < groups * (blocks + extra);
	     t += gnn_grid_stride() / team) {
		const uint64_t group = t / (blocks + extra), block = t % (blocks + extra);

		if constexpr (COMBINE == GNN_COMBINE_MAX)
			max_group<LANE, AHEAD, false>(a, group, block * team + lane);
		else if constexpr (COMBINE == GNN_COMBINE_MIN)
			max_group<LANE, AHEAD, true>(a, group, block * team + lane);
		else if constexpr (COMBINE == GNN_COMBINE_SUM)
			sum_group<LANE, AHEAD, false, false>(a, group, block * team + lane);
		else if (block < blocks)
			sum_group<LANE, AHEAD, true, false>(a, group, block * team + lane);
		else
			sum_group<1, AHEAD, true, true>(a, group, (block - blocks) * team + lane);
	}
}

/* The fewest lanes, a power of two, that take a row at once; a warp for wide rows. */
static uint32_t team_of(uint32_t width, uint32_t lane)
{
	uint32_t team = 4;

	while (team < 32 && team * lane < width)
		team *= 2;
	return team;
}

/* As those of a training block turned round, whose sources mostly have one destination. */
static bool groups_are_short(const struct gnn_edge_batch *b)
{
	return b->group_counter == nullptr && b->entry_count <= 2 * b->group_count;
}

template <int LANE>
static int launch_aggregate(const struct gnn_aggregate_args *a, cudaStream_t stream)
{
	const uint32_t team = team_of(a->width, LANE);
	const uint64_t tasks = a->batch.group_count *
		((a->width + team * LANE - 1) / (team * LANE) +
		(a->combine == GNN_COMBINE_SOFTMAX ? (a->heads + team - 1) / team : 0));
	const unsigned grid = gnn_grid(tasks, GNN_BLOCK_THREADS / team);

	switch (a->combine) {
	case GNN_COMBINE_SUM:
		if (groups_are_short(&a->batch))
			aggregate_kernel<LANE, AHEAD_SHORT, GNN_COMBINE_SUM>
				<<<grid, GNN_BLOCK_THREADS, 0, stream>>>(*a, team);
		else
			aggregate_kernel<LANE, AHEAD_LONG, GNN_COMBINE_SUM>
				<<<grid, GNN_BLOCK_THREADS, 0, stream>>>(*a, team);
		break;
	case GNN_COMBINE_MAX:
		aggregate_kernel<LANE, AHEAD_LONG, GNN_COMBINE_MAX>
			<<<grid, GNN_BLOCK_THREADS, 0, stream>>>(*a, team);
		break;
	case GNN_COMBINE_MIN:
		aggregate_kernel<LANE, AHEAD_LONG, GNN_COMBINE_MIN>
			<<<grid, GNN_BLOCK_THREADS, 0, stream>>>(*a, team);
		break;
	case GNN_COMBINE_SOFTMAX:
		aggregate_kernel<LANE, AHEAD_LONG, GNN_COMBINE_SOFTMAX>
			<<<grid, GNN_BLOCK_THREADS, 0, stream>>>(*a, team);
		break;
	default:
		return gnn_err(GNN_EBUG, "combination %d", a->combine);
	}
	GNN_RET_LAUNCH("aggregate");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_aggregate(const struct gnn_aggregate_args *a, void *stream)
{
	const uint64_t f = sizeof(float);
	const uint32_t channels =
		a->combine == GNN_COMBINE_SOFTMAX ? a->width / a->heads : a->width;
	const bool wide = channels % 4 == 0 && gnn_aligned16(a->state, a->state_pitch * f) &&
		gnn_aligned16(a->message, a->message_pitch * f) &&
		gnn_aligned16(a->own, a->own_pitch * f) &&
		(a->carry == NULL || gnn_aligned16(a->carry, a->carry_pitch * f));

	if (a->batch.group_count == 0 || a->width == 0)
		return GNN_OK;
	return wide ? launch_aggregate<4>(a, (cudaStream_t)stream)
		: launch_aggregate<1>(a, (cudaStream_t)stream);
}
