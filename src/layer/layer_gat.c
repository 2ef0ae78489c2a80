/*
 * layer/layer_gat.c - GATConv of PyG: per head, h'_v = sum_u a_uv W h_u + b, a the softmax over u
 * of LeakyReLU(att_src . W h_u + att_dst . W h_v).
 *
 * The state holds the weighted sums of all heads and the heads' denominators. "replace" drops
 * listed self-loops and gives every vertex one; "none" keeps what is listed, and a vertex without
 * in-edges gets the bias. Heads stand side by side (concat), or are averaged before the bias.
 */
#include "layer/lower.h"

#include <string.h>

/* PyG adds this to every denominator. */
#define EPSILON 1e-16f

/* By the shape (1, heads, channels); `columns` is heads x channels. */
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

/*
 * W as (heads x channels, dim_in). Versions 1.6 to 2.4 name one matrix twice, and a file may hold
 * either name or both; two matrices that differ are of a bipartite layer.
 */
static int read_weight(struct gnn_conv *c, const struct gnn_lowering *l, const float **out)
{
	static const enum gnn_role names[][2] = {
		{GNN_ROLE_LIN_WEIGHT, GNN_ROLE_LIN_WEIGHT},
		{GNN_ROLE_LIN_SRC_WEIGHT, GNN_ROLE_LIN_DST_WEIGHT},
		{GNN_ROLE_LIN_L_WEIGHT, GNN_ROLE_LIN_R_WEIGHT},
	};
	const struct gnn_weight *a = NULL, *b = NULL;
	int rc;

	for (uint32_t i = 0; i < GNN_COUNT_OF(names) && a == NULL && b == NULL; i++) {
		a = gnn_lower_find(l, names[i][0], 0);
		b = gnn_lower_find(l, names[i][1], 0);
	}
	if (a == NULL && b == NULL)
		return gnn_lower_turned(c, gnn_lower_find(l, GNN_ROLE_WEIGHT, 0), &c->width,
			&c->dim_in, out);
	if (a == NULL)
		a = b;
	GNN_TRY(gnn_lower_matrix(a, &c->width, &c->dim_in));
	GNN_TRY(gnn_lower_matrix_of(b, c->width, c->dim_in));
	if (b != NULL && memcmp(a->data, b->data, a->tensor->count * sizeof(float)) != 0)
		GNN_FAIL(GNN_ECONFIG, "tensors %s and %s differ: bipartite GAT is not supported",
			a->tensor->name, b->tensor->name);
	*out = a->data;
out:
	return rc;
}

/* PyG 1.5's att (1, heads, 2 channels): of the destination, then of the source, head by head. */
static int split_attention(struct gnn_conv *c, const struct gnn_weight *att, const float **src,
	const float **dst)
{
	uint32_t channels;
	float *s, *d;
	int rc;

	GNN_TRY(read_heads(att, 2 * c->width, &c->heads));
	if (c->width % c->heads != 0)
		GNN_FAIL(GNN_ECONFIG, "tensor %s has %u heads for %u columns", att->tensor->name,
			c->heads, c->width);
	channels = c->width / c->heads;
	GNN_TRY(gnn_conv_block(c, c->width, &s));
	GNN_TRY(gnn_conv_block(c, c->width, &d));
	for (uint64_t k = 0; k < c->heads; k++)
		for (uint64_t i = 0; i < channels; i++) {
			d[k * channels + i] = att->data[2 * k * channels + i];
			s[k * channels + i] = att->data[(2 * k + 1) * channels + i];
		}
	*src = s;
	*dst = d;
out:
	return rc;
}

static int read_attention(struct gnn_conv *c, const struct gnn_lowering *l, const float **src,
	const float **dst)
{
	const struct gnn_weight *both = gnn_lower_find(l, GNN_ROLE_ATT, 0);
	const struct gnn_weight *s = gnn_lower_find(l, GNN_ROLE_ATT_SRC, 0);
	const struct gnn_weight *d = gnn_lower_find(l, GNN_ROLE_ATT_DST, 0);
	uint32_t heads_dst;
	int rc;

	if (both != NULL)
		return split_attention(c, both, src, dst);
	GNN_TRY(read_heads(s, c->width, &c->heads));
	GNN_TRY(read_heads(d, c->width, &heads_dst));
	if (heads_dst != c->heads)
		GNN_FAIL(GNN_ECONFIG, "tensors %s and %s have %u and %u heads", s->tensor->name,
			d->tensor->name, c->heads, heads_dst);
	*src = s->data;
	*dst = d->data;
out:
	return rc;
}

static int lower_message(struct gnn_conv *c, const struct gnn_lowering *l)
{
	const float *w, *src = NULL, *dst = NULL;
	int rc;

	GNN_TRY(read_weight(c, l, &w));
	GNN_TRY(read_attention(c, l, &src, &dst));
	GNN_TRY(check_told_heads(c, l));
	gnn_rowprog_init(&c->message, c->dim_in);
	GNN_TRY(gnn_rowprog_dense(&c->message, w, NULL, c->width));
	gnn_rowprog_init(&c->scores, c->width);
	GNN_TRY(gnn_rowprog_scores(&c->scores, src, dst, c->heads));
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
