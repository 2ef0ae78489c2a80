/*
 * layer/layer_gcn.c - GCNConv of PyG: h'_v = act(W sum_u c_u c_v h_u + b), c = deg^-1/2.
 *
 * deg counts listed in-edges, on both ends. "replace" drops listed self-loops and gives every
 * vertex one; "none" keeps what is listed, and c is 0 where deg is 0. W goes where rows are
 * narrower: into the message when it shrinks them, else behind the sum.
 */
#include "base/mem.h"
#include "layer/lower.h"

/* The weight as (out, in): PyG 1.x stored (in, out). */
static int read_weight(struct gnn_conv *c, const struct gnn_lowering *l, const float **out)
{
	const struct gnn_weight *w = gnn_lower_find(l, GNN_ROLE_LIN_WEIGHT, 0);
	float *turned;
	int rc;

	if (w != NULL) {
		GNN_TRY(gnn_lower_matrix(w, &c->dim_out, &c->dim_in));
		*out = w->data;
		goto out;
	}
	w = gnn_lower_find(l, GNN_ROLE_WEIGHT, 0);
	GNN_TRY(gnn_lower_matrix(w, &c->dim_in, &c->dim_out));
	GNN_TRY(gnn_conv_block(c, (uint64_t)c->dim_in * c->dim_out, &turned));
	for (uint64_t i = 0; i < c->dim_in; i++)
		for (uint64_t o = 0; o < c->dim_out; o++)
			turned[o * c->dim_in + i] = w->data[i * c->dim_out + o];
	*out = turned;
out:
	return rc;
}

int gnn_lower_gcn(struct gnn_conv *c, const struct gnn_lowering *l)
{
	bool loops = l->set->v[GNN_SET_SELF_LOOPS].choice == GNN_LOOPS_REPLACE;
	const float *w;
	int rc;

	GNN_TRY(read_weight(c, l, &w));
	GNN_TRY(gnn_lower_vector_of(gnn_lower_find(l, GNN_ROLE_BIAS, 0), c->dim_out));
	GNN_TRY(gnn_lower_order(c, l, c->dim_out < c->dim_in, true, true));
	c->combine = GNN_COMBINE_SUM;
	c->drop_loops = loops;
	c->own_counts = loops;
	c->own = loops ? GNN_OWN_MESSAGE : GNN_OWN_NONE;
	c->own_factor = 1.0f;

	gnn_rowprog_init(&c->message, c->dim_in);
	if (c->transform_first)
		GNN_TRY(gnn_rowprog_dense(&c->message, w, NULL, c->dim_out));
	c->width = c->message.dim_out;
	c->state_width = c->width;
	GNN_TRY(gnn_rowprog_scale(&c->message, 0, c->width, 0));
	c->message_vec[0] = GNN_NORM_RSQRT_IN;

	gnn_rowprog_init(&c->finish, c->state_width);
	GNN_TRY(gnn_rowprog_scale(&c->finish, 0, c->width, 0));
	c->finish_vec[0] = GNN_NORM_RSQRT_IN;
	if (!c->transform_first)
		GNN_TRY(gnn_rowprog_dense(&c->finish, w, NULL, c->dim_out));
	GNN_TRY(gnn_rowprog_bias(&c->finish, gnn_lower_data(l, GNN_ROLE_BIAS, 0)));
out:
	return rc;
}
