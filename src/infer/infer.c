/* infer/infer.c - see infer.h. */
#include "infer/infer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/progress.h"
#include "base/trace.h"
#include "infer/layer_run.h"
#include "infer/result.h"
#include "infer/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * OPEN -> LAYER_BEGIN -> STREAM (scores, combine) -> SEAL -> LAYER_BEGIN ... -> PUBLISH
 *
 * STREAM absorbs work items until the feed ends; SEAL finishes all rows, panel by panel, into the
 * result and into the input of the next layer.
 */
struct run {
	const struct gnn_infer_opts *o;
	struct gnn_infer_report     *report;
	struct gnn_degrees          *degrees;
	struct gnn_plan              plan;
	struct gnn_result           *result;
	struct gnn_score            *score;
	struct gnn_layer_run         layer;
	float                       *input;    /* of the next layer, until that layer takes it */
	float                       *finished; /* (finish_rows, widest output) */
	float                       *host;     /* the same rows in host memory */
	const char                  *pinned;   /* the mapped store, or NULL */
	struct gnn_progress         *progress; /* of the layer: rows streamed, then finished */
	uint64_t                     row_bytes; /* of features in the store */
	uint64_t                     stream_start_ns;
};

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
		const struct gnn_rowprog *programs[] = {&c->message, &c->finish};

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

/* Buffers for finished rows, and for what the passes hand to the backend. */
static int reserve(struct run *r)
{
	struct gnn_backend *b = r->o->backend;
	const struct gnn_array *features = r->o->store->features;
	uint64_t widest = 0, chunk_rows = 0;
	void *block;
	int rc;

	for (uint32_t l = 0; l < r->plan.layer_count; l++) {
		widest = gnn_max_u64(widest, gnn_model_conv(r->o->model, l)->dim_out);
		chunk_rows = gnn_max_u64(chunk_rows, r->plan.layer[l].chunk_rows);
	}
	GNN_TRY(b->ops->alloc(b, &block, r->plan.finish_rows * widest * sizeof(float)));
	r->finished = block;
	r->host = block;
	if (!b->ops->unified) {
		GNN_TRY(b->ops->alloc_host(b, &block,
			r->plan.finish_rows * widest * sizeof(float)));
		r->host = block;
	}
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_ROWS, r->plan.layer[0].chunk_rows *
		features->cols * gnn_dtype_bytes(features->dtype)));
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_OFFSETS, (chunk_rows + 1) * sizeof(gnn_eid)));
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_EDGES, GNN_FEED_LIST_BYTES));
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_WEIGHTS, uses_weights(r->o) ? GNN_FEED_LIST_BYTES /
		gnn_dtype_bytes(r->o->store->out.neighbors->dtype) * sizeof(float) : 0));
	if (b->ops->group != NULL)
		GNN_TRY(b->ops->prepare(b, &(struct gnn_graph_info){
			.vertices = r->o->store->vertices,
			.hub_bits = r->degrees->hub_bits_there,
			.hub_rank = r->degrees->hub_rank_there, .chunk_rows_max = chunk_rows,
			.weighted = uses_weights(r->o),
			.entries_max = chunk_rows + GNN_FEED_LIST_BYTES / gnn_dtype_bytes(
				r->o->store->out.neighbors->dtype)}));
out:
	return rc;
}

/* A mapped store is copied from where it lies, without a bounce. */
static int pin_store(struct run *r)
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
static int load_weighted(struct run *r)
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
static int load_degrees(struct run *r)
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

static int open_run(struct run *r)
{
	const struct gnn_infer_opts *o = r->o;
	uint32_t layers = gnn_model_layers(o->model);
	int rc;

	GNN_TRY(load_degrees(r));
	GNN_TRY(pin_store(r));
	GNN_TRY(gnn_plan_make(&r->plan, o, r->degrees));
	GNN_TRY(check_dense(o));
	GNN_TRY(reserve(r));
	GNN_TRY(gnn_score_create(&r->score, o->store,
		gnn_model_conv(o->model, layers - 1)->dim_out, o->metric, o->verify_reads));
	GNN_TRY(gnn_result_create(&r->result, o));
out:
	return rc;
}

static int begin_layer(struct run *r, uint32_t l)
{
	const struct gnn_layer_plan *lp = &r->plan.layer[l];
	float *input = r->input;

	r->input = NULL;
	return gnn_layer_run_init(&r->layer, r->o->backend, gnn_model_conv(r->o->model, l), lp,
		r->degrees, r->o->store->features->dtype, input,
		gnn_max_u64(lp->chunk_rows, r->plan.finish_rows));
}

/* Work items whose operations are issued and not known to be done, oldest first. */
struct in_flight {
	struct gnn_work *work[GNN_IN_FLIGHT_MAX];
	uint64_t         ticket[GNN_IN_FLIGHT_MAX];
	uint32_t         first, count;
};

/* Waits for the oldest and gives it back to the feed. */
static int retire(struct run *r, struct gnn_feed *feed, struct in_flight *f)
{
	int rc = r->o->backend->ops->wait(r->o->backend, f->ticket[f->first]);

	gnn_feed_put(feed, f->work[f->first]);
	f->first = (f->first + 1) % GNN_IN_FLIGHT_MAX;
	f->count--;
	return rc;
}

static int absorb(struct run *r, struct gnn_feed *feed, enum gnn_pass pass, struct gnn_work *work,
	struct in_flight *f)
{
	struct gnn_backend *b = r->o->backend;
	uint32_t last = (f->first + f->count) % GNN_IN_FLIGHT_MAX;
	uint64_t span = gnn_trace_begin();
	int rc;

	f->work[last] = work;
	f->count++;
	rc = gnn_layer_run_absorb(&r->layer, pass, work);
	gnn_trace_end(span, "absorb");
	if (work->first)
		gnn_progress_add(r->progress, work->rows, work->features != NULL ?
			work->rows * r->row_bytes : 0);
	if (b->ops->mark(b, &f->ticket[last]) < 0 && rc == GNN_OK)
		rc = GNN_EOS;
	if (rc == GNN_OK && f->count == r->plan.in_flight)
		rc = retire(r, feed, f);
	return rc;
}

/* One pass over the graph: every work item is absorbed. */
static int stream(struct run *r, uint32_t l, enum gnn_pass pass)
{
	struct gnn_feed_opts opts = gnn_plan_feed(&r->plan, l, r->o, r->degrees);
	struct in_flight f = {.count = 0};
	struct gnn_feed *feed = NULL;
	struct gnn_work *work;
	int rc, end;

	opts.features = opts.features &&
		!(pass == GNN_PASS_COMBINE && gnn_layer_run_needs_scores(&r->layer));
	GNN_TRY(gnn_feed_start(&feed, &opts));
	while ((rc = gnn_feed_next(feed, &work)) == GNN_OK)
		GNN_TRY(absorb(r, feed, pass, work, &f));
	if (rc == GNN_EOF)
		rc = GNN_OK;
	r->report->layer[l].read_bytes += gnn_feed_read_bytes(feed);
out:
	/* The buffers of the items must outlive what the backend still does with them. */
	while (f.count > 0) {
		end = retire(r, feed, &f);
		rc = rc == GNN_OK ? end : rc;
	}
	gnn_feed_stop(feed);
	return rc;
}

/* Rows of the layer after this one, from finished rows of this one. */
static int keep_for_next(struct run *r, uint32_t l, gnn_vid first, uint64_t rows)
{
	const struct gnn_layer_plan *next = &r->plan.layer[l + 1];
	const struct gnn_conv *c = gnn_model_conv(r->o->model, l + 1);
	struct gnn_backend *b = r->o->backend;
	float *to = r->input + first * next->input_width;
	uint64_t row_bytes = next->input_width * sizeof(float);

	if (next->input_message)
		return gnn_layer_run_messages(b, c, r->degrees, r->layer.vec, first, rows,
			r->finished, to);
	return b->ops->copy(b, to, row_bytes, r->finished, row_bytes, row_bytes, rows);
}

/* Finished rows where the host can read them. */
static int to_host(struct run *r, uint64_t rows, uint64_t row_bytes)
{
	struct gnn_backend *b = r->o->backend;
	uint64_t ticket;
	int rc = GNN_OK;

	if (!b->ops->unified)
		GNN_TRY(b->ops->copy(b, r->host, row_bytes, r->finished, row_bytes, row_bytes,
			rows));
	GNN_TRY(b->ops->mark(b, &ticket));
	GNN_TRY(b->ops->wait(b, ticket));
out:
	return rc;
}

static int seal_layer(struct run *r, uint32_t l)
{
	struct gnn_backend *b = r->o->backend;
	uint64_t vertices = r->o->store->vertices;
	bool last = l + 1 == r->plan.layer_count;
	void *block;
	int rc = GNN_OK;

	gnn_layer_run_drop_input(&r->layer);
	if (!last) {
		GNN_TRY(b->ops->alloc(b, &block, gnn_align_up(vertices, b->ops->panel_rows) *
			r->plan.layer[l + 1].input_width * sizeof(float)));
		r->input = block;
	}
	for (gnn_vid v = 0; v < vertices; v += r->plan.finish_rows) {
		uint64_t rows = gnn_min_u64(r->plan.finish_rows, vertices - v);
		uint64_t span = gnn_trace_begin();

		GNN_TRY(gnn_layer_run_finish(&r->layer, v, rows, r->finished));
		if (!last)
			GNN_TRY(keep_for_next(r, l, v, rows));
		GNN_TRY(to_host(r, rows, r->layer.conv->dim_out * sizeof(float)));
		GNN_TRY(gnn_result_rows(r->result, l, rows, r->host));
		if (last && r->score != NULL)
			GNN_TRY(gnn_score_rows(r->score, v, rows, r->host));
		gnn_trace_end(span, "finish");
		gnn_progress_add(r->progress, rows, 0);
	}
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
	gnn_json_u64(line, "messages", lr->messages);
	gnn_metrics_end(line);
}

static int run_passes(struct run *r, uint32_t l)
{
	bool scores = gnn_layer_run_needs_scores(&r->layer);
	uint64_t passes = scores ? 3 : 2; /* the last one finishes */
	char what[32];
	int rc;

	snprintf(what, sizeof(what), "layer %u", l + 1);
	r->progress = gnn_progress_begin(what, "rows", passes * r->o->store->vertices);
	if (l == 0)
		r->stream_start_ns = gnn_clock_ns();
	if (scores)
		GNN_TRY(stream(r, l, GNN_PASS_SCORES));
	GNN_TRY(stream(r, l, GNN_PASS_COMBINE));
	if (l == 0)
		r->report->feature_s = gnn_clock_s_since(r->stream_start_ns);
	GNN_TRY(seal_layer(r, l));
out:
	gnn_progress_end(r->progress);
	r->progress = NULL;
	return rc;
}

static int run_layer(struct run *r, uint32_t l)
{
	struct gnn_layer_report *lr = &r->report->layer[l];
	const struct gnn_conv *c = gnn_model_conv(r->o->model, l);
	uint64_t start_ns = gnn_clock_ns();
	int rc;

	lr->plan = "resident";
	lr->message_order = c->transform_first ? "transform-first" : "aggregate-first";
	lr->message_dim = c->width;
	GNN_TRY(begin_layer(r, l));
	GNN_TRY(run_passes(r, l));
	lr->messages = r->layer.messages;
	lr->wall_s = gnn_clock_s_since(start_ns);
	r->report->read_bytes += lr->read_bytes;
	report_layer(lr, l);
out:
	gnn_layer_run_fini(&r->layer);
	return rc;
}

static int publish(struct run *r)
{
	int rc = GNN_OK;

	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		r->report->score[k] = NAN;
	if (r->score != NULL) {
		r->report->metric = gnn_score_name(r->score);
		GNN_TRY(gnn_score_end(r->score, r->report->score));
	}
	GNN_TRY(gnn_result_commit(&r->result, r->o->store, &r->report->written_bytes));
out:
	return rc;
}

int gnn_infer_run(const struct gnn_infer_opts *o, struct gnn_infer_report *report)
{
	struct run r = {.o = o, .report = report};
	uint64_t start_ns = gnn_clock_ns();
	int rc;

	*report = (struct gnn_infer_report){.layer_count = gnn_model_layers(o->model)};
	GNN_TRY(open_run(&r));
	report->feature_bytes = o->store->features->bytes;
	r.row_bytes = o->store->features->cols * gnn_dtype_bytes(o->store->features->dtype);
	for (uint32_t l = 0; l < r.plan.layer_count; l++)
		GNN_TRY(run_layer(&r, l));
	GNN_TRY(publish(&r));
	report->stream_s = gnn_clock_s_since(r.stream_start_ns);
	report->wall_s = gnn_clock_s_since(start_ns);
	report->startup_s = report->wall_s - report->stream_s;
	report->peak_host_bytes = gnn_machine_peak();
	report->peak_device_bytes = o->backend->ops->peak_bytes(o->backend);
out:
	if (r.pinned != NULL)
		o->backend->ops->unpin(o->backend, r.pinned);
	o->backend->ops->free(o->backend, r.input);
	o->backend->ops->free(o->backend, r.finished);
	if (!o->backend->ops->unified)
		o->backend->ops->free_host(o->backend, r.host);
	gnn_score_destroy(r.score);
	gnn_result_destroy(r.result);
	gnn_degrees_free(r.degrees);
	return rc;
}
