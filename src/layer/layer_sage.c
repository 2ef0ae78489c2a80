/*
 * layer/layer_sage.c - SAGEConv: h'_v = act(W_l agg_u g(h_u) + b + W_r h_v), agg a mean, sum or
 * maximum (0 without in-edges), g the identity or relu(P h + p). GraphConv of PyG is the same with
 * other names; DGL's "pool" is a maximum with g, its "gcn" the mean over in-edges and the own row.
 * Edge weights scale g(h_u), but for PyG's SAGEConv, which takes none; means divide by counts.
 *
 * Transform first (all but the maximum), one pass: the message is W_l h_u, and the own row brings
 * max(deg, 1) (W_r h_v + b), or W_r h_v + b to a sum, so that the division at the end is right for
 * both. Aggregate first: the state keeps [agg | h_v], and one product with [W_l | W_r] ends it; in
 * the published design it keeps agg, and h_v is read once more when all sums are done.
 */
#include "layer/lower.h"

#include <string.h>

enum { BIASES = 3 };

/* What PyG, DGL and PyG's GraphConv call the same things. */
static const struct names {
	enum gnn_role w_l, w_r, project, project_bias;
	enum gnn_role bias[BIASES]; /* of one layer: their sum */
} all_names[] = {
	{GNN_ROLE_LIN_L_WEIGHT, GNN_ROLE_LIN_R_WEIGHT, GNN_ROLE_LIN_WEIGHT, GNN_ROLE_LIN_BIAS,
		{GNN_ROLE_LIN_L_BIAS}},
	{GNN_ROLE_FC_NEIGH_WEIGHT, GNN_ROLE_FC_SELF_WEIGHT, GNN_ROLE_FC_POOL_WEIGHT,
		GNN_ROLE_FC_POOL_BIAS,
		{GNN_ROLE_BIAS, GNN_ROLE_FC_SELF_BIAS, GNN_ROLE_FC_NEIGH_BIAS}},
	{GNN_ROLE_LIN_REL_WEIGHT, GNN_ROLE_LIN_ROOT_WEIGHT, GNN_ROLE_UNKNOWN, GNN_ROLE_UNKNOWN,
		{GNN_ROLE_LIN_REL_BIAS}},
};

/* How an aggregator is computed. */
static const struct means {
	enum gnn_combine combine;
	enum gnn_norm    finish; /* of the combined columns */
	bool             own_in_mean;
} all_means[] = {
	[GNN_AGGREGATE_MEAN] = {GNN_COMBINE_SUM, GNN_NORM_INV_IN, false},
	[GNN_AGGREGATE_SUM] = {GNN_COMBINE_SUM, GNN_NORM_NONE, false},
	[GNN_AGGREGATE_MAX] = {GNN_COMBINE_MAX, GNN_NORM_COUNT_IN, false},
	[GNN_AGGREGATE_POOL] = {GNN_COMBINE_MAX, GNN_NORM_COUNT_IN, false},
	[GNN_AGGREGATE_GCN] = {GNN_COMBINE_SUM, GNN_NORM_INV_IN, true},
};

struct sage {
	const float *w_l;  /* (dim_out, width) */
	const float *w_r;  /* (dim_out, dim_in) or NULL */
	const float *bias; /* (dim_out) or NULL */
	const float *project, *project_bias; /* (width, dim_in), (width); or NULL */
	uint32_t     width; /* of g(h) */
	const struct means *means;
	bool         edge_weights;
};

/* The one bias as it is, or the sum of DGL 0.6's two. */
static int read_bias(struct sage *s, struct gnn_conv *c, const struct gnn_lowering *l,
	const struct names *n)
{
	float *sum = NULL;
	int rc = GNN_OK;

	for (uint32_t k = 0; k < BIASES; k++) {
		const struct gnn_weight *w = gnn_lower_find(l, n->bias[k], 0);

		if (w == NULL)
			continue;
		GNN_TRY(gnn_lower_vector_of(w, c->dim_out));
		if (s->bias == NULL) {
			s->bias = w->data;
			continue;
		}
		GNN_TRY(gnn_conv_block(c, c->dim_out, &sum));
		for (uint32_t i = 0; i < c->dim_out; i++)
			sum[i] = s->bias[i] + w->data[i];
		s->bias = sum;
	}
out:
	return rc;
}

static int read_weights(struct sage *s, struct gnn_conv *c, const struct gnn_lowering *l)
{
	const struct names *n = all_names;
	const struct gnn_weight *project, *w_l;
	int rc;

	while ((w_l = gnn_lower_find(l, n->w_l, 0)) == NULL)
		n++;
	GNN_ASSERT(n < all_names + GNN_COUNT_OF(all_names));
	project = gnn_lower_find(l, n->project, 0);
	GNN_TRY(gnn_lower_matrix(w_l, &c->dim_out, &s->width));
	c->dim_in = s->width;
	if (project != NULL) {
		GNN_TRY(gnn_lower_matrix(project, &s->width, &c->dim_in));
		GNN_TRY(gnn_lower_matrix_of(w_l, c->dim_out, s->width));
	}
	GNN_TRY(gnn_lower_vector_of(gnn_lower_find(l, n->project_bias, 0), s->width));
	GNN_TRY(gnn_lower_matrix_of(gnn_lower_find(l, n->w_r, 0), c->dim_out, c->dim_in));
	GNN_TRY(read_bias(s, c, l, n));
	s->w_l = w_l->data;
	s->edge_weights = n->w_l != GNN_ROLE_LIN_L_WEIGHT;
	s->w_r = gnn_lower_data(l, n->w_r, 0);
	s->project = gnn_lower_data(l, n->project, 0);
	s->project_bias = gnn_lower_data(l, n->project_bias, 0);
	if (s->project == NULL && s->project_bias != NULL)
		GNN_FAIL(GNN_ECONFIG, "layer %u has a bias of a projection but no weight",
			l->layer);
out:
	return rc;
}

/* DGL's own aggregators are told apart by their keys; over PyG's keys they cannot be told. */
static int read_means(struct sage *s, const struct gnn_lowering *l)
{
	const struct gnn_setting_value *told = &l->set->v[GNN_SET_AGGREGATOR];
	bool of_dgl = l->set->v[GNN_SET_LIBRARY].choice == GNN_LIBRARY_DGL;

	if (told->choice > GNN_AGGREGATE_MAX && !of_dgl)
		return gnn_err(GNN_ECONFIG, "gnnrun.aggregator=%s is DGL's, the keys are those of "
			"PyG", told->text);
	s->means = &all_means[told->choice];
	return GNN_OK;
}

/* The message is [W_l h | max(deg, 1) (W_r h + b)], the factor for a mean only. */
static int lower_transform_first(struct gnn_conv *c, const struct sage *s)
{
	uint64_t size = (uint64_t)c->dim_out * c->dim_in;
	bool mean = s->means->finish == GNN_NORM_INV_IN;
	float *w, *bias = NULL;
	int rc;

	c->width = c->dim_out;
	c->state_width = c->dim_out;
	gnn_rowprog_init(&c->message, c->dim_in);
	if (s->w_r == NULL) {
		GNN_TRY(gnn_rowprog_dense(&c->message, s->w_l, NULL, c->dim_out));
	} else {
		c->own = GNN_OWN_ROW;
		GNN_TRY(gnn_conv_block(c, 2 * size, &w));
		memcpy(w, s->w_l, size * sizeof(*w));
		memcpy(w + size, s->w_r, size * sizeof(*w));
		if (s->bias != NULL) {
			GNN_TRY(gnn_conv_block(c, 2 * (uint64_t)c->dim_out, &bias));
			memcpy(bias + c->dim_out, s->bias, c->dim_out * sizeof(*bias));
		}
		GNN_TRY(gnn_rowprog_dense(&c->message, w, bias, 2 * c->dim_out));
		if (mean)
			GNN_TRY(gnn_rowprog_scale(&c->message, c->dim_out, c->dim_out, 0));
		c->message_vec[0] = mean ? GNN_NORM_DEG_IN : GNN_NORM_NONE;
	}
	gnn_rowprog_init(&c->finish, c->state_width);
	if (mean)
		GNN_TRY(gnn_rowprog_scale(&c->finish, 0, c->width, 0));
	if (s->w_r == NULL)
		GNN_TRY(gnn_rowprog_bias(&c->finish, s->bias));
out:
	return rc;
}

/* [W_l | W_r], row by row. */
static int join_weights(struct gnn_conv *c, const struct sage *s, const float **out)
{
	uint64_t wide = (uint64_t)s->width + c->dim_in;
	float *w;
	int rc;

	*out = s->w_l;
	if (s->w_r == NULL)
		return GNN_OK;
	GNN_TRY(gnn_conv_block(c, c->dim_out * wide, &w));
	for (uint64_t o = 0; o < c->dim_out; o++) {
		memcpy(w + o * wide, s->w_l + o * s->width, s->width * sizeof(*w));
		memcpy(w + o * wide + s->width, s->w_r + o * c->dim_in, c->dim_in * sizeof(*w));
	}
	*out = w;
out:
	return rc;
}

static int lower_aggregate_first(struct gnn_conv *c, const struct sage *s, bool published)
{
	const float *w;
	int rc;

	if (s->w_r != NULL)
		gnn_rowprog_init(published ? &c->late : &c->keep, c->dim_in);
	c->width = s->width;
	c->state_width = c->width + c->keep.dim_out;
	gnn_rowprog_init(&c->message, c->dim_in);
	if (s->project != NULL) {
		GNN_TRY(gnn_rowprog_dense(&c->message, s->project, s->project_bias, s->width));
		GNN_TRY(gnn_rowprog_act(&c->message, GNN_ACT_RELU, 0.0f));
	}
	gnn_rowprog_init(&c->finish, c->state_width + c->late.dim_out);
	if (s->means->finish == GNN_NORM_INV_IN)
		GNN_TRY(gnn_rowprog_scale(&c->finish, 0, c->width, 0));
	if (s->means->finish == GNN_NORM_COUNT_IN)
		GNN_TRY(gnn_rowprog_empty(&c->finish, 0, c->width, 0));
	GNN_TRY(join_weights(c, s, &w));
	GNN_TRY(gnn_rowprog_dense(&c->finish, w, s->bias, c->dim_out));
out:
	return rc;
}

int gnn_lower_sage(struct gnn_conv *c, const struct gnn_lowering *l)
{
	struct sage s = {0};
	bool can_transform;
	int rc;

	GNN_TRY(read_weights(&s, c, l));
	GNN_TRY(read_means(&s, l));
	can_transform = s.means->combine == GNN_COMBINE_SUM && s.project == NULL;
	GNN_TRY(gnn_lower_order(c, l, can_transform && c->dim_out < c->dim_in, can_transform,
		true));
	c->combine = s.means->combine;
	c->edge_weights = s.edge_weights;
	c->sample_degrees = s.means->finish != GNN_NORM_NONE;
	c->finish_vec[0] = s.means->finish;
	c->own_counts = s.means->own_in_mean;
	c->own = s.means->own_in_mean ? GNN_OWN_MESSAGE : GNN_OWN_NONE;
	c->own_factor = 1.0f;
	GNN_TRY(c->transform_first ? lower_transform_first(c, &s) :
		lower_aggregate_first(c, &s, l->published));
	if (l->set->v[GNN_SET_NORMALIZE].choice == 1)
		GNN_TRY(gnn_rowprog_l2norm(&c->finish, 1e-12f));
out:
	return rc;
}
