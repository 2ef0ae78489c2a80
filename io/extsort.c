/* io/extsort.c - see extsort.h. */
#include "io/extsort.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"
#include "io/idset.h"

#include <pthread.h>
#include <string.h>

enum {
	WORKERS_MAX = 16,
	BATCH_BYTES_MAX = 32 << 20, /* of keys: more in a batch sorts no faster */
	BATCH_BYTES_MIN = 4096,
	IDS = 1024,               /* handed to the id set at a time */
};

struct batch {
	void *key;
	float *weight;
	uint64_t count;
	uint32_t end; /* of the keys */
	bool order[GNN_EDGE_ORDERS];
	uint32_t number; /* place of its runs in the lists */
};

struct worker {
	struct gnn_extsort *sort;
	struct gnn_stage *stage;
	struct gnn_keyrun_writer *writer;
	struct gnn_idset_writer *ids;
	void *spare_key;
	float *spare_weight;
};

struct gnn_extsort {
	struct gnn_extsort_opts opts;
	uint64_t batch_bytes;    /* of keys */
	struct batch batch[WORKERS_MAX + 1];
	uint32_t made;           /* of the batches */
	struct batch *current;   /* being filled, or NULL */
	uint64_t bits;           /* the union of all ids so far */
	struct gnn_queue *empty; /* batches */
	struct gnn_queue *full;
	struct worker worker[WORKERS_MAX];
	uint32_t workers;
	uint32_t batches;        /* handed to the workers so far */
	bool ended;
	pthread_mutex_t lock;    /* guards all below */
	uint64_t id_end;         /* the largest id + 1 */
	struct gnn_keyruns runs[GNN_EDGE_ORDERS];
};

static uint64_t record_bytes(bool weighted)
{
	return sizeof(uint64_t) + (weighted ? sizeof(float) : 0);
}

uint32_t gnn_extsort_workers(uint32_t threads)
{
	return (uint32_t)gnn_max_u64(1, gnn_min_u64(threads, WORKERS_MAX));
}

/* A batch for every worker and one that fills; what a worker sorts into is as large as a batch. */
static uint64_t batches_held(uint32_t threads)
{
	return 2 * (uint64_t)gnn_extsort_workers(threads) + 1;
}

uint64_t gnn_extsort_memory_max(uint32_t threads, bool weighted)
{
	return batches_held(threads) * BATCH_BYTES_MAX / sizeof(uint64_t) *
		record_bytes(weighted);
}

/* --- one batch --- */

static const struct gnn_key_ops *ops_of(const struct batch *b)
{
	return gnn_keys(b->end > GNN_KEY_END_NARROW);
}

/* What the ids of a sorted batch tell: the largest major, and to the id set all of them. */
static int see_ids(struct worker *w, const struct batch *b)
{
	gnn_key last = ops_of(b)->at(b->key, b->end, b->count - 1);
	uint64_t ids[IDS], at = 0;
	int rc = GNN_OK;

	pthread_mutex_lock(&w->sort->lock);
	w->sort->id_end = gnn_max_u64(w->sort->id_end, (uint64_t)(last >> 64) + 1);
	pthread_mutex_unlock(&w->sort->lock);
	if (w->ids == NULL)
		return GNN_OK;
	while (at < b->count) {
		uint64_t n = ops_of(b)->majors(b->key, b->end, b->count, &at, ids, IDS);

		GNN_TRY(gnn_idset_writer_push(w->ids, ids, n));
	}
	GNN_TRY(gnn_idset_writer_end(w->ids));
out:
	return rc;
}

static int write_run(struct worker *w, const struct batch *b, enum gnn_edge_order order)
{
	struct gnn_keyrun run = {0};
	int rc;

	gnn_keyrun_writer_begin(w->writer, &run, b->end, b->weight != NULL);
	GNN_TRY(gnn_keyrun_writer_push(w->writer, b->key, b->weight, b->count));
	GNN_TRY(gnn_keyrun_writer_end(w->writer));
out:
	/* Also when it failed: the list gives the pieces back. */
	pthread_mutex_lock(&w->sort->lock);
	w->sort->runs[order].run[b->number] = run;
	pthread_mutex_unlock(&w->sort->lock);
	return rc;
}

/*
 * By source and destination first. Then by destination alone: edges of one destination stand in
 * the order of their sources already, so the second order costs half as many digits.
 */
static int sort_batch(struct worker *w, struct batch *b)
{
	const struct gnn_extsort_opts *o = &w->sort->opts;
	const struct gnn_key_ops *ops = ops_of(b);
	struct gnn_key_sort sort = {
		.key = b->key,
		.spare_key = w->spare_key,
		.weight = b->weight,
		.spare_weight = w->spare_weight,
		.count = b->count,
	};
	int rc = GNN_OK;

	ops->sort(&sort);
	if (o->unique)
		b->count = sort.count = ops->unique(b->key, b->weight, b->count);
	GNN_TRY(see_ids(w, b));
	if (b->order[GNN_BY_SRC])
		GNN_TRY(write_run(w, b, GNN_BY_SRC));
	/* With every edge both ways the destinations are the sources. */
	if (o->both_ways || (o->ids == NULL && !b->order[GNN_BY_DST]))
		goto out;
	ops->swap(b->key, b->end, b->count);
	sort.low = b->end;
	ops->sort(&sort);
	GNN_TRY(see_ids(w, b));
	if (b->order[GNN_BY_DST])
		GNN_TRY(write_run(w, b, GNN_BY_DST));
out:
	return rc;
}

static void cancel(struct gnn_extsort *s)
{
	gnn_queue_cancel(s->full);
	gnn_queue_cancel(s->empty);
}

static int work(void *arg)
{
	struct worker *w = arg;
	struct gnn_extsort *s = w->sort;
	void *item;
	int rc;

	for (;;) {
		GNN_TRY(gnn_queue_pop(s->full, &item));
		if (rc == GNN_EOF)
			break;
		GNN_TRY(sort_batch(w, item));
		GNN_TRY(gnn_queue_push(s->empty, item));
	}
	GNN_TRY(gnn_keyrun_writer_close(&w->writer));
out:
	if (rc < 0)
		cancel(s);
	return rc;
}

/* --- opening --- */

static int take_memory(void **key, float **weight, uint64_t key_bytes, bool weighted)
{
	void *block;
	int rc;

	GNN_TRY(gnn_mem_pages(key, key_bytes, GNN_MEM_SORT));
	if (weighted) {
		GNN_TRY(gnn_mem_pages(&block, key_bytes / 2, GNN_MEM_SORT));
		*weight = block;
	}
out:
	return rc;
}

static int open_worker(struct gnn_extsort *s, struct worker *w)
{
	int rc;

	w->sort = s;
	GNN_TRY(take_memory(&w->spare_key, &w->spare_weight, s->batch_bytes, s->opts.weighted));
	GNN_TRY(gnn_keyrun_writer_open(&w->writer, s->opts.scratch));
	if (s->opts.ids != NULL)
		GNN_TRY(gnn_idset_writer_create(&w->ids, s->opts.ids, w->writer));
	GNN_TRY(gnn_stage_start(&w->stage, "edge-sort", work, w));
out:
	return rc;
}

int gnn_extsort_create(struct gnn_extsort **out, const struct gnn_extsort_opts *o)
{
	struct gnn_extsort *s = NULL;
	uint64_t bytes;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(s, GNN_MEM_SORT);
	pthread_mutex_init(&s->lock, NULL);
	s->opts = *o;
	bytes = gnn_extsort_workers(o->threads) * gnn_scratch_writer_bytes(o->scratch);
	bytes = o->memory_bytes - gnn_min_u64(o->memory_bytes, bytes);
	bytes = bytes / batches_held(o->threads) / record_bytes(o->weighted) * sizeof(uint64_t);
	bytes = gnn_max_u64(BATCH_BYTES_MIN, gnn_min_u64(bytes, BATCH_BYTES_MAX));
	s->batch_bytes = gnn_align_down(bytes, sizeof(gnn_key));
	GNN_TRY(gnn_queue_create(&s->empty, WORKERS_MAX + 1));
	GNN_TRY(gnn_queue_create(&s->full, WORKERS_MAX + 1));
	*out = s;
	s = NULL;
out:
	gnn_extsort_destroy(s);
	return rc;
}

/* The error of the worker that failed, when one has; else `rc`. */
static int join_workers(struct gnn_extsort *s, int rc)
{
	struct gnn_err_state first = {0};

	gnn_err_save(&first, rc);
	if (rc < 0)
		cancel(s);
	for (uint32_t i = 0; i < s->workers; i++) {
		int one = gnn_stage_join(&s->worker[i].stage);

		if (one < 0 && (rc >= 0 || rc == GNN_ESTOP)) {
			gnn_err_save(&first, one);
			rc = one;
		}
	}
	return rc < 0 ? gnn_err_restore(&first) : GNN_OK;
}

static void free_batches(struct gnn_extsort *s)
{
	for (uint32_t i = 0; i < s->made; i++) {
		gnn_mem_free(s->batch[i].key);
		gnn_mem_free(s->batch[i].weight);
	}
	for (uint32_t i = 0; i < s->workers; i++) {
		gnn_idset_writer_destroy(s->worker[i].ids);
		gnn_mem_free(s->worker[i].spare_key);
		gnn_mem_free(s->worker[i].spare_weight);
	}
	s->made = s->workers = 0;
	s->current = NULL;
}

void gnn_extsort_destroy(struct gnn_extsort *s)
{
	if (s == NULL)
		return;
	if (s->full != NULL && s->empty != NULL)
		cancel(s);
	for (uint32_t i = 0; i < s->workers; i++) {
		gnn_stage_join(&s->worker[i].stage);
		gnn_keyrun_writer_close(&s->worker[i].writer);
	}
	free_batches(s);
	gnn_queue_destroy(s->empty);
	gnn_queue_destroy(s->full);
	for (uint32_t i = 0; i < GNN_EDGE_ORDERS; i++)
		gnn_keyruns_fini(&s->runs[i], s->opts.scratch);
	pthread_mutex_destroy(&s->lock);
	gnn_mem_free(s);
}

/* --- adding --- */

/* Batches and threads come with the edges, one after the other: a small graph needs few. */
static int next_batch(struct gnn_extsort *s)
{
	void *item = NULL;
	int rc;

	if (s->made <= gnn_extsort_workers(s->opts.threads)) {
		struct batch *b = &s->batch[s->made++];

		GNN_TRY(take_memory(&b->key, &b->weight, s->batch_bytes, s->opts.weighted));
		item = b;
	} else {
		GNN_TRY(gnn_queue_pop(s->empty, &item));
	}
	s->current = item;
	s->current->count = 0;
out:
	return rc;
}

static int hand_to_workers(struct gnn_extsort *s)
{
	struct batch *b = s->current;
	int rc;

	s->current = NULL;
	b->number = s->batches++;
	pthread_mutex_lock(&s->lock);
	rc = gnn_keyruns_reach(&s->runs[GNN_BY_SRC], b->number);
	if (rc == GNN_OK)
		rc = gnn_keyruns_reach(&s->runs[GNN_BY_DST], b->number);
	pthread_mutex_unlock(&s->lock);
	GNN_TRY(rc);
	memcpy(b->order, s->opts.order, sizeof(b->order));
	if (s->workers < gnn_extsort_workers(s->opts.threads))
		GNN_TRY(open_worker(s, &s->worker[s->workers++]));
	GNN_TRY(gnn_queue_push(s->full, b));
out:
	return rc;
}

static void copy_weights(float *to, const struct gnn_edges *e, bool both_ways)
{
	if (!both_ways) {
		memcpy(to, e->weight, e->count * sizeof(float));
		return;
	}
	for (uint64_t i = 0; i < e->count; i++) {
		to[0] = to[1] = e->weight[i];
		to += 1 + (e->src[i] != e->dst[i]);
	}
}

/* Puts edges into the current batch, as many as fit; returns their number. */
static uint64_t put(struct gnn_extsort *s, const struct gnn_edges *e)
{
	struct batch *b = s->current;
	const struct gnn_key_ops *ops = ops_of(b);
	uint8_t *to = (uint8_t *)b->key + b->count * ops->bytes;
	uint64_t room = s->batch_bytes / ops->bytes - b->count;
	uint64_t n = gnn_min_u64(e->count, s->opts.both_ways ? room / 2 : room);

	if (b->weight != NULL)
		copy_weights(b->weight + b->count,
			&(struct gnn_edges){e->src, e->dst, e->weight, n}, s->opts.both_ways);
	if (s->opts.both_ways) {
		b->count += ops->pack_both(to, b->end, e->src, e->dst, n);
	} else {
		ops->pack(to, b->end, e->src, e->dst, n);
		b->count += n;
	}
	return n;
}

/*
 * The batch that is being filled gets keys that hold all ids so far. One of narrow keys that meets
 * wide ids is ended as it is.
 */
static int fit_batch(struct gnn_extsort *s)
{
	uint32_t end = gnn_keys_end(s->bits);
	int rc = GNN_OK;

	if (s->current != NULL && s->current->end != end && end > GNN_KEY_END_NARROW)
		GNN_TRY(hand_to_workers(s));
	if (s->current == NULL)
		GNN_TRY(next_batch(s));
	else if (s->current->end != end)
		ops_of(s->current)->move(s->current->key, s->current->end, end, s->current->count);
	s->current->end = end;
out:
	return rc;
}

static int add(struct gnn_extsort *s, struct gnn_edges e)
{
	int rc = GNN_OK;

	while (e.count > 0) {
		uint64_t n;

		GNN_TRY(fit_batch(s));
		n = put(s, &e);
		if (n == 0)
			GNN_TRY(hand_to_workers(s));
		e.src += n;
		e.dst += n;
		e.weight = e.weight == NULL ? NULL : e.weight + n;
		e.count -= n;
	}
out:
	return rc;
}

int gnn_extsort_add(struct gnn_extsort *s, const struct gnn_edges *e, uint64_t bits)
{
	int rc;

	GNN_ASSERT(!s->ended && (e->weight != NULL || !s->opts.weighted || e->count == 0));
	s->bits |= bits;
	rc = add(s, *e);
	return rc < 0 ? join_workers(s, rc) : GNN_OK;
}

void gnn_extsort_drop_order(struct gnn_extsort *s, enum gnn_edge_order order)
{
	s->opts.order[order] = false;
}

int gnn_extsort_end(struct gnn_extsort *s)
{
	int rc = GNN_OK;

	GNN_ASSERT(!s->ended);
	s->ended = true;
	if (s->current != NULL && s->current->count > 0)
		GNN_TRY(hand_to_workers(s));
out:
	if (rc == GNN_OK)
		gnn_queue_close(s->full);
	rc = join_workers(s, rc);
	if (rc == GNN_OK)
		free_batches(s);
	return rc;
}

uint32_t gnn_extsort_batches(const struct gnn_extsort *s)
{
	return s->batches;
}

uint64_t gnn_extsort_id_end(const struct gnn_extsort *s)
{
	return s->id_end;
}

struct gnn_keyruns *gnn_extsort_runs(struct gnn_extsort *s, enum gnn_edge_order order)
{
	GNN_ASSERT(s->ended);
	return &s->runs[order];
}
