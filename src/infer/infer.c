/* infer/infer.c - see infer.h. The state machine; its leaves are pass.c, seal.c and publish.c. */
#include "infer/infer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "infer/planner.h"
#include "infer/run.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* Whether the layers scale messages by the weights of the store; all are of one architecture. */
static bool uses_weights(const struct gnn_infer_opts *o)
{
	return o->store->out.weights != NULL && gnn_model_conv(o->model, 0)->edge_weights;
}

static int check_dense(const struct gnn_infer_opts *o)
{
	int rc = GNN_OK;

	for (uint32_t l = 0; l < gnn_model_layers(o->model); l++) {
		const struct gnn_conv *c = gnn_model_conv(o->model, l);
		const struct gnn_rowprog *programs[] = {&c->message, &c->keep, &c->finish};

		for (uint32_t p = 0; p < GNN_COUNT_OF(programs); p++)
			for (uint32_t i = 0; i < programs[p]->count; i++)
				if (programs[p]->op[i].kind == GNN_ROW_DENSE)
					GNN_TRY(gnn_backend_check_dense(o->backend,
						programs[p]->op[i].dim_in,
						programs[p]->op[i].dim_out));
	}
out:
	return rc;
}

/* A mapped store is copied from where it lies, without a bounce. */
static int pin_store(struct gnn_run *r)
{
	struct gnn_backend *b = r->o->backend;
	const char *base;
	uint64_t bytes;
	int rc = GNN_OK;

	if (r->o->engine != GNN_DIO_MAP)
		return GNN_OK;
	GNN_TRY(gnn_container_map(r->o->store->container, &base, &bytes));
	GNN_TRY(b->ops->pin(b, base, bytes));
	if (rc == GNN_OK)
		r->pinned = base;
	else
		gnn_log(GNN_LOG_WARN, "infer", "%s: copies go through a buffer", gnn_err_text());
	rc = GNN_OK;
out:
	return rc;
}

/* Degrees that sum weights, where the layers take them. */
static int load_weighted(struct gnn_run *r)
{
	const struct gnn_infer_opts *o = r->o;
	const struct gnn_conv *c = gnn_model_conv(o->model, 0);

	if (o->store->out.weights != NULL && !c->edge_weights)
		gnn_log(GNN_LOG_INFO, "infer", "%s has edge weights; %s layers take none",
			gnn_container_path(o->store->container), c->arch);
	if (!uses_weights(o) || !c->weighted_degrees)
		return GNN_OK;
	return gnn_degrees_load_weighted(r->degrees, o->store, c->drop_loops, o->verify_reads);
}

/* Degrees of all kinds, as far as the layers take them. */
static int load_degrees(struct gnn_run *r)
{
	const struct gnn_infer_opts *o = r->o;
	bool out = false;
	int rc;

	GNN_TRY(gnn_degrees_load(&r->degrees, o->store, o->verify_reads));
	for (uint32_t l = 0; l < gnn_model_layers(o->model); l++)
		out |= gnn_conv_needs_out_degrees(gnn_model_conv(o->model, l));
	if (out)
		GNN_TRY(gnn_degrees_load_out(r->degrees, o->store, o->verify_reads));
	GNN_TRY(load_weighted(r));
	r->report->read_bytes += r->degrees->read_bytes;
	GNN_TRY(gnn_degrees_mirror(r->degrees, o->backend));
out:
	return rc;
}

/* Buffers for finished rows, and for what the passes hand to the backend. */
static int reserve_stages(struct gnn_run *r)
{
	struct gnn_backend *b = r->o->backend;
	const struct gnn_store *s = r->o->store;
	uint64_t chunk_rows = 0, bytes = 0;
	int rc = GNN_OK;

	for (uint32_t l = 0; l < r->plan.layer_count; l++) {
		const struct gnn_layer_plan *lp = &r->plan.layer[l];
		const struct gnn_conv *c = gnn_model_conv(r->o->model, l);
		uint64_t row = l == 0 ? s->features->cols * gnn_dtype_bytes(s->features->dtype) :
			lp->input_width * sizeof(float);

		row = gnn_max_u64(row, c->message.dim_out * sizeof(float));
		chunk_rows = gnn_max_u64(chunk_rows, lp->chunk_rows);
		bytes = gnn_max_u64(bytes, lp->chunk_rows * row);
	}
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_ROWS, bytes));
	if (r->plan.kind == GNN_PLAN_PARTITIONED)
		GNN_TRY(b->ops->reserve(b, GNN_STAGE_OWN, bytes));
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_OFFSETS, (chunk_rows + 1) * sizeof(gnn_eid)));
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_EDGES, r->plan.list_bytes));
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_WEIGHTS, uses_weights(r->o) ? r->plan.list_bytes /
		gnn_dtype_bytes(s->out.neighbors->dtype) * sizeof(float) : 0));
	if (b->ops->group != NULL)
		GNN_TRY(b->ops->prepare(b, &(struct gnn_graph_info){.vertices = s->vertices,
			.hub_bits = r->degrees->hub_bits_there,
			.hub_rank = r->degrees->hub_rank_there, .chunk_rows_max = chunk_rows,
			.weighted = uses_weights(r->o),
			.entries_max = chunk_rows + r->plan.list_bytes / gnn_dtype_bytes(
				s->out.neighbors->dtype)}));
out:
	return rc;
}

static int alloc_rows(struct gnn_backend *b, bool host, float **out, uint64_t floats)
{
	void *block;
	int rc = host ? b->ops->alloc_host(b, &block, floats * sizeof(float)) :
		b->ops->alloc(b, &block, floats * sizeof(float));

	*out = block;
	return rc;
}

static int reserve(struct gnn_run *r)
{
	struct gnn_backend *b = r->o->backend;
	uint64_t widest = 0, widest_input = 0, rows = r->plan.finish_rows;
	int rc;

	for (uint32_t l = 0; l < r->plan.layer_count; l++) {
		widest = gnn_max_u64(widest, gnn_model_conv(r->o->model, l)->dim_out);
		if (l > 0 && r->plan.layer[l].input_message)
			widest_input = gnn_max_u64(widest_input, r->plan.layer[l].input_width);
	}
	GNN_TRY(alloc_rows(b, false, &r->finished, rows * widest));
	if (r->plan.kind == GNN_PLAN_PARTITIONED)
		GNN_TRY(alloc_rows(b, false, &r->converted, rows * widest_input));
	r->host = r->finished;
	if (!b->ops->unified)
		GNN_TRY(alloc_rows(b, true, &r->host, rows * widest));
	GNN_TRY(reserve_stages(r));
out:
	return rc;
}

static int open_folder(struct gnn_run *r)
{
	const struct gnn_infer_opts *o = r->o;
	const char *slash = strrchr(o->out_path, '/');
	char path[PATH_BYTES];
	int n;

	if (r->plan.kind != GNN_PLAN_PARTITIONED)
		return GNN_OK;
	if (o->scratch == NULL)
		n = snprintf(path, sizeof(path), "%s.gnnrun-scratch", o->out_path);
	else
		n = snprintf(path, sizeof(path), "%s/%s.gnnrun-scratch", o->scratch,
			slash != NULL ? slash + 1 : o->out_path);
	if (n < 0 || (size_t)n >= sizeof(path))
		return gnn_err(GNN_ECREAT, "the name of the scratch folder is too long");
	n = gnn_folder_open(&r->folder, path);
	return n < 0 ? n : gnn_folder_clear(r->folder);
}

static int open_run(struct gnn_run *r)
{
	const struct gnn_infer_opts *o = r->o;
	uint32_t layers = gnn_model_layers(o->model);
	int rc;

	GNN_TRY(check_dense(o));
	GNN_TRY(gnn_score_create(&r->score, o->store,
		gnn_model_conv(o->model, layers - 1)->dim_out, o->metric, o->verify_reads));
	GNN_TRY(gnn_result_create(&r->result, o));
	GNN_TRY(gnn_planner_check(o));
	GNN_TRY(load_degrees(r));
	GNN_TRY(pin_store(r));
	GNN_TRY(gnn_planner_make(&r->plan, o, r->degrees));
	GNN_TRY(reserve(r));
	GNN_TRY(open_folder(r));
out:
	return rc;
}

/* --- a layer --- */

static int open_kept(struct gnn_run *r, struct gnn_kept **out, struct gnn_kept_opts o,
	uint32_t l, const char *what)
{
	char label[32];

	if (o.kind != GNN_ROWS_MEMORY && o.kind != GNN_ROWS_FILE)
		return GNN_OK;
	snprintf(label, sizeof(label), "layer%u-%s", l + 1, what);
	o.folder = r->folder != NULL ? gnn_folder_path(r->folder) : NULL;
	o.label = label;
	return gnn_kept_open(out, &o);
}

static int begin_layer(struct gnn_run *r, uint32_t l)
{
	const struct gnn_layer_plan *lp = &r->plan.layer[l];
	int rc;

	GNN_TRY(gnn_layer_run_init(&r->layer, &(struct gnn_layer_run_opts){
		.backend = r->o->backend, .conv = gnn_model_conv(r->o->model, l),
		.degrees = r->degrees, .chunk_rows = lp->chunk_rows, .state_rows = lp->state_rows,
		.carry_rows = lp->carry_rows, .targets = lp->targets,
		.rows_max = gnn_max_u64(lp->chunk_rows, r->plan.finish_rows)}));
	GNN_TRY(open_kept(r, &r->messages, gnn_plan_messages(&r->plan, l, r->o), l, "messages"));
	GNN_TRY(open_kept(r, &r->output[l], gnn_plan_output(&r->plan, l, r->o), l, "out"));
out:
	return rc;
}

static uint64_t kept_bytes(const struct gnn_kept *k)
{
	return k != NULL ? gnn_kept_written_bytes(k) : 0;
}

static void drop(struct gnn_kept **k)
{
	gnn_kept_drop(*k);
	*k = NULL;
}

/* Before the first shard is sealed. A resident input has been read for the last time by then. */
static int open_next(struct gnn_run *r, uint32_t l)
{
	if (r->plan.kind == GNN_PLAN_RESIDENT) {
		drop(&r->input);
		drop(&r->messages);
	}
	if (l + 1 == r->plan.layer_count)
		return GNN_OK;
	return open_kept(r, &r->next, gnn_plan_input(&r->plan, l + 1, r->o), l + 1, "input");
}

static int end_layer(struct gnn_run *r, uint32_t l)
{
	struct gnn_layer_report *lr = &r->report->layer[l];
	int rc = GNN_OK;

	if (r->next != NULL)
		GNN_TRY(gnn_kept_finish(r->next));
	if (r->output[l] != NULL)
		GNN_TRY(gnn_kept_finish(r->output[l]));
	lr->written_bytes = kept_bytes(r->messages) + kept_bytes(r->next) +
		kept_bytes(r->output[l]);
	lr->messages = r->layer.messages;
	drop(&r->input);
	drop(&r->messages);
	r->input = r->next;
	r->next = NULL;
out:
	return rc;
}

static void report_layer(const struct gnn_layer_report *lr, uint32_t l)
{
	struct gnn_json *line = gnn_metrics_begin("layer");

	if (line == NULL)
		return;
	gnn_json_u64(line, "index", l + 1);
	gnn_json_text(line, "plan", lr->plan);
	gnn_json_text(line, "message_order", lr->message_order);
	gnn_json_u64(line, "message_dim", lr->message_dim);
	gnn_json_real(line, "wall_s", lr->wall_s);
	gnn_json_u64(line, "read_bytes", lr->read_bytes);
	gnn_json_u64(line, "written_bytes", lr->written_bytes);
	gnn_json_u64(line, "messages", lr->messages);
	gnn_metrics_end(line);
}

/* STREAM and SEAL of each shard; the first passes of a softmax have nothing to seal. */
static int run_passes(struct gnn_run *r, uint32_t l)
{
	uint32_t passes = gnn_plan_passes(&r->plan, l, r->layer.o.conv);
	uint32_t first_seal = passes - r->plan.layer[l].shards;
	int rc = GNN_OK;

	for (uint32_t p = 0; p < passes; p++) {
		GNN_TRY(gnn_run_pass(r, l, p));
		if (p < first_seal)
			continue;
		if (l == 0 && p == first_seal)
			r->report->feature_s = gnn_clock_s_since(r->stream_start_ns);
		if (p == first_seal)
			GNN_TRY(open_next(r, l));
		GNN_TRY(gnn_run_seal(r, l));
	}
out:
	return rc;
}

static int run_layer(struct gnn_run *r, uint32_t l)
{
	struct gnn_layer_report *lr = &r->report->layer[l];
	const struct gnn_conv *c = gnn_model_conv(r->o->model, l);
	uint64_t start_ns = gnn_clock_ns();
	char what[32];
	int rc;

	lr->plan = gnn_plan_name(r->plan.kind);
	lr->shards = r->plan.layer[l].shards;
	lr->message_order = c->transform_first ? "transform-first" : "aggregate-first";
	lr->message_dim = c->width;
	snprintf(what, sizeof(what), "layer %u", l + 1);
	/* Each vertex is a row of every pass, and is finished once. */
	r->progress = gnn_progress_begin(what, "rows", (gnn_plan_passes(&r->plan, l, c) + 1) *
		r->o->store->vertices);
	GNN_TRY(begin_layer(r, l));
	if (l == 0)
		r->stream_start_ns = gnn_clock_ns();
	GNN_TRY(run_passes(r, l));
	GNN_TRY(end_layer(r, l));
	lr->wall_s = gnn_clock_s_since(start_ns);
	r->report->read_bytes += lr->read_bytes;
	r->report->written_bytes += lr->written_bytes;
	report_layer(lr, l);
out:
	gnn_progress_end(r->progress);
	r->progress = NULL;
	gnn_layer_run_fini(&r->layer);
	return rc;
}

static void close_run(struct gnn_run *r)
{
	struct gnn_backend *b = r->o->backend;

	if (r->pinned != NULL)
		b->ops->unpin(b, r->pinned);
	drop(&r->input);
	drop(&r->messages);
	drop(&r->next);
	for (uint32_t l = 0; l < GNN_LAYERS_MAX; l++)
		drop(&r->output[l]);
	gnn_folder_remove(r->folder);
	b->ops->free(b, r->finished);
	b->ops->free(b, r->converted);
	if (!b->ops->unified)
		b->ops->free_host(b, r->host);
	gnn_score_destroy(r->score);
	gnn_result_destroy(r->result);
	gnn_degrees_free(r->degrees);
}

/* OPEN -> (LAYER_BEGIN -> (STREAM -> SEAL) of each shard) of each layer -> PUBLISH */
int gnn_infer_run(const struct gnn_infer_opts *o, struct gnn_infer_report *report)
{
	struct gnn_run r = {.o = o, .report = report};
	uint64_t start_ns = gnn_clock_ns();
	int rc;

	*report = (struct gnn_infer_report){.layer_count = gnn_model_layers(o->model)};
	GNN_TRY(open_run(&r));
	report->feature_bytes = o->store->features->bytes;
	for (uint32_t l = 0; l < r.plan.layer_count; l++)
		GNN_TRY(run_layer(&r, l));
	GNN_TRY(gnn_run_publish(&r));
	report->stream_s = gnn_clock_s_since(r.stream_start_ns);
	report->wall_s = gnn_clock_s_since(start_ns);
	report->startup_s = report->wall_s - report->stream_s;
	report->peak_host_bytes = gnn_machine_peak();
	report->peak_device_bytes = o->backend->ops->peak_bytes(o->backend);
out:
	close_run(&r);
	return rc;
}
