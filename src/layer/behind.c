/*
 * layer/behind.c - what stands behind the convs: norms, activations, jumping knowledge, the head;
 * see model_parts.h.
 *
 *   h_l = act(norm(conv_l))         norm in front of the activation, or behind it (act_first)
 *   y   = h_L, or head(h_L), head(h_1 | ... | h_L), head(max over l of h_l)      ("jk")
 *
 * Without "jk" the last layer has the final activation instead; with it that comes at the very end.
 */
#include "base/mem.h"
#include "layer/model_parts.h"

#include <stdio.h>
#include <string.h>

#define LAYER_NORM_EPSILON 1e-5f /* of torch and PyG; the file does not say it */

static struct gnn_lowering lowering_of(const struct gnn_model *m, uint32_t layer)
{
	struct gnn_lowering l = {.set = &m->set, .layer = layer, .layers = m->layers};

	gnn_model_layer_weights(m, layer, &l.weight, &l.weight_count);
	return l;
}

/* The tensors behind all layers are listed as those of one more. */
static const struct gnn_weight *find_head(const struct gnn_model *m, enum gnn_role role)
{
	for (uint32_t i = 0; i < m->weight_count; i++)
		if (m->weight[i].role == role)
			return &m->weight[i];
	return NULL;
}

static struct gnn_batch_norm norm_of(const struct gnn_lowering *l)
{
	return (struct gnn_batch_norm){
		.weight = gnn_lower_find(l, GNN_ROLE_NORM_WEIGHT, 0),
		.bias = gnn_lower_find(l, GNN_ROLE_NORM_BIAS, 0),
		.mean = gnn_lower_find(l, GNN_ROLE_NORM_MEAN, 0),
		.var = gnn_lower_find(l, GNN_ROLE_NORM_VAR, 0),
	};
}

static uint64_t columns_of_all(const struct gnn_model *m)
{
	uint64_t sum = 0;

	for (uint32_t l = 0; l < m->layers; l++)
		sum += m->conv[l].dim_out;
	return sum;
}

static void ask(struct gnn_model *m, const char *what)
{
	size_t used = strlen(m->missing);

	snprintf(m->missing + used, sizeof(m->missing) - used, "%s%s", used > 0 ? ", " : "", what);
}

/* A head as wide as all layers can only be behind "cat"; one as wide as one of them is no proof. */
static void ask_jk(struct gnn_model *m)
{
	const struct gnn_weight *head = find_head(m, GNN_ROLE_HEAD_WEIGHT);
	uint64_t columns;

	if (head == NULL || gnn_settings_told(&m->set, GNN_SET_JK))
		return;
	columns = head->tensor->rank == 2 ? head->tensor->shape[1] : 0;
	if (m->layers == 1)
		gnn_settings_offer(&m->set, GNN_SET_JK, "last", GNN_TOLD_KEYS);
	else if (columns == columns_of_all(m))
		gnn_settings_offer(&m->set, GNN_SET_JK, "cat", GNN_TOLD_KEYS);
	else
		ask(m, "gnnrun.jk=last|max (what the linear behind all layers takes)");
}

static void ask_layer_norm(struct gnn_model *m)
{
	for (uint32_t i = 0; i < m->layers; i++) {
		struct gnn_lowering l = lowering_of(m, i);
		struct gnn_batch_norm n = norm_of(&l);

		if (n.weight == NULL || n.mean != NULL || n.var != NULL)
			continue;
		if (!gnn_settings_told(&m->set, GNN_SET_LAYER_NORM_MODE))
			ask(m, "gnnrun.layer_norm_mode=node|graph (PyG's LayerNorm is graph unless "
				"mode says otherwise, torch's is node)");
		return;
	}
}

void gnn_model_ask_behind(struct gnn_model *m)
{
	ask_layer_norm(m);
	ask_jk(m);
}

/* --- norms --- */

static int push_scaled(struct gnn_conv *c, struct gnn_rowprog *p, const double *scale,
	const double *shift)
{
	float *a, *b;
	int rc;

	GNN_TRY(gnn_conv_block(c, p->dim_out, &a));
	GNN_TRY(gnn_conv_block(c, p->dim_out, &b));
	for (uint32_t i = 0; i < p->dim_out; i++) {
		a[i] = (float)scale[i];
		b[i] = (float)shift[i];
	}
	GNN_TRY(gnn_rowprog_affine(p, a, b));
out:
	return rc;
}

static int push_batch_norm(struct gnn_conv *c, const struct gnn_lowering *l,
	const struct gnn_batch_norm *n)
{
	double *scale = NULL;
	int rc;

	if (n->mean == NULL || n->var == NULL)
		GNN_FAIL(GNN_ECONFIG, "the norm of layer %u has %s alone", l->layer,
			(n->mean != NULL ? n->mean : n->var)->tensor->name);
	GNN_TRY(gnn_lower_batch_norm(n, c->dim_out, &scale));
	GNN_TRY(push_scaled(c, &c->finish, scale, scale + c->dim_out));
out:
	gnn_mem_free(scale);
	return rc;
}

/* Mean and deviation of each row, or of all rows together, which the engine finds. */
static int push_layer_norm(struct gnn_conv *c, const struct gnn_lowering *l,
	const struct gnn_batch_norm *n)
{
	bool graph = l->set->v[GNN_SET_LAYER_NORM_MODE].choice == GNN_LAYER_NORM_GRAPH;
	struct gnn_rowprog *p = graph ? &c->after : &c->finish;
	float *none;
	int rc;

	GNN_TRY(gnn_lower_vector_of(n->weight, c->dim_out));
	GNN_TRY(gnn_lower_vector_of(n->bias, c->dim_out));
	if (graph)
		gnn_rowprog_init(p, c->dim_out);
	GNN_TRY(graph ? gnn_rowprog_standard(p, LAYER_NORM_EPSILON)
		      : gnn_rowprog_layernorm(p, LAYER_NORM_EPSILON));
	GNN_TRY(gnn_conv_block(c, c->dim_out, &none));
	GNN_TRY(gnn_rowprog_affine(p, n->weight->data, n->bias != NULL ? n->bias->data : none));
out:
	return rc;
}

/* The program that ends a layer. */
static struct gnn_rowprog *end_of(struct gnn_conv *c)
{
	return c->after.count > 0 ? &c->after : &c->finish;
}

static int put_behind_layer(struct gnn_model *m, uint32_t layer)
{
	const struct gnn_setting_value *set = m->set.v;
	bool inner = layer + 1 < m->layers || set[GNN_SET_JK].source != GNN_TOLD_NOWHERE;
	bool act_first = set[GNN_SET_ACT_FIRST].choice == 1;
	enum gnn_act act = set[inner ? GNN_SET_ACTIVATION : GNN_SET_FINAL_ACTIVATION].choice;
	struct gnn_lowering l = lowering_of(m, layer);
	struct gnn_batch_norm n = norm_of(&l);
	struct gnn_conv *c = &m->conv[layer];
	int rc;

	GNN_TRY(gnn_rowprog_act(&c->finish, act_first ? act : GNN_ACT_NONE,
		GNN_LEAKY_RELU_SLOPE));
	if (n.mean != NULL || n.var != NULL)
		GNN_TRY(push_batch_norm(c, &l, &n));
	else if (n.weight != NULL)
		GNN_TRY(push_layer_norm(c, &l, &n));
	GNN_TRY(gnn_rowprog_act(end_of(c), act_first ? GNN_ACT_NONE : act, GNN_LEAKY_RELU_SLOPE));
out:
	return rc;
}

/* --- jumping knowledge --- */

/* Head and final activation at the end of `p`. */
static int push_head(const struct gnn_model *m, struct gnn_rowprog *p)
{
	const struct gnn_weight *head = find_head(m, GNN_ROLE_HEAD_WEIGHT);
	const struct gnn_weight *bias = find_head(m, GNN_ROLE_HEAD_BIAS);
	uint32_t rows, cols;
	int rc;

	if (head != NULL) {
		GNN_TRY(gnn_lower_matrix(head, &rows, &cols));
		GNN_TRY(gnn_lower_matrix_of(head, rows, p->dim_out));
		GNN_TRY(gnn_lower_vector_of(bias, rows));
		GNN_TRY(gnn_rowprog_dense(p, head->data, bias != NULL ? bias->data : NULL, rows));
	}
	GNN_TRY(gnn_rowprog_act(p, m->set.v[GNN_SET_FINAL_ACTIVATION].choice,
		GNN_LEAKY_RELU_SLOPE));
out:
	return rc;
}

/* The columns of the head that layer l meets, from `first` on, as a matrix of their own. */
static int push_slice(struct gnn_conv *c, const struct gnn_weight *head, uint64_t first,
	const float *bias)
{
	uint64_t rows = head->tensor->shape[0], cols = head->tensor->shape[1];
	float *w;
	int rc;

	GNN_TRY(gnn_conv_block(c, rows * c->dim_out, &w));
	for (uint64_t o = 0; o < rows; o++)
		memcpy(w + o * c->dim_out, head->data + o * cols + first,
			c->dim_out * sizeof(*w));
	GNN_TRY(gnn_rowprog_dense(&c->jump, w, bias, (uint32_t)rows));
out:
	return rc;
}

/* Each layer through its columns of the head, added; without one side by side. */
static int jump_cat(struct gnn_model *m)
{
	const struct gnn_weight *head = find_head(m, GNN_ROLE_HEAD_WEIGHT);
	const struct gnn_weight *bias = find_head(m, GNN_ROLE_HEAD_BIAS);
	uint64_t columns = columns_of_all(m), first = 0;
	uint32_t rows = 0, cols;
	int rc = GNN_OK;

	if (columns > UINT32_MAX)
		GNN_FAIL(GNN_ECONFIG, "all layers together are too wide");
	if (head != NULL) {
		GNN_TRY(gnn_lower_matrix(head, &rows, &cols));
		GNN_TRY(gnn_lower_matrix_of(head, rows, (uint32_t)columns));
		GNN_TRY(gnn_lower_vector_of(bias, rows));
	}
	for (uint32_t l = 0; l < m->layers; first += m->conv[l++].dim_out) {
		struct gnn_conv *c = &m->conv[l];

		gnn_rowprog_init(&c->jump, c->dim_out);
		if (head == NULL)
			c->jump_first = (uint32_t)first;
		else
			GNN_TRY(push_slice(c, head, first,
				l == 0 && bias != NULL ? bias->data : NULL));
	}
	m->jump.how = GNN_MERGE_SUM;
	m->jump.width = head != NULL ? rows : (uint32_t)columns;
	gnn_rowprog_init(&m->jump.finish, m->jump.width);
	GNN_TRY(gnn_rowprog_act(&m->jump.finish, m->set.v[GNN_SET_FINAL_ACTIVATION].choice,
		GNN_LEAKY_RELU_SLOPE));
out:
	return rc;
}

static int jump_max(struct gnn_model *m)
{
	int rc;

	for (uint32_t l = 0; l < m->layers; l++) {
		struct gnn_conv *c = &m->conv[l];

		if (c->dim_out != m->conv[0].dim_out)
			GNN_FAIL(GNN_ECONFIG, "gnnrun.jk=max: layer %u gives %u columns, layer 0 "
				"%u", l, c->dim_out, m->conv[0].dim_out);
		gnn_rowprog_init(&c->jump, c->dim_out);
	}
	m->jump.how = GNN_MERGE_MAX;
	m->jump.width = m->conv[0].dim_out;
	gnn_rowprog_init(&m->jump.finish, m->jump.width);
	GNN_TRY(push_head(m, &m->jump.finish));
out:
	return rc;
}

static int jump_last(struct gnn_model *m)
{
	struct gnn_conv *c = &m->conv[m->layers - 1];
	int rc;

	GNN_TRY(push_head(m, end_of(c)));
	c->dim_out = end_of(c)->dim_out;
out:
	return rc;
}

static int check_told(const struct gnn_model *m)
{
	static const enum gnn_setting of_norms[] = {GNN_SET_LAYER_NORM_MODE, GNN_SET_ACT_FIRST};
	bool norms = false, head = find_head(m, GNN_ROLE_HEAD_BIAS) != NULL;

	for (uint32_t i = 0; i < m->weight_count; i++)
		norms |= m->weight[i].role == GNN_ROLE_NORM_WEIGHT ||
			m->weight[i].role == GNN_ROLE_NORM_MEAN;
	for (uint32_t i = 0; i < GNN_COUNT_OF(of_norms); i++)
		if (gnn_settings_told(&m->set, of_norms[i]) && !norms)
			return gnn_err(GNN_ECONFIG, "%s=%s, but there are no norms",
				gnn_settings_name(of_norms[i]), m->set.v[of_norms[i]].text);
	if (head && find_head(m, GNN_ROLE_HEAD_WEIGHT) == NULL)
		return gnn_err(GNN_ECONFIG, "there is %s but not its weight",
			find_head(m, GNN_ROLE_HEAD_BIAS)->tensor->name);
	return GNN_OK;
}

int gnn_model_put_behind(struct gnn_model *m)
{
	const struct gnn_setting_value *jk = &m->set.v[GNN_SET_JK];
	int rc;

	GNN_TRY(check_told(m));
	for (uint32_t l = 0; l < m->layers; l++)
		GNN_TRY(put_behind_layer(m, l));
	if (jk->source == GNN_TOLD_NOWHERE)
		goto out;
	GNN_TRY(jk->choice == GNN_JK_CAT ? jump_cat(m) : jk->choice == GNN_JK_MAX ? jump_max(m)
		: jump_last(m));
out:
	return rc;
}
