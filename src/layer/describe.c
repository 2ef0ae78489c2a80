/* layer/describe.c - how a model was understood, for people and as JSON; see model.h. */
#include "layer/model.h"

#include "base/json.h"
#include "base/log.h"
#include "layer/model_parts.h"

#include <stdio.h>
#include <string.h>

enum { CELL_MAX = 128 };

static const char *order_name(const struct gnn_conv *c)
{
	return c->transform_first ? "transform-first" : "aggregate-first";
}

static const char *combine_name(const struct gnn_conv *c)
{
	return gnn_combine_is_softmax(c->combine) ? "softmax" :
		c->combine == GNN_COMBINE_MAX ? "max" : "sum";
}

static const char *before_meaning(const struct gnn_weight *w)
{
	return w->role == GNN_ROLE_UNSUPPORTED ? "not supported: " : "";
}

/* How its items become the weights that are used. */
static const char *after_meaning(const struct gnn_weight *w)
{
	if (w->role == GNN_ROLE_COUNTER || w->role == GNN_ROLE_UNSUPPORTED)
		return "";
	return strcmp(w->tensor->dtype, "F64") == 0 ? ", rounded to f32" : "";
}

/* The widest name, for a column. */
static int name_width(const struct gnn_model *m)
{
	size_t width = strlen("tensor");

	for (uint32_t i = 0; i < m->weight_count; i++)
		if (strlen(m->weight[i].tensor->name) > width)
			width = strlen(m->weight[i].tensor->name);
	return (int)gnn_min_u64(width, 60);
}

static void print_tensors(const struct gnn_model *m)
{
	int width = name_width(m);
	char shape[CELL_MAX], layer[16];

	gnn_out("\n%-*s  %-5s  %-14s  %5s  %s\n", width, "tensor", "dtype", "shape", "layer",
		"what");
	for (uint32_t i = 0; i < m->weight_count; i++) {
		const struct gnn_weight *w = &m->weight[i];

		snprintf(layer, sizeof(layer), "%u", w->layer);
		gnn_out("%-*s  %-5s  %-14s  %5s  %s%s%s\n", width, w->tensor->name,
			w->tensor->dtype, gnn_lower_shape_text(w->tensor, shape, sizeof(shape)),
			m->layers > 0 ? layer : "-", before_meaning(w), w->meaning,
			after_meaning(w));
	}
}

static void print_settings(const struct gnn_model *m)
{
	gnn_out("\n%-24s  %-12s  %s\n", "setting", "value", "from");
	for (uint32_t i = 0; i < GNN_SETTING_COUNT; i++) {
		const struct gnn_setting_value *v = &m->set.v[i];

		if (v->source != GNN_TOLD_NOWHERE)
			gnn_out("%-24s  %-12s  %s\n", gnn_settings_name(i), v->text,
				gnn_settings_source(v->source));
	}
}

static void print_layers(const struct gnn_model *m)
{
	gnn_out("\n%5s  %7s  %7s  %-15s  %-7s  %7s  %5s\n", "layer", "in", "out", "message order",
		"combine", "message", "state");
	for (uint32_t l = 0; l < m->layers; l++) {
		const struct gnn_conv *c = &m->conv[l];

		gnn_out("%5u  %7u  %7u  %-15s  %-7s  %7u  %5u\n", l, c->dim_in, c->dim_out,
			order_name(c), combine_name(c), c->width, c->state_width);
	}
}

static void print_text(const struct gnn_model *m, bool whole)
{
	gnn_out("%s: %s\n", m->path, m->variant != NULL ? m->variant->name : "not understood");
	print_tensors(m);
	print_settings(m);
	if (whole)
		print_layers(m);
	gnn_out("\nto be told: %s\n", m->missing[0] != '\0' ? m->missing : whole ? "nothing" : "-");
}

static void add_tensors(struct gnn_json *j, const struct gnn_model *m)
{
	gnn_json_open_array(j, "tensors");
	for (uint32_t i = 0; i < m->weight_count; i++) {
		const struct gnn_weight *w = &m->weight[i];

		gnn_json_open_object(j, NULL);
		gnn_json_text(j, "name", w->tensor->name);
		gnn_json_text(j, "dtype", w->tensor->dtype);
		gnn_json_open_array(j, "shape");
		for (uint32_t d = 0; d < w->tensor->rank; d++)
			gnn_json_u64(j, NULL, w->tensor->shape[d]);
		gnn_json_shut(j);
		if (m->layers > 0)
			gnn_json_u64(j, "layer", w->layer);
		gnn_json_text(j, "what", w->meaning);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
}

static void add_settings(struct gnn_json *j, const struct gnn_model *m)
{
	gnn_json_open_array(j, "settings");
	for (uint32_t i = 0; i < GNN_SETTING_COUNT; i++) {
		const struct gnn_setting_value *v = &m->set.v[i];

		if (v->source == GNN_TOLD_NOWHERE)
			continue;
		gnn_json_open_object(j, NULL);
		gnn_json_text(j, "name", gnn_settings_name(i));
		gnn_json_text(j, "value", v->text);
		gnn_json_text(j, "from", gnn_settings_source(v->source));
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
}

static void add_layers(struct gnn_json *j, const struct gnn_model *m)
{
	gnn_json_open_array(j, "layers");
	for (uint32_t l = 0; l < m->layers; l++) {
		const struct gnn_conv *c = &m->conv[l];

		gnn_json_open_object(j, NULL);
		gnn_json_u64(j, "index", l);
		gnn_json_u64(j, "dim_in", c->dim_in);
		gnn_json_u64(j, "dim_out", c->dim_out);
		gnn_json_text(j, "message_order", order_name(c));
		gnn_json_text(j, "combine", combine_name(c));
		gnn_json_u64(j, "message_dim", c->width);
		gnn_json_u64(j, "state_dim", c->state_width);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
}

static int print_json(const struct gnn_model *m, bool whole, const char *error)
{
	struct gnn_json *j;
	int rc;

	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "command", "model");
	gnn_json_text(j, "model", m->path);
	gnn_json_text(j, "convolution", m->variant != NULL ? m->variant->name : NULL);
	gnn_json_text(j, "error", whole ? NULL : error);
	gnn_json_text(j, "missing", m->missing[0] != '\0' ? m->missing : NULL);
	add_tensors(j, m);
	add_settings(j, m);
	if (whole)
		add_layers(j, m);
	rc = gnn_json_print(j);
out:
	gnn_json_destroy(j);
	return rc;
}

int gnn_model_describe(const struct gnn_model_opts *o, bool json)
{
	struct gnn_err_state why;
	struct gnn_model *m;
	int rc = gnn_model_understand(&m, o);

	if (m == NULL)
		return rc;
	gnn_err_save(&why, rc);
	if (json)
		rc = print_json(m, why.status == GNN_OK, why.text);
	else
		print_text(m, why.status == GNN_OK);
	gnn_model_destroy(m);
	return why.status < 0 ? gnn_err_restore(&why) : rc;
}
