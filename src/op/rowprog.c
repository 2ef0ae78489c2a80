/* op/rowprog.c - see rowprog.h. */
#include "op/rowprog.h"

#include <string.h>

void gnn_rowprog_init(struct gnn_rowprog *p, uint32_t dim)
{
	memset(p, 0, sizeof(*p));
	p->dim_in = dim;
	p->dim_out = dim;
}

/* What each kind needs to be complete. */
static bool is_complete(const struct gnn_rowop *op)
{
	switch (op->kind) {
	case GNN_ROW_DENSE:
		return op->weight != NULL;
	case GNN_ROW_BIAS:
		return op->bias != NULL && op->dim_out == op->dim_in;
	case GNN_ROW_AFFINE:
		return op->scale != NULL && op->shift != NULL && op->dim_out == op->dim_in;
	case GNN_ROW_SCALE:
	case GNN_ROW_EMPTY:
		return op->vector < GNN_ROW_VECTORS && op->dim_out == op->dim_in &&
			op->first <= op->dim_in && op->count <= op->dim_in - op->first;
	case GNN_ROW_DIVIDE:
		return op->heads > 0 && op->dim_out > op->tail &&
			(op->dim_out - op->tail) % op->heads == 0 &&
			op->dim_in == op->dim_out + op->heads;
	case GNN_ROW_HEAD_MEAN:
		return op->heads > 0 && op->dim_out > op->tail &&
			op->dim_in == (uint64_t)(op->dim_out - op->tail) * op->heads + op->tail;
	case GNN_ROW_ADD:
		return op->dim_in == 2 * (uint64_t)op->dim_out;
	case GNN_ROW_SCORES:
		return op->weight != NULL && op->bias != NULL && op->heads > 0 &&
			op->dim_in % op->heads == 0 && op->dim_out == 2 * op->heads;
	case GNN_ROW_ACT:
	case GNN_ROW_L2NORM:
	case GNN_ROW_LAYERNORM:
	case GNN_ROW_STANDARD:
		return op->dim_out == op->dim_in;
	}
	return false;
}

int gnn_rowprog_push(struct gnn_rowprog *p, const struct gnn_rowop *op)
{
	if (p->count == GNN_ROWPROG_MAX)
		return gnn_err(GNN_EBUG, "a row program of more than %d operations",
			GNN_ROWPROG_MAX);
	if (op->dim_in != p->dim_out || op->dim_out == 0 || !is_complete(op))
		return gnn_err(GNN_EBUG, "row operation %d, %u to %u wide, does not fit behind %u",
			op->kind, op->dim_in, op->dim_out, p->dim_out);
	p->op[p->count++] = *op;
	p->dim_out = op->dim_out;
	return GNN_OK;
}

int gnn_rowprog_dense(struct gnn_rowprog *p, const float *w, const float *bias, uint32_t dim_out)
{
	const struct gnn_rowop op = {.kind = GNN_ROW_DENSE, .dim_in = p->dim_out,
		.dim_out = dim_out, .weight = w, .bias = bias};

	return gnn_rowprog_push(p, &op);
}

int gnn_rowprog_bias(struct gnn_rowprog *p, const float *bias)
{
	const struct gnn_rowop op = {.kind = GNN_ROW_BIAS, .dim_in = p->dim_out,
		.dim_out = p->dim_out, .bias = bias};

	return bias != NULL ? gnn_rowprog_push(p, &op) : GNN_OK;
}

int gnn_rowprog_act(struct gnn_rowprog *p, enum gnn_act act, float slope)
{
	const struct gnn_rowop op = {.kind = GNN_ROW_ACT, .dim_in = p->dim_out,
		.dim_out = p->dim_out, .act = act, .slope = slope};

	return act != GNN_ACT_NONE ? gnn_rowprog_push(p, &op) : GNN_OK;
}

/* Scale and empty: one column range, one vector. */
static int push_range(struct gnn_rowprog *p, enum gnn_rowop_kind kind, uint32_t first,
	uint32_t count, uint32_t vector)
{
	const struct gnn_rowop op = {.kind = kind, .dim_in = p->dim_out, .dim_out = p->dim_out,
		.first = first, .count = count, .vector = vector};

	return gnn_rowprog_push(p, &op);
}

int gnn_rowprog_scale(struct gnn_rowprog *p, uint32_t first, uint32_t count, uint32_t vector)
{
	return push_range(p, GNN_ROW_SCALE, first, count, vector);
}

int gnn_rowprog_empty(struct gnn_rowprog *p, uint32_t first, uint32_t count, uint32_t vector)
{
	return push_range(p, GNN_ROW_EMPTY, first, count, vector);
}

int gnn_rowprog_affine(struct gnn_rowprog *p, const float *scale, const float *shift)
{
	const struct gnn_rowop op = {.kind = GNN_ROW_AFFINE, .dim_in = p->dim_out,
		.dim_out = p->dim_out, .scale = scale, .shift = shift};

	return gnn_rowprog_push(p, &op);
}

int gnn_rowprog_divide(struct gnn_rowprog *p, uint32_t heads, uint32_t tail, float epsilon)
{
	const struct gnn_rowop op = {.kind = GNN_ROW_DIVIDE, .dim_in = p->dim_out,
		.dim_out = p->dim_out - heads, .heads = heads, .tail = tail, .epsilon = epsilon};

	return gnn_rowprog_push(p, &op);
}

int gnn_rowprog_head_mean(struct gnn_rowprog *p, uint32_t heads, uint32_t tail)
{
	const struct gnn_rowop op = {.kind = GNN_ROW_HEAD_MEAN, .dim_in = p->dim_out,
		.dim_out = (p->dim_out - tail) / heads + tail, .heads = heads, .tail = tail};

	return gnn_rowprog_push(p, &op);
}

int gnn_rowprog_add(struct gnn_rowprog *p)
{
	const struct gnn_rowop op = {.kind = GNN_ROW_ADD, .dim_in = p->dim_out,
		.dim_out = p->dim_out / 2};

	return gnn_rowprog_push(p, &op);
}

int gnn_rowprog_scores(struct gnn_rowprog *p, const float *att_src, const float *att_dst,
	uint32_t heads)
{
	const struct gnn_rowop op = {.kind = GNN_ROW_SCORES, .dim_in = p->dim_out,
		.dim_out = 2 * heads, .weight = att_src, .bias = att_dst, .heads = heads};

	return gnn_rowprog_push(p, &op);
}

/* Norms: one number against a division by 0. */
static int push_norm(struct gnn_rowprog *p, enum gnn_rowop_kind kind, float epsilon)
{
	const struct gnn_rowop op = {.kind = kind, .dim_in = p->dim_out, .dim_out = p->dim_out,
		.epsilon = epsilon, .factor = 1.0f};

	return gnn_rowprog_push(p, &op);
}

int gnn_rowprog_l2norm(struct gnn_rowprog *p, float epsilon)
{
	return push_norm(p, GNN_ROW_L2NORM, epsilon);
}

int gnn_rowprog_layernorm(struct gnn_rowprog *p, float epsilon)
{
	return push_norm(p, GNN_ROW_LAYERNORM, epsilon);
}

int gnn_rowprog_standard(struct gnn_rowprog *p, float epsilon)
{
	return push_norm(p, GNN_ROW_STANDARD, epsilon);
}

uint32_t gnn_rowprog_width(const struct gnn_rowprog *p)
{
	uint32_t width = p->dim_in;

	for (uint32_t i = 0; i < p->count; i++)
		if (p->op[i].dim_out > width)
			width = p->op[i].dim_out;
	return width;
}
