/*
 * layer/layer_gat.c - GATConv of PyG and DGL: per head, h'_v = sum_u a_uv W h_u + b, a the softmax
 * over u of LeakyReLU(att_src . W h_u + att_dst . W h_v).
 *
 * The state holds the weighted sums of all heads and the heads' denominators. "replace" drops
 * listed self-loops and gives every vertex one; "none" keeps what is listed, and a vertex without
 * in-edges gets the bias. DGL's class takes weights of edges, which scale a but are not summed
 * with it: sum_u w_uv a_uv W h_u. What is behind the softmax stands in attend.c.
 */
#include "layer/attend.h"

/*
 * W as (heads x channels, dim_in). PyG 1.6 to 2.4 and bipartite layers name two matrices: one
 * twice, or two that differ, which is a bipartite layer.
 */
static int read_weight(struct gnn_conv *c, const struct gnn_lowering *l, const float **out)
{
	static const enum gnn_role names[][2] = {
		{GNN_ROLE_LIN_WEIGHT, GNN_ROLE_FC_WEIGHT},
		{GNN_ROLE_LIN_SRC_WEIGHT, GNN_ROLE_LIN_DST_WEIGHT},
		{GNN_ROLE_LIN_L_WEIGHT, GNN_ROLE_LIN_R_WEIGHT},
		{GNN_ROLE_FC_SRC_WEIGHT, GNN_ROLE_FC_DST_WEIGHT},
	};
	const struct gnn_weight *a = NULL, *b = NULL, *w = NULL;
	bool differ;
	int rc;

	for (uint32_t i = 0; i < GNN_COUNT_OF(names) && a == NULL && b == NULL; i++) {
		a = gnn_lower_find(l, names[i][0], 0);
		b = gnn_lower_find(l, names[i][1], 0);
	}
	GNN_TRY(gnn_attend_shared(a, b, &c->width, &c->dim_in, &w, &differ));
	if (w == NULL)
		return gnn_lower_turned(c, gnn_lower_find(l, GNN_ROLE_WEIGHT, 0), &c->width,
			&c->dim_in, out);
	if (differ)
		GNN_FAIL(GNN_ECONFIG, "tensors %s and %s differ: bipartite GAT is not supported",
			a->tensor->name, b->tensor->name);
	*out = w->data;
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

	GNN_TRY(gnn_attend_heads(att, 2 * c->width, &c->heads));
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
	if (s == NULL) {
		s = gnn_lower_find(l, GNN_ROLE_ATTN_L, 0);
		d = gnn_lower_find(l, GNN_ROLE_ATTN_R, 0);
	}
	GNN_TRY(gnn_attend_heads(s, c->width, &c->heads));
	GNN_TRY(gnn_attend_heads(d, c->width, &heads_dst));
	if (heads_dst != c->heads)
		GNN_FAIL(GNN_ECONFIG, "tensors %s and %s have %u and %u heads", s->tensor->name,
			d->tensor->name, c->heads, heads_dst);
	*src = s->data;
	*dst = d->data;
out:
	return rc;
}

int gnn_lower_gat(struct gnn_conv *c, const struct gnn_lowering *l)
{
	const float *w, *src = NULL, *dst = NULL;
	int rc;

	GNN_TRY(gnn_lower_order(c, l, true, true, false));
	GNN_TRY(read_weight(c, l, &w));
	GNN_TRY(read_attention(c, l, &src, &dst));
	c->combine = GNN_COMBINE_SOFTMAX;
	c->three_steps = l->published;
	c->edge_weights = l->set->v[GNN_SET_LIBRARY].choice == GNN_LIBRARY_DGL;
	gnn_rowprog_init(&c->message, c->dim_in);
	GNN_TRY(gnn_rowprog_dense(&c->message, w, NULL, c->width));
	gnn_rowprog_init(&c->scores, c->width);
	GNN_TRY(gnn_rowprog_scores(&c->scores, src, dst, c->heads));
	GNN_TRY(gnn_attend_finish(c, l));
out:
	return rc;
}
