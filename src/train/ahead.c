/* train/ahead.c - see ahead.h. */
#include "train/ahead.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "train/cache.h"

#include <math.h>
#include <string.h>

struct gnn_ahead {
	struct gnn_ahead_opts o;
	struct gnn_shelves   *shelves;
	struct gnn_hybrid    *hybrid;
	struct gnn_late      *late;
	uint64_t              begun_ns; /* the super-batch at work; 0: before it */
};

/* Decisions of a log that is replayed, or those of the checkpoint. */
static int open_hybrid(struct gnn_ahead *a)
{
	const struct gnn_train_opts *o = a->o.train;
	const bool replay = o->hybrid == GNN_HYBRID_REPLAY;
	struct gnn_decision *log = NULL;
	uint64_t count = 0;
	int rc = GNN_OK;

	if (o->hybrid == GNN_HYBRID_OFF)
		return GNN_OK;
	if (replay)
		GNN_TRY(gnn_hybrid_read(o->hybrid_log, a->o.hot->count, &log, &count));
	GNN_TRY(gnn_hybrid_create(&a->hybrid, a->o.hot->count,
		replay ? log : a->o.state->share, replay ? count : a->o.state->share_count,
		replay));
out:
	gnn_mem_free(log);
	return rc;
}

/* Likewise of super-batches that were late. */
static int open_late(struct gnn_ahead *a)
{
	const struct gnn_train_opts *o = a->o.train;
	const struct gnn_train_state *s = a->o.state;
	const bool replay = o->late == GNN_LATE_REPLAY;
	struct gnn_decision *log = NULL;
	uint64_t count = 0;
	int rc;

	if (replay)
		GNN_TRY(gnn_late_read(o->late_log, o->super_batch, &log, &count));
	GNN_TRY(gnn_late_create(&a->late, &(struct gnn_late_opts){.mode = o->late,
		.super_batch = o->super_batch, .step = s->step,
		.log = replay ? log : s->late, .count = replay ? count : s->late_count}));
out:
	gnn_mem_free(log);
	return rc;
}

static int open_shelves(struct gnn_ahead *a)
{
	const struct gnn_train_opts *o = a->o.train;
	const uint32_t threads = o->pipeline && o->threads > 1 ? o->threads / 2 : o->threads;

	return gnn_shelves_start(&a->shelves, &(struct gnn_shelves_opts){
		.plans = {.place = a->o.hot->place, .id = a->o.hot->id,
			.hot_count = a->o.hot->count, .super_batch = o->super_batch,
			.window = o->hot_policy == GNN_HOT_WINDOW,
			.most = (uint64_t)(o->hot_ratio * (double)a->o.source->lists->vertices),
			.hybrid = a->hybrid},
		.batches = *a->o.batches, .net = a->o.net, .late = a->late,
		.step = a->o.state->step,
		.last_step = a->o.steps, .ahead = o->pipeline,
		.embed = {.source = a->o.source, .device = o->backend,
			.shape = *gnn_net_shape_of(a->o.net), .dropout = o->dropout,
			.sampler = a->o.batches->sampler, .threads = threads,
			.aggregates = o->hot_backward}},
		&a->o.state->history);
}

/* Features of what the CPU leaves to the device, as soon as it is decided. */
static void want_rows(struct gnn_ahead *a, uint64_t super_batch)
{
	struct gnn_cache *cache = a->o.table->cache;

	if (a->hybrid != NULL && cache != NULL)
		gnn_cache_want(cache, a->o.hot->count -
			gnn_hybrid_cpu(a->hybrid, super_batch + GNN_HYBRID_DELAY));
}

/* Vertices that may go to the device. */
static uint64_t room_of(const struct gnn_ahead *a)
{
	const struct gnn_table *t = a->o.table;

	if (t->backend->ops->unified || t->gather == GNN_GATHER_RESIDENT)
		return UINT64_MAX; /* all features are there */
	return t->cache != NULL ? gnn_cache_room(t->cache) : 0;
}

int gnn_ahead_start(struct gnn_ahead **out, const struct gnn_ahead_opts *o)
{
	struct gnn_ahead *a = NULL;
	int rc;

	*out = NULL;
	if (o->train->reuse != GNN_REUSE_EMBEDDINGS)
		return GNN_OK;
	if (o->train->super_batch >= o->steps)
		gnn_log(GNN_LOG_WARN, "train", "one super-batch is the whole training of %llu "
			"steps: nothing is reused", (unsigned long long)o->steps);
	GNN_NEW(a, GNN_MEM_MISC);
	a->o = *o;
	GNN_TRY(open_hybrid(a));
	GNN_TRY(open_late(a));
	GNN_TRY(open_shelves(a));
	want_rows(a, o->state->step / o->train->super_batch);
	*out = a;
	a = NULL;
out:
	gnn_ahead_destroy(a);
	return rc;
}

struct gnn_shelves *gnn_ahead_shelves(struct gnn_ahead *a)
{
	return a != NULL ? a->shelves : NULL;
}

void gnn_ahead_due(struct gnn_ahead *a, uint64_t step)
{
	if (a != NULL)
		gnn_late_due(a->late, step);
}

void gnn_ahead_begin(struct gnn_ahead *a, const struct gnn_there *t, double waited_s)
{
	const uint64_t now = gnn_clock_ns(), began = a != NULL ? a->begun_ns : 0;
	struct gnn_hybrid_seen seen = {0};

	if (a == NULL || a->hybrid == NULL)
		return;
	seen.super_batch = t->step / a->o.train->super_batch;
	a->o.state->current.cpu_hot = gnn_hybrid_cpu(a->hybrid, seen.super_batch);
	if (t->step % a->o.train->super_batch != 0)
		return;
	a->begun_ns = now;
	if (began == 0)
		return;
	seen.room = room_of(a);
	/* Without a pipeline all of their making is waited for. */
	seen.idle_s = a->o.train->pipeline ? fmin(waited_s, t->shelf_wait_s) : t->bottom.seconds;
	seen.wall_s = (double)(now - began) * 1e-9;
	gnn_hybrid_decide(a->hybrid, &seen);
	want_rows(a, seen.super_batch);
}

int gnn_ahead_publish(struct gnn_ahead *a, uint64_t step)
{
	return a != NULL ? gnn_shelves_publish(a->shelves, step) : GNN_OK;
}

static int save_shares(struct gnn_ahead *a)
{
	struct gnn_train_state *s = a->o.state;
	const struct gnn_decision *log;
	uint64_t count;
	int rc;

	log = gnn_hybrid_log(a->hybrid, &count);
	gnn_mem_free(s->share);
	s->share = NULL;
	s->share_count = 0;
	GNN_NEW_ARRAY(s->share, gnn_max_u64(count, 1), GNN_MEM_MISC);
	memcpy(s->share, log, count * sizeof(*log));
	s->share_count = count;
	if (a->o.train->hybrid == GNN_HYBRID_ON)
		GNN_TRY(gnn_hybrid_write(a->hybrid, a->o.train->hybrid_log));
out:
	return rc;
}

static int save_late(struct gnn_ahead *a)
{
	const struct gnn_train_opts *o = a->o.train;
	struct gnn_train_state *s = a->o.state;
	int rc;

	gnn_mem_free(s->late);
	GNN_TRY(gnn_late_log(a->late, &s->late, &s->late_count));
	if (o->late == GNN_LATE_COLD)
		GNN_TRY(gnn_late_write(o->late_log, o->super_batch, s->late, s->late_count));
out:
	return rc;
}

int gnn_ahead_save(struct gnn_ahead *a)
{
	struct gnn_train_state *s = a != NULL ? a->o.state : NULL;
	int rc = GNN_OK;

	if (a == NULL)
		return GNN_OK;
	gnn_mem_free(s->history.data);
	s->history.data = NULL;
	GNN_TRY(gnn_shelves_save(a->shelves, s->step, &s->history));
	if (a->hybrid != NULL)
		GNN_TRY(save_shares(a));
	GNN_TRY(save_late(a));
out:
	return rc;
}

int gnn_ahead_reason(struct gnn_ahead *a, int rc)
{
	int why;

	if (a == NULL || rc != GNN_ESTOP)
		return rc;
	gnn_shelves_cancel(a->shelves);
	why = gnn_shelves_join(a->shelves);
	return why < 0 ? why : rc;
}

void gnn_ahead_destroy(struct gnn_ahead *a)
{
	if (a == NULL)
		return;
	gnn_shelves_destroy(a->shelves);
	gnn_hybrid_destroy(a->hybrid);
	gnn_late_destroy(a->late);
	gnn_mem_free(a);
}
