/*
 * layer/layer_gin.c - GINConv of PyG: h'_v = MLP((1 + eps) h_v + sum_u h_u).
 *
 * The MLP is a chain of linears, batch norms and activations. Its keys number the modules: where
 * a number is left out stands an activation. A batch norm right behind a linear is folded into it
 * in double precision. The first linear goes into the message where it shrinks the rows. DGL's
 * GINConv takes edge weights, PyG's does not.
 */
#include "base/mem.h"
#include "layer/lower.h"

enum step_kind { LINEAR, AFFINE, ACTIVATION };
enum { STEPS_MAX = GNN_ROWPROG_MAX - 10 }; /* a norm, an activation and a head may follow */

struct step {
	enum step_kind kind;
	uint32_t     dim_out;
	const float *weight, *bias; /* LINEAR: (dim_out, dim_in), (dim_out) or NULL */
	const float *scale, *shift; /* AFFINE: (dim_out) */
};

struct mlp {
	uint32_t    dim_in, dim_out; /* dim_out: of the steps so far */
	uint32_t    count;
	struct step step[STEPS_MAX];
};

static int add_step(struct mlp *m, const struct step *s)
{
	if (m->count == STEPS_MAX)
		return gnn_err(GNN_ECONFIG, "an MLP of more than %d steps", STEPS_MAX);
	m->step[m->count++] = *s;
	m->dim_out = s->dim_out;
	return GNN_OK;
}

static int add_activation(struct mlp *m)
{
	const struct step s = {.kind = ACTIVATION, .dim_out = m->dim_out};

	return add_step(m, &s);
}

static int add_linear(struct mlp *m, const struct gnn_weight *w, const struct gnn_weight *bias)
{
	struct step s = {.kind = LINEAR, .weight = w->data};
	uint32_t dim_in;
	int rc;

	GNN_TRY(gnn_lower_matrix(w, &s.dim_out, &dim_in));
	if (m->count == 0)
		m->dim_in = dim_in;
	else
		GNN_TRY(gnn_lower_matrix_of(w, s.dim_out, m->dim_out));
	GNN_TRY(gnn_lower_vector_of(bias, s.dim_out));
	s.bias = bias != NULL ? bias->data : NULL;
	GNN_TRY(add_step(m, &s));
out:
	return rc;
}

/* W' = s W, b' = s b + t. */
static int fold(struct gnn_conv *c, struct step *linear, uint64_t dim_in, const double *scale,
	const double *shift)
{
	float *w, *b;
	int rc;

	GNN_TRY(gnn_conv_block(c, linear->dim_out * dim_in, &w));
	GNN_TRY(gnn_conv_block(c, linear->dim_out, &b));
	for (uint64_t o = 0; o < linear->dim_out; o++) {
		for (uint64_t i = 0; i < dim_in; i++)
			w[o * dim_in + i] = (float)(scale[o] * linear->weight[o * dim_in + i]);
		b[o] = (float)(shift[o] + (linear->bias != NULL ? scale[o] * linear->bias[o] : 0));
	}
	linear->weight = w;
	linear->bias = b;
out:
	return rc;
}

static int add_affine(struct gnn_conv *c, struct mlp *m, const double *scale, const double *shift)
{
	struct step s = {.kind = AFFINE, .dim_out = m->dim_out};
	float *a, *b;
	int rc;

	GNN_TRY(gnn_conv_block(c, m->dim_out, &a));
	GNN_TRY(gnn_conv_block(c, m->dim_out, &b));
	for (uint32_t i = 0; i < m->dim_out; i++) {
		a[i] = (float)scale[i];
		b[i] = (float)shift[i];
	}
	s.scale = a;
	s.shift = b;
	GNN_TRY(add_step(m, &s));
out:
	return rc;
}

/* The batch norm at `place`, as gnn_lower_batch_norm gives it. */
static int read_norm(const struct gnn_lowering *l, uint32_t place, uint32_t width, double **out)
{
	const struct gnn_batch_norm n = {
		.weight = gnn_lower_find(l, GNN_ROLE_MLP_WEIGHT, place),
		.bias = gnn_lower_find(l, GNN_ROLE_MLP_BIAS, place),
		.mean = gnn_lower_find(l, GNN_ROLE_MLP_MEAN, place),
		.var = gnn_lower_find(l, GNN_ROLE_MLP_VAR, place),
	};

	*out = NULL;
	if (n.mean == NULL || n.var == NULL)
		return gnn_err(GNN_ECONFIG, "layer %u: norm %u of the MLP has no running mean and "
			"variance: only BatchNorm is supported", l->layer, place);
	return gnn_lower_batch_norm(&n, width, out);
}

static int add_norm(struct gnn_conv *c, struct mlp *m, const struct gnn_lowering *l,
	uint32_t place)
{
	struct step *last = m->count > 0 ? &m->step[m->count - 1] : NULL;
	uint32_t width = m->dim_out, dim_in;
	double *scale = NULL;
	int rc;

	GNN_TRY(read_norm(l, place, width, &scale));
	if (last != NULL && last->kind == LINEAR) {
		dim_in = m->count > 1 ? m->step[m->count - 2].dim_out : m->dim_in;
		GNN_TRY(fold(c, last, dim_in, scale, scale + width));
	} else {
		GNN_TRY(add_affine(c, m, scale, scale + width));
	}
out:
	gnn_mem_free(scale);
	return rc;
}

/* The least place of the MLP from `from` on; false when there is none. */
static bool next_place(const struct gnn_lowering *l, uint32_t from, uint32_t *place)
{
	*place = UINT32_MAX;
	for (uint32_t i = 0; i < l->weight_count; i++) {
		const struct gnn_weight *w = &l->weight[i];

		if (w->role >= GNN_ROLE_MLP_WEIGHT && w->role <= GNN_ROLE_MLP_VAR &&
			w->item >= from && w->item < *place)
			*place = w->item;
	}
	return *place != UINT32_MAX;
}

static int read_mlp(struct gnn_conv *c, struct mlp *m, const struct gnn_lowering *l)
{
	const struct gnn_weight *w = NULL;
	uint32_t place, next = 0;
	bool norm = false;
	int rc = GNN_OK;

	for (; next_place(l, next, &place); next = place + 1) {
		w = gnn_lower_find(l, GNN_ROLE_MLP_WEIGHT, place);
		if (m->count > 0 && place > next)
			GNN_TRY(add_activation(m));
		norm = w == NULL || w->tensor->rank == 1;
		if (m->count == 0 && (norm || place > 0))
			GNN_FAIL(GNN_ECONFIG, "layer %u: the MLP must begin with a linear at 0",
				l->layer);
		if (norm)
			GNN_TRY(add_norm(c, m, l, place));
		else
			GNN_TRY(add_linear(m, w, gnn_lower_find(l, GNN_ROLE_MLP_BIAS, place)));
	}
	/* PyG's MLP class: norm and activation come together, behind the last linear too. */
	if (norm && w != NULL && w->mlp_class)
		GNN_TRY(add_activation(m));
out:
	return rc;
}

static int push_steps(struct gnn_rowprog *p, const struct mlp *m, uint32_t first,
	enum gnn_act act)
{
	int rc = GNN_OK;

	for (uint32_t i = first; i < m->count; i++) {
		const struct step *s = &m->step[i];

		switch (s->kind) {
		case LINEAR:
			GNN_TRY(gnn_rowprog_dense(p, s->weight, s->bias, s->dim_out));
			break;
		case AFFINE:
			GNN_TRY(gnn_rowprog_affine(p, s->scale, s->shift));
			break;
		case ACTIVATION:
			GNN_TRY(gnn_rowprog_act(p, act, GNN_LEAKY_RELU_SLOPE));
			break;
		}
	}
out:
	return rc;
}

int gnn_lower_gin(struct gnn_conv *c, const struct gnn_lowering *l)
{
	const struct gnn_weight *eps = gnn_lower_find(l, GNN_ROLE_EPS, 0);
	enum gnn_act act = l->set->v[GNN_SET_MLP_ACTIVATION].choice;
	struct mlp m = {0};
	int rc;

	GNN_TRY(read_mlp(c, &m, l));
	if (eps->tensor->count != 1)
		GNN_FAIL(GNN_ECONFIG, "tensor %s: wanted one number", eps->tensor->name);
	c->dim_in = m.dim_in;
	c->dim_out = m.dim_out;
	GNN_TRY(gnn_lower_order(c, l, m.step[0].dim_out < m.dim_in, true, true));
	c->combine = GNN_COMBINE_SUM;
	c->edge_weights = l->set->v[GNN_SET_LIBRARY].choice == GNN_LIBRARY_DGL;
	c->own = GNN_OWN_MESSAGE;
	c->own_factor = 1.0f + eps->data[0];
	gnn_rowprog_init(&c->message, c->dim_in);
	if (c->transform_first)
		GNN_TRY(gnn_rowprog_dense(&c->message, m.step[0].weight, NULL, m.step[0].dim_out));
	c->width = c->message.dim_out;
	c->state_width = c->width;
	gnn_rowprog_init(&c->finish, c->state_width);
	if (c->transform_first)
		GNN_TRY(gnn_rowprog_bias(&c->finish, m.step[0].bias));
	GNN_TRY(push_steps(&c->finish, &m, c->transform_first ? 1 : 0, act));
out:
	return rc;
}
