/* train/batch.c - see batch.h. */
#include "train/batch.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/queue.h"
#include "base/shuffle.h"
#include "base/stage.h"
#include "base/trace.h"

#include <string.h>

enum { LABELS, SEEDS, MIX, WORKERS_MAX = 64, AHEAD = 2 };

/* One thread that fills every workers-th batch, with a sampler of its own. */
struct worker {
	struct gnn_batches *owner;
	uint32_t            index;
	struct gnn_sampler *sampler;
	struct gnn_sampler *last;    /* the last hop of cold rows */
	struct gnn_collect  collect;
	struct gnn_onehop  *onehop;
	struct gnn_queue   *free, *full;
	struct gnn_stage   *stage;
	struct gnn_batch   *batch[AHEAD];
};

struct gnn_batches {
	struct gnn_batches_opts o;
	uint64_t       steps_an_epoch;
	uint64_t       next;
	uint32_t       worker_count;
	struct worker *worker;
};

uint64_t gnn_batches_seeds(const struct gnn_train_source *s, uint64_t batch_size, uint64_t step,
	uint64_t *first)
{
	*first = step % gnn_ceil_div(s->train_count, batch_size) * batch_size;
	return gnn_min_u64(batch_size, s->train_count - *first);
}

/* The training rows of a step that are this rank's. */
static int list_seeds(const struct gnn_batches *b, struct gnn_batch *batch)
{
	const struct gnn_train_source *s = b->o.source;
	const uint64_t epoch = batch->step / b->steps_an_epoch;
	const uint64_t ranks = gnn_max_u64(b->o.ranks, 1);
	struct gnn_shuffle order;
	uint64_t first, count;
	gnn_vid *seed;
	int rc;

	count = gnn_batches_seeds(s, b->o.batch_size, batch->step, &first);
	first += count * b->o.rank / ranks;
	batch->seed_count = count * (b->o.rank + 1) / ranks - count * b->o.rank / ranks;
	GNN_TRY(gnn_room_take(&batch->room[SEEDS], batch->seed_count, sizeof(*seed)));
	batch->seed = seed = batch->room[SEEDS].data;
	gnn_shuffle_init(&order, s->train_count, b->o.sampler.seed,
		epoch ^ UINT64_C(0x65706f6368000000)); /* "epoch" */
	for (uint64_t i = 0; i < batch->seed_count; i++)
		seed[i] = s->train[gnn_shuffle_map(&order, first + i)];
out:
	return rc;
}

static int turn(const struct gnn_batches *b, struct worker *w, uint32_t layer,
	struct gnn_block *block)
{
	if (b->o.net == NULL || gnn_block_is_bare(block) ||
		!gnn_net_turns(b->o.net, layer, block))
		return GNN_OK;
	return gnn_block_turn(block, w->collect.cpu);
}

/* Which rows of the second layer are hot, and one hop of the others. */
static int mix(const struct gnn_batches *b, struct worker *w, struct gnn_batch *batch)
{
	const uint64_t start = gnn_clock_ns();
	const struct gnn_plan *plan;
	struct gnn_mix *m = &batch->mix;
	int rc;

	GNN_TRY(gnn_plans_wait(b->o.plans, batch->step, &plan));
	batch->sample_s = -gnn_clock_s_since(start); /* no work */
	GNN_TRY(gnn_mix_split(m, &batch->room[MIX], batch->sample.id, batch->sample.id_count,
		gnn_plans_place(b->o.plans), plan->row));
	batch->sample.mix = m;
	if (b->o.bare || m->cold == 0)
		return GNN_OK;
	GNN_TRY(gnn_sampler_draw(w->last, m->cold_id, m->cold, batch->step, &batch->cold));
	GNN_TRY(turn(b, w, 0, &batch->cold.block[0]));
	m->id = batch->cold.id;
	m->block = batch->cold.block[0]; /* lent */
out:
	return rc;
}

static int draw(const struct gnn_batches *b, struct worker *w, struct gnn_batch *batch)
{
	int rc;

	GNN_TRY(list_seeds(b, batch));
	if (w->sampler == NULL)
		return GNN_OK;
	gnn_fault_dawdle(GNN_FAULT_SAMPLE);
	GNN_TRY(gnn_sampler_draw(w->sampler, batch->seed, batch->seed_count, batch->step,
		&batch->sample));
	for (uint32_t l = 0; l < batch->sample.layers; l++)
		GNN_TRY(turn(b, w, l, &batch->sample.block[l]));
	if (b->o.plans != NULL)
		GNN_TRY(mix(b, w, batch));
out:
	return rc;
}

/* Rows of features for what the first layer makes of cold vertices. */
static int collect_cold(struct worker *w, struct gnn_batch *batch)
{
	const uint64_t rows = batch->mix.block.src_count;
	int rc;

	GNN_TRY(gnn_collect_take(&w->collect, &batch->rows, rows * w->collect.source->dim));
	batch->x = batch->rows.room.data;
	if (rows > 0)
		GNN_TRY(gnn_collect_features(&w->collect, batch->mix.id, rows, batch->x));
out:
	return rc;
}

static int collect_rows(const struct gnn_batches *b, struct worker *w, struct gnn_batch *batch)
{
	const struct gnn_sample *s = &batch->sample;

	if (b->o.plans != NULL)
		return collect_cold(w, batch);
	gnn_fault_dawdle(w->onehop != NULL ? GNN_FAULT_BOTTOM : GNN_FAULT_ROWS);
	if (w->onehop != NULL)
		return gnn_onehop_rows(w->onehop, s->id, s->id_count, batch->step, &batch->rows,
			&batch->x, &batch->bottom);
	return gnn_collect_rows(&w->collect, s->id, s->id_count, &batch->rows, &batch->x);
}

static int collect(const struct gnn_batches *b, struct worker *w, struct gnn_batch *batch)
{
	const struct gnn_train_source *s = b->o.source;
	const uint64_t label_bytes = s->label != NULL ? sizeof(int64_t) : s->classes;
	int rc;

	GNN_TRY(gnn_room_take(&batch->room[LABELS], batch->seed_count, label_bytes));
	batch->label = s->label != NULL ? batch->room[LABELS].data : NULL;
	batch->labels = s->label != NULL ? NULL : batch->room[LABELS].data;
	for (uint64_t i = 0; i < batch->seed_count; i++) {
		const gnn_vid v = batch->seed[i];

		if (s->label != NULL)
			batch->label[i] = s->label[v];
		else
			memcpy(batch->labels + i * s->classes, s->labels + v * s->classes,
				s->classes);
	}
	if (b->o.collect)
		GNN_TRY(collect_rows(b, w, batch));
out:
	return rc;
}

static int fill(const struct gnn_batches *b, struct worker *w, struct gnn_batch *batch)
{
	uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	int rc;

	batch->sample_s = 0;
	GNN_TRY(draw(b, w, batch));
	batch->sample_s += gnn_clock_s_since(start);
	gnn_trace_end(span, "sample");
	start = gnn_clock_ns();
	span = gnn_trace_begin();
	GNN_TRY(collect(b, w, batch));
	batch->collect_s = gnn_clock_s_since(start);
	gnn_trace_end(span, "collect");
out:
	return rc;
}

/* The body of a worker: batches index, index + workers ... of the range. */
static int work(void *arg)
{
	struct worker *w = arg;
	const struct gnn_batches *b = w->owner;
	int rc = GNN_OK;

	for (uint64_t step = b->o.first_step + w->index; step < b->o.last_step;
		step += b->worker_count) {
		void *item;

		rc = gnn_queue_pop(w->free, &item);
		if (rc != GNN_OK)
			break;
		((struct gnn_batch *)item)->step = step;
		GNN_TRY(fill(b, w, item));
		GNN_TRY(gnn_queue_push(w->full, item));
	}
out:
	if (rc < 0)
		gnn_queue_cancel(w->full); /* next finds the reason where it joins */
	else
		gnn_queue_close(w->full);
	return rc;
}

/* That one worker works on. */
static uint32_t threads_of(const struct gnn_batches *b)
{
	if (b->o.workers == 1)
		return b->o.threads < 4 ? 1 : b->o.threads / 2;
	return b->o.workers > 0 ? 1 : b->o.threads;
}

static int open_worker(struct gnn_batches *b, uint32_t index)
{
	struct worker *w = &b->worker[index];
	struct gnn_sampler_opts o = b->o.sampler;
	int rc;

	w->owner = b;
	w->index = index;
	GNN_TRY(gnn_collect_init(&w->collect, b->o.source, b->o.backend, threads_of(b)));
	o.backend = w->collect.cpu;
	if (!b->o.bare || b->o.plans != NULL)
		GNN_TRY(gnn_sampler_create(&w->sampler, &o));
	if (!b->o.bare && b->o.plans != NULL)
		GNN_TRY(gnn_sampler_create_last(&w->last, &o));
	if (b->o.onehop != NULL && b->o.collect)
		GNN_TRY(gnn_onehop_create(&w->onehop, b->o.onehop, &o, &w->collect));
	GNN_TRY(gnn_queue_create(&w->free, AHEAD));
	GNN_TRY(gnn_queue_create(&w->full, AHEAD));
	for (uint32_t i = 0; i < AHEAD; i++) {
		GNN_NEW(w->batch[i], GNN_MEM_MISC);
		w->batch[i]->worker = index;
		GNN_TRY(gnn_queue_push(w->free, w->batch[i]));
	}
out:
	return rc;
}

int gnn_batches_start(struct gnn_batches **out, const struct gnn_batches_opts *o)
{
	struct gnn_batches *b = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->batch_size > 0 && o->workers <= WORKERS_MAX);
	GNN_NEW(b, GNN_MEM_MISC);
	b->o = *o;
	b->next = o->first_step;
	b->steps_an_epoch = gnn_ceil_div(o->source->train_count, o->batch_size);
	b->worker_count = o->workers > 0 ? o->workers : 1;
	GNN_NEW_ARRAY(b->worker, b->worker_count, GNN_MEM_MISC);
	for (uint32_t i = 0; i < b->worker_count; i++)
		GNN_TRY(open_worker(b, i));
	for (uint32_t i = 0; i < o->workers; i++)
		GNN_TRY(gnn_stage_start(&b->worker[i].stage, "batches", work, &b->worker[i]));
	*out = b;
	b = NULL;
out:
	gnn_batches_stop(b);
	return rc;
}

int gnn_batches_next(struct gnn_batches *b, struct gnn_batch **batch)
{
	struct worker *w = &b->worker[(b->next - b->o.first_step) % b->worker_count];
	void *item = NULL;
	int rc;

	*batch = NULL;
	if (b->next == b->o.last_step)
		return GNN_EOF;
	rc = gnn_queue_pop(b->o.workers > 0 ? w->full : w->free, &item);
	if (rc == GNN_ESTOP) {
		int end = gnn_stage_join(&w->stage);

		rc = end < 0 ? end : rc; /* it may have been through before the cancel */
	}
	if (rc != GNN_OK)
		return rc;
	*batch = item;
	GNN_ASSERT(b->o.workers == 0 || (*batch)->step == b->next);
	(*batch)->step = b->next++;
	return b->o.workers > 0 ? GNN_OK : fill(b, w, *batch);
}

void gnn_batches_put(struct gnn_batches *b, struct gnn_batch *batch)
{
	/* Never full, and cancelled only by stop. */
	(void)gnn_queue_push(b->worker[batch->worker].free, batch);
}

static void close_worker(struct worker *w)
{
	(void)gnn_stage_join(&w->stage);
	gnn_sampler_destroy(w->sampler);
	gnn_sampler_destroy(w->last);
	gnn_onehop_destroy(w->onehop);
	gnn_queue_destroy(w->free);
	gnn_queue_destroy(w->full);
	for (uint32_t i = 0; i < AHEAD; i++) {
		if (w->batch[i] == NULL)
			continue;
		gnn_collect_free(&w->collect, &w->batch[i]->rows);
		gnn_sample_fini(&w->batch[i]->sample);
		gnn_sample_fini(&w->batch[i]->cold);
		for (uint32_t r = 0; r < GNN_COUNT_OF(w->batch[i]->room); r++)
			gnn_room_fini(&w->batch[i]->room[r]);
		gnn_mem_free(w->batch[i]);
	}
	gnn_collect_fini(&w->collect);
}

void gnn_batches_cancel(struct gnn_batches *b)
{
	for (uint32_t i = 0; b != NULL && b->worker != NULL && i < b->worker_count; i++) {
		if (b->worker[i].free != NULL)
			gnn_queue_cancel(b->worker[i].free);
		if (b->worker[i].full != NULL)
			gnn_queue_cancel(b->worker[i].full);
	}
}

void gnn_batches_stop(struct gnn_batches *b)
{
	struct gnn_err_state kept;

	if (b == NULL)
		return;
	gnn_err_save(&kept, GNN_OK); /* what ends the threads is no news */
	gnn_batches_cancel(b);
	for (uint32_t i = 0; b->worker != NULL && i < b->worker_count; i++)
		close_worker(&b->worker[i]);
	gnn_mem_free(b->worker);
	gnn_mem_free(b);
	(void)gnn_err_restore(&kept);
}
