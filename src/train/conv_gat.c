/*
 * train/conv_gat.c - GAT: z = x W^T, scores of z, attention per head, heads side by side or, on
 * the last layer, their mean; then the bias.
 */
#include "train/net_parts.h"

/* As PyG's GATConv. */
#define SLOPE 0.2f

static struct gnn_attend_args attend_args(const struct gnn_pass_layer *p)
{
	const struct gnn_net_shape *s = &p->n->shape;
	struct gnn_buffer *buffer = p->n->buffer[p->layer];

	return (struct gnn_attend_args){.heads = s->heads[p->layer],
		.channels = s->channels[p->layer], .slope = SLOPE, .drop = gnn_net_drop(p, 1),
		.id = p->id, .dst_rows = p->b->dst_count, .src_rows = p->b->src_count,
		.first = p->b->first, .src = p->b->src, .back_first = p->b->back_first,
		.back_dst = p->b->back_dst, .back_entry = p->b->back_entry,
		.z = buffer[GNN_SLOT_MID].data, .score = buffer[GNN_SLOT_SCORE].data,
		.alpha = buffer[GNN_SLOT_ALPHA].data};
}

/* z and the scores [s | t] of every source row. */
static int project(const struct gnn_pass_layer *p, uint32_t width, uint32_t heads)
{
	float *z, *score;
	int rc;

	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_MID, p->b->src_count * width, &z));
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_SCORE, p->b->src_count * 2 * heads, &score));
	GNN_TRY(p->n->backend->ops->grad->linear(p->n->backend, &(struct gnn_linear_args){
		.x = p->x, .w = gnn_net_at(p->n, p->layer, GNN_PARAM_W), .y = z,
		.rows = p->b->src_count, .dim_in = p->dim_in, .dim_out = width}));
	GNN_TRY(p->n->backend->ops->grad->score(p->n->backend, &(struct gnn_score_args){.z = z,
		.att_src = gnn_net_at(p->n, p->layer, GNN_PARAM_ATT_SRC),
		.att_dst = gnn_net_at(p->n, p->layer, GNN_PARAM_ATT_DST), .score = score,
		.rows = p->b->src_count, .heads = heads, .channels = width / heads}));
out:
	return rc;
}

int gnn_conv_gat_forward(const struct gnn_pass_layer *p, float *y)
{
	const uint32_t heads = p->n->shape.heads[p->layer];
	const uint32_t width = heads * p->n->shape.channels[p->layer];
	struct gnn_attend_args a;
	float *hidden, *alpha;
	int rc;

	GNN_TRY(project(p, width, heads));
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_HIDDEN, p->b->dst_count * width, &hidden));
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_ALPHA, p->b->entry_count * heads, &alpha));
	a = attend_args(p);
	a.y = hidden;
	GNN_TRY(p->n->backend->ops->grad->attend(p->n->backend, &a));
	GNN_TRY(p->n->backend->ops->grad->finish(p->n->backend, &(struct gnn_finish_args){
		.x = hidden, .bias = gnn_net_at(p->n, p->layer, GNN_PARAM_BIAS), .y = y,
		.rows = p->b->dst_count, .heads = p->dim_out != width ? heads : 1,
		.channels = p->dim_out}));
out:
	return rc;
}

/* What the scores' gradients bring to z and to the attention vectors. */
static int score_backward(const struct gnn_pass_layer *p, float *dz, const float *dscore)
{
	const struct gnn_net_shape *s = &p->n->shape;
	const struct gnn_grad_ops *grad = p->n->backend->ops->grad;
	struct gnn_score_back_args a = {.dscore = dscore, .dz = dz,
		.z = p->n->buffer[p->layer][GNN_SLOT_MID].data, .stride = 2 * s->heads[p->layer],
		.heads = s->heads[p->layer], .channels = s->channels[p->layer]};
	int rc;

	a.rows = p->b->src_count;
	a.att = gnn_net_at(p->n, p->layer, GNN_PARAM_ATT_SRC);
	a.datt = gnn_net_grad(p->n, p->layer, GNN_PARAM_ATT_SRC);
	GNN_TRY(grad->score_back(p->n->backend, &a));
	a.rows = p->b->dst_count;
	a.dscore = dscore + a.heads;
	a.att = gnn_net_at(p->n, p->layer, GNN_PARAM_ATT_DST);
	a.datt = gnn_net_grad(p->n, p->layer, GNN_PARAM_ATT_DST);
	GNN_TRY(grad->score_back(p->n->backend, &a));
out:
	return rc;
}

int gnn_conv_gat_backward(const struct gnn_pass_layer *p, const float *dy, float *dx)
{
	const struct gnn_grad_ops *grad = p->n->backend->ops->grad;
	const uint32_t heads = p->n->shape.heads[p->layer];
	const uint32_t width = heads * p->n->shape.channels[p->layer];
	struct gnn_attend_args a = attend_args(p);
	int rc;

	a.dy = dy;
	a.mean = p->dim_out != width;
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_DMID, p->b->src_count * width, &a.dz));
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_DSCORE, p->b->src_count * 2 * heads,
		&a.dscore));
	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_DLOGIT, p->b->entry_count * heads,
		&a.dlogit));
	GNN_TRY(grad->linear_back(p->n->backend, &(struct gnn_linear_back_args){.dy = dy,
		.dbias = gnn_net_grad(p->n, p->layer, GNN_PARAM_BIAS), .rows = p->b->dst_count,
		.dim_out = p->dim_out}));
	GNN_TRY(grad->attend_back(p->n->backend, &a));
	GNN_TRY(score_backward(p, a.dz, a.dscore));
	GNN_TRY(grad->linear_back(p->n->backend, &(struct gnn_linear_back_args){.dy = a.dz,
		.x = p->x, .w = gnn_net_at(p->n, p->layer, GNN_PARAM_W),
		.dw = gnn_net_grad(p->n, p->layer, GNN_PARAM_W), .dx = dx,
		.rows = p->b->src_count, .dim_in = p->dim_in, .dim_out = width}));
out:
	return rc;
}
