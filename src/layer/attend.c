/* layer/attend.c - see attend.h. */
#include "layer/attend.h"

#include <string.h>

/*
 * PyG adds this to every denominator. In f32 it changes none but that of a vertex without
 * messages, whose row becomes 0, as in DGL.
 */
#define EPSILON 1e-16f

int gnn_attend_heads(const struct gnn_weight *att, uint32_t columns, uint32_t *heads)
{
	const uint64_t *shape = att->tensor->shape;

	if (att->tensor->rank != 3 || shape[0] != 1 || shape[1] == 0 || shape[1] > columns ||
		shape[1] * shape[2] != columns)
		return gnn_err(GNN_ECONFIG, "tensor %s: wanted (1, heads, channels), together %u",
			att->tensor->name, columns);
	*heads = (uint32_t)shape[1];
	return GNN_OK;
}

int gnn_attend_shared(const struct gnn_weight *a, const struct gnn_weight *b, uint32_t *columns,
	uint32_t *dim_in, const struct gnn_weight **out, bool *differ)
{
	int rc = GNN_OK;

	*out = a != NULL ? a : b;
	*differ = false;
	if (*out == NULL)
		return GNN_OK;
	GNN_TRY(gnn_lower_matrix(*out, columns, dim_in));
	GNN_TRY(gnn_lower_matrix_of(b, *columns, *dim_in));
	*differ = a != NULL && b != NULL &&
		memcmp(a->data, b->data, a->tensor->count * sizeof(float)) != 0;
out:
	return rc;
}

static int check_told_heads(const struct gnn_conv *c, const struct gnn_lowering *l)
{
	const struct gnn_setting_value *told = &l->set->v[GNN_SET_HEADS];

	if (told->list_count > 0 && told->list[l->layer] != c->heads)
		return gnn_err(GNN_ECONFIG, "gnnrun.heads is %u for layer %u, its tensors have %u",
			told->list[l->layer], l->layer, c->heads);
	return GNN_OK;
}

static bool is_dgl(const struct gnn_lowering *l)
{
	return l->set->v[GNN_SET_LIBRARY].choice == GNN_LIBRARY_DGL;
}

/*
 * Whether the heads stand side by side: as told; else, in PyG, as the bias is wide; else on all but
 * the last layer. With one head both are the same.
 */
static bool is_concat(const struct gnn_conv *c, const struct gnn_lowering *l)
{
	const struct gnn_setting_value *told = &l->set->v[GNN_SET_CONCAT];
	const struct gnn_weight *bias = gnn_lower_find(l, GNN_ROLE_BIAS, 0);

	if (told->list_count > 0)
		return told->list[l->layer] == 1;
	if (bias != NULL && !is_dgl(l))
		return bias->tensor->count == c->width;
	return l->layer + 1 < l->layers;
}

/* The residual into keep: a matrix by its keys, or DGL's identity, which only a setting can say. */
static int read_residual(struct gnn_conv *c, const struct gnn_lowering *l, uint32_t width)
{
	const struct gnn_setting_value *told = &l->set->v[GNN_SET_RESIDUAL];
	const struct gnn_weight *pyg = gnn_lower_find(l, GNN_ROLE_RES_WEIGHT, 0);
	const struct gnn_weight *dgl = gnn_lower_find(l, GNN_ROLE_RES_FC_WEIGHT, 0);
	const struct gnn_weight *w = pyg != NULL ? pyg : dgl;
	const struct gnn_weight *bias = gnn_lower_find(l, GNN_ROLE_RES_FC_BIAS, 0);
	bool is_told = told->list_count > 0, wanted = is_told ? told->list[l->layer] == 1 : false;
	int rc = GNN_OK;

	if (is_told && w != NULL && !wanted)
		GNN_FAIL(GNN_ECONFIG, "gnnrun.residual is 0 for layer %u, which has %s", l->layer,
			w->tensor->name);
	if (w == NULL && bias != NULL)
		GNN_FAIL(GNN_ECONFIG, "layer %u has %s but not its weight", l->layer,
			bias->tensor->name);
	if (w == NULL && !wanted)
		return GNN_OK;
	if (w == NULL && (!is_dgl(l) || c->dim_in != width))
		GNN_FAIL(GNN_ECONFIG, "gnnrun.residual is 1 for layer %u, which has no weight of "
			"one%s", l->layer, is_dgl(l) ? " and changes the width" : "");
	gnn_rowprog_init(&c->keep, c->dim_in);
	if (w == NULL)
		return GNN_OK;
	GNN_TRY(gnn_lower_matrix_of(w, width, c->dim_in));
	GNN_TRY(gnn_lower_vector_of(bias, width));
	GNN_TRY(gnn_rowprog_dense(&c->keep, w->data, bias != NULL ? bias->data : NULL, width));
out:
	return rc;
}

static int push_mean(struct gnn_conv *c, bool concat, uint32_t tail)
{
	return concat || c->heads == 1 ? GNN_OK :
		gnn_rowprog_head_mean(&c->finish, c->heads, tail);
}

static int push_residual(struct gnn_conv *c)
{
	return c->keep.dim_out > 0 ? gnn_rowprog_add(&c->finish) : GNN_OK;
}

/* PyG averages the heads, then adds residual and bias, which are as wide as the result. */
static int finish_pyg(struct gnn_conv *c, const struct gnn_lowering *l, bool concat)
{
	const struct gnn_weight *bias = gnn_lower_find(l, GNN_ROLE_BIAS, 0);
	uint32_t width = concat ? c->width : c->width / c->heads;
	int rc;

	GNN_TRY(gnn_lower_vector_of(bias, width));
	GNN_TRY(push_mean(c, concat, c->keep.dim_out));
	GNN_TRY(push_residual(c));
	GNN_TRY(gnn_rowprog_bias(&c->finish, bias != NULL ? bias->data : NULL));
out:
	return rc;
}

/* In DGL the model averages what the layer gives for all heads, residual and bias included. */
static int finish_dgl(struct gnn_conv *c, const struct gnn_lowering *l, bool concat)
{
	const struct gnn_weight *bias = gnn_lower_find(l, GNN_ROLE_BIAS, 0);
	int rc;

	GNN_TRY(gnn_lower_vector_of(bias, c->width));
	GNN_TRY(push_residual(c));
	GNN_TRY(gnn_rowprog_bias(&c->finish, bias != NULL ? bias->data : NULL));
	GNN_TRY(push_mean(c, concat, 0));
out:
	return rc;
}

int gnn_attend_finish(struct gnn_conv *c, const struct gnn_lowering *l)
{
	bool loops = l->set->v[GNN_SET_SELF_LOOPS].choice == GNN_LOOPS_REPLACE;
	bool concat = is_concat(c, l);
	int rc;

	GNN_TRY(check_told_heads(c, l));
	GNN_TRY(read_residual(c, l, concat || is_dgl(l) ? c->width : c->width / c->heads));
	c->slope = (float)l->set->v[GNN_SET_NEGATIVE_SLOPE].number;
	c->state_width = c->width + c->heads + c->keep.dim_out;
	c->drop_loops = loops;
	c->own_counts = loops;
	c->own = loops ? GNN_OWN_MESSAGE : GNN_OWN_NONE;
	c->own_factor = 1.0f;
	gnn_rowprog_init(&c->finish, c->state_width);
	GNN_TRY(gnn_rowprog_divide(&c->finish, c->heads, c->keep.dim_out, EPSILON));
	GNN_TRY(is_dgl(l) ? finish_dgl(c, l, concat) : finish_pyg(c, l, concat));
	c->dim_out = c->finish.dim_out;
out:
	return rc;
}
