/*
 * layer/layer_gatv2.c - GATv2Conv of PyG and DGL: per head, h'_v = sum_u a_uv l_u + b, a the
 * softmax over u of att . LeakyReLU(l_u + r_v), l = W_l h + b_l of sources, r = W_r h + b_r of
 * targets.
 *
 * The message is [l | r], or l alone where both are the same ("share_weights"). Loops, heads and
 * the residual as in GAT; DGL has no bias behind the sum.
 */
#include "layer/attend.h"

#include <string.h>

static const struct names {
	enum gnn_role weight[2], bias[2], att; /* of sources, of targets */
} all_names[] = {
	{{GNN_ROLE_LIN_L_WEIGHT, GNN_ROLE_LIN_R_WEIGHT},
		{GNN_ROLE_LIN_L_BIAS, GNN_ROLE_LIN_R_BIAS}, GNN_ROLE_ATT},
	{{GNN_ROLE_FC_SRC_WEIGHT, GNN_ROLE_FC_DST_WEIGHT},
		{GNN_ROLE_FC_SRC_BIAS, GNN_ROLE_FC_DST_BIAS}, GNN_ROLE_ATTN},
};

/* The two biases one behind the other, (2 x width); NULL when there is none. */
static int join_biases(struct gnn_conv *c, const struct gnn_weight *const bias[2],
	const float **out)
{
	float *both;
	int rc = GNN_OK;

	*out = NULL;
	if (bias[0] == NULL && bias[1] == NULL)
		return GNN_OK;
	GNN_TRY(gnn_conv_block(c, 2 * (uint64_t)c->width, &both));
	for (int k = 0; k < 2; k++)
		if (bias[k] != NULL)
			memcpy(both + (uint64_t)k * c->width, bias[k]->data,
				c->width * sizeof(*both));
	*out = both;
out:
	return rc;
}

static int lower_two(struct gnn_conv *c, const struct gnn_weight *const w[2],
	const struct gnn_weight *const bias[2])
{
	uint64_t size = (uint64_t)c->width * c->dim_in;
	const float *joined;
	float *both;
	int rc;

	GNN_TRY(gnn_conv_block(c, 2 * size, &both));
	memcpy(both, w[0]->data, size * sizeof(*both));
	memcpy(both + size, w[1]->data, size * sizeof(*both));
	GNN_TRY(join_biases(c, bias, &joined));
	GNN_TRY(gnn_rowprog_dense(&c->message, both, joined, 2 * c->width));
out:
	return rc;
}

/* One name may be missing, or both hold the same: both ends then share weight and bias. */
static int lower_message(struct gnn_conv *c, const struct gnn_lowering *l, const struct names *n)
{
	const struct gnn_weight *w[2], *bias[2], *one, *one_bias;
	bool differ;
	int rc;

	for (int k = 0; k < 2; k++) {
		w[k] = gnn_lower_find(l, n->weight[k], 0);
		bias[k] = gnn_lower_find(l, n->bias[k], 0);
	}
	GNN_TRY(gnn_attend_shared(w[0], w[1], &c->width, &c->dim_in, &one, &differ));
	for (int k = 0; k < 2; k++)
		GNN_TRY(gnn_lower_vector_of(bias[k], c->width));
	one_bias = bias[0] != NULL ? bias[0] : bias[1];
	gnn_rowprog_init(&c->message, c->dim_in);
	differ |= w[0] != NULL && w[1] != NULL && one_bias != NULL &&
		(bias[0] == NULL || bias[1] == NULL ||
		memcmp(bias[0]->data, bias[1]->data, c->width * sizeof(float)) != 0);
	if (differ)
		return lower_two(c, w, bias);
	GNN_TRY(gnn_rowprog_dense(&c->message, one->data,
		one_bias != NULL ? one_bias->data : NULL, c->width));
out:
	return rc;
}

int gnn_lower_gatv2(struct gnn_conv *c, const struct gnn_lowering *l)
{
	const struct names *n = all_names;
	const struct gnn_weight *att;
	int rc;

	GNN_TRY(gnn_lower_order(c, l, true, true, false));
	while ((att = gnn_lower_find(l, n->att, 0)) == NULL)
		n++;
	GNN_ASSERT(n < all_names + GNN_COUNT_OF(all_names));
	c->combine = GNN_COMBINE_PAIR_SOFTMAX;
	GNN_TRY(lower_message(c, l, n));
	GNN_TRY(gnn_attend_heads(att, c->width, &c->heads));
	c->att = att->data;
	GNN_TRY(gnn_attend_finish(c, l));
out:
	return rc;
}
