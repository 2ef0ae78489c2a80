/* infer/infer.c - see infer.h. The state machine; its leaves are pass.c, seal.c and publish.c. */
#include "infer/infer.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "infer/estimate.h"
#include "infer/model_store.h"
#include "infer/tiered.h"
#include "io/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_SUFFIX ".gnnrun-scratch"

enum { PATH_BYTES = 4096 };

static int check_dense(const struct gnn_infer_opts *o)
{
	int rc = GNN_OK;

	for (uint32_t l = 0; l < gnn_model_layers(o->model); l++) {
		const struct gnn_conv *c = gnn_model_conv(o->model, l);
		const struct gnn_rowprog *programs[] = {&c->message, &c->keep, &c->finish,
			&c->after, &c->jump};

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

static int open_sampling(struct gnn_run *r)
{
	const struct gnn_infer_opts *o = r->o;
	uint32_t layers = gnn_model_layers(o->model);

	for (uint32_t l = 0; l < layers; l++)
		r->fanout[l] = gnn_model_conv(o->model, l)->fanout;
	return gnn_sampling_create(&r->sampling, &(struct gnn_sampling_opts){.store = o->store,
		.degrees = r->degrees, .fanout = r->fanout, .layers = layers, .seed = o->seed,
		.backend = o->backend, .threads = o->threads, .verify = o->verify_reads});
}

/* Buffers for finished rows, and for what the passes hand to the backend. */
static int reserve_stages(struct gnn_run *r)
{
	struct gnn_backend *b = r->o->backend;
	const struct gnn_store *s = r->o->store;
	bool weighted = gnn_model_uses_weights(r->o->model, s);
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
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_WEIGHTS, weighted ? r->plan.list_bytes /
		gnn_dtype_bytes(s->out.neighbors->dtype) * sizeof(float) : 0));
	if (b->ops->group != NULL)
		GNN_TRY(b->ops->prepare(b, &(struct gnn_graph_info){.vertices = s->vertices,
			.hub_bits = r->degrees->hub_bits_there,
			.hub_rank = r->degrees->hub_rank_there, .chunk_rows_max = chunk_rows,
			.weighted = weighted || r->sampling != NULL,
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
		widest = gnn_max_u64(widest, gnn_model_width(r->o->model, l));
		if (l > 0 && r->plan.layer[l].input_message)
			widest_input = gnn_max_u64(widest_input, r->plan.layer[l].input_width);
	}
	GNN_TRY(alloc_rows(b, false, &r->finished, rows * widest));
	if (r->plan.kind != GNN_PLAN_RESIDENT)
		GNN_TRY(alloc_rows(b, false, &r->converted, rows * widest_input));
	r->bounce_floats = rows * widest;
	r->host = r->finished;
	if (!b->ops->unified)
		GNN_TRY(alloc_rows(b, true, &r->host, rows * widest));
	GNN_TRY(reserve_stages(r));
	GNN_TRY(gnn_jump_init(&r->jump, b, r->o->model, r->o->store->vertices, rows));
out:
	return rc;
}

static int set_folder_path(const struct gnn_infer_opts *o, char path[PATH_BYTES])
{
	const char *slash = strrchr(o->out_path, '/');
	int n;

	if (o->scratch == NULL)
		n = snprintf(path, PATH_BYTES, "%s" FOLDER_SUFFIX, o->out_path);
	else
		n = snprintf(path, PATH_BYTES, "%s/%s" FOLDER_SUFFIX, o->scratch,
			slash != NULL ? slash + 1 : o->out_path);
	return n < PATH_BYTES ? GNN_OK :
		gnn_err(GNN_ECREAT, "the name of the scratch folder is too long");
}

/* What an earlier run left is gone on with, or removed. */
static int find_folder(struct gnn_run *r)
{
	char path[PATH_BYTES];
	int rc;

	GNN_TRY(set_folder_path(r->o, path));
	if (!gnn_file_is_dir(path))
		goto out;
	GNN_TRY(gnn_folder_open(&r->folder, path));
	if (r->o->resume) {
		GNN_TRY(gnn_run_recall(r));
		if (r->resuming)
			goto out;
	}
	GNN_TRY(gnn_folder_clear(r->folder));
out:
	return rc < 0 ? rc : GNN_OK;
}

static int need_folder(struct gnn_run *r)
{
	char path[PATH_BYTES];
	int rc = GNN_OK;

	if (r->folder != NULL)
		return GNN_OK;
	GNN_TRY(set_folder_path(r->o, path));
	GNN_TRY(gnn_folder_open(&r->folder, path));
	GNN_TRY(gnn_folder_clear(r->folder));
out:
	return rc;
}

/* GNN_SKIPPED when an earlier run has done all of it. */
static int open_run(struct gnn_run *r)
{
	const struct gnn_infer_opts *o = r->o;
	uint32_t layers = gnn_model_layers(o->model);
	char id[GNN_RUN_ID_BYTES];
	int rc;

	GNN_TRY(check_dense(o));
	if (o->explain)
		return gnn_run_plan(r);
	GNN_TRY(gnn_identity_collect(&r->facts, o));
	gnn_identity_id(&r->facts, id);
	GNN_TRY(find_folder(r));
	if (o->resume && !r->resuming && gnn_identity_is_done(o, id))
		return GNN_SKIPPED;
	if (!o->raw)
		GNN_TRY(gnn_score_create(&r->score, o->store,
			gnn_model_width(o->model, layers - 1), o->metric, o->verify_reads));
	GNN_TRY(gnn_result_create(&r->result, o, id));
	GNN_TRY(gnn_run_plan(r));
	GNN_TRY(open_sampling(r));
	GNN_TRY(pin_store(r));
	GNN_TRY(reserve(r));
	if (r->plan.kind != GNN_PLAN_RESIDENT || (o->save_layers && layers > 1))
		GNN_TRY(need_folder(r));
out:
	return rc < 0 ? rc : GNN_OK;
}

/* --- a layer --- */

static int open_kept(struct gnn_run *r, struct gnn_kept **out, struct gnn_kept_opts o,
	uint32_t l, const char *what)
{
	char label[GNN_LABEL_BYTES];

	if (*out != NULL || o.kind == GNN_ROWS_NONE || o.kind == GNN_ROWS_STORE)
		return GNN_OK;
	snprintf(label, sizeof(label), "layer%u-%s", l + 1, what);
	o.folder = r->folder != NULL ? gnn_folder_path(r->folder) : NULL;
	o.label = label;
	gnn_run_reopen(r, &o, label);
	return gnn_kept_open(out, &o);
}

static bool is_sealing(const struct gnn_run *r)
{
	return r->at.step == GNN_STEP_SEAL;
}

/* What an earlier process had open when it sealed or stopped: rows of scratch, memory. */
static int resume_layer(struct gnn_run *r, uint32_t l)
{
	bool early = r->at.pass < gnn_plan_passes(&r->plan, l, r->layer.o.conv) -
		r->plan.layer[l].shards + (is_sealing(r) ? 0 : 1);
	int rc = GNN_OK;

	for (uint32_t i = 0; i < l; i++)
		GNN_TRY(open_kept(r, &r->output[i], gnn_plan_output(&r->plan, i, r->o), i, "out"));
	if (l > 0 && (!is_sealing(r) || r->plan.kind != GNN_PLAN_RESIDENT ||
		r->layer.o.conv->late.dim_out > 0)) {
		GNN_TRY(open_kept(r, &r->input, gnn_plan_input(&r->plan, l, r->o), l, "input"));
		r->input->finished = true;
	}
	if ((!early || gnn_run_has_stores(r, &r->at)) && l + 1 < r->plan.layer_count)
		GNN_TRY(open_kept(r, &r->next, gnn_plan_input(&r->plan, l + 1, r->o), l + 1,
			"input"));
	GNN_TRY(gnn_run_begin_pass(r, l, r->plan.layer[l].shards == 1 ? 0 : r->at.pass));
	GNN_TRY(gnn_run_restore(r, &r->at));
	r->layer.messages = r->report->layer[l].messages;
out:
	return rc;
}

static int begin_layer(struct gnn_run *r, uint32_t l)
{
	const struct gnn_layer_plan *lp = &r->plan.layer[l];
	int rc;

	GNN_TRY(gnn_layer_run_init(&r->layer, &(struct gnn_layer_run_opts){
		.backend = r->o->backend, .conv = gnn_model_conv(r->o->model, l),
		.degrees = r->degrees, .sample_there = gnn_sampling_there(r->sampling),
		.chunk_rows = lp->chunk_rows, .state_rows = lp->state_rows,
		.carry_rows = lp->carry_rows, .targets = lp->targets,
		.rows_max = gnn_max_u64(lp->chunk_rows, r->plan.finish_rows)}));
	if (!(is_sealing(r) && r->plan.kind == GNN_PLAN_RESIDENT))
		GNN_TRY(open_kept(r, &r->messages, gnn_plan_messages(&r->plan, l, r->o), l,
			"messages"));
	GNN_TRY(open_kept(r, &r->output[l], gnn_plan_output(&r->plan, l, r->o), l, "out"));
	if (r->plan.kind == GNN_PLAN_TIERED)
		GNN_TRY(gnn_tiered_open(r, l));
	if (r->resuming)
		GNN_TRY(resume_layer(r, l));
	r->resuming = false;
	gnn_crash_point("infer.layer_begun");
out:
	return rc;
}

static void drop(struct gnn_kept **k)
{
	gnn_kept_drop(*k);
	*k = NULL;
}

/* Before the first shard is sealed. A resident input has been read for the last time by then. */
static int open_next(struct gnn_run *r, uint32_t l)
{
	if (r->plan.kind == GNN_PLAN_RESIDENT) { /* input and states were alive until here */
		if (r->layer.o.conv->late.dim_out == 0)
			drop(&r->input);
		drop(&r->messages);
	}
	if (l + 1 == r->plan.layer_count)
		return GNN_OK;
	return open_kept(r, &r->next, gnn_plan_input(&r->plan, l + 1, r->o), l + 1, "input");
}

/* Its rows are whole, on the disk where they are in scratch; only then what they came from goes. */
static int end_layer(struct gnn_run *r, uint32_t l)
{
	struct gnn_layer_report *lr = &r->report->layer[l];
	int rc = GNN_OK;

	if (r->next != NULL)
		GNN_TRY(gnn_kept_finish(r->next));
	if (r->output[l] != NULL)
		GNN_TRY(gnn_kept_finish(r->output[l]));
	lr->written_bytes += gnn_kept_written_bytes(r->messages) + gnn_kept_written_bytes(r->next) +
		gnn_kept_written_bytes(r->output[l]) + r->copied_bytes;
	r->copied_bytes = 0;
	lr->messages = gnn_sampling_messages(r->degrees, r->layer.o.conv);
	/* A backend that groups edges by itself counts those that it drops. */
	if (r->o->backend->ops->group == NULL && r->plan.kind != GNN_PLAN_TIERED)
		GNN_TRY(gnn_sampling_agree(r->layer.messages, lr->messages));
	r->at = (struct gnn_position){.layer = l + 1};
	if (r->plan.kind != GNN_PLAN_RESIDENT)
		GNN_TRY(gnn_run_checkpoint(r, &r->at));
	drop(&r->input);
	drop(&r->messages);
	r->input = r->next;
	r->next = NULL;
	gnn_crash_point("infer.layer_done");
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

/* Written down where the run is, with all that it has in memory. */
static int stop(struct gnn_run *r)
{
	int rc;

	r->at.states = true;
	GNN_TRY(need_folder(r));
	GNN_TRY(gnn_run_checkpoint(r, &r->at));
	return gnn_err(GNN_ESTOP, "stopped by a signal in layer %u, pass %u, at row %llu of %llu; "
		"the same command with --resume goes on", r->at.layer + 1, r->at.pass + 1,
		(unsigned long long)r->at.row, (unsigned long long)r->degrees->vertices);
out:
	return rc;
}

static int stream_pass(struct gnn_run *r, uint32_t l)
{
	int rc = GNN_OK;

	if (!r->at.states)
		GNN_TRY(gnn_run_begin_pass(r, l, r->at.pass));
	r->at.states = false;
	if (r->plan.kind == GNN_PLAN_TIERED) /* rows are done in the middle of it */
		GNN_TRY(open_next(r, l));
	GNN_TRY(gnn_run_pass(r, l, r->at.pass));
	if (rc == GNN_STOPPED)
		return stop(r);
	gnn_crash_point("infer.pass_done");
	r->at.step = GNN_STEP_SEAL;
	r->at.row = r->layer.to.first;
out:
	return rc;
}

static int seal_shard(struct gnn_run *r, uint32_t l)
{
	int rc;

	r->at.states = false;
	GNN_TRY(open_next(r, l));
	GNN_TRY(gnn_run_seal(r, l));
	if (rc == GNN_STOPPED)
		return stop(r);
	gnn_crash_point("infer.shard_finished");
out:
	return rc;
}

/* STREAM and SEAL of each shard; the first passes of a softmax have nothing to seal. */
static int run_passes(struct gnn_run *r, uint32_t l)
{
	uint32_t passes = gnn_plan_passes(&r->plan, l, r->layer.o.conv);
	uint32_t first_seal = passes - r->plan.layer[l].shards;
	int rc = GNN_OK;

	while (r->at.pass < passes) {
		if (!is_sealing(r))
			GNN_TRY(stream_pass(r, l));
		if (l == 0 && r->at.pass == first_seal)
			r->report->feature_s = gnn_clock_s_since(r->stream_start_ns);
		if (r->at.pass >= first_seal)
			GNN_TRY(seal_shard(r, l));
		r->at = (struct gnn_position){.layer = l, .pass = r->at.pass + 1,
			.states = r->at.pass < first_seal && gnn_run_keeps_states(r, l)};
		if (r->plan.kind != GNN_PLAN_RESIDENT && r->at.pass < passes)
			GNN_TRY(gnn_run_checkpoint(r, &r->at));
	}
out:
	return rc;
}

static void name_layer(struct gnn_layer_report *lr, const struct gnn_conv *c)
{
	lr->plan = gnn_plan_name(GNN_PLAN_AUTO);
	lr->message_order = c->transform_first ? "transform-first" : "aggregate-first";
	lr->message_dim = c->width;
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
	snprintf(what, sizeof(what), "layer %u", l + 1);
	/* Each vertex is a row of every pass, and is finished once. */
	r->progress = gnn_progress_begin(what, "rows", (gnn_plan_passes(&r->plan, l, c) + 1) *
		r->o->store->vertices);
	GNN_TRY(gnn_sampling_begin(r->sampling, l, c, &lr->read_bytes));
	GNN_TRY(begin_layer(r, l));
	GNN_TRY(run_passes(r, l));
	GNN_TRY(end_layer(r, l));
	lr->wall_s = gnn_clock_s_since(start_ns);
	r->report->read_bytes += lr->read_bytes;
	r->report->written_bytes += lr->written_bytes;
	report_layer(lr, l);
out:
	gnn_progress_end(r->progress);
	r->progress = NULL;
	gnn_tiered_close(r);
	gnn_layer_run_fini(&r->layer);
	return rc;
}

/* Before PUBLISH, in a process that finds nothing else left. */
static int reopen_outputs(struct gnn_run *r)
{
	int rc = GNN_OK;

	for (uint32_t l = 0; l < r->plan.layer_count && r->resuming; l++)
		GNN_TRY(open_kept(r, &r->output[l], gnn_plan_output(&r->plan, l, r->o), l, "out"));
out:
	return rc;
}

/* After a failure scratch stays only when it can be gone on with. */
static void close_scratch(struct gnn_run *r, bool leave)
{
	struct gnn_kept **kept[] = {&r->input, &r->messages, &r->next};

	for (uint32_t i = 0; i < GNN_COUNT_OF(kept); i++)
		leave ? gnn_kept_leave(*kept[i]) : gnn_kept_drop(*kept[i]);
	for (uint32_t l = 0; l < GNN_LAYERS_MAX; l++)
		leave ? gnn_kept_leave(r->output[l]) : gnn_kept_drop(r->output[l]);
	if (leave)
		gnn_folder_close(r->folder);
	else
		gnn_folder_remove(r->folder);
	gnn_manifest_fini(&r->recalled);
}

static void close_run(struct gnn_run *r, int rc)
{
	struct gnn_backend *b = r->o->backend;

	if (r->pinned != NULL)
		b->ops->unpin(b, r->pinned);
	close_scratch(r, rc < 0 && r->has_manifest);
	gnn_jump_fini(&r->jump);
	b->ops->free(b, r->finished);
	b->ops->free(b, r->converted);
	if (!b->ops->unified)
		b->ops->free_host(b, r->host);
	gnn_score_destroy(r->score);
	gnn_result_destroy(r->result);
	gnn_inlists_fini(&r->inlists);
	gnn_sampling_destroy(r->sampling);
	gnn_degrees_free(r->degrees);
}

/* OPEN -> (LAYER_BEGIN -> (STREAM -> SEAL) of each shard) of each layer -> PUBLISH */
static int run_all(struct gnn_run *r)
{
	int rc;

	GNN_TRY(open_run(r));
	if (rc == GNN_SKIPPED) {
		r->report->finished_before = true;
		return GNN_OK;
	}
	if (r->o->explain)
		return GNN_OK;
	r->report->resumed = r->resuming;
	r->report->feature_bytes = r->o->store->features->bytes;
	r->stream_start_ns = gnn_clock_ns();
	for (uint32_t l = r->at.layer; l < r->plan.layer_count; l++)
		GNN_TRY(run_layer(r, l));
	GNN_TRY(reopen_outputs(r));
	GNN_TRY(gnn_run_publish(r));
	r->report->stream_s = gnn_clock_s_since(r->stream_start_ns);
	gnn_estimate_log(r->report);
out:
	return rc;
}

int gnn_infer_run(const struct gnn_infer_opts *o, struct gnn_infer_report *report)
{
	struct gnn_run r = {.o = o, .report = report};
	uint64_t start_ns = gnn_clock_ns();
	int rc;

	*report = (struct gnn_infer_report){.layer_count = gnn_model_layers(o->model)};
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		report->score[k] = NAN;
	for (uint32_t l = 0; l < report->layer_count; l++)
		name_layer(&report->layer[l], gnn_model_conv(o->model, l));
	rc = run_all(&r);
	report->wall_s = gnn_clock_s_since(start_ns);
	report->startup_s = report->wall_s - report->stream_s;
	report->peak_host_bytes = gnn_machine_peak();
	report->peak_device_bytes = o->backend->ops->peak_bytes(o->backend);
	close_run(&r, rc);
	return rc;
}
