/* infer/tier_pass.c - a pass of the tiered plan: control runs ahead, rows move, edges follow. */
#include "infer/tiered.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"
#include "base/stop.h"
#include "base/trace.h"

#include <string.h>

/* A work item and what it does to the stores. */
struct item {
	struct gnn_work         *work;
	struct gnn_tier_program  program;
	struct gnn_tier_image    image; /* of the program, for a backend with memory of its own */
	struct gnn_tier_lists    lists; /* as the backend reads them, once the item is begun */
	uint64_t                 ticket;
	/* What the conv keeps of h of the chunk, where it does. */
	const float             *own_rows;
	uint64_t                 own_pitch;
};

struct stream {
	struct gnn_run        *run;
	const struct gnn_pass *pass;
	uint32_t               layer;
	struct gnn_feed       *feed;
	struct item           *item;  /* (items) */
	uint32_t               items;
	struct gnn_queue      *ready, *idle;
	struct gnn_stage      *stage;
	/* Issued to the backend and not known to be done, oldest first. */
	struct item           *issued[GNN_IN_FLIGHT_MAX];
	uint32_t               issued_first, issued_count;
	uint64_t               chunk_rows;
	gnn_vid                stopped; /* by a signal: set as the control thread ends */
};

/* --- the control thread --- */

static void show_stores(const struct stream *s)
{
	struct gnn_control_stats c;

	gnn_control_stats(s->run->tiered->control, &c);
	gnn_progress_gauge(s->run->progress, GNN_GAUGE_HOT_ROWS, c.top_rows + c.host_rows);
	gnn_progress_gauge(s->run->progress, GNN_GAUGE_COLD_ROWS, c.spill_rows);
	gnn_progress_gauge(s->run->progress, GNN_GAUGE_EVICTIONS, c.evictions);
}

static int step(struct stream *s, struct gnn_work *work)
{
	uint64_t span = gnn_trace_begin();
	struct item *item;
	void *popped;
	int rc;

	GNN_TRY(gnn_queue_pop(s->idle, &popped));
	GNN_ASSERT(rc == GNN_OK);
	item = popped;
	item->work = work;
	gnn_control_foresee(s->run->tiered->control, work->program.next);
	GNN_TRY(gnn_control_step(s->run->tiered->control, work->first_row, work->rows,
		&work->program.batch, &item->program));
	show_stores(s);
	gnn_trace_end(span, "step");
	GNN_TRY(gnn_queue_push(s->ready, item));
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

static int run_control(void *arg)
{
	struct stream *s = arg;
	struct gnn_work *work;
	int rc;

	while ((rc = gnn_feed_next(s->feed, &work)) == GNN_OK) {
		gnn_vid end = !work->last ? 0 : work->first_row +
			(s->run->o->share != NULL ? s->chunk_rows : work->rows);
		bool agreed = work->stop;

		GNN_TRY(step(s, work)); /* it is the executor's now */
		if (end > 0 && stops(s->run, end, agreed)) {
			s->stopped = end;
			break;
		}
	}
out:
	gnn_queue_close(s->ready);
	return rc < 0 ? rc : GNN_OK;
}

/* --- the executor --- */

/*
 * What the conv keeps of h of the chunk; nothing to do where that is h itself, and stays: what is
 * staged goes when the chunk behind the next is.
 */
static int take_own(struct stream *s, struct item *item)
{
	struct gnn_run *r = s->run;
	const struct gnn_conv *c = r->layer.o.conv;
	const struct gnn_rows *rows = r->layer.kept_rows;
	struct gnn_backend *b = r->o->backend;
	struct gnn_tiered *t = r->tiered;
	float *to = t->own[t->own_count % gnn_exchange_turns(r->o->share)];
	bool whole;

	if (to == NULL || item->work->rows == 0)
		return GNN_OK;
	whole = rows->dtype == GNN_F32 && c->keep.count == 0;
	item->own_pitch = rows->width;
	item->own_rows = r->layer.kept;
	if (whole && (r->o->share == NULL || b->ops->unified))
		return GNN_OK;
	item->own_pitch = c->keep.dim_out;
	item->own_rows = to;
	t->own_count++;
	if (whole)
		return b->ops->copy(b, to, item->own_pitch * sizeof(float), r->layer.kept,
			rows->width * sizeof(float), item->own_pitch * sizeof(float),
			item->work->rows);
	return b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->keep, .from = r->layer.kept,
		.from_dtype = rows->dtype, .from_pitch = rows->width, .to = to,
		.to_pitch = item->own_pitch, .rows = item->work->rows});
}

static int move_own(struct gnn_run *r, const struct item *item, uint64_t i)
{
	const struct gnn_tier_program *p = &item->program;
	uint64_t begin = gnn_tier_step_begin(p, i, GNN_MOVE_OWN);
	const struct gnn_conv *c = r->layer.o.conv;
	const struct gnn_tiered *t = r->tiered;

	if (p->step[i].move_end[GNN_MOVE_OWN] == begin)
		return GNN_OK;
	return r->o->backend->ops->move(r->o->backend, &(struct gnn_move_args){
		.from = item->own_rows, .from_pitch = item->own_pitch,
		.to = t->tier->top + c->state_width - c->keep.dim_out,
		.to_pitch = c->state_width, .width = c->keep.dim_out,
		.moves = item->lists.moves[GNN_MOVE_OWN] + begin,
		.count = p->step[i].move_end[GNN_MOVE_OWN] - begin});
}

static int run_step(struct stream *s, const struct item *item, uint64_t i)
{
	struct gnn_edge_batch batch = gnn_tier_lists_batch(&item->lists, &item->program, i);
	const struct gnn_tier_program *p = &item->program;
	struct gnn_run *r = s->run;
	float *top = r->tiered->tier->top;
	uint64_t done = i == 0 ? 0 : p->step[i - 1].done_end;
	bool carry = r->layer.o.conv->combine != GNN_COMBINE_MAX;
	int rc;

	GNN_TRY(gnn_tier_move(r->tiered->tier, p, &item->lists, i));
	GNN_TRY(move_own(r, item, i));
	if (batch.group_count > 0)
		GNN_TRY(gnn_layer_run_combine(&r->layer, s->pass, item->work->first_row, &batch,
			top, carry ? top : NULL));
	GNN_TRY(gnn_tiered_graduate(r, s->layer, p->done.move + done, item->lists.done + done,
		p->step[i].done_end - done));
out:
	return rc;
}

/* The program's lists where the backend reads them. The control thread has more to do than this. */
static int stage_program(struct gnn_run *r, struct item *item)
{
	struct gnn_backend *b = r->o->backend;
	struct gnn_tier_image *m = &item->image;
	const void *there;
	int rc = GNN_OK;

	if (b->ops->unified) {
		item->lists = gnn_tier_lists_of(&item->program);
		return GNN_OK;
	}
	GNN_TRY(gnn_tier_image_make(m, &item->program));
	GNN_TRY(b->ops->reserve(b, GNN_STAGE_PROGRAM, m->used)); /* the item before is issued */
	GNN_TRY(b->ops->stage(b, GNN_STAGE_PROGRAM, m->bytes, m->used, &there));
	item->lists = gnn_tier_image_lists(m, there);
out:
	return rc;
}

/* Waits for the oldest, and gives it back. */
static int retire(struct stream *s)
{
	struct item *item = s->issued[s->issued_first];
	int rc;

	s->issued_first = (s->issued_first + 1) % GNN_IN_FLIGHT_MAX;
	s->issued_count--;
	GNN_TRY(s->run->o->backend->ops->wait(s->run->o->backend, item->ticket));
	gnn_feed_put(s->feed, item->work);
	GNN_TRY(gnn_queue_push(s->idle, item));
out:
	return rc;
}

/* The item's buffers are in use until what was issued is done. */
static int note_issued(struct stream *s, struct item *item)
{
	uint32_t last = (s->issued_first + s->issued_count) % GNN_IN_FLIGHT_MAX;
	int rc;

	GNN_TRY(s->run->o->backend->ops->mark(s->run->o->backend, &item->ticket));
	s->issued[last] = item;
	s->issued_count++;
	if (s->issued_count == s->run->plan.in_flight)
		GNN_TRY(retire(s));
out:
	return rc;
}

/* The rows of the item's chunk; of several ranks, all send theirs and take the others'. */
static int take_rows(struct stream *s, struct item *item, const struct item *before)
{
	const struct gnn_work *w = item->work;
	struct gnn_run *r = s->run;
	int rc;

	item->own_rows = before != NULL ? before->own_rows : NULL;
	item->own_pitch = before != NULL ? before->own_pitch : 0;
	if (!w->first) /* that of the item before it: its rows are waited for now */
		return gnn_layer_run_arrive(&r->layer);
	GNN_TRY(gnn_layer_run_take(&r->layer, s->pass, w));
	GNN_TRY(take_own(s, item));
	gnn_progress_add(r->progress, w->rows, w->rows * gnn_rows_row_bytes(&s->pass->rows));
out:
	return rc;
}

static int run_item(struct stream *s, struct item *item)
{
	struct gnn_run *r = s->run;
	uint64_t span = gnn_trace_begin();
	int rc;

	for (uint64_t i = 0; i < item->program.step_count; i++)
		GNN_TRY(run_step(s, item, i));
	GNN_TRY(gnn_tier_rest(r->tiered->tier));
	gnn_trace_end(span, "absorb");
	GNN_TRY(note_issued(s, item));
out:
	return rc;
}

static int next_item(struct stream *s, struct item **item)
{
	void *popped;
	int rc = gnn_queue_pop(s->ready, &popped);

	*item = popped;
	if (rc == GNN_EOF) /* the thread's error, if any */
		rc = gnn_stage_join(&s->stage);
	return rc;
}

/*
 * What an item reloads is asked for while the one in front of it is at work. Of several ranks, that
 * one's rows travel until then, and the rows of the item go on their way before it is at work.
 */
static int look_ahead(struct stream *s, const struct item *item, struct item **next)
{
	int rc;

	GNN_TRY(next_item(s, next));
	if (*next != NULL)
		GNN_TRY(gnn_tier_ask(s->run->tiered->tier, &(*next)->program));
	if (s->run->o->share == NULL)
		return GNN_OK;
	GNN_TRY(*next != NULL ? take_rows(s, *next, item) : gnn_layer_run_arrive(&s->run->layer));
out:
	return rc;
}

static int run_items(struct stream *s)
{
	struct item *item, *next;
	int rc;

	GNN_TRY(next_item(s, &item));
	if (item != NULL)
		GNN_TRY(take_rows(s, item, NULL));
	for (; item != NULL; item = next) {
		GNN_TRY(stage_program(s->run, item));
		GNN_TRY(look_ahead(s, item, &next));
		GNN_TRY(run_item(s, item));
		if (next != NULL && s->run->o->share == NULL)
			GNN_TRY(take_rows(s, next, item));
	}
	while (s->issued_count > 0)
		GNN_TRY(retire(s));
	GNN_TRY(gnn_tiered_flush(s->run, s->layer));
	if (s->stopped > 0)
		return GNN_STOPPED;
	GNN_TRY(gnn_control_end(s->run->tiered->control));
out:
	return rc;
}

static int start(struct stream *s, const struct gnn_feed_opts *feed)
{
	int rc;

	GNN_TRY(gnn_feed_start(&s->feed, feed));
	s->items = feed->ahead;
	GNN_NEW_ARRAY(s->item, s->items, GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_queue_create(&s->ready, s->items));
	GNN_TRY(gnn_queue_create(&s->idle, s->items));
	for (uint32_t i = 0; i < s->items; i++)
		GNN_TRY(gnn_queue_push(s->idle, &s->item[i]));
	GNN_TRY(gnn_stage_start(&s->stage, "tier", run_control, s));
out:
	return rc;
}

static void stop(struct stream *s)
{
	struct gnn_err_state first; /* what the caller is about to report stays */

	gnn_err_save(&first, GNN_OK);
	s->run->o->backend->ops->sync(s->run->o->backend); /* after a failure: buffers are in use */
	if (s->stage != NULL) {
		gnn_queue_cancel(s->ready);
		gnn_queue_cancel(s->idle);
		gnn_feed_cancel(s->feed);
		gnn_stage_join(&s->stage);
	}
	gnn_feed_stop(s->feed);
	for (uint32_t i = 0; i < s->items && s->item != NULL; i++) {
		gnn_tier_program_fini(&s->item[i].program);
		gnn_tier_image_fini(&s->item[i].image);
	}
	gnn_mem_free(s->item);
	gnn_queue_destroy(s->ready);
	gnn_queue_destroy(s->idle);
	gnn_err_restore(&first);
}

_Static_assert((int)GNN_RELOADED_BINS == (int)GNN_RELOADED_MAX, "the report's bins are control's");

static void report(const struct gnn_run *r, struct gnn_layer_report *lr)
{
	const struct gnn_tier *t = r->tiered->tier;
	struct gnn_control_stats s;

	gnn_control_stats(r->tiered->control, &s);
	lr->evictions = s.evictions;
	lr->reloads = s.reloads;
	lr->cold_written_bytes = gnn_spill_written_bytes(t->spill);
	lr->cold_read_bytes = gnn_spill_read_bytes(t->spill);
	lr->cold_rows = s.spill_rows_max;
	lr->hot_rows = (uint64_t)t->o.top_slots + t->o.host_slots;
	lr->pinned_vertices = s.pinned;
	lr->pairs = s.pairs;
	lr->pinned_pairs = s.pinned_pairs;
	memcpy(lr->reloaded_vertices, s.reloaded, sizeof(s.reloaded));
	lr->pinned_messages = s.pinned_messages;
	lr->written_bytes += lr->cold_written_bytes;
	lr->read_bytes += lr->cold_read_bytes;
}

int gnn_tiered_pass(struct gnn_run *r, uint32_t l, const struct gnn_pass *pass)
{
	struct gnn_feed_opts opts = gnn_plan_feed(&r->plan, l, r->o, r->degrees);
	struct stream s = {.run = r, .pass = pass, .layer = l, .chunk_rows = opts.chunk_rows};
	int rc;

	opts.rows = pass->rows;
	opts.own = pass->own;
	opts.to = pass->to;
	opts.first_row = r->at.row;
	gnn_rows_skip(&opts.rows, r->at.row);
	gnn_rows_skip(&opts.own, r->at.row);
	opts.next = r->tiered->next;
	if (r->tiered->cursor.lists != NULL) {
		gnn_control_received(r->tiered->control, r->tiered->cursor.received);
		opts.cursor = &r->tiered->cursor;
	}
	opts.own_entries = true;
	opts.lists = false;
	opts.sample = gnn_sampling_here(r->sampling);
	GNN_TRY(start(&s, &opts));
	GNN_TRY(run_items(&s));
	if (rc == GNN_STOPPED) {
		r->at.row = s.stopped;
		goto out;
	}
	r->report->layer[l].read_bytes += gnn_feed_read_bytes(s.feed);
	if (r->tiered->next != NULL) {
		r->report->layer[l].read_bytes += gnn_nextuse_read_bytes(r->tiered->next);
		r->report->layer[l].written_bytes += gnn_nextuse_written_bytes(r->tiered->next);
	}
	report(r, &r->report->layer[l]);
out:
	if (rc < 0) { /* other ranks wait for this one, and its feed for them */
		(void)gnn_comm_agree(r->o->comm, rc);
		gnn_layer_run_abandon(&r->layer);
	}
	stop(&s);
	return rc;
}
