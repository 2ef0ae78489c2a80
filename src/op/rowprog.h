/*
 * op/rowprog.h - what is done to each row by itself: a short list of row operations.
 *
 * Flow     layer lowers weights -> [rowprog] -> backend runs it on panels of rows
 * Owns     nothing; weights are borrowed from the model
 * Lends    nothing
 * Thread   constant once built
 * Fails    GNN_EBUG more operations than fit
 *
 * A program maps rows of dim_in floats to rows of dim_out floats, in order. It is run on panels of
 * GNN_PANEL_ROWS rows at absolute positions, so that the bits of a row depend on the row alone.
 * BIAS, AFFINE, ACT, SCALE, EMPTY and STANDARD are column-wise: an element depends on itself.
 */
#ifndef GNN_OP_ROWPROG_H
#define GNN_OP_ROWPROG_H

#include "base/err.h"

enum gnn_act { GNN_ACT_NONE, GNN_ACT_RELU, GNN_ACT_ELU, GNN_ACT_LEAKY_RELU, GNN_ACT_TANH };

enum gnn_rowop_kind {
	GNN_ROW_DENSE,     /* y = x W^T (+ bias); weight (dim_out, dim_in) row-major */
	GNN_ROW_BIAS,      /* y = x + bias, columns [0, dim_out) */
	GNN_ROW_AFFINE,    /* y = fmaf(x, scale, shift), per column */
	GNN_ROW_ACT,       /* y = act(x) */
	GNN_ROW_SCALE,     /* columns [first, first + count) times vec[vector][row] */
	GNN_ROW_EMPTY,     /* columns [first, first + count) are 0 where vec[vector][row] == 0 */
	GNN_ROW_DIVIDE,    /* softmax end: (heads x channels sums, heads denominators, tail) ->
	                      (sum / (denominator + epsilon), tail) */
	GNN_ROW_HEAD_MEAN, /* (heads x channels, tail) -> (mean over heads, tail) */
	GNN_ROW_ADD,       /* (2 x dim_out) -> the sum of the halves */
	GNN_ROW_SCORES,    /* z (heads x channels) -> [z . att_src per head | z . att_dst per head];
	                      weight = att_src, bias = att_dst, both (heads, channels) */
	GNN_ROW_L2NORM,    /* y = x / max(|x|_2, epsilon) */
	GNN_ROW_LAYERNORM, /* y = (x - mean) / sqrt(variance + epsilon), both of the row */
	GNN_ROW_STANDARD,  /* y = (x - center) factor, the same two numbers for all rows */
};

struct gnn_rowop {
	enum gnn_rowop_kind kind;
	uint32_t     dim_in, dim_out;
	const float *weight;
	const float *bias;         /* NULL: none */
	const float *scale, *shift;
	enum gnn_act act;
	float        slope;        /* of leaky_relu; alpha of elu is 1 */
	float        epsilon;
	float        center, factor;
	uint32_t     heads;
	uint32_t     tail;         /* last columns that DIVIDE and HEAD_MEAN hand on as they are */
	uint32_t     first, count; /* columns of SCALE and EMPTY */
	uint32_t     vector;       /* 0 or 1: which per-row vector */
};

enum { GNN_ROWPROG_MAX = 40, GNN_ROW_VECTORS = 2 };

struct gnn_rowprog {
	uint32_t         dim_in, dim_out;
	uint32_t         count; /* 0: the identity, dim_in == dim_out */
	struct gnn_rowop op[GNN_ROWPROG_MAX];
};

GNN_BEGIN_DECLS

/* The identity on `dim` columns; push appends, checks that the widths meet, updates dim_out. */
void gnn_rowprog_init(struct gnn_rowprog *p, uint32_t dim);
int  gnn_rowprog_push(struct gnn_rowprog *p, const struct gnn_rowop *op);
/* Shorthands; relu and the like are left out when act is NONE, bias when NULL. */
int  gnn_rowprog_dense(struct gnn_rowprog *p, const float *w, const float *bias, uint32_t dim_out);
int  gnn_rowprog_bias (struct gnn_rowprog *p, const float *bias);
int  gnn_rowprog_act  (struct gnn_rowprog *p, enum gnn_act act, float slope);
int  gnn_rowprog_scale(struct gnn_rowprog *p, uint32_t first, uint32_t count, uint32_t vector);
int  gnn_rowprog_empty(struct gnn_rowprog *p, uint32_t first, uint32_t count, uint32_t vector);
int  gnn_rowprog_affine(struct gnn_rowprog *p, const float *scale, const float *shift);
int  gnn_rowprog_divide(struct gnn_rowprog *p, uint32_t heads, uint32_t tail, float epsilon);
int  gnn_rowprog_head_mean(struct gnn_rowprog *p, uint32_t heads, uint32_t tail);
int  gnn_rowprog_add(struct gnn_rowprog *p);
int  gnn_rowprog_scores(struct gnn_rowprog *p, const float *att_src, const float *att_dst,
	uint32_t heads);
int  gnn_rowprog_l2norm(struct gnn_rowprog *p, float epsilon);
int  gnn_rowprog_layernorm(struct gnn_rowprog *p, float epsilon);
int  gnn_rowprog_standard(struct gnn_rowprog *p, float epsilon); /* center and factor come later */
/* Widest intermediate row, dim_in and dim_out included. */
uint32_t gnn_rowprog_width(const struct gnn_rowprog *p);

GNN_END_DECLS

#endif
