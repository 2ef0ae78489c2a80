/*
 * train/conv_sum.c - layers whose messages are summed with fixed factors: GCN, SAGE, GIN.
 *
 *   GCN   y = A x W^T + b                         A: the block's factors (train/block.h)
 *   SAGE  y = A x W^T + b + x_dst W_own^T
 *   GIN   y = relu(norm(A x W^T + b)) W2^T + b2
 *
 * A x W^T is A (x W^T) or (A x) W^T: MID keeps x W^T or A x for the gradient of W. Over a bare
 * block A x comes as the layer's rows, and x_dst beside it.
 */
#include "train/net_parts.h"

/* Multiplications that take as long as one element of a message. */
enum { PRODUCTS_AN_ELEMENT = 16 };

bool gnn_conv_sum_transforms(const struct gnn_net *n, uint32_t layer, const struct gnn_block *b)
{
	const uint64_t in = gnn_shape_in(&n->shape, layer);
	const uint64_t out = (uint64_t)n->shape.channels[layer];
	const uint64_t product = gnn_ceil_div(in * out, PRODUCTS_AN_ELEMENT);
	/* The bottom layer has no gradient of its input: one product and one sum less. */
	const uint64_t products = layer == 0 ? 2 : 3, sums = layer == 0 ? 1 : 2;

	if (gnn_block_is_bare(b))
		return false;
	return 2 * b->entry_count * out + products * b->src_count * product <
		sums * b->entry_count * in + products * b->dst_count * product;
}

/* A x of the layer's rows, as MID keeps it or as it came. */
static const float *aggregate_of(const struct gnn_pass_layer *p)
{
	return gnn_block_is_bare(p->b) ? p->x : p->n->buffer[p->layer][GNN_SLOT_MID].data;
}

static int aggregate_rows(const struct gnn_pass_layer *p)
{
	float *mid;
	int rc = GNN_OK;

	if (gnn_block_is_bare(p->b))
		return GNN_OK;
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_MID, p->b->dst_count * p->dim_in, &mid));
	GNN_TRY(gnn_net_aggregate(p, p->x, mid, p->dim_in, false));
out:
	return rc;
}

/* y = A x W^T + b, (dst, dim_out). */
static int linear_forward(const struct gnn_pass_layer *p, float *y)
{
	const struct gnn_backend_ops *ops = p->n->backend->ops;
	const float *bias = gnn_net_at(p->n, p->layer, GNN_PARAM_BIAS);
	struct gnn_linear_args a = {.w = gnn_net_at(p->n, p->layer, GNN_PARAM_W),
		.dim_in = p->dim_in, .dim_out = p->dim_out};
	float *mid;
	int rc;

	if (!gnn_conv_sum_transforms(p->n, p->layer, p->b)) {
		GNN_TRY(aggregate_rows(p));
		a.x = aggregate_of(p);
		a.y = y;
		a.bias = bias;
		a.rows = p->b->dst_count;
		return ops->grad->linear(p->n->backend, &a);
	}
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_MID, p->b->src_count * p->dim_out, &mid));
	a.x = p->x;
	a.y = mid;
	a.rows = p->b->src_count;
	GNN_TRY(ops->grad->linear(p->n->backend, &a));
	GNN_TRY(gnn_net_aggregate(p, mid, y, p->dim_out, false));
	GNN_TRY(ops->grad->finish(p->n->backend, &(struct gnn_finish_args){.x = y, .bias = bias,
		.y = y, .rows = p->b->dst_count, .heads = 1, .channels = p->dim_out}));
out:
	return rc;
}

/* From dy to the gradients of W and b, and dx. */
static int linear_backward(const struct gnn_pass_layer *p, const float *dy, float *dx)
{
	const struct gnn_grad_ops *grad = p->n->backend->ops->grad;
	struct gnn_linear_back_args a = {.dy = dy,
		.w = gnn_net_at(p->n, p->layer, GNN_PARAM_W),
		.dw = gnn_net_grad(p->n, p->layer, GNN_PARAM_W),
		.dbias = gnn_net_grad(p->n, p->layer, GNN_PARAM_BIAS), .dim_in = p->dim_in,
		.dim_out = p->dim_out, .rows = p->b->dst_count};
	struct gnn_linear_back_args sums = a;
	float *dmid = NULL;
	int rc;

	if (!gnn_conv_sum_transforms(p->n, p->layer, p->b)) {
		a.x = aggregate_of(p);
		if (dx != NULL)
			GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_DMID,
				p->b->dst_count * p->dim_in, &dmid));
		a.dx = dmid;
		GNN_TRY(grad->linear_back(p->n->backend, &a));
		if (dx != NULL)
			GNN_TRY(gnn_net_aggregate(p, dmid, dx, p->dim_in, true));
		goto out;
	}
	sums.dw = NULL;
	GNN_TRY(grad->linear_back(p->n->backend, &sums));
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_DMID, p->b->src_count * p->dim_out, &dmid));
	GNN_TRY(gnn_net_aggregate(p, dy, dmid, p->dim_out, true));
	a.dy = dmid;
	a.x = p->x;
	a.dx = dx;
	a.dbias = NULL;
	a.rows = p->b->src_count;
	GNN_TRY(grad->linear_back(p->n->backend, &a));
out:
	return rc;
}

static int own_forward(const struct gnn_pass_layer *p, float *y)
{
	return p->n->backend->ops->grad->linear(p->n->backend, &(struct gnn_linear_args){
		.x = p->own, .w = gnn_net_at(p->n, p->layer, GNN_PARAM_W_OWN), .y = y,
		.rows = p->b->dst_count, .dim_in = p->dim_in, .dim_out = p->dim_out, .add = true});
}

static int own_backward(const struct gnn_pass_layer *p, const float *dy, float *dx)
{
	return p->n->backend->ops->grad->linear_back(p->n->backend,
		&(struct gnn_linear_back_args){.dy = dy, .x = p->own,
		.w = gnn_net_at(p->n, p->layer, GNN_PARAM_W_OWN),
		.dw = gnn_net_grad(p->n, p->layer, GNN_PARAM_W_OWN), .dx = dx, .add = true,
		.rows = p->b->dst_count, .dim_in = p->dim_in, .dim_out = p->dim_out});
}

static struct gnn_batch_norm_args norm_args(const struct gnn_pass_layer *p, float *hidden,
	float *moments)
{
	const bool several = p->training && p->n->ranks.ready != NULL;

	return (struct gnn_batch_norm_args){.x = hidden,
		.gamma = gnn_net_at(p->n, p->layer, GNN_PARAM_GAMMA),
		.beta = gnn_net_at(p->n, p->layer, GNN_PARAM_BETA), .mean = moments,
		.rstd = moments + p->dim_out,
		.running_mean = gnn_net_at(p->n, p->layer, GNN_PARAM_MEAN),
		.running_var = gnn_net_at(p->n, p->layer, GNN_PARAM_VAR),
		.rows = p->b->dst_count, .width = p->dim_out, .training = p->training,
		.ranks = several ? &p->n->ranks.norm : NULL,
		.counts = several ? p->n->counts : NULL, .bit = p->layer};
}

static int gin_forward(const struct gnn_pass_layer *p, float *y)
{
	const struct gnn_grad_ops *grad = p->n->backend->ops->grad;
	const uint64_t floats = p->b->dst_count * p->dim_out;
	struct gnn_batch_norm_args norm;
	float *hidden, *normed, *moments;
	int rc;

	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_HIDDEN, floats, &hidden));
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_NORMED, floats, &normed));
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_MOMENTS, 2 * (uint64_t)p->dim_out,
		&moments));
	GNN_TRY(linear_forward(p, hidden));
	norm = norm_args(p, hidden, moments);
	norm.y = normed;
	GNN_TRY(grad->batch_norm(p->n->backend, &norm));
	GNN_TRY(grad->activate(p->n->backend, &(struct gnn_activate_args){.act = GNN_ACT_RELU,
		.y = normed, .count = floats}));
	GNN_TRY(grad->linear(p->n->backend, &(struct gnn_linear_args){.x = normed, .y = y,
		.w = gnn_net_at(p->n, p->layer, GNN_PARAM_W2),
		.bias = gnn_net_at(p->n, p->layer, GNN_PARAM_BIAS2), .rows = p->b->dst_count,
		.dim_in = p->dim_out, .dim_out = p->dim_out}));
out:
	return rc;
}

static int gin_backward(const struct gnn_pass_layer *p, const float *dy, float *dx)
{
	const struct gnn_grad_ops *grad = p->n->backend->ops->grad;
	struct gnn_buffer *buffer = p->n->buffer[p->layer];
	const uint64_t floats = p->b->dst_count * p->dim_out;
	float *normed = buffer[GNN_SLOT_NORMED].data, *dhidden;
	struct gnn_batch_norm_args norm = norm_args(p, buffer[GNN_SLOT_HIDDEN].data,
		buffer[GNN_SLOT_MOMENTS].data);
	int rc;

	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_DHIDDEN, floats, &dhidden));
	GNN_TRY(grad->linear_back(p->n->backend, &(struct gnn_linear_back_args){.dy = dy,
		.x = normed, .w = gnn_net_at(p->n, p->layer, GNN_PARAM_W2),
		.dw = gnn_net_grad(p->n, p->layer, GNN_PARAM_W2),
		.dbias = gnn_net_grad(p->n, p->layer, GNN_PARAM_BIAS2), .dx = dhidden,
		.rows = p->b->dst_count, .dim_in = p->dim_out, .dim_out = p->dim_out}));
	GNN_TRY(grad->activate_back(p->n->backend, &(struct gnn_activate_args){
		.act = GNN_ACT_RELU, .y = normed, .dy = dhidden, .count = floats}));
	norm.dy = norm.dx = dhidden;
	norm.dgamma = gnn_net_grad(p->n, p->layer, GNN_PARAM_GAMMA);
	norm.dbeta = gnn_net_grad(p->n, p->layer, GNN_PARAM_BETA);
	GNN_TRY(grad->batch_norm_back(p->n->backend, &norm));
	GNN_TRY(linear_backward(p, dhidden, dx));
out:
	return rc;
}

int gnn_conv_sum_forward(const struct gnn_pass_layer *p, float *y)
{
	int rc;

	if (p->n->shape.arch == GNN_ARCH_GIN)
		return gin_forward(p, y);
	GNN_TRY(linear_forward(p, y));
	if (p->n->shape.arch == GNN_ARCH_SAGE)
		GNN_TRY(own_forward(p, y));
out:
	return rc;
}

int gnn_conv_sum_backward(const struct gnn_pass_layer *p, const float *dy, float *dx)
{
	int rc;

	if (p->n->shape.arch == GNN_ARCH_GIN)
		return gin_backward(p, dy, dx);
	GNN_TRY(linear_backward(p, dy, dx));
	if (p->n->shape.arch == GNN_ARCH_SAGE)
		GNN_TRY(own_backward(p, dy, dx));
out:
	return rc;
}
