/* io/keymerge.c - see keymerge.h. gather -> sort, by several threads -> hand over, in order. */
#include "io/keymerge.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"
#include "io/keymerge_gather.h"

#include <string.h>

enum {
	CHUNK_KEYS = 32 << 10, /* fit the second-level cache, with the array they are sorted into */
	WINDOW_MAX = 4096,
	AHEAD = 6,             /* buffers beside those that the runs hold */
	FAN_IN_MIN = 4,
	SORTERS_MAX = 16,
	PACK_KEYS = 1024,      /* of a level of merging, coded at a time */
};

/* A chunk on its way. Of the arrays one half is the other's spare. */
struct slot {
	struct gnn_gathered got;
	void *spare_key;
	float *spare_weight;
	struct gnn_edges edges;
	struct gnn_queue *sorted; /* the slot itself, when it is */
};

struct merge {
	const struct gnn_keymerge_opts *o;
	const struct gnn_key_ops *ops;
	uint32_t end; /* of the keys */
	struct gnn_gather *gather;
	uint64_t slot_keys;
	struct slot slot[SORTERS_MAX + 2];
	uint32_t slots;
	struct gnn_queue *idle;  /* slots to fill */
	struct gnn_queue *work;  /* slots to sort */
	struct gnn_queue *order; /* slots to hand over, in order */
	struct gnn_stage *gatherer;
	struct gnn_stage *sorter[SORTERS_MAX];
	uint32_t sorters;
	uint64_t last_major, last_minor; /* handed over last, with unique */
	bool any;
};

/* --- memory --- */

/* What a run needs for windows and chunks, at the smallest, or with windows of `window` keys. */
static uint64_t bytes_of_run(const struct merge *m, uint64_t window)
{
	uint64_t key = m->ops->bytes + (m->o->weighted ? sizeof(float) : 0);

	return window * key * (1 + 2 * (uint64_t)m->slots);
}

/* How many runs can be merged at once. Those in memory need no buffer to be read into. */
static uint32_t fan_in(const struct merge *m)
{
	uint64_t piece = gnn_scratch_piece_bytes(m->o->scratch);
	uint64_t room = m->o->memory_bytes, small = bytes_of_run(m, GNN_KEY_GROUP);
	uint32_t in_file = gnn_keyruns_in_file(m->o->runs);

	if (in_file == 0)
		return (uint32_t)gnn_max_u64(FAN_IN_MIN, gnn_min_u64(room / small, UINT32_MAX));
	room -= gnn_min_u64(room, AHEAD * piece + gnn_scratch_writer_bytes(m->o->scratch));
	return (uint32_t)gnn_max_u64(FAN_IN_MIN, room / (small + piece));
}

static uint32_t window_keys(const struct merge *m, uint32_t buffers)
{
	uint64_t runs = gnn_max_u64(1, m->o->runs->count);
	uint64_t room = m->o->memory_bytes, window;

	room -= gnn_min_u64(room, buffers * gnn_scratch_piece_bytes(m->o->scratch));
	window = gnn_min_u64(CHUNK_KEYS / runs, room / runs / bytes_of_run(m, 1));
	window = gnn_align_down(gnn_min_u64(window, WINDOW_MAX), GNN_KEY_GROUP);
	return (uint32_t)gnn_max_u64(window, GNN_KEY_GROUP);
}

static int open_slot(struct merge *m, struct slot *s)
{
	uint64_t bytes = m->slot_keys * m->ops->bytes;
	void *block;
	int rc;

	GNN_TRY(gnn_mem_pages(&block, 2 * bytes, GNN_MEM_SORT));
	s->got.key = block;
	s->spare_key = (uint8_t *)block + bytes;
	if (m->o->weighted) {
		GNN_TRY(gnn_mem_pages(&block, 2 * m->slot_keys * sizeof(float), GNN_MEM_SORT));
		s->got.weight = block;
		s->spare_weight = s->got.weight + m->slot_keys;
	}
	GNN_TRY(gnn_queue_create(&s->sorted, 1));
out:
	return rc;
}

/* --- stages --- */

/* Whoever fails wakes all the others; their GNN_ESTOP is not the error. */
static void cancel(struct merge *m)
{
	gnn_queue_cancel(m->idle);
	gnn_queue_cancel(m->work);
	gnn_queue_cancel(m->order);
	for (uint32_t i = 0; i < m->slots; i++)
		gnn_queue_cancel(m->slot[i].sorted);
}

static int gather_all(void *arg)
{
	struct merge *m = arg;
	struct slot *s;
	void *item;
	int rc;

	for (;;) {
		GNN_TRY(gnn_queue_pop(m->idle, &item));
		s = item;
		GNN_TRY(gnn_gather_next(m->gather, &s->got));
		if (s->got.count == 0)
			break;
		GNN_ASSERT(s->got.count <= m->slot_keys);
		GNN_TRY(gnn_queue_push(m->order, s));
		GNN_TRY(gnn_queue_push(m->work, s));
	}
	gnn_queue_close(m->order);
	gnn_queue_close(m->work);
out:
	if (rc < 0)
		cancel(m);
	return rc;
}

/* Sorts the keys and takes them apart, into the two halves of the arrays they stood in. */
static void sort_slot(const struct merge *m, struct slot *s)
{
	uint64_t count = s->got.count;
	uint64_t *major, *minor;

	if (s->got.parts > 1)
		m->ops->sort(&(struct gnn_key_sort){
			.key = s->got.key,
			.spare_key = s->spare_key,
			.weight = s->got.weight,
			.spare_weight = s->spare_weight,
			.count = count,
		});
	if (m->o->unique)
		count = m->ops->unique(s->got.key, s->got.weight, count);
	major = s->spare_key;
	minor = m->ops->bytes == sizeof(uint64_t) ? s->got.key : major + m->slot_keys;
	m->ops->unpack(s->got.key, m->end, major, minor, count);
	if (m->o->map != NULL) {
		m->o->map(m->o->with, major, count);
		m->o->map(m->o->with, minor, count);
	}
	s->edges = (struct gnn_edges){major, minor, s->got.weight, count};
}

static int sort_all(void *arg)
{
	struct merge *m = arg;
	void *item;
	int rc;

	for (;;) {
		struct slot *s;

		GNN_TRY(gnn_queue_pop(m->work, &item));
		if (rc == GNN_EOF)
			break;
		s = item;
		sort_slot(m, s);
		GNN_TRY(gnn_queue_push(s->sorted, s));
	}
out:
	if (rc < 0)
		cancel(m);
	return rc;
}

/* Keys equal to the last one of the chunk before are left out. */
static void skip_repeated(struct merge *m, struct gnn_edges *e)
{
	uint64_t i = 0;

	while (m->any && i < e->count && e->src[i] == m->last_major && e->dst[i] == m->last_minor)
		i++;
	e->src += i;
	e->dst += i;
	e->weight = e->weight == NULL ? NULL : e->weight + i;
	e->count -= i;
	if (e->count > 0) {
		m->any = true;
		m->last_major = e->src[e->count - 1];
		m->last_minor = e->dst[e->count - 1];
	}
}

static int hand_over(struct merge *m, gnn_keymerge_fn fn, void *receiver)
{
	void *item;
	int rc;

	for (;;) {
		struct slot *s;

		GNN_TRY(gnn_queue_pop(m->order, &item));
		if (rc == GNN_EOF)
			break;
		s = item;
		GNN_TRY(gnn_queue_pop(s->sorted, &item));
		if (m->o->unique)
			skip_repeated(m, &s->edges);
		GNN_TRY(fn(receiver, &s->edges));
		GNN_TRY(gnn_queue_push(m->idle, s));
	}
	rc = GNN_OK;
out:
	if (rc < 0)
		cancel(m);
	return rc;
}

/* --- one merge --- */

static int open_merge(struct merge *m)
{
	uint32_t in_file = gnn_keyruns_in_file(m->o->runs);
	struct gnn_gather_opts g = {
		.scratch = m->o->scratch,
		.runs = m->o->runs,
		.keep = m->o->keep,
		.weighted = m->o->weighted,
		.end = m->end,
		.buffers = in_file == 0 ? 0 : in_file + AHEAD,
	};
	int rc;

	g.window = window_keys(m, g.buffers);
	m->slot_keys = gnn_max_u64(1, (uint64_t)g.window * m->o->runs->count);
	GNN_TRY(gnn_gather_open(&m->gather, &g));
	GNN_TRY(gnn_queue_create(&m->idle, m->slots));
	GNN_TRY(gnn_queue_create(&m->work, m->slots));
	GNN_TRY(gnn_queue_create(&m->order, m->slots));
	for (uint32_t i = 0; i < m->slots; i++) {
		GNN_TRY(open_slot(m, &m->slot[i]));
		GNN_TRY(gnn_queue_push(m->idle, &m->slot[i]));
	}
out:
	return rc;
}

static void close_merge(struct merge *m)
{
	for (uint32_t i = 0; i < m->slots; i++) {
		gnn_queue_destroy(m->slot[i].sorted);
		gnn_mem_free(m->slot[i].got.key);
		gnn_mem_free(m->slot[i].got.weight);
	}
	gnn_queue_destroy(m->idle);
	gnn_queue_destroy(m->work);
	gnn_queue_destroy(m->order);
	gnn_gather_close(m->gather);
}

/* The error of the stage that failed first, not that of those who were stopped by it. */
static int worse(int rc, struct gnn_err_state *first, int now)
{
	if (now < 0 && (rc >= 0 || rc == GNN_ESTOP)) {
		gnn_err_save(first, now);
		return now;
	}
	return rc;
}

static int run_stages(struct merge *m, gnn_keymerge_fn fn, void *receiver)
{
	struct gnn_err_state first = {0};
	uint32_t started = 0;
	int rc, all = GNN_OK;

	GNN_TRY(gnn_stage_start(&m->gatherer, "merge-gather", gather_all, m));
	for (; started < m->sorters; started++)
		GNN_TRY(gnn_stage_start(&m->sorter[started], "merge-sort", sort_all, m));
	rc = hand_over(m, fn, receiver);
out:
	if (rc < 0 && m->gatherer != NULL)
		cancel(m);
	all = worse(all, &first, rc);
	all = worse(all, &first, gnn_stage_join(&m->gatherer));
	for (uint32_t i = 0; i < started; i++)
		all = worse(all, &first, gnn_stage_join(&m->sorter[i]));
	return all < 0 ? gnn_err_restore(&first) : GNN_OK;
}

static int merge_once(const struct gnn_keymerge_opts *o, gnn_keymerge_fn fn, void *receiver,
	struct merge *m)
{
	int rc;

	GNN_TRY(open_merge(m));
	GNN_TRY(run_stages(m, fn, receiver));
	if (!o->keep)
		gnn_keyruns_fini(o->runs, o->scratch);
out:
	close_merge(m);
	return rc;
}

static void init_merge(struct merge *m, const struct gnn_keymerge_opts *o)
{
	*m = (struct merge){.o = o, .end = gnn_keyruns_end(o->runs)};
	m->ops = gnn_keys(m->end > GNN_KEY_END_NARROW);
	m->sorters = (uint32_t)gnn_max_u64(1, gnn_min_u64(o->threads, SORTERS_MAX));
	m->slots = m->sorters + 2;
}

/* --- levels --- */

struct level {
	struct gnn_keyrun_writer *writer;
	const struct gnn_key_ops *ops;
	uint32_t end;
};

static int write_level(void *receiver, struct gnn_edges *e)
{
	struct level *l = receiver;
	gnn_key key[PACK_KEYS];
	int rc = GNN_OK;

	for (uint64_t i = 0; i < e->count; i += PACK_KEYS) {
		uint64_t n = gnn_min_u64(e->count - i, PACK_KEYS);

		l->ops->pack(key, l->end, e->src + i, e->dst + i, n);
		GNN_TRY(gnn_keyrun_writer_push(l->writer, key,
			e->weight == NULL ? NULL : e->weight + i, n));
	}
out:
	return rc;
}

/* Merges the `count` runs of a list of their own into one. */
static int merge_level(const struct gnn_keymerge_opts *o, struct gnn_keyruns *runs,
	struct gnn_keyrun *to)
{
	struct gnn_keymerge_opts part = *o;
	struct level l = {0};
	struct merge m;
	int rc, closed;

	part.runs = runs;
	part.keep = false;
	part.map = NULL;
	init_merge(&m, &part);
	l.ops = m.ops;
	l.end = m.end;
	GNN_TRY(gnn_keyrun_writer_open(&l.writer, o->scratch));
	gnn_keyrun_writer_begin(l.writer, to, l.end, o->weighted);
	GNN_TRY(merge_once(&part, write_level, &l, &m));
	GNN_TRY(gnn_keyrun_writer_end(l.writer));
out:
	closed = gnn_keyrun_writer_close(&l.writer);
	return rc < 0 ? rc : closed;
}

/*
 * While there are too many runs, neighbours in the list are merged into one, just as many as it
 * takes. Groups are taken along the list, so that no run is merged twice before all were once.
 */
static int reduce(const struct gnn_keymerge_opts *o, const struct merge *m)
{
	struct gnn_keyruns *all = o->runs;
	uint32_t at = 0, limit;
	int rc = GNN_OK;

	while (limit = fan_in(m), all->count > limit) {
		uint32_t n = all->count - limit + 1 < limit ? all->count - limit + 1 : limit;
		struct gnn_keyruns part = {0};
		struct gnn_keyrun merged = {0};

		if (at + n > all->count)
			at = 0;
		GNN_TRY(gnn_keyruns_reach(&part, n - 1));
		memcpy(part.run, all->run + at, n * sizeof(*part.run));
		memset(all->run + at, 0, n * sizeof(*part.run));
		rc = merge_level(o, &part, &merged);
		gnn_keyruns_fini(&part, o->scratch);
		all->run[at] = merged;
		GNN_TRY(rc);
		memmove(all->run + at + 1, all->run + at + n,
			(all->count - at - n) * sizeof(*all->run));
		all->count -= n - 1;
		at++;
	}
out:
	return rc;
}

int gnn_keymerge(const struct gnn_keymerge_opts *o, gnn_keymerge_fn fn, void *receiver)
{
	struct merge m;
	int rc;

	init_merge(&m, o);
	GNN_TRY(reduce(o, &m));
	GNN_TRY(merge_once(o, fn, receiver, &m));
out:
	return rc;
}
