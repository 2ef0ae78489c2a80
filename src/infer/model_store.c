/* infer/model_store.c - see model_store.h. */
#include "infer/model_store.h"

#include "base/log.h"
#include "infer/opts.h"

int gnn_model_fits(const struct gnn_model *m, const struct gnn_store *s)
{
	const struct gnn_conv *first = gnn_model_conv(m, 0);
	uint32_t layers = gnn_model_layers(m);

	if (layers > GNN_LAYERS_MAX)
		return gnn_err(GNN_ECONFIG, "the model has %u layers, at most %d are supported",
			layers, GNN_LAYERS_MAX);
	if (s->features == NULL && s->feature_rank != NULL)
		return gnn_store_check_own(s);
	if (s->features == NULL)
		return gnn_err(GNN_ECONFIG, "%s has no features: import it with --features FILE",
			gnn_container_path(s->container));
	if (s->features->cols != first->dim_in)
		return gnn_err(GNN_ECONFIG, "%s has features of width %llu, the model's first "
			"layer wants %u", gnn_container_path(s->container),
			(unsigned long long)s->features->cols, first->dim_in);
	for (uint32_t l = 0; l + 1 < layers; l++) {
		const struct gnn_conv *c = gnn_model_conv(m, l);
		const struct gnn_conv *next = gnn_model_conv(m, l + 1);

		if (c->dim_out != next->dim_in)
			return gnn_err(GNN_ECONFIG, "layer %u of the model gives rows of width %u, "
				"layer %u wants %u", l, c->dim_out, l + 1, next->dim_in);
	}
	return GNN_OK;
}

bool gnn_model_uses_weights(const struct gnn_model *m, const struct gnn_store *s)
{
	return s->out.weights != NULL && gnn_model_conv(m, 0)->edge_weights;
}

/* Degrees that sum weights, where the layers take them. */
static int load_weighted(struct gnn_degrees *d, const struct gnn_model *m,
	const struct gnn_store *s, bool verify)
{
	const struct gnn_conv *c = gnn_model_conv(m, 0);

	if (s->out.weights != NULL && !c->edge_weights)
		gnn_log(GNN_LOG_INFO, "infer", "%s has edge weights; %s layers take none",
			gnn_container_path(s->container), c->arch);
	if (!gnn_model_uses_weights(m, s) || !c->weighted_degrees)
		return GNN_OK;
	return gnn_degrees_load_weighted(d, s, c->drop_loops, verify);
}

int gnn_model_degrees(struct gnn_degrees **out, const struct gnn_model *m,
	const struct gnn_store *s, struct gnn_backend *b, bool verify)
{
	struct gnn_degrees *d = NULL;
	bool out_too = false;
	int rc;

	*out = NULL;
	GNN_TRY(gnn_degrees_load(&d, s, verify));
	for (uint32_t l = 0; l < gnn_model_layers(m); l++)
		out_too |= gnn_conv_needs_out_degrees(gnn_model_conv(m, l));
	if (out_too)
		GNN_TRY(gnn_degrees_load_out(d, s, verify));
	GNN_TRY(load_weighted(d, m, s, verify));
	GNN_TRY(gnn_degrees_mirror(d, b));
	*out = d;
	d = NULL;
out:
	gnn_degrees_free(d);
	return rc;
}
