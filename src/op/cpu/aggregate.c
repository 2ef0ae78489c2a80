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
	SUM_BLOCK = 8,      /* vectors of 8 columns held at a time */
	CARRY_BLOCK = 4,    /* two registers each */
	MAX_BLOCK = 4,      /* more need registers for the comparisons than there are */
	PIECES = 16,        /* of the batch for each thread, handed out one by one */
	GROUP_COST = 2,     /* of a state row to and from memory, in messages out of cache */
};

struct terms {
	uint32_t     count;
	const float *row[TERMS_MAX];
	float        weight[TERMS_MAX];
};

static const float one = 1.0f;

/* Columns [0, 8 n) of s += sum of the terms. */
GNN_CPU_INLINE void sum_block(float *s, const struct terms *t, uint64_t column, const int n)
{
	gnn_f8 sum[SUM_BLOCK];

#pragma GCC unroll 8
	for (int i = 0; i < n; i++)
		gnn_f8_load(&sum[i], s + column + GNN_LANES * i);
	for (uint32_t e = 0; e < t->count; e++) {
		const float *x = t->row[e] + column;

#pragma GCC unroll 8
		for (int i = 0; i < n; i++)
			gnn_f8_fma(&sum[i], t->weight[e], x + GNN_LANES * i, &sum[i]);
	}
#pragma GCC unroll 8
	for (int i = 0; i < n; i++)
		gnn_f8_store(s + column + GNN_LANES * i, &sum[i]);
}

GNN_CPU_INLINE void sum_columns(float *s, const struct terms *t, uint64_t width)
{
	uint64_t j = 0;

	for (; j + SUM_BLOCK * GNN_LANES <= width; j += SUM_BLOCK * GNN_LANES)
		sum_block(s, t, j, SUM_BLOCK);
	for (; j + GNN_LANES <= width; j += GNN_LANES)
		sum_block(s, t, j, 1);
	for (; j < width; j++) {
		float sum = s[j];

		for (uint32_t e = 0; e < t->count; e++)
			sum = fmaf(t->weight[e], t->row[e][j], sum);
		s[j] = sum;
	}
}

/* The same with Kahan's carry c. */
GNN_CPU_INLINE void carry_block(float *s, float *c, const struct terms *t, uint64_t column,
	const int n)
{
	gnn_f8 sum[CARRY_BLOCK], carry[CARRY_BLOCK];

#pragma GCC unroll 4
	for (int i = 0; i < n; i++) {
		gnn_f8_load(&sum[i], s + column + GNN_LANES * i);
		gnn_f8_load(&carry[i], c + column + GNN_LANES * i);
	}
	for (uint32_t e = 0; e < t->count; e++) {
		const float *x = t->row[e] + column;

#pragma GCC unroll 4
		for (int i = 0; i < n; i++) {
			const gnn_f8 minus = -carry[i];
			gnn_f8 y, next;

			gnn_f8_fma(&y, t->weight[e], x + GNN_LANES * i, &minus);
			next = sum[i] + y;
			carry[i] = (next - sum[i]) - y;
			sum[i] = next;
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < n; i++) {
		gnn_f8_store(s + column + GNN_LANES * i, &sum[i]);
		gnn_f8_store(c + column + GNN_LANES * i, &carry[i]);
	}
}

GNN_CPU_INLINE void carry_columns(float *s, float *c, const struct terms *t, uint64_t width)
{
	uint64_t j = 0;

	for (; j + CARRY_BLOCK * GNN_LANES <= width; j += CARRY_BLOCK * GNN_LANES)
		carry_block(s, c, t, j, CARRY_BLOCK);
	for (; j + GNN_LANES <= width; j += GNN_LANES)
		carry_block(s, c, t, j, 1);
	for (; j < width; j++) {
		float sum = s[j], carry = c[j];

		for (uint32_t e = 0; e < t->count; e++) {
			const float y = fmaf(t->weight[e], t->row[e][j], -carry);
			const float next = sum + y;

			carry = (next - sum) - y;
			sum = next;
		}
		s[j] = sum;
		c[j] = carry;
	}
}

/* The larger; a NaN wins and stays. */
GNN_CPU_INLINE void max_block(float *s, const struct terms *t, uint64_t column, const int n)
{
	gnn_f8 most[MAX_BLOCK];

#pragma GCC unroll 4
	for (int i = 0; i < n; i++)
		gnn_f8_load(&most[i], s + column + GNN_LANES * i);
	for (uint32_t e = 0; e < t->count; e++) {
		const float *x = t->row[e] + column;

#pragma GCC unroll 4
		for (int i = 0; i < n; i++) {
			gnn_f8 m;
			gnn_i8 take;

			gnn_f8_load(&m, x + GNN_LANES * i);
			take = (m > most[i]) | (m != m);
			most[i] = (gnn_f8)((take & (gnn_i8)m) | (~take & (gnn_i8)most[i]));
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < n; i++)
		gnn_f8_store(s + column + GNN_LANES * i, &most[i]);
}

GNN_CPU_INLINE void max_columns(float *s, const struct terms *t, uint64_t width)
{
	uint64_t j = 0;

	for (; j + MAX_BLOCK * GNN_LANES <= width; j += MAX_BLOCK * GNN_LANES)
		max_block(s, t, j, MAX_BLOCK);
	for (; j + GNN_LANES <= width; j += GNN_LANES)
		max_block(s, t, j, 1);
	for (; j < width; j++) {
		float most = s[j];

		for (uint32_t e = 0; e < t->count; e++) {
			const float m = t->row[e][j];

			most = m > most || m != m ? m : most;
		}
		s[j] = most;
	}
}

/* Lists entries from `first` up to `end`; returns the first that found no place. */
GNN_CPU_INLINE uint64_t list_terms(struct terms *t, const struct gnn_aggregate_args *a,
	uint64_t first, uint64_t end)
{
	const struct gnn_edge_batch *batch = &a->batch;
	const uint64_t stop = gnn_min_u64(end, first + TERMS_MAX);

	t->count = (uint32_t)(stop - first);
	for (uint64_t e = first; e < stop; e++) {
		const uint32_t src = batch->src[e], row = src & ~GNN_OWN_BIT;
		const bool own = (src & GNN_OWN_BIT) != 0;
		const float factor = own ? a->own_factor : 1.0f;

		t->row[e - first] = own ? a->own + row * a->own_pitch
			: a->message + row * a->message_pitch;
		t->weight[e - first] = batch->weight == NULL ? factor : factor * batch->weight[e];
	}
	return stop;
}

GNN_CPU_INLINE float leaky(float x, float slope)
{
	return x > 0.0f ? x : slope * x;
}

/* The weights of the listed entries for one head. */
GNN_CPU_INLINE void weigh_terms(struct terms *t, const struct gnn_aggregate_args *a,
	uint64_t first, uint64_t vertex, uint32_t head)
{
	const float at_dst = a->score_dst[vertex * a->score_pitch + head];
	const float most = leaky(a->score_max[vertex * a->score_pitch + head] + at_dst, a->slope);

	for (uint32_t e = 0; e < t->count; e++) {
		const uint64_t row = a->batch.src[first + e] & ~GNN_OWN_BIT;
		const float score = a->score_src[row * a->score_pitch + head] + at_dst;

		t->weight[e] = leaky(score, a->slope) - most;
	}
	for (uint32_t e = 0; e < t->count; e++)
		t->weight[e] = gnn_expf(t->weight[e]);
}

GNN_CPU_INLINE void add_terms(float *s, float *c, const struct terms *t, uint64_t width)
{
	if (c == NULL)
		sum_columns(s, t, width);
	else
		carry_columns(s, c, t, width);
}

/* Head by head: its columns, then its denominator as a sum of weights times one. */
GNN_CPU_INLINE void softmax_terms(float *s, float *c, struct terms *t,
	const struct gnn_aggregate_args *a, uint64_t first, uint64_t vertex)
{
	const uint64_t channels = a->width / a->heads;
	struct terms ones;

	ones.count = t->count;
	for (uint32_t e = 0; e < t->count; e++)
		ones.row[e] = &one;
	for (uint32_t k = 0; k < a->heads; k++) {
		weigh_terms(t, a, first, vertex, k);
		add_terms(s + k * channels, c == NULL ? NULL : c + k * channels, t, channels);
		memcpy(ones.weight, t->weight, t->count * sizeof(float));
		add_terms(s + a->width + k, c == NULL ? NULL : c + a->width + k, &ones, 1);
		for (uint32_t e = 0; e < t->count; e++)
			t->row[e] += channels;
	}
}

GNN_CPU_CLONES
static void combine_groups(const struct gnn_aggregate_args *a, uint64_t group, uint64_t end)
{
	const struct gnn_edge_batch *batch = &a->batch;
	struct terms t;

	for (; group < end; group++) {
		float *s = a->state + batch->slot[group] * a->state_pitch;
		const bool carried = batch->carry != NULL && batch->carry[group] != GNN_NO_CARRY;
		float *c = carried ? a->carry + batch->carry[group] * a->carry_pitch : NULL;

		const uint64_t last = batch->first[group + 1];

		for (uint64_t e = batch->first[group], next; e < last; e = next) {
			next = list_terms(&t, a, e, last);
			if (a->combine == GNN_COMBINE_SUM)
				add_terms(s, c, &t, a->width);
			else if (a->combine == GNN_COMBINE_MAX)
				max_columns(s, &t, a->width);
			else
				softmax_terms(s, c, &t, a, e, batch->vertex[group]);
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
	const uint32_t threads = ((struct gnn_cpu *)b)->threads;
	const struct gnn_edge_batch *batch = &a->batch;
	const uint64_t pieces = threads * PIECES;
	uint64_t cost;

	if (batch->group_count == 0)
		return GNN_OK;
	GNN_ASSERT(a->combine == GNN_COMBINE_SUM || batch->weight == NULL);
	GNN_ASSERT(a->combine != GNN_COMBINE_SOFTMAX || (a->heads > 0 && a->width % a->heads == 0));
	cost = batch->entry_count + GROUP_COST * batch->group_count;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
	for (uint64_t i = 0; i < pieces; i++)
		combine_groups(a, group_at_cost(batch, gnn_ceil_div(cost * i, pieces)),
			i + 1 == pieces ? batch->group_count
				: group_at_cost(batch, gnn_ceil_div(cost * (i + 1), pieces)));
	return GNN_OK;
}
