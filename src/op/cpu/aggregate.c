/* op/cpu/aggregate.c - adds message rows to the states of their destinations, in source order. */
#include "op/cpu/simd.h"

#include "op/expf.h"

#include <omp.h>

/*
 * One thread works on one destination at a time. It lists up to TERMS_MAX entries of the group
 * (where the row is, with which weight), then takes a block of state columns into registers, runs
 * over the list and puts the block back. Columns are independent, so blocks change no bit.
 */
enum {
	TERMS_MAX = 128,
	HEADS_MAX = 8,    /* whose weights are computed at a time */
	BLOCK = 8,        /* vectors of state columns in registers; half where more are needed */
	LINE_FLOATS = 16, /* of a cache line */
	AHEAD_LINES = 64, /* of states asked for before their turn, up to a quarter for each */
	AHEAD_MAX = 16,   /* groups */
	PIECES = 16,      /* of the batch for each thread, handed out one by one */
	GROUP_COST = 2,   /* of a state row to and from memory, in messages out of cache */
};

enum rule { PLAIN, CARRIED, MAXIMUM, MINIMUM };

struct terms {
	const float *row[TERMS_MAX];
	const float *weight; /* of entry e at [e stride] */
	uint32_t     stride, count;
	bool         wide;   /* AVX-512 */
};

/* One entry of eight columns; `c` is Kahan's carry. */
GNN_CPU_INLINE void add_entry(const enum rule rule, gnn_f8 *s, gnn_f8 *c, float w, const gnn_f8 *x)
{
	if (rule == PLAIN) {
		gnn_f8_fma(s, w, x, s);
	} else if (rule == CARRIED) {
		const gnn_f8 minus = -*c;
		gnn_f8 y, next;

		gnn_f8_fma(&y, w, x, &minus);
		next = *s + y;
		*c = (next - *s) - y;
		*s = next;
	} else {
		const gnn_f8 y = *x * w;
		const gnn_i8 better = rule == MAXIMUM ? y > *s : y < *s;
		const gnn_i8 take = better | (y != y); /* a NaN wins and stays */

		*s = (gnn_f8)((take & (gnn_i8)y) | (~take & (gnn_i8)*s));
	}
}

/* Columns [0, 8 n) of rows, states and carries that begin at the block. */
GNN_CPU_INLINE void sum_block(const enum rule rule, const int n, gnn_f8 *s, gnn_f8 *c,
	const struct terms *t, uint64_t column)
{
	for (uint32_t e = 0; e < t->count; e++) {
		const float w = t->weight[e * t->stride];

#pragma GCC unroll 8
		for (int i = 0; i < n; i++) {
			gnn_f8 x;

			gnn_f8_load(&x, t->row[e] + column + GNN_LANES * i);
			add_entry(rule, &s[i], &c[i], w, &x);
		}
	}
}

GNN_CPU_INLINE void combine_block(const enum rule rule, const int n, float *state, float *carry,
	const struct terms *t, uint64_t column)
{
	gnn_f8 s[BLOCK], c[BLOCK];

#pragma GCC unroll 8
	for (int i = 0; i < n; i++) {
		gnn_f8_load(&s[i], state + column + GNN_LANES * i);
		if (rule == CARRIED)
			gnn_f8_load(&c[i], carry + column + GNN_LANES * i);
	}
	sum_block(rule, n, s, c, t, column);
#pragma GCC unroll 8
	for (int i = 0; i < n; i++) {
		gnn_f8_store(state + column + GNN_LANES * i, &s[i]);
		if (rule == CARRIED)
			gnn_f8_store(carry + column + GNN_LANES * i, &c[i]);
	}
}

/* Fewer than eight columns in all. */
GNN_CPU_INLINE void combine_few(const enum rule rule, float *state, float *carry,
	const struct terms *t, uint64_t width)
{
	float lane[GNN_LANES] = {0};
	gnn_f8 s, c = {0}, x;

	memcpy(lane, state, width * sizeof(float));
	gnn_f8_load(&s, lane);
	if (rule == CARRIED) {
		memcpy(lane, carry, width * sizeof(float));
		gnn_f8_load(&c, lane);
	}
	for (uint32_t e = 0; e < t->count; e++) {
		for (uint64_t j = 0; j < width; j++)
			lane[j] = t->row[e][j];
		gnn_f8_load(&x, lane);
		add_entry(rule, &s, &c, t->weight[e * t->stride], &x);
	}
	gnn_f8_store(lane, &s);
	memcpy(state, lane, width * sizeof(float));
	if (rule == CARRIED) {
		gnn_f8_store(lane, &c);
		memcpy(carry, lane, width * sizeof(float));
	}
}

/*
 * All columns. The last vector of a width that is no multiple of eight overlaps the one before:
 * it is computed first and stored last, so that what is computed twice comes out the same.
 */
GNN_CPU_INLINE void combine_columns(const enum rule rule, const int block, float *state,
	float *carry, const struct terms *t, uint64_t width)
{
	const uint64_t last = width - GNN_LANES;
	const bool ragged = width % GNN_LANES != 0;
	gnn_f8 s = {0}, c = {0};
	uint64_t j = 0;

	if (width < GNN_LANES) {
		combine_few(rule, state, carry, t, width);
		return;
	}
	if (ragged) {
		gnn_f8_load(&s, state + last);
		if (rule == CARRIED)
			gnn_f8_load(&c, carry + last);
		sum_block(rule, 1, &s, &c, t, last);
	}
	for (; j + (uint64_t)block * GNN_LANES <= width; j += (uint64_t)block * GNN_LANES)
		combine_block(rule, block, state, carry, t, j);
	if (block == BLOCK && j + 4 * GNN_LANES <= width) {
		combine_block(rule, 4, state, carry, t, j);
		j += 4 * GNN_LANES;
	}
	if (j + 2 * GNN_LANES <= width) {
		combine_block(rule, 2, state, carry, t, j);
		j += 2 * GNN_LANES;
	}
	if (j + GNN_LANES <= width)
		combine_block(rule, 1, state, carry, t, j);
	if (ragged) {
		gnn_f8_store(state + last, &s);
		if (rule == CARRIED)
			gnn_f8_store(carry + last, &c);
	}
}

GNN_CPU_CLONES
static void combine_plain(float *state, const struct terms *t, uint64_t width)
{
	combine_columns(PLAIN, BLOCK, state, NULL, t, width);
}

/* What is added in a chain waits: more registers, more chains at a time. */
GNN_CPU_WIDE
static void combine_carried_wide(float *state, float *carry, const struct terms *t, uint64_t width)
{
	combine_columns(CARRIED, BLOCK, state, carry, t, width);
}

GNN_CPU_CLONES
static void combine_carried(float *state, float *carry, const struct terms *t, uint64_t width)
{
	combine_columns(CARRIED, BLOCK / 2, state, carry, t, width);
}

GNN_CPU_CLONES
static void combine_max(float *state, const struct terms *t, uint64_t width)
{
	combine_columns(MAXIMUM, BLOCK / 2, state, NULL, t, width);
}

GNN_CPU_CLONES
static void combine_min(float *state, const struct terms *t, uint64_t width)
{
	combine_columns(MINIMUM, BLOCK / 2, state, NULL, t, width);
}

static void combine_sums(float *state, float *carry, const struct terms *t, uint64_t width)
{
	if (carry == NULL)
		combine_plain(state, t, width);
	else if (t->wide)
		combine_carried_wide(state, carry, t, width);
	else
		combine_carried(state, carry, t, width);
}

/* Lists entries [first, stop), no more than TERMS_MAX; `weight` is room for theirs. */
static void list_terms(struct terms *t, float *weight, const struct gnn_aggregate_args *a,
	uint64_t first, uint64_t stop)
{
	const struct gnn_edge_batch *batch = &a->batch;

	t->count = (uint32_t)(stop - first);
	t->weight = weight;
	t->stride = 1;
	for (uint64_t e = first; e < stop; e++) {
		const uint32_t src = batch->src[e], row = src & ~GNN_OWN_BIT;
		const bool own = (src & GNN_OWN_BIT) != 0;
		const float factor = own && a->combine == GNN_COMBINE_SUM ? a->own_factor : 1.0f;

		t->row[e - first] = own ? a->own + row * a->own_pitch
			: a->message + row * a->message_pitch;
		weight[e - first] = batch->weight == NULL ? factor : factor * batch->weight[e];
	}
}

GNN_CPU_INLINE float leaky(float x, float slope)
{
	return x > 0.0f ? x : slope * x;
}

/* The weights of entries [first, first + count) for some heads: weight (count, heads). */
GNN_CPU_CLONES
static void weigh_terms(float *weight, const struct gnn_aggregate_args *a, uint64_t first,
	uint32_t count, uint64_t vertex, uint32_t head, uint32_t heads)
{
	const float *at_dst = a->score_dst + vertex * a->score_pitch + head;
	const float *at_max = a->score_max + vertex * a->score_pitch + head;
	float most[HEADS_MAX];

	for (uint32_t k = 0; k < heads; k++)
		most[k] = leaky(at_max[k] + at_dst[k], a->slope);
	for (uint32_t k = 0; a->score_min != NULL && k < heads; k++) {
		const float least = a->score_min[vertex * a->heads + head + k];
		const float other = leaky(least + at_dst[k], a->slope);

		most[k] = other > most[k] ? other : most[k];
	}
	for (uint32_t e = 0; e < count; e++) {
		const uint64_t row = a->batch.src[first + e] & ~GNN_OWN_BIT;
		const float *score = a->score_src + row * a->score_pitch + head;

		for (uint32_t k = 0; k < heads; k++)
			weight[e * heads + k] = leaky(score[k] + at_dst[k], a->slope) - most[k];
	}
	for (uint32_t i = 0; i < count * heads; i++)
		weight[i] = gnn_expf(weight[i]);
}

/*
 * The score of one pair and head: leaky(x + y) . w. Eight partial sums, added in pairs at the end:
 * the same order for the maximum and for the sums.
 */
GNN_CPU_INLINE float pair_score(const float *restrict x, const float *restrict y,
	const float *restrict w, uint32_t n, float slope)
{
	float part[GNN_LANES] = {0};
	uint32_t j = 0;

	for (; j + GNN_LANES <= n; j += GNN_LANES)
		for (uint32_t i = 0; i < GNN_LANES; i++)
			part[i] = fmaf(leaky(x[j + i] + y[j + i], slope), w[j + i], part[i]);
	for (uint32_t i = 0; j + i < n; i++)
		part[i] = fmaf(leaky(x[j + i] + y[j + i], slope), w[j + i], part[i]);
	for (uint32_t step = GNN_LANES / 2; step > 0; step /= 2)
		for (uint32_t i = 0; i < step; i++)
			part[i] += part[i + step];
	return part[0];
}

/* Scores of the listed entries for some heads: score (count, heads). Rows begin at `row_head`. */
GNN_CPU_CLONES
static void score_pairs(float *score, const struct gnn_aggregate_args *a, const struct terms *t,
	uint64_t vertex, uint32_t row_head, uint32_t head, uint32_t heads)
{
	const uint32_t channels = a->width / a->heads;
	const float *target = a->target + vertex * a->target_pitch;

	for (uint32_t e = 0; e < t->count; e++)
		for (uint32_t k = 0; k < heads; k++) {
			const uint64_t at = (uint64_t)(head + k) * channels;
			const float *row = t->row[e] + at - (uint64_t)row_head * channels;

			score[e * heads + k] = pair_score(row, target + at, a->att + at, channels,
				a->slope);
		}
}

/* As weigh_terms, of scores of pairs. */
GNN_CPU_CLONES
static void weigh_pairs(float *weight, const struct gnn_aggregate_args *a, uint32_t count,
	uint64_t vertex, uint32_t head, uint32_t heads)
{
	const float *most = a->score_max + vertex * a->score_pitch + head;

	for (uint32_t e = 0; e < count; e++)
		for (uint32_t k = 0; k < heads; k++)
			weight[e * heads + k] -= most[k];
	for (uint32_t i = 0; i < count * heads; i++)
		weight[i] = gnn_expf(weight[i]);
}

/* The maxima of the scores of the listed entries. */
static void combine_pair_max(float *state, struct terms *t, float *score,
	const struct gnn_aggregate_args *a, uint64_t vertex)
{
	const float one = 1.0f;
	struct terms scores = {.weight = &one, .stride = 0, .count = t->count};

	for (uint32_t head = 0; head < a->heads; head += HEADS_MAX) {
		const uint32_t heads = (uint32_t)gnn_min_u64(HEADS_MAX, a->heads - head);

		score_pairs(score, a, t, vertex, 0, head, heads);
		for (uint32_t e = 0; e < t->count; e++)
			scores.row[e] = score + e * heads;
		combine_max(state + head, &scores, heads);
	}
}

/* Shares of the listed entries, each times the weight of its edge. */
static void scale_shares(float *share, const float *weight, uint32_t count, uint32_t heads)
{
	for (uint32_t e = 0; e < count; e++)
		for (uint32_t k = 0; k < heads; k++)
			share[e * heads + k] *= weight[e];
}

/* A few heads at a time: their denominators, the sums of weights, then the columns of each. */
static void combine_softmax(float *state, float *carry, struct terms *t, float *weight,
	const struct gnn_aggregate_args *a, uint64_t first, uint64_t vertex)
{
	const uint64_t channels = a->width / a->heads;
	const float one = 1.0f;
	struct terms sums = {.weight = &one, .stride = 0, .count = t->count,
		.wide = t->wide};

	for (uint32_t head = 0; head < a->heads; head += HEADS_MAX) {
		const uint32_t heads = (uint32_t)gnn_min_u64(HEADS_MAX, a->heads - head);
		const uint64_t at = a->width + head;

		if (a->combine == GNN_COMBINE_SOFTMAX) {
			weigh_terms(weight, a, first, t->count, vertex, head, heads);
		} else {
			score_pairs(weight, a, t, vertex, head, head, heads);
			weigh_pairs(weight, a, t->count, vertex, head, heads);
		}
		for (uint32_t e = 0; e < t->count; e++)
			sums.row[e] = weight + e * heads;
		combine_sums(state + at, carry == NULL ? NULL : carry + at, &sums, heads);
		if (a->batch.weight != NULL)
			scale_shares(weight, a->batch.weight + first, t->count, heads);
		t->stride = heads;
		for (uint32_t k = 0; k < heads; k++) {
			const uint64_t column = (head + k) * channels;

			t->weight = weight + k;
			combine_sums(state + column, carry == NULL ? NULL : carry + column, t,
				channels);
			for (uint32_t e = 0; e < t->count; e++)
				t->row[e] += channels;
		}
	}
}

/* Kahan's carry of a group, or NULL. */
static float *carry_of(const struct gnn_aggregate_args *a, uint64_t group)
{
	const uint64_t *carry = gnn_combine_is_sum(a->combine) ? a->batch.carry : NULL;

	if (carry == NULL || carry[group] == GNN_NO_CARRY)
		return NULL;
	return a->carry + carry[group] * a->carry_pitch;
}

GNN_CPU_INLINE void prefetch_row(const float *row, uint64_t width)
{
	const uint64_t lines = gnn_min_u64(gnn_ceil_div(width, LINE_FLOATS), AHEAD_LINES / 4);

	for (uint64_t i = 0; i < lines; i++)
		__builtin_prefetch(row + i * LINE_FLOATS, 1);
}

/*
 * What belongs to the destination of a group to come may lie anywhere in memory. Inlined by force:
 * gcc drops calls of functions that only prefetch.
 */
GNN_CPU_INLINE void prefetch_group(const struct gnn_aggregate_args *a, uint64_t group)
{
	const struct gnn_edge_batch *b = &a->batch;
	const bool softmax = gnn_combine_is_softmax(a->combine);
	const uint64_t whole = a->combine == GNN_COMBINE_PAIR_MAX ? a->heads :
		a->width + (softmax ? a->heads : 0);
	const float *carry = carry_of(a, group);

	prefetch_row(a->state + b->slot[group] * a->state_pitch, whole);
	if (carry != NULL)
		prefetch_row(carry, whole);
	if (a->combine == GNN_COMBINE_SOFTMAX)
		__builtin_prefetch(a->score_dst + b->vertex[group] * a->score_pitch);
	if (softmax)
		__builtin_prefetch(a->score_max + b->vertex[group] * a->score_pitch);
	if (gnn_combine_is_pair(a->combine))
		prefetch_row(a->target + b->vertex[group] * a->target_pitch, a->width);
}

/* The listed entries, which begin at `first`, into one state; `weight` holds their weights. */
static void combine_terms(float *state, float *carry, struct terms *t, float *weight,
	const struct gnn_aggregate_args *a, uint64_t first, uint64_t vertex)
{
	switch (a->combine) {
	case GNN_COMBINE_SUM:
		combine_sums(state, carry, t, a->width);
		break;
	case GNN_COMBINE_MAX:
		combine_max(state, t, a->width);
		break;
	case GNN_COMBINE_MIN:
		combine_min(state, t, a->width);
		break;
	case GNN_COMBINE_PAIR_MAX:
		combine_pair_max(state, t, weight, a, vertex);
		break;
	case GNN_COMBINE_SOFTMAX:
	case GNN_COMBINE_PAIR_SOFTMAX:
		combine_softmax(state, carry, t, weight, a, first, vertex);
		break;
	}
}

static void combine_groups(const struct gnn_aggregate_args *a, uint64_t group, uint64_t end,
	bool wide)
{
	const struct gnn_edge_batch *batch = &a->batch;
	const uint64_t lines = gnn_ceil_div(a->width + 1, LINE_FLOATS);
	const uint64_t ahead = gnn_max_u64(4, gnn_min_u64(AHEAD_LINES / lines, AHEAD_MAX));
	float weight[TERMS_MAX * HEADS_MAX];
	struct terms t = {.wide = wide};

	for (; group < end; group++) {
		float *state = a->state + batch->slot[group] * a->state_pitch;
		float *carry = carry_of(a, group);
		const uint64_t last = batch->first[group + 1];

		if (group + ahead < end)
			prefetch_group(a, group + ahead);
		for (uint64_t e = batch->first[group], next; e < last; e = next) {
			next = gnn_min_u64(last, e + TERMS_MAX);
			list_terms(&t, weight, a, e, next);
			combine_terms(state, carry, &t, weight, a, e, batch->vertex[group]);
		}
	}
}

/* The first group before which there is work of `cost` or more. */
static uint64_t group_at_cost(const struct gnn_edge_batch *b, uint64_t cost)
{
	uint64_t low = 0, high = b->group_count;

	while (low < high) {
		const uint64_t mid = low + (high - low) / 2;

		if (b->first[mid] - b->first[0] + GROUP_COST * mid < cost)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int gnn_cpu_aggregate(struct gnn_backend *b, const struct gnn_aggregate_args *a)
{
	const struct gnn_edge_batch *batch = &a->batch;
	uint64_t cost, pieces;
	const bool wide = ((const struct gnn_cpu *)b)->wide;
	int team;

	if (batch->group_count == 0)
		return GNN_OK;
	GNN_ASSERT(batch->weight == NULL || !gnn_combine_is_pair(a->combine));
	GNN_ASSERT((!gnn_combine_is_softmax(a->combine) && !gnn_combine_is_pair(a->combine)) ||
		(a->heads > 0 && a->width % a->heads == 0));
	cost = batch->first[batch->group_count] - batch->first[0] + GROUP_COST * batch->group_count;
	team = gnn_cpu_team(b, cost * a->width);
	pieces = (uint64_t)team * PIECES;
#pragma omp parallel for num_threads(team) schedule(dynamic)
	for (uint64_t i = 0; i < pieces; i++)
		combine_groups(a, group_at_cost(batch, cost * i / pieces),
			group_at_cost(batch, cost * (i + 1) / pieces), wide);
	return GNN_OK;
}
