/*
 * op/attend.h - what attention over a block takes, forward and backward, as the operations see it.
 *
 * Flow     train -> [attend] -> cpu/, a GPU's twins
 * Owns     nothing; plain data with borrowed arrays in backend memory
 * Lends    nothing
 * Thread   constant once filled
 * Fails    never
 */
#ifndef GNN_OP_ATTEND_H
#define GNN_OP_ATTEND_H

#include "op/drop.h"

/*
 * Attention: entry e of destination v from row u = src[e], head k:
 *   a = softmax_e(leaky(score[u][k] + score[v][heads + k])),  kept by dropout: a',
 *   y[v][k] = sum_e a' z[u][k].   The destinations are the first rows of the block.
 * back: from dy, with d = a dot(dy[v][k], z[u][k]) and so on,
 *   dz (src_rows, heads channels), dscore (src_rows, 2 heads); rows past the destinations have no
 *   second half. dlogit (entries, heads) is scratch.
 */
struct gnn_attend_args {
	uint32_t        heads, channels;
	float           slope;
	struct gnn_drop drop;
	const uint64_t *id;          /* (dst_rows) */
	uint64_t        dst_rows, src_rows;
	const uint64_t *first;       /* (dst_rows + 1) */
	const uint32_t *src;         /* (entries) */
	const uint64_t *back_first;  /* (src_rows + 1): the block turned round */
	const uint32_t *back_dst, *back_entry; /* (entries) */
	const float    *z, *score;
	float          *alpha;       /* (entries, heads) */
	float          *y;
	const float    *dy;
	bool            mean;        /* dy is (dst_rows, channels), of the mean over the heads */
	float          *dz, *dscore, *dlogit;
};

/* score[r] = [z[r][k] . att_src[k] | z[r][k] . att_dst[k]] over the heads k. */
struct gnn_score_args {
	const float *z, *att_src, *att_dst;
	float       *score; /* (rows, 2 heads) */
	uint64_t     rows;
	uint32_t     heads, channels;
};

/* y[r] = mean over the heads of x[r] + bias; with one head in place. */
struct gnn_finish_args {
	const float *x, *bias;
	float       *y;     /* (rows, channels) */
	uint64_t     rows;
	uint32_t     heads, channels;
};

/* dz[u][k] += dscore[u][k] att[k] and datt[k] += dscore[u][k] z[u][k]; dscore (rows, stride). */
struct gnn_score_back_args {
	const float *dscore, *z, *att;
	float       *dz, *datt;
	uint64_t     rows;
	uint32_t     stride, heads, channels;
};

#endif
