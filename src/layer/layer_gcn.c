/*
 * layer/layer_gcn.c - GCNConv of PyG: h'_v = act(W sum_u c_u c_v h_u + b), c = deg^-1/2, and
 * GraphConv of DGL: "both" takes out-degrees at the source and in-degrees at the destination,
 * "left" divides by the out-degree of the source, "right" is the mean, "none" the sum.
 *
 * deg counts listed in-edges, in PyG on both ends. "replace", PyG's default, drops listed
 * self-loops and gives every vertex one; "none", DGL's, keeps what is listed, and c is 0 where deg
 * is 0. W goes where rows are narrower: into the message when it shrinks them, else behind the sum.
 *
 * Edge weights scale the messages. In PyG deg sums the weights, and a replaced self-loop keeps its
 * weight, the last of several; in DGL degrees stay counts.
 */
#include "layer/lower.h"

/* `before` scales the messages, `after` their sum. */
static int lower(struct gnn_conv *c, const struct gnn_lowering *l, enum gnn_norm before,
	enum gnn_norm after)
{
	bool loops = l->set->v[GNN_SET_SELF_LOOPS].choice == GNN_LOOPS_REPLACE;
	const struct gnn_weight *w = gnn_lower_find(l, GNN_ROLE_LIN_WEIGHT, 0);
	const float *data;
	int rc;

	if (w != NULL) {
		GNN_TRY(gnn_lower_matrix(w, &c->dim_out, &c->dim_in));
		data = w->data;
	} else {
		w = gnn_lower_find(l, GNN_ROLE_WEIGHT, 0);
		GNN_TRY(gnn_lower_turned(c, w, &c->dim_out, &c->dim_in, &data));
	}
	GNN_TRY(gnn_lower_vector_of(gnn_lower_find(l, GNN_ROLE_BIAS, 0), c->dim_out));
	GNN_TRY(gnn_lower_order(c, l, c->dim_out < c->dim_in, true, true));
	c->combine = GNN_COMBINE_SUM;
	c->edge_weights = true;
	c->drop_loops = loops;
	c->own_counts = loops;
	c->own = loops ? GNN_OWN_MESSAGE : GNN_OWN_NONE;
	c->own_factor = 1.0f;

	gnn_rowprog_init(&c->message, c->dim_in);
	if (c->transform_first)
		GNN_TRY(gnn_rowprog_dense(&c->message, data, NULL, c->dim_out));
	c->width = c->message.dim_out;
	c->state_width = c->width;
	c->message_vec[0] = before;
	if (before != GNN_NORM_NONE)
		GNN_TRY(gnn_rowprog_scale(&c->message, 0, c->width, 0));

	gnn_rowprog_init(&c->finish, c->state_width);
	c->finish_vec[0] = after;
	if (after != GNN_NORM_NONE)
		GNN_TRY(gnn_rowprog_scale(&c->finish, 0, c->width, 0));
	if (!c->transform_first)
		GNN_TRY(gnn_rowprog_dense(&c->finish, data, NULL, c->dim_out));
	GNN_TRY(gnn_rowprog_bias(&c->finish, gnn_lower_data(l, GNN_ROLE_BIAS, 0)));
out:
	return rc;
}

int gnn_lower_gcn(struct gnn_conv *c, const struct gnn_lowering *l)
{
	c->weighted_degrees = true;
	return lower(c, l, GNN_NORM_RSQRT_IN, GNN_NORM_RSQRT_IN);
}

/* A sum over no in-edges is 0: what a factor makes of a degree of 0 changes nothing. */
int gnn_lower_gcn_dgl(struct gnn_conv *c, const struct gnn_lowering *l)
{
	static const struct {
		enum gnn_norm before, after;
	} norms[] = { /* as gnnrun.norm lists them: both, right, left, none */
		{GNN_NORM_RSQRT_OUT, GNN_NORM_RSQRT_IN},
		{GNN_NORM_NONE, GNN_NORM_INV_IN},
		{GNN_NORM_INV_OUT, GNN_NORM_NONE},
		{GNN_NORM_NONE, GNN_NORM_NONE},
	};
	const uint32_t norm = l->set->v[GNN_SET_NORM].choice;

	return lower(c, l, norms[norm].before, norms[norm].after);
}
