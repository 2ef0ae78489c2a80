/* infer/open.c - the start of a run: degrees, plan, result, buffers, scratch; see run.h. */
#include "infer/model_store.h"
#include "infer/tiered.h"

#include "base/log.h"
#include "base/trace.h"
#include "io/file.h"

enum { PATH_BYTES = GNN_SCRATCH_PATH_BYTES };

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
	uint64_t bytes, span;
	int rc = GNN_OK;

	if (r->o->engine != GNN_DIO_MAP)
		return GNN_OK;
	GNN_TRY(gnn_container_map(r->o->store->container, &base, &bytes));
	span = gnn_trace_begin();
	GNN_TRY(b->ops->pin(b, base, bytes));
	gnn_trace_end(span, "register store");
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
		.share = o->share, .degrees = r->degrees, .fanout = r->fanout, .layers = layers,
		.seed = o->seed,
		.backend = o->backend, .threads = o->threads, .verify = o->verify_reads});
}

/* Buffers for finished rows, and for what the passes hand to the backend. */
static int reserve_stages(struct gnn_run *r)
{
	struct gnn_backend *b = r->o->backend;
	const struct gnn_store *s = r->o->store;
	bool weighted = gnn_model_uses_weights(r->o->model, s);
	uint64_t chunk_rows = 0, bytes = 0, at_hand;
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
	if (r->plan.kind != GNN_PLAN_RESIDENT)
		GNN_TRY(b->ops->reserve(b, GNN_STAGE_OWN, bytes));
	at_hand = chunk_rows * gnn_share_size(r->o->share);
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_OFFSETS, (at_hand + 1) * sizeof(gnn_eid)));
	if (r->o->share != NULL) {
		GNN_TRY(b->ops->reserve(b, GNN_STAGE_SOURCES, at_hand * sizeof(uint32_t)));
		GNN_TRY(b->ops->reserve(b, GNN_STAGE_MOVES, (at_hand - chunk_rows) *
			sizeof(struct gnn_move)));
	}
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_EDGES, r->plan.list_bytes));
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_WEIGHTS, weighted ? r->plan.list_bytes /
		gnn_dtype_bytes(s->out.neighbors->dtype) * sizeof(float) : 0));
	if (b->ops->group != NULL)
		GNN_TRY(b->ops->prepare(b, &(struct gnn_graph_info){.vertices = s->vertices,
			.hub_bits = r->degrees->hub_bits_there,
			.hub_rank = r->degrees->hub_rank_there, .chunk_rows_max = at_hand,
			.weighted = weighted || r->sampling != NULL,
			.entries_max = at_hand + r->plan.list_bytes / gnn_dtype_bytes(
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
	return gnn_regroup_folder(o, gnn_comm_rank(o->comm), gnn_comm_size(o->comm), path);
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

int gnn_run_need_folder(struct gnn_run *r)
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

/* Whether an earlier run has ended and its result is there: for all ranks, or for none. */
static int find_result(struct gnn_run *r, const char *id, bool *done)
{
	uint64_t all = !r->resuming && r->regroup == NULL && gnn_identity_is_done(r->o, id);
	int rc = GNN_OK;

	if (r->o->share != NULL)
		GNN_TRY(gnn_comm_reduce_u64(r->o->comm, GNN_REDUCE_MIN, &all, 1));
	*done = all != 0;
out:
	return rc;
}

int gnn_run_open(struct gnn_run *r)
{
	const struct gnn_infer_opts *o = r->o;
	uint32_t layers = gnn_model_layers(o->model);
	char id[GNN_RUN_ID_BYTES];
	bool done = false;
	int rc;

	GNN_TRY(check_dense(o));
	if (o->explain)
		return gnn_run_plan(r);
	GNN_TRY(gnn_identity_collect(&r->facts, o));
	gnn_identity_id(&r->facts, id);
	if (o->share != NULL)
		GNN_TRY(gnn_share_same(o->comm, "store, model or options", id));
	GNN_TRY(find_folder(r));
	if (o->share != NULL && o->resume)
		GNN_TRY(gnn_run_agree_recalled(r));
	if (o->resume && !r->resuming)
		GNN_TRY(gnn_regroup_find(&r->regroup, o, &r->facts));
	if (o->resume)
		GNN_TRY(find_result(r, id, &done));
	if (done)
		return GNN_SKIPPED;
	if (!o->raw)
		GNN_TRY(gnn_score_create(&r->score, o->store,
			gnn_model_width(o->model, layers - 1), o->metric, o->verify_reads));
	GNN_TRY(gnn_result_create(&r->result, o, id));
	GNN_TRY(gnn_run_plan(r));
	GNN_TRY(open_sampling(r));
	GNN_TRY(pin_store(r));
	GNN_TRY(reserve(r));
	if (r->plan.kind != GNN_PLAN_RESIDENT || r->plan.permute_rows > 0 ||
		(o->save_layers && layers > 1) || gnn_plan_keeps_output(&r->plan, layers - 1, o))
		GNN_TRY(gnn_run_need_folder(r));
out:
	return rc < 0 ? rc : GNN_OK;
}
