/*
 * op/combine.h - how message rows become states: what aggregate is asked for.
 *
 * Flow     infer, train -> [combine] -> backend: aggregate
 * Owns     nothing; plain data with borrowed arrays
 * Lends    nothing
 * Thread   constant once filled
 * Fails    never
 */
#ifndef GNN_OP_COMBINE_H
#define GNN_OP_COMBINE_H

#include "op/edges.h"

enum gnn_combine {
	GNN_COMBINE_SUM,
	GNN_COMBINE_MAX,
	GNN_COMBINE_MIN,
	GNN_COMBINE_SOFTMAX,      /* scores of two scalars, one of each end */
	GNN_COMBINE_PAIR_MAX,     /* the maxima that PAIR_SOFTMAX takes */
	GNN_COMBINE_PAIR_SOFTMAX, /* scores of two rows, one of each end */
};

static inline bool gnn_combine_is_pair(enum gnn_combine c)
{
	return c == GNN_COMBINE_PAIR_MAX || c == GNN_COMBINE_PAIR_SOFTMAX;
}

/* Whether states hold weighted sums and, behind them, a denominator a head. */
static inline bool gnn_combine_is_softmax(enum gnn_combine c)
{
	return c == GNN_COMBINE_SOFTMAX || c == GNN_COMBINE_PAIR_SOFTMAX;
}

/* Whether states are sums, which hubs carry a correction for. */
static inline bool gnn_combine_is_sum(enum gnn_combine c)
{
	return c == GNN_COMBINE_SUM || gnn_combine_is_softmax(c);
}

/*
 * SUM:     s = fmaf(w, x, s) per column of state[slot], one entry at a time in order: x, w =
 *          message[src], 1 or own[src], own_factor; times weight of the entry where there are
 *          weights. Where the group has a carry row, by Kahan's rule: y = fmaf(w, x, -c);
 *          t = s + y; c = (t - s) - y; s = t.
 * MAX:     state[slot] = max(state[slot], message[src]) per column, NaN if any is; own entries
 *          likewise from own; each times weight of the entry where there are weights. MIN the
 *          same with the least.
 * SOFTMAX: per head k: w = exp(leaky(score_src[src][k] + score_dst[vertex][k]) - m),
 *          m = leaky(score_max[vertex][k] + score_dst[vertex][k]), or the same of score_min if
 *          that is larger; state columns [k C, (k+1) C) sum w message[src], state column
 *          heads C + k sums w, both as in SUM; own entries the same from own. No weights.
 * PAIR_*:  per head k: the score of an entry is the dot product of att[k] with
 *          leaky(message[src] + target[vertex]), columns [k C, (k+1) C). PAIR_MAX:
 *          state[slot][k] = its maximum, as in MAX. PAIR_SOFTMAX: as SOFTMAX with
 *          w = exp(score - score_max[vertex][k]); equal bits of both make w at most 1. No
 *          weights.
 */
struct gnn_aggregate_args {
	enum gnn_combine      combine;
	struct gnn_edge_batch batch;
	uint32_t     width;    /* columns combined; SOFTMAX: heads x channels */
	const float *message;
	uint64_t     message_pitch;
	const float *own;
	uint64_t     own_pitch;
	float        own_factor;
	float       *state;
	uint64_t     state_pitch;
	float       *carry;
	uint64_t     carry_pitch;
	uint32_t     heads;
	float        slope;
	const float *score_src; /* (rows of the block, heads) */
	const float *score_dst; /* (V, heads) */
	const float *score_max; /* (V, heads): most of score_src over the messages, or of scores */
	uint64_t     score_pitch;
	const float *score_min; /* slope < 0: (V, heads), dense: least of score_src; or NULL */
	const float *target;    /* PAIR: (V, width) */
	uint64_t     target_pitch;
	const float *att;       /* PAIR: (heads, channels), host memory as weights of programs */
};

#endif
