/*
 * layer/layer_gat.c - GATConv of PyG: per head, h'_v = sum_u a_uv W h_u + b, a the softmax over u
 * of LeakyReLU(att_src . W h_u + att_dst . W h_v).
 *
 * The state holds the weighted sums of all heads and the heads' denominators. "replace" drops
 * listed self-loops and gives every vertex one; "none" keeps what is listed, and a vertex without
 * in-edges gets the bias. Heads stand side by side (concat), or are averaged before the bias.
 */
#include "layer/lower.h"

/* PyG adds this to every denominator. */
#define EPSILON 1e-16f

/* heads and channels, by the shape (1, heads, channels) of att_src. */
static int read_heads(const struct gnn_weight *att, uint32_t columns, uint32_t *heads)
{
	const uint64_t *shape = att->tensor->shape;

	if (att->tensor->rank != 3 || shape[0] != 1 || shape[1] == 0 || shape[1] > columns ||
		shape[1] * shape[2] != columns)
		return gnn_err(GNN_ECONFIG, "tensor %s: wanted (1, heads, channels), together %u",
			att->tensor->name, columns);
	*heads = (uint32_t)shape[1];
	return GNN_OK;
}

static int check_told_heads(const struct gnn_conv *c, const struct gnn_lowering *l)
{
	const struct gnn_setting_value *told = &l->set->v[GNN_SET_HEADS];

	if (told->list_count > 0 && told->list[l->layer] != c->heads)
		return gnn_err(GNN_ECONFIG, "gnnrun.heads is %u for layer %u, its tensors have %u",
			told->list[l->layer], l->layer, c->heads);
	return GNN_OK;
}

/*
 * Whether the heads stand side by side: as told; else as the bias is wide; else, without a bias,
 * on all but the last layer. With one head both are the same.
 */
static int read_concat(const struct gnn_conv *c, const struct gnn_lowering *l, bool *concat)
{
	const struct gnn_setting_value *told = &l->set->v[GNN_SET_CONCAT];
	const struct gnn_weight *bias = gnn_lower_find(l, GNN_ROLE_BIAS, 0);

	if (told->list_count > 0)
		*concat = told->list[l->layer] == 1;
	else if (bias != NULL)
		*concat = bias->tensor->count == c->width;
	else
		*concat = l->layer + 1 < l->layers;
	return gnn_lower_vector_of(bias, *concat ? c->width : c->width / c->heads);
}

static int lower_message(struct gnn_conv *c, const struct gnn_lowering *l)
{
	const struct gnn_weight *src = gnn_lower_find(l, GNN_ROLE_ATT_SRC, 0);
	const struct gnn_weight *dst = gnn_lower_find(l, GNN_ROLE_ATT_DST, 0);
	const struct gnn_weight *w = gnn_lower_find(l, GNN_ROLE_LIN_WEIGHT, 0);
	uint32_t heads_dst;
	int rc;

	GNN_TRY(gnn_lower_matrix(w, &c->width, &c->dim_in));
	GNN_TRY(read_heads(src, c->width, &c->heads));
	GNN_TRY(read_heads(dst, c->width, &heads_dst));
	if (heads_dst != c->heads)
		GNN_FAIL(GNN_ECONFIG, "tensors %s and %s have %u and %u heads", src->tensor->name,
			dst->tensor->name, c->heads, heads_dst);
	GNN_TRY(check_told_heads(c, l));
	gnn_rowprog_init(&c->message, c->dim_in);
	GNN_TRY(gnn_rowprog_dense(&c->message, w->data, NULL, c->width));
	gnn_rowprog_init(&c->scores, c->width);
	GNN_TRY(gnn_rowprog_scores(&c->scores, src->data, dst->data, c->heads));
out:
	return rc;
}

int gnn_lower_gat(struct gnn_conv *c, const struct gnn_lowering *l)
{
	bool loops = l->set->v[GNN_SET_SELF_LOOPS].choice == GNN_LOOPS_REPLACE, concat;
	double slope = l->set->v[GNN_SET_NEGATIVE_SLOPE].number;
	int rc;

	GNN_TRY(gnn_lower_order(c, l, true, true, false));
	if (slope < 0)
		GNN_FAIL(GNN_ECONFIG, "gnnrun.negative_slope=%s is not supported: scores must not "
			"fall", l->set->v[GNN_SET_NEGATIVE_SLOPE].text);
	GNN_TRY(lower_message(c, l));
	GNN_TRY(read_concat(c, l, &concat));
	c->combine = GNN_COMBINE_SOFTMAX;
	c->state_width = c->width + c->heads;
	c->slope = (float)slope;
	c->drop_loops = loops;
	c->own_counts = loops;
	c->own = loops ? GNN_OWN_MESSAGE : GNN_OWN_NONE;
	c->own_factor = 1.0f;
	gnn_rowprog_init(&c->finish, c->state_width);
	GNN_TRY(gnn_rowprog_divide(&c->finish, c->heads, EPSILON));
	if (!concat && c->heads > 1)
		GNN_TRY(gnn_rowprog_head_mean(&c->finish, c->heads));
	GNN_TRY(gnn_rowprog_bias(&c->finish, gnn_lower_data(l, GNN_ROLE_BIAS, 0)));
	c->dim_out = c->finish.dim_out;
out:
	return rc;
}
