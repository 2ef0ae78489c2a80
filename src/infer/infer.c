/*
 * infer/infer.c - see infer.h. The state machine; its leaves are open.c, pass.c, seal.c and
 * publish.c.
 */
#include "infer/infer.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/trace.h"
#include "infer/estimate.h"
#include "infer/tiered.h"

#include <math.h>
#include <stdio.h>

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
	if (r->plan.layer[l].input != GNN_ROWS_STORE &&
		(!is_sealing(r) || r->plan.kind != GNN_PLAN_RESIDENT ||
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
	uint64_t span = gnn_trace_begin();
	int rc;

	GNN_TRY(gnn_layer_run_init(&r->layer, &(struct gnn_layer_run_opts){
		.backend = r->o->backend, .conv = gnn_model_conv(r->o->model, l),
		.degrees = r->degrees, .share = r->o->share,
		.sample_there = gnn_sampling_there(r->sampling),
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
	gnn_trace_end(span, "open layer");
	gnn_crash_point("infer.layer_begun");
out:
	return rc;
}

static void drop(struct gnn_kept **k)
{
	gnn_kept_drop(*k);
	*k = NULL;
}

static void leave(struct gnn_kept **k)
{
	gnn_kept_leave(*k);
	*k = NULL;
}

/* What a manifest names stays: those of the resident plan are written only at a signal. */
static void drop_input(struct gnn_run *r)
{
	if (r->plan.kind == GNN_PLAN_RESIDENT && r->input != NULL && r->input->runs != NULL)
		leave(&r->input);
	else
		drop(&r->input);
}

/* Before the first shard is sealed. A resident input has been read for the last time by then. */
static int open_next(struct gnn_run *r, uint32_t l)
{
	if (r->plan.kind == GNN_PLAN_RESIDENT) { /* input and states were alive until here */
		if (r->layer.o.conv->late.dim_out == 0)
			drop_input(r);
		drop(&r->messages);
	}
	if (l + 1 == r->plan.layer_count)
		return GNN_OK;
	return open_kept(r, &r->next, gnn_plan_input(&r->plan, l + 1, r->o), l + 1, "input");
}

/* Whether what is done is written down, to be gone on with. */
static bool seals(const struct gnn_run *r)
{
	return r->plan.kind != GNN_PLAN_RESIDENT;
}

/* Where one of several ranks needs a point to go on from, all seal. */
static int can_all(const struct gnn_run *r, bool can, bool *all)
{
	uint64_t least = can;
	int rc = GNN_OK;

	if (r->o->share != NULL)
		rc = gnn_comm_reduce_u64(r->o->comm, GNN_REDUCE_MIN, &least, 1);
	*all = least != 0;
	return rc;
}

/* Whether a kill would undo little. */
static bool is_recent(const struct gnn_run *r)
{
	return gnn_clock_s_since(r->sealed_ns) < r->o->seal_after_s;
}

/*
 * Rows of a layer that are in memory: those of the model's last become the result at once, and
 * those of another are not written either while there is little to lose. The point to go on from
 * is still the one before, and what that names stays until the result has its name.
 */
static int stays_in_memory(const struct gnn_run *r, uint32_t l, bool *stays)
{
	const struct gnn_kept *out = r->output[l];
	bool last = l + 1 == r->plan.layer_count;

	return can_all(r, (out == NULL || gnn_kept_held(out)) && (last ? out != NULL :
		gnn_kept_held(r->next) && is_recent(r)), stays);
}

/* Behind a pass that is not the layer's last. */
static int seal_pass(struct gnn_run *r)
{
	bool spared = r->plan.kind == GNN_PLAN_TIERED && is_recent(r) &&
		(r->input == NULL || gnn_kept_held(r->input));
	int rc;

	if (!seals(r))
		return GNN_OK;
	GNN_TRY(can_all(r, spared, &spared));
	if (!spared)
		GNN_TRY(gnn_run_checkpoint(r, &r->at));
out:
	return rc;
}

/* What the layer came from: only behind the manifest that does not need it. */
static int let_go(struct gnn_run *r, uint32_t l)
{
	bool stays;
	int rc;

	GNN_TRY(stays_in_memory(r, l, &stays));
	if (stays) {
		leave(&r->input);
		leave(&r->messages);
		return GNN_OK;
	}
	if (seals(r))
		GNN_TRY(gnn_run_checkpoint(r, &r->at));
	drop_input(r);
	drop(&r->messages);
out:
	return rc;
}

/* Its rows are whole, on the disk where they are in scratch. */
static int end_layer(struct gnn_run *r, uint32_t l)
{
	struct gnn_layer_report *lr = &r->report->layer[l];
	int rc = GNN_OK;

	if (r->next != NULL)
		GNN_TRY(gnn_kept_finish(r->next));
	if (r->output[l] != NULL)
		GNN_TRY(gnn_kept_finish(r->output[l]));
	lr->written_bytes += r->copied_bytes;
	r->copied_bytes = 0;
	lr->messages = gnn_sampling_messages(r->degrees, r->layer.o.conv);
	/* A backend that groups edges by itself counts those that it drops. */
	if (r->o->backend->ops->group == NULL && r->plan.kind != GNN_PLAN_TIERED)
		GNN_TRY(gnn_sampling_agree(r->layer.messages, lr->messages));
	lr->written_bytes += gnn_kept_written_bytes(r->messages);
	lr->exchanged_rows = r->layer.exchange.sent_rows;
	lr->peer_wait_s = (double)r->layer.exchange.wait_ns * 1e-9;
	r->at = (struct gnn_position){.layer = l + 1};
	GNN_TRY(let_go(r, l));
	lr->written_bytes += gnn_kept_written_bytes(r->next) +
		gnn_kept_written_bytes(r->output[l]);
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
	gnn_json_u64(line, "shards", lr->shards);
	gnn_json_text(line, "message_order", lr->message_order);
	gnn_json_u64(line, "message_dim", lr->message_dim);
	gnn_json_real(line, "wall_s", lr->wall_s);
	gnn_json_u64(line, "read_bytes", lr->read_bytes);
	gnn_json_u64(line, "written_bytes", lr->written_bytes);
	gnn_json_u64(line, "messages", lr->messages);
	gnn_json_u64(line, "evictions", lr->evictions);
	gnn_json_u64(line, "reloads", lr->reloads);
	gnn_json_u64(line, "cold_written_bytes", lr->cold_written_bytes);
	gnn_json_u64(line, "cold_read_bytes", lr->cold_read_bytes);
	gnn_json_u64(line, "exchanged_rows", lr->exchanged_rows);
	gnn_json_real(line, "peer_wait_s", lr->peer_wait_s);
	gnn_json_u64(line, "hot_rows", lr->hot_rows);
	gnn_json_u64(line, "cold_rows", lr->cold_rows);
	gnn_json_real(line, "predicted_s", lr->predicted_s);
	gnn_json_u64(line, "predicted_read_bytes", lr->predicted_read_bytes);
	gnn_json_u64(line, "predicted_written_bytes", lr->predicted_written_bytes);
	gnn_json_u64(line, "predicted_evictions", lr->predicted_evictions);
	gnn_metrics_end(line);
}

/* Written down where the run is, with all that it has in memory. */
static int stop(struct gnn_run *r)
{
	int rc;

	r->at.states = r->at.step != GNN_STEP_PERMUTE;
	GNN_TRY(gnn_run_need_folder(r));
	GNN_TRY(gnn_run_checkpoint(r, &r->at));
	if (r->at.step == GNN_STEP_PERMUTE)
		return gnn_err(GNN_ESTOP, "stopped by a signal while features are sorted, at row "
			"%llu of %llu; the same command with --resume goes on",
			(unsigned long long)r->at.row, (unsigned long long)r->degrees->vertices);
	return gnn_err(GNN_ESTOP, "stopped by a signal in layer %u, pass %u, at row %llu of %llu; "
		"the same command with --resume goes on", r->at.layer + 1, r->at.pass + 1,
		(unsigned long long)r->at.row, (unsigned long long)r->degrees->vertices);
out:
	return rc;
}

/* Features that lie in another order become rows of the vertices, once. */
static int permute(struct gnn_run *r)
{
	int rc;

	if (r->plan.permute_rows == 0 || (r->resuming && r->at.step != GNN_STEP_PERMUTE))
		return GNN_OK;
	r->at.step = GNN_STEP_PERMUTE;
	GNN_TRY(open_kept(r, &r->input, gnn_plan_input(&r->plan, 0, r->o), 0, "input"));
	r->resuming = false;
	GNN_TRY(gnn_run_permute(r));
	if (rc == GNN_STOPPED)
		return stop(r);
	r->at = (struct gnn_position){0};
	gnn_crash_point("permute.done");
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
		if (r->at.pass < passes)
			GNN_TRY(seal_pass(r));
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
	uint64_t start_ns = gnn_clock_ns(), span = 0;
	char what[32];
	int rc;

	if (l == 0)
		GNN_TRY(permute(r));
	lr->plan = gnn_plan_name(r->plan.kind);
	lr->shards = r->plan.layer[l].shards;
	snprintf(what, sizeof(what), "layer %u", l + 1);
	/* Each vertex is a row of every pass, and is finished once. */
	r->progress = gnn_progress_begin(what, "rows", (gnn_plan_passes(&r->plan, l, c) + 1) *
		r->o->store->vertices);
	GNN_TRY(gnn_sampling_begin(r->sampling, l, c, &lr->read_bytes));
	GNN_TRY(begin_layer(r, l));
	GNN_TRY(run_passes(r, l));
	span = gnn_trace_begin();
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
	gnn_trace_end(span, "close layer");
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
	gnn_regroup_destroy(r->regroup);
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

/* A layer's input, and rows that wait for the result, from where other ranks have left them. */
static int take(struct gnn_run *r, struct gnn_kept **k, struct gnn_kept_opts o, uint32_t l,
	const char *what)
{
	int rc;

	GNN_TRY(open_kept(r, k, o, l, what));
	if (*k != NULL)
		GNN_TRY(gnn_regroup_take(r->regroup, *k));
out:
	return rc;
}

/* As if these ranks had just sealed the layer that others have. */
static int take_over(struct gnn_run *r)
{
	uint32_t l = gnn_regroup_layer(r->regroup);
	int rc = GNN_OK;

	r->at = (struct gnn_position){.layer = l};
	if (l < r->plan.layer_count)
		GNN_TRY(take(r, &r->input, gnn_plan_input(&r->plan, l, r->o), l, "input"));
	for (uint32_t i = 0; i < l; i++) {
		GNN_TRY(take(r, &r->output[i], gnn_plan_output(&r->plan, i, r->o), i, "out"));
		r->report->layer[i].messages = gnn_comm_rank(r->o->comm) == 0 ?
			gnn_regroup_messages(r->regroup, i) : 0;
	}
	r->report->read_bytes += gnn_regroup_read_bytes(r->regroup);
	gnn_crash_point("regroup.taken");
	GNN_TRY(gnn_run_checkpoint(r, &r->at));
out:
	return rc;
}

/* OPEN -> (LAYER_BEGIN -> (STREAM -> SEAL) of each shard) of each layer -> PUBLISH */
static int run_all(struct gnn_run *r)
{
	uint64_t span;
	int rc;

	GNN_TRY(gnn_run_open(r));
	if (rc == GNN_SKIPPED) {
		r->report->finished_before = true;
		return GNN_OK;
	}
	if (r->o->explain)
		return GNN_OK;
	r->report->resumed = r->resuming || r->regroup != NULL;
	r->report->feature_bytes = r->o->store->features->bytes;
	r->stream_start_ns = r->sealed_ns = gnn_clock_ns();
	if (r->regroup != NULL)
		GNN_TRY(take_over(r));
	GNN_TRY(gnn_regroup_sweep(r->o));
	for (uint32_t l = r->at.layer; l < r->plan.layer_count; l++)
		GNN_TRY(run_layer(r, l));
	GNN_TRY(reopen_outputs(r));
	span = gnn_trace_begin();
	GNN_TRY(gnn_run_publish(r));
	gnn_trace_end(span, "publish");
	r->report->stream_s = gnn_clock_s_since(r->stream_start_ns);
	gnn_estimate_log(r->report);
out:
	return rc;
}

static int infer(const struct gnn_infer_opts *o, struct gnn_infer_report *report)
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
	/* Others must hear why before what they need is gone; of a signal all know. */
	if (rc < 0 && !(o->inner && rc == GNN_ESTOP))
		(void)gnn_comm_agree(o->comm, rc);
	report->wall_s = gnn_clock_s_since(start_ns);
	report->startup_s = report->wall_s - report->stream_s;
	report->peak_host_bytes = gnn_max_u64(report->peak_host_bytes, gnn_machine_peak());
	report->peak_device_bytes = o->backend->ops->peak_bytes(o->backend);
	close_run(&r, rc);
	return rc;
}

int gnn_infer_run(const struct gnn_infer_opts *o, struct gnn_infer_report *report)
{
	struct gnn_infer_opts mine = *o;
	struct gnn_share share = {0};
	int rc;

	if (gnn_comm_size(o->comm) == 1)
		return infer(o, report);
	GNN_TRY(gnn_share_init(&share, o->comm, o->store, o->backend->ops->panel_rows));
	GNN_TRY(gnn_share_link(&share, o->backend, !o->devices_shared));
	mine.store = &share.store;
	mine.share = &share;
	rc = infer(&mine, report);
out:
	gnn_share_fini(&share);
	return rc;
}
