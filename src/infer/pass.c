/* infer/pass.c - one pass over the graph: rows and edges are absorbed as they come; see run.h. */
#include "infer/tiered.h"

#include "base/stop.h"
#include "base/trace.h"

/* Work items whose operations are issued and not known to be done, oldest first. */
struct in_flight {
	struct gnn_work *work[GNN_IN_FLIGHT_MAX];
	uint64_t         ticket[GNN_IN_FLIGHT_MAX];
	uint32_t         first, count;
};

/* --- what a pass reads --- */

static struct gnn_rows store_rows(const struct gnn_run *r)
{
	const struct gnn_array *a = r->o->store->features;

	return (struct gnn_rows){.kind = GNN_ROWS_STORE, .dtype = a->dtype,
		.width = (uint32_t)a->cols, .count = r->o->store->vertices,
		.base = r->o->store->first, .container = r->o->store->features_in, .array = a};
}

struct gnn_rows gnn_run_input(const struct gnn_run *r)
{
	return r->input != NULL ? gnn_kept_rows(r->input) : store_rows(r);
}

/* Those of the chunks that the range touches. */
static struct gnn_rows rows_beside(struct gnn_rows rows, const struct gnn_range *to,
	uint64_t chunk_rows)
{
	gnn_vid end = gnn_ceil_div(to->first + to->count, chunk_rows) * chunk_rows;

	end = gnn_min_u64(end, rows.first + rows.count);
	rows.first = to->first / chunk_rows * chunk_rows;
	rows.count = end - rows.first;
	return rows;
}

/* What own rows are read from when `k` gives message rows. */
static struct gnn_rows own_rows(const struct gnn_run *r, uint32_t l, const struct gnn_kept *k,
	const struct gnn_pass *pass)
{
	const struct gnn_range *to = &pass->to;
	uint64_t chunk_rows = r->plan.layer[l].chunk_rows;
	const struct gnn_conv *c = r->layer.o.conv;

	if (pass->keeps_own)
		return rows_beside(gnn_run_input(r), to, chunk_rows);
	if (c->own == GNN_OWN_ROW)
		return gnn_kept_own(k, to->first, to->first + to->count, chunk_rows);
	return (struct gnn_rows){.kind = GNN_ROWS_NONE};
}

/* Destinations of a pass: those of the shard that is combined, or all. */
static struct gnn_range range_of(const struct gnn_run *r, uint32_t l, uint32_t index)
{
	uint32_t shard;

	if (gnn_plan_pass(&r->plan, l, r->layer.o.conv, index, &shard) != GNN_PASS_COMBINE)
		return (struct gnn_range){.count = r->degrees->vertices};
	return gnn_plan_range(&r->plan, l, shard, r->o->backend->ops->panel_rows, r->degrees);
}

/* States of one shard stand from the first pass on: its rows, which come once, are kept then. */
static bool begins_states(const struct gnn_run *r, uint32_t l, uint32_t index)
{
	uint32_t shard;

	if (r->plan.kind == GNN_PLAN_TIERED) /* they stand elsewhere */
		return false;
	return r->plan.layer[l].shards == 1 ? index == 0 :
		gnn_plan_pass(&r->plan, l, r->layer.o.conv, index, &shard) == GNN_PASS_COMBINE;
}

static void make_pass(const struct gnn_run *r, uint32_t l, uint32_t index, struct gnn_pass *pass)
{
	const struct gnn_layer_plan *lp = &r->plan.layer[l];
	const struct gnn_kept *k = lp->input_message ? r->input : r->messages;

	*pass = (struct gnn_pass){.to = range_of(r, l, index)};
	pass->kind = gnn_plan_pass(&r->plan, l, r->layer.o.conv, index, &pass->shard);
	pass->keeps_own = r->layer.o.conv->keep.dim_out > 0 && begins_states(r, l, index);
	if (pass->kind == GNN_PASS_SCORES && r->layer.o.conv->three_steps)
		return; /* the scores are there: topology alone */
	pass->transform = !lp->input_message && (index == 0 || r->messages == NULL);
	if (pass->transform) {
		pass->rows = gnn_run_input(r);
		pass->keep = r->messages != NULL && index == 0 ? r->messages->memory : NULL;
		return;
	}
	pass->rows = gnn_kept_rows(k);
	if (pass->kind == GNN_PASS_COMBINE)
		pass->own = own_rows(r, l, k, pass);
}

/* --- absorbing --- */

/* Waits for the oldest and gives it back to the feed. */
static int retire(struct gnn_run *r, struct gnn_feed *feed, struct in_flight *f)
{
	int rc = r->o->backend->ops->wait(r->o->backend, f->ticket[f->first]);

	gnn_feed_put(feed, f->work[f->first]);
	f->first = (f->first + 1) % GNN_IN_FLIGHT_MAX;
	f->count--;
	return rc;
}

/* Message rows of a chunk that later passes read from scratch. */
static int keep_messages(struct gnn_run *r, const struct gnn_pass *pass,
	const struct gnn_work *work)
{
	if (!work->first || work->rows == 0 || !pass->transform || r->messages == NULL ||
		r->messages->finished)
		return GNN_OK;
	if (pass->keep != NULL) { /* they were made where they stay */
		r->messages->put_rows = work->first_row + work->rows;
		return GNN_OK;
	}
	return gnn_kept_put(r->messages, work->first_row, work->rows, r->layer.rows,
		r->layer.rows_pitch);
}

/* The chunk's rows; of several ranks they go on their way, and the chunk's before are here. */
static int take(struct gnn_run *r, const struct gnn_pass *pass, const struct gnn_work *work)
{
	int rc;

	GNN_TRY(gnn_layer_run_take(&r->layer, pass, work));
	GNN_TRY(keep_messages(r, pass, work));
out:
	return rc;
}

static int absorb(struct gnn_run *r, struct gnn_feed *feed, const struct gnn_pass *pass,
	struct gnn_work *work, struct in_flight *f)
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
		gnn_progress_add(r->progress, work->rows, pass->rows.kind == GNN_ROWS_MEMORY ? 0 :
			work->rows * gnn_rows_row_bytes(&pass->rows));
	if (b->ops->mark(b, &f->ticket[last]) < 0 && rc == GNN_OK)
		rc = GNN_EOS;
	if (rc == GNN_OK && f->count == r->plan.in_flight)
		rc = retire(r, feed, f);
	return rc;
}

/* The next item, or NULL behind the last; the rows of its chunk are taken with its first item. */
static int next_item(struct gnn_run *r, struct gnn_feed *feed, const struct gnn_pass *pass,
	struct gnn_work **work)
{
	int rc = gnn_feed_next(feed, work);

	if (rc == GNN_EOF) {
		*work = NULL;
		return GNN_OK;
	}
	if (rc == GNN_OK && (*work)->first)
		rc = take(r, pass, *work);
	return rc;
}

/*
 * Of several ranks, rows travel while those of the round before are absorbed: the next item is
 * taken before one is absorbed. Other ranks come to its round with the rows that are on their way
 * by then. Passes that send nothing absorb the rows that were taken last.
 */
static bool looks_ahead(const struct gnn_run *r, const struct gnn_pass *pass)
{
	return r->o->share != NULL && pass->kind != GNN_PASS_ROWS;
}

/* The next item, and the rows of the chunk of the one before. */
static int look_ahead(struct gnn_run *r, struct gnn_feed *feed, const struct gnn_pass *pass,
	struct gnn_work **next)
{
	int rc;

	GNN_TRY(next_item(r, feed, pass, next));
	if (*next == NULL || !(*next)->first)
		GNN_TRY(gnn_layer_run_arrive(&r->layer));
out:
	return rc;
}

/* Whether the pass ends in front of row `next`; ranks have agreed on it with the chunk. */
static bool stops(const struct gnn_run *r, gnn_vid next, bool agreed)
{
	if (r->o->share != NULL)
		return agreed;
	return next < r->degrees->vertices && gnn_stop_wanted();
}

static int stream(struct gnn_run *r, uint32_t l, const struct gnn_pass *pass)
{
	struct gnn_feed_opts opts = gnn_plan_feed(&r->plan, l, r->o, r->degrees);
	struct in_flight f = {.count = 0};
	struct gnn_feed *feed = NULL;
	struct gnn_work *work, *next = NULL;
	bool ahead = looks_ahead(r, pass);
	int rc, failed;

	opts.rows = pass->rows;
	opts.own = pass->own;
	opts.to = pass->to;
	opts.shards = pass->kind == GNN_PASS_COMBINE ? r->plan.layer[l].shards : 1;
	opts.shard = pass->shard;
	opts.first_row = r->at.row;
	gnn_rows_skip(&opts.rows, r->at.row);
	gnn_rows_skip(&opts.own, r->at.row);
	opts.sample = gnn_sampling_here(r->sampling);
	GNN_TRY(gnn_feed_start(&feed, &opts));
	GNN_TRY(next_item(r, feed, pass, &work));
	for (; work != NULL; work = next) {
		/* A round ends at the same row of all ranks, past the end of some. */
		gnn_vid end = work->first_row +
			(r->o->share != NULL ? opts.chunk_rows : work->rows);
		bool last = work->last, stop = work->stop;

		if (ahead)
			GNN_TRY(look_ahead(r, feed, pass, &next));
		GNN_TRY(absorb(r, feed, pass, work, &f));
		if (last)
			r->at.row = end;
		if (last && stops(r, end, stop)) {
			rc = GNN_STOPPED;
			goto out;
		}
		if (!ahead)
			GNN_TRY(next_item(r, feed, pass, &next));
	}
	r->report->layer[l].read_bytes += gnn_feed_read_bytes(feed);
out:
	/* Other ranks wait for this one, and its control thread for them. */
	if (rc < 0) {
		(void)gnn_comm_agree(r->o->comm, rc);
		gnn_layer_run_abandon(&r->layer);
	}
	/* The buffers of the items must outlive what the backend still does with them. */
	while (f.count > 0) {
		failed = retire(r, feed, &f);
		rc = rc == GNN_OK ? failed : rc;
	}
	gnn_feed_stop(feed);
	return rc;
}

bool gnn_run_keeps_states(const struct gnn_run *r, uint32_t l)
{
	return r->plan.kind != GNN_PLAN_TIERED && r->plan.layer[l].shards == 1 &&
		r->layer.o.conv->keep.dim_out > 0;
}

int gnn_run_begin_pass(struct gnn_run *r, uint32_t l, uint32_t index)
{
	struct gnn_range to = range_of(r, l, index);

	return begins_states(r, l, index) ? gnn_layer_run_begin(&r->layer, &to) : GNN_OK;
}

int gnn_run_pass(struct gnn_run *r, uint32_t l, uint32_t index)
{
	struct gnn_pass pass;
	int rc;

	make_pass(r, l, index, &pass);
	if (pass.kind == GNN_PASS_COMBINE && r->plan.kind == GNN_PLAN_TIERED)
		return gnn_tiered_pass(r, l, &pass);
	GNN_TRY(stream(r, l, &pass));
	if (rc == GNN_STOPPED)
		return rc;
	if (r->messages != NULL && !r->messages->finished)
		GNN_TRY(gnn_kept_finish(r->messages));
out:
	return rc;
}
