/* infer/plan.c - see plan.h. */
#include "infer/plan.h"

#include "base/mem.h"

enum {
	ENTRIES_MIN   = 1 << 16,
	ENTRIES_MAX   = 1 << 20,
	FINISH_ROWS   = 1 << 13,
	WRITER_BYTES  = 4 * GNN_BLOCK_BYTES, /* result and saved layers, block by block */
};

/* Rows of `row_bytes` in whole panels under the ceiling, at least one panel, never past V. */
static uint64_t chunk_rows_of(const struct gnn_infer_opts *o, uint64_t row_bytes)
{
	uint64_t height = o->backend->ops->panel_rows;
	uint64_t panels = o->chunk_bytes / (gnn_max_u64(row_bytes, 1) * height);
	uint64_t needed = gnn_ceil_div(gnn_max_u64(o->store->vertices, 1), height);

	return gnn_max_u64(gnn_min_u64(panels, needed), 1) * height;
}

/* Edges and own rows of an average chunk, twice, between fixed bounds. */
static uint64_t entries_of(const struct gnn_store *s, uint64_t chunk_rows)
{
	double average = (double)s->edges / (double)gnn_max_u64(s->vertices, 1) + 1.0;
	double wanted = 2.0 * average * (double)chunk_rows;

	if (wanted >= ENTRIES_MAX)
		return ENTRIES_MAX;
	return wanted <= ENTRIES_MIN ? ENTRIES_MIN : (uint64_t)wanted;
}

static int check_widths(const struct gnn_infer_opts *o)
{
	const struct gnn_conv *first = gnn_model_conv(o->model, 0);
	uint32_t layers = gnn_model_layers(o->model);

	if (layers > GNN_LAYERS_MAX)
		return gnn_err(GNN_ECONFIG, "the model has %u layers, at most %d are supported",
			layers, GNN_LAYERS_MAX);
	if (o->store->features == NULL)
		return gnn_err(GNN_ECONFIG, "%s has no features: import it with --features FILE",
			gnn_container_path(o->store->container));
	if (o->store->features->cols != first->dim_in)
		return gnn_err(GNN_ECONFIG, "%s has features of width %llu, the model's first "
			"layer wants %u", gnn_container_path(o->store->container),
			(unsigned long long)o->store->features->cols, first->dim_in);
	for (uint32_t l = 0; l + 1 < layers; l++) {
		const struct gnn_conv *c = gnn_model_conv(o->model, l);
		const struct gnn_conv *next = gnn_model_conv(o->model, l + 1);

		if (c->dim_out != next->dim_in)
			return gnn_err(GNN_ECONFIG, "layer %u of the model gives rows of width %u, "
				"layer %u wants %u", l, c->dim_out, l + 1, next->dim_in);
	}
	return GNN_OK;
}

static void plan_layer(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	struct gnn_layer_plan *lp = &p->layer[l];
	bool softmax = c->combine == GNN_COMBINE_SOFTMAX;
	uint64_t v = o->store->vertices, row_bytes;

	*lp = (struct gnn_layer_plan){.features = l == 0, .keep_messages = softmax};
	if (lp->features) {
		row_bytes = o->store->features->cols *
			gnn_dtype_bytes(o->store->features->dtype);
	} else {
		lp->input_message = c->own != GNN_OWN_KEEP &&
			(softmax || c->message.dim_out < c->dim_in);
		lp->input_width = lp->input_message ? c->message.dim_out : c->dim_in;
		lp->input_bytes = v * lp->input_width * sizeof(float);
		row_bytes = lp->input_width * sizeof(float);
	}
	lp->chunk_rows = chunk_rows_of(o, row_bytes);
	lp->state_bytes = v * c->state_width * sizeof(float);
	if (c->combine != GNN_COMBINE_MAX)
		lp->carry_bytes = d->hub_count * c->state_width * sizeof(float);
	if (softmax)
		lp->score_bytes = v * 3 * c->heads * sizeof(float);
	if (softmax && !lp->input_message)
		lp->score_bytes += v * c->width * sizeof(float);
}

static uint64_t buffer_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	struct gnn_feed_opts feed = gnn_plan_feed(p, l, o, d);
	uint64_t rows = gnn_max_u64(p->layer[l].chunk_rows, p->finish_rows);

	return gnn_feed_bytes(&feed) + WRITER_BYTES + rows * GNN_ROW_VECTORS * sizeof(float) +
		p->layer[l].chunk_rows * c->message.dim_out * sizeof(float) +
		p->finish_rows * c->dim_out * sizeof(float);
}

/* What is alive at once: input and states while absorbing, states and next input after it. */
static uint64_t layer_peak(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	const struct gnn_layer_plan *lp = &p->layer[l];
	uint64_t next = l + 1 < p->layer_count ? p->layer[l + 1].input_bytes : 0;

	if (!o->backend->ops->unified)
		return lp->buffer_bytes; /* the rest is the device's */
	return gnn_max_u64(lp->input_bytes + lp->score_bytes, next) + lp->state_bytes +
		lp->carry_bytes + lp->buffer_bytes;
}

static int check_budget(const struct gnn_plan *p)
{
	const struct gnn_layer_plan *lp = &p->layer[p->peak_layer];
	const double mib = 1048576.0;
	struct gnn_mem_stats s;

	gnn_mem_stats(&s);
	if (s.limit_bytes == 0 || s.held_bytes + p->peak_bytes <= s.limit_bytes)
		return GNN_OK;
	return gnn_err(GNN_EOS, "host memory: layer %u needs %.1f MiB (states %.1f, input %.1f, "
		"buffers %.1f) beside %.1f in use, the budget is %.1f MiB; --host-memory %.0fM "
		"would suffice", p->peak_layer, (double)p->peak_bytes / mib,
		(double)(lp->state_bytes + lp->carry_bytes + lp->score_bytes) / mib,
		(double)lp->input_bytes / mib, (double)lp->buffer_bytes / mib,
		(double)s.held_bytes / mib, (double)s.limit_bytes / mib,
		(double)(s.held_bytes + p->peak_bytes) / mib + 1.0);
}

int gnn_plan_make(struct gnn_plan *p, const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	uint64_t widest = 0;
	int rc;

	*p = (struct gnn_plan){.layer_count = gnn_model_layers(o->model)};
	GNN_TRY(check_widths(o));
	/* A unified backend has done an operation when it returns; else two chunks overlap. */
	p->in_flight = o->backend->ops->unified ? 1 : 3;
	p->ahead = (uint32_t)gnn_max_u64(o->queue_depth, 2) + p->in_flight - 1;
	for (uint32_t l = 0; l < p->layer_count; l++) {
		plan_layer(p, l, o, d);
		widest = gnn_max_u64(widest, p->layer[l].chunk_rows);
	}
	p->entries = entries_of(o->store, widest);
	p->finish_rows = gnn_min_u64(FINISH_ROWS, gnn_align_up(
		gnn_max_u64(o->store->vertices, 1), o->backend->ops->panel_rows));
	for (uint32_t l = 0; l < p->layer_count; l++) {
		p->layer[l].buffer_bytes = buffer_bytes(p, l, o, d);
		if (layer_peak(p, l, o) > p->peak_bytes) {
			p->peak_bytes = layer_peak(p, l, o);
			p->peak_layer = l;
		}
	}
	GNN_TRY(check_budget(p));
out:
	return rc;
}

struct gnn_feed_opts gnn_plan_feed(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, layer);

	return (struct gnn_feed_opts){.store = o->store, .degrees = d,
		.features = p->layer[layer].features,
		.own = c->own == GNN_OWN_MESSAGE || c->own == GNN_OWN_ROW,
		.drop_loops = c->drop_loops,
		.weighted = o->store->out.weights != NULL && c->edge_weights,
		.own_weights = c->weighted_degrees ? d->loop_weights : NULL,
		.lists = o->backend->ops->group != NULL,
		.chunk_rows = p->layer[layer].chunk_rows,
		.entries = p->entries, .ahead = p->ahead, .verify = o->verify_reads};
}
