/* layer/model.c - see model.h. */
#include "layer/model.h"

#include "base/log.h"
#include "base/mem.h"
#include "layer/model_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TENSORS_MAX = 4096 };

static int list_weights(struct gnn_model *m)
{
	uint32_t count = gnn_safetensors_count(m->file);
	int rc;

	if (count > TENSORS_MAX)
		GNN_FAIL(GNN_ECONFIG, "%u tensors, more than %d", count, TENSORS_MAX);
	GNN_NEW_ARRAY(m->weight, count, GNN_MEM_MODEL);
	m->weight_count = count;
	for (uint32_t i = 0; i < count; i++)
		m->weight[i].tensor = gnn_safetensors_at(m->file, i);
	gnn_keys_match(m->weight, count);
out:
	return rc;
}

static int tell_settings(struct gnn_model *m, const struct gnn_model_opts *o)
{
	struct gnn_tensor_text text;
	int rc = GNN_OK;

	for (uint32_t i = 0; gnn_safetensors_metadata(m->file, i, &text); i++)
		GNN_TRY(gnn_settings_tell_metadata(&m->set, text.key, text.value));
	for (uint32_t i = 0; i < o->set_count; i++)
		GNN_TRY(gnn_settings_tell_pair(&m->set, o->set[i]));
	rc = GNN_OK;
out:
	return rc;
}

/*
 * PyG's GIN gives one activation to layers and MLPs alike, users of its MLP class need not: only
 * where both are the default, relu, is nothing to be told.
 */
static void ask_mlp_activation(struct gnn_model *m)
{
	const struct gnn_setting_value *between = &m->set.v[GNN_SET_ACTIVATION];
	bool mlp_class = false;

	for (uint32_t i = 0; i < m->weight_count; i++)
		mlp_class |= m->weight[i].mlp_class;
	if (mlp_class && gnn_settings_told(&m->set, GNN_SET_ACTIVATION) &&
		between->choice != GNN_ACT_RELU &&
		!gnn_settings_told(&m->set, GNN_SET_MLP_ACTIVATION))
		snprintf(m->missing, sizeof(m->missing), "%s=%s (the layers' is %s)",
			gnn_settings_name(GNN_SET_MLP_ACTIVATION),
			gnn_settings_choices(GNN_SET_MLP_ACTIVATION), between->text);
}

/* The aggregator that the keys say, or where they do not, PyG's default unless one is told. */
static int resolve_aggregator(struct gnn_model *m)
{
	const struct gnn_setting_value *told = &m->set.v[GNN_SET_AGGREGATOR];
	const struct gnn_variant *v = m->variant;

	if (v->aggregator == NULL)
		return GNN_OK;
	if (!v->free_aggregator && gnn_settings_told(&m->set, GNN_SET_AGGREGATOR) &&
		strcmp(told->text, v->aggregator) != 0)
		return gnn_err(GNN_ECONFIG, "told gnnrun.aggregator=%s, but the keys are those of "
			"%s", told->text, v->name);
	gnn_settings_offer(&m->set, GNN_SET_AGGREGATOR, v->aggregator,
		v->free_aggregator ? GNN_TOLD_DEFAULT : GNN_TOLD_KEYS);
	return GNN_OK;
}

static int check_list(const struct gnn_model *m, enum gnn_setting which)
{
	const struct gnn_setting_value *v = &m->set.v[which];

	if (gnn_settings_told(&m->set, which) && v->list_count != m->layers)
		return gnn_err(GNN_ECONFIG, "%s=%s: wanted one for each of %u layers",
			gnn_settings_name(which), v->text, m->layers);
	return GNN_OK;
}

/* Fills in what the keys say and what holds by default; checks what is told against the keys. */
static int resolve_settings(struct gnn_model *m)
{
	const struct gnn_setting_value *layers = &m->set.v[GNN_SET_LAYERS];
	char number[16];
	int rc;

	if (gnn_settings_told(&m->set, GNN_SET_LAYERS) && layers->choice != m->layers)
		GNN_FAIL(GNN_ECONFIG, "gnnrun.layers is %u, the tensors make %u layers",
			layers->choice, m->layers);
	snprintf(number, sizeof(number), "%u", m->layers);
	gnn_settings_offer(&m->set, GNN_SET_LAYERS, number, GNN_TOLD_KEYS);
	gnn_settings_offer(&m->set, GNN_SET_LIBRARY, gnn_library_name(m->variant->library),
		GNN_TOLD_KEYS);
	gnn_settings_offer(&m->set, GNN_SET_ARCH, gnn_arch_name(m->variant->arch), GNN_TOLD_KEYS);
	GNN_TRY(resolve_aggregator(m));
	GNN_TRY(gnn_settings_finish(&m->set, m->variant->arch, m->variant->library));
	GNN_TRY(check_list(m, GNN_SET_HEADS));
	GNN_TRY(check_list(m, GNN_SET_CONCAT));
	GNN_TRY(check_list(m, GNN_SET_RESIDUAL));
out:
	return rc;
}

static int load_weights(struct gnn_model *m)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < m->weight_count; i++) {
		struct gnn_weight *w = &m->weight[i];
		uint64_t odd = 0;

		if (w->role == GNN_ROLE_COUNTER || w->role == GNN_ROLE_NORM_COUNTER)
			continue;
		GNN_NEW_ARRAY(w->data, w->tensor->count, GNN_MEM_MODEL);
		GNN_TRY(gnn_safetensors_read_f32(m->file, w->tensor, w->data));
		for (uint64_t k = 0; k < w->tensor->count; k++)
			odd += isfinite(w->data[k]) ? 0 : 1;
		if (odd > 0)
			gnn_log(GNN_LOG_WARN, "model", "%s: tensor %s has %llu values that are not "
				"finite", m->path, w->tensor->name, (unsigned long long)odd);
	}
out:
	return rc;
}

static int lower_layer(struct gnn_model *m, uint32_t layer)
{
	struct gnn_lowering l = {.set = &m->set, .order = m->order, .published = m->published,
		.layer = layer, .layers = m->layers};
	struct gnn_conv *c = &m->conv[layer];
	int rc;

	gnn_model_layer_weights(m, layer, &l.weight, &l.weight_count);
	c->arch = gnn_arch_name(m->variant->arch);
	GNN_TRY(m->variant->lower(c, &l));
	GNN_ASSERT(c->message.dim_in == c->dim_in &&
		c->finish.dim_in == c->state_width + c->late.dim_out &&
		c->finish.dim_out == c->dim_out);
	if (layer > 0 && m->conv[layer - 1].dim_out != c->dim_in)
		GNN_FAIL(GNN_ECONFIG, "layer %u takes %u columns, layer %u gives %u", layer,
			c->dim_in, layer - 1, m->conv[layer - 1].dim_out);
out:
	return rc;
}

/* What the tensors said about heads, in the words of the settings. */
static void note_heads(struct gnn_model *m)
{
	char heads[GNN_SETTING_TEXT_MAX] = "", concat[GNN_SETTING_TEXT_MAX] = "";
	char residual[GNN_SETTING_TEXT_MAX] = "";
	bool dgl = m->variant->library == GNN_LIBRARY_DGL;
	enum gnn_setting_source source = dgl ? GNN_TOLD_DEFAULT : GNN_TOLD_KEYS;
	size_t used = 0;

	for (uint32_t l = 0; l < m->layers; l++) {
		const struct gnn_conv *c = &m->conv[l];
		bool said = false, whole;

		for (uint32_t i = 0; i < m->weight_count; i++)
			said |= m->weight[i].layer == l && m->weight[i].role == GNN_ROLE_BIAS;
		if (!said && c->heads > 1)
			source = GNN_TOLD_DEFAULT;
		/* With one head the two are the same: what holds by default is shown. */
		whole = c->heads > 1 ? c->dim_out == c->width : l + 1 < m->layers;
		concat[2 * l] = whole ? '1' : '0';
		residual[2 * l] = c->keep.dim_out > 0 ? '1' : '0';
		concat[2 * l + 1] = residual[2 * l + 1] = l + 1 < m->layers ? ',' : '\0';
		if (used < sizeof(heads))
			used += (size_t)snprintf(heads + used, sizeof(heads) - used, "%s%u",
				l > 0 ? "," : "", c->heads);
	}
	if (used < sizeof(heads))
		gnn_settings_offer(&m->set, GNN_SET_HEADS, heads, GNN_TOLD_KEYS);
	gnn_settings_offer(&m->set, GNN_SET_CONCAT, concat, source);
	gnn_settings_offer(&m->set, GNN_SET_RESIDUAL, residual,
		dgl ? GNN_TOLD_DEFAULT : GNN_TOLD_KEYS);
}

static int check_missing(const struct gnn_model *m)
{
	return m->missing[0] == '\0' ? GNN_OK : gnn_err(GNN_ECONFIG,
		"must be told, in __metadata__ or by --model-set: %s", m->missing);
}

static int build(struct gnn_model *m, const struct gnn_model_opts *o)
{
	int rc;

	GNN_TRY(list_weights(m));
	GNN_TRY(tell_settings(m, o));
	GNN_TRY(gnn_keys_group(m->weight, m->weight_count, &m->layers));
	if (m->layers > GNN_SETTING_LIST_MAX)
		GNN_FAIL(GNN_ECONFIG, "%u layers, at most %d", m->layers, GNN_SETTING_LIST_MAX);
	GNN_TRY(gnn_model_choose_variant(m));
	ask_mlp_activation(m);
	GNN_TRY(check_missing(m));
	GNN_TRY(resolve_settings(m));
	GNN_TRY(load_weights(m));
	GNN_NEW_ARRAY(m->conv, m->layers, GNN_MEM_MODEL);
	for (uint32_t l = 0; l < m->layers; l++)
		GNN_TRY(lower_layer(m, l));
	if (m->variant->arch == GNN_ARCH_GAT || m->variant->arch == GNN_ARCH_GATV2)
		note_heads(m);
	gnn_model_ask_behind(m);
	GNN_TRY(check_missing(m));
	GNN_TRY(gnn_model_put_behind(m));
	for (uint32_t l = 0; l < m->layers; l++)
		if (m->conv[l].late.dim_out > 0 && m->conv[l].after.count > 0)
			GNN_FAIL(GNN_ECONFIG, "--design published: the norm behind layer %u is "
				"over all vertices, whose rows come in a second pass", l);
out:
	return rc;
}

int gnn_model_understand(struct gnn_model **out, const struct gnn_model_opts *o)
{
	struct gnn_model *m = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(m, GNN_MEM_MODEL);
	m->order = o->order;
	m->published = o->published;
	m->path = gnn_mem_text(o->path);
	if (m->path == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	GNN_TRY(gnn_safetensors_open(&m->file, o->path));
	rc = build(m, o);
	if (rc == GNN_ECONFIG)
		gnn_err_place(rc, "%s", m->path);
	else if (rc < 0)
		goto out;
	*out = m;
	m = NULL;
out:
	gnn_model_destroy(m);
	return rc;
}

int gnn_model_load(struct gnn_model **out, const struct gnn_model_opts *o)
{
	int rc = gnn_model_understand(out, o);

	if (rc < 0) {
		gnn_model_destroy(*out);
		*out = NULL;
	}
	return rc;
}

void gnn_model_destroy(struct gnn_model *m)
{
	if (m == NULL)
		return;
	for (uint32_t l = 0; m->conv != NULL && l < m->layers; l++)
		gnn_conv_fini(&m->conv[l]);
	for (uint32_t i = 0; i < m->weight_count; i++)
		gnn_mem_free(m->weight[i].data);
	gnn_mem_free(m->conv);
	gnn_mem_free(m->weight);
	gnn_safetensors_close(m->file);
	gnn_mem_free(m->path);
	gnn_mem_free(m);
}

uint32_t gnn_model_layers(const struct gnn_model *m)
{
	return m->layers;
}

const struct gnn_conv *gnn_model_conv(const struct gnn_model *m, uint32_t layer)
{
	GNN_ASSERT(layer < m->layers);
	return &m->conv[layer];
}

const struct gnn_jump *gnn_model_jump(const struct gnn_model *m)
{
	return m->jump.width > 0 ? &m->jump : NULL;
}

uint32_t gnn_model_width(const struct gnn_model *m, uint32_t layer)
{
	bool whole = m->jump.width > 0 && layer + 1 == m->layers;

	return whole ? m->jump.finish.dim_out : gnn_model_conv(m, layer)->dim_out;
}
