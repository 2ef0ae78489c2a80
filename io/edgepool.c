/* io/edgepool.c - see edgepool.h. add -> full -> workers -> sets; empty batches come back. */
#include "io/edgepool.h"

#include "base/clones.h"
#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"

#include <string.h>

enum {
	WORKERS_MAX = 16,
	BATCH_EDGES_MAX = 32 << 10,
	BATCH_EDGES_MAX_PARTS = 256 << 10, /* of which a bucket gets some hundreds */
	BATCH_EDGES_MIN = 4 << 10,
	MEMORY_SHARE = 32,           /* a batch is this part of the memory at most */
	ID_BITS = 32,
	SETS_MAX = ID_BITS + 1,      /* one for every number of bits */
	CHUNKS_SHARE = 16,           /* all that are begun take this part of the memory, about */
	SLAB_BYTES_MAX = 8 << 20,
};

/* Edges that wait: source << 32 | destination. */
struct batch {
	uint64_t *edge;
	float *weight; /* NULL: none */
	uint64_t count;
	uint32_t number;  /* of the part to be */
	struct gnn_bucketset *set;
};

struct worker {
	struct gnn_edgepool *pool;
	struct gnn_stage *stage;
};

struct gnn_edgepool {
	struct gnn_edgepool_opts opts;
	uint64_t batch_edges;
	struct batch batch[WORKERS_MAX + 2];
	uint32_t made;           /* of the batches */
	struct batch *current;   /* being filled, or NULL */
	uint64_t count, id_end, bits;
	struct gnn_queue *empty, *full;
	struct worker worker[WORKERS_MAX];
	uint32_t workers;        /* started */
	struct gnn_chunks *chunks;
	struct gnn_bucketset *set[SETS_MAX + 1]; /* in the order of their parts */
	uint32_t sets, parts;
};

static uint32_t workers_of(uint32_t threads)
{
	return (uint32_t)gnn_max_u64(1, gnn_min_u64(threads, WORKERS_MAX));
}

/* Without weights equal edges are the same: it does not matter in which order they come. */
static uint64_t batch_edges(const struct gnn_edgepool_opts *o)
{
	uint64_t edges = o->memory_bytes / MEMORY_SHARE / sizeof(uint64_t);

	return gnn_max_u64(BATCH_EDGES_MIN, gnn_min_u64(edges,
		o->weighted ? BATCH_EDGES_MAX_PARTS : BATCH_EDGES_MAX));
}

static uint32_t bits_of(uint64_t ids)
{
	return ids == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(ids);
}

/* With `keys` in all, as far as is known: as many as the memory may hold. */
static struct gnn_bucket_layout layout_of(const struct gnn_edgepool *p, uint64_t bits,
	uint64_t keys)
{
	return gnn_bucket_layout(bits_of(bits),
		gnn_min_u64(keys, p->opts.memory_bytes / sizeof(uint32_t)), p->opts.weighted);
}

/* Every writer has a chunk begun in every bucket. */
static int create_chunks(struct gnn_edgepool *p)
{
	struct gnn_bucket_layout l = layout_of(p, UINT32_MAX, UINT64_MAX);
	uint64_t memory = p->opts.memory_bytes, bytes = GNN_CHUNK_BYTES_MAX;

	while (bytes > GNN_CHUNK_BYTES_MIN &&
		bytes * l.count * workers_of(p->opts.threads) > memory / CHUNKS_SHARE)
		bytes /= 2;
	return gnn_chunks_create(&p->chunks, bytes, gnn_max_u64(bytes,
		gnn_min_u64(memory / CHUNKS_SHARE, SLAB_BYTES_MAX)));
}

int gnn_edgepool_create(struct gnn_edgepool **out, const struct gnn_edgepool_opts *o)
{
	struct gnn_edgepool *p = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(p, GNN_MEM_SORT);
	p->opts = *o;
	p->batch_edges = batch_edges(o);
	GNN_TRY(create_chunks(p));
	GNN_TRY(gnn_queue_create(&p->empty, WORKERS_MAX + 2));
	GNN_TRY(gnn_queue_create(&p->full, WORKERS_MAX + 2));
	*out = p;
	p = NULL;
out:
	gnn_edgepool_destroy(p);
	return rc;
}

/* --- sets --- */

/* The last set, if it is of this layout, or a new one. One writer more than there are workers. */
static int set_of(struct gnn_edgepool *p, const struct gnn_bucket_layout *l)
{
	uint32_t last = p->sets - 1;
	int rc = GNN_OK;

	if (p->sets > 0 && gnn_bucket_same(gnn_bucketset_layout(p->set[last]), l))
		return GNN_OK;
	GNN_ASSERT(p->sets <= SETS_MAX);
	GNN_TRY(gnn_bucketset_create(&p->set[p->sets], l, p->chunks,
		workers_of(p->opts.threads) + 1));
	p->sets++;
out:
	return rc;
}

/* A batch becomes a part of its set. */
static int distribute(struct gnn_edgepool *p, uint32_t writer, struct batch *b)
{
	const struct gnn_bucket_layout *l = gnn_bucketset_layout(b->set);
	struct gnn_bucket_writer *w;
	int rc;

	GNN_TRY(gnn_bucketset_writer(b->set, writer, &w));
	gnn_bucket_ops(l)->by_src(w, l, b->edge, b->weight, b->count, p->opts.both_ways);
	GNN_TRY(w->status);
	b->count = 0;
	if (p->opts.weighted)
		GNN_TRY(gnn_bucketset_part(b->set, writer, b->number));
out:
	return rc;
}

/* All batches, or what is laid out again, are in the set. */
static int end_set(struct gnn_edgepool *p, struct gnn_bucketset *s)
{
	int rc = GNN_OK;

	if (gnn_bucketset_ended(s))
		return GNN_OK;
	for (uint32_t i = 0; i <= workers_of(p->opts.threads) && !p->opts.weighted; i++)
		GNN_TRY(gnn_bucketset_part(s, i, i));
	rc = gnn_bucketset_end(s);
out:
	return rc;
}

/* --- threads --- */

static void cancel(struct gnn_edgepool *p)
{
	gnn_queue_cancel(p->full);
	gnn_queue_cancel(p->empty);
}

static int work(void *arg)
{
	struct worker *w = arg;
	struct gnn_edgepool *p = w->pool;
	void *item;
	int rc;

	for (;;) {
		GNN_TRY(gnn_queue_pop(p->full, &item));
		if (rc == GNN_EOF)
			break;
		GNN_TRY(distribute(p, (uint32_t)(w - p->worker), item));
		GNN_TRY(gnn_queue_push(p->empty, item));
	}
	return GNN_OK;
out:
	cancel(p);
	return rc;
}

/* The error of the worker that failed, when one has; else `rc`. */
static int join_workers(struct gnn_edgepool *p, int rc)
{
	struct gnn_err_state first = {0};

	gnn_err_save(&first, rc);
	if (rc < 0)
		cancel(p);
	for (uint32_t i = 0; i < p->workers; i++) {
		int one = gnn_stage_join(&p->worker[i].stage);

		if (one < 0 && (rc >= 0 || rc == GNN_ESTOP)) {
			gnn_err_save(&first, one);
			rc = one;
		}
	}
	p->workers = 0;
	return rc < 0 ? gnn_err_restore(&first) : GNN_OK;
}

static void free_batches(struct gnn_edgepool *p)
{
	for (uint32_t i = 0; i < p->made; i++) {
		gnn_mem_free(p->batch[i].edge);
		gnn_mem_free(p->batch[i].weight);
	}
	p->made = 0;
	p->current = NULL;
}

void gnn_edgepool_empty(struct gnn_edgepool *p)
{
	for (uint32_t i = 0; i < p->sets; i++)
		gnn_bucketset_destroy(p->set[i]);
	p->sets = 0;
}

void gnn_edgepool_destroy(struct gnn_edgepool *p)
{
	if (p == NULL)
		return;
	if (p->full != NULL && p->empty != NULL)
		cancel(p);
	for (uint32_t i = 0; i < p->workers; i++)
		gnn_stage_join(&p->worker[i].stage);
	free_batches(p);
	gnn_edgepool_empty(p);
	gnn_chunks_destroy(p->chunks);
	gnn_queue_destroy(p->empty);
	gnn_queue_destroy(p->full);
	gnn_mem_free(p);
}

/* --- adding --- */

static int new_batch(struct gnn_edgepool *p, struct batch *b)
{
	void *block;
	int rc;

	GNN_TRY(gnn_mem_pages(&block, p->batch_edges * sizeof(*b->edge), GNN_MEM_SORT));
	b->edge = block;
	if (p->opts.weighted) {
		GNN_TRY(gnn_mem_pages(&block, p->batch_edges * sizeof(*b->weight), GNN_MEM_SORT));
		b->weight = block;
	}
out:
	return rc;
}

/* Batches and threads come with the edges: a small graph needs few. */
static int take_batch(struct gnn_edgepool *p)
{
	void *item = NULL;
	int rc;

	if (p->made < workers_of(p->opts.threads) + 2) {
		item = &p->batch[p->made++];
		GNN_TRY(new_batch(p, item));
	} else {
		GNN_TRY(gnn_queue_pop(p->empty, &item));
	}
	p->current = item;
	p->current->count = 0;
out:
	return rc;
}

static int hand_to_workers(struct gnn_edgepool *p)
{
	struct gnn_bucket_layout l = layout_of(p, p->bits, UINT64_MAX);
	struct batch *b = p->current;
	int rc;

	p->current = NULL;
	GNN_TRY(set_of(p, &l));
	b->set = p->set[p->sets - 1];
	b->number = p->parts++;
	if (p->workers < workers_of(p->opts.threads)) {
		struct worker *w = &p->worker[p->workers];

		w->pool = p;
		GNN_TRY(gnn_stage_start(&w->stage, "edge-pool", work, w));
		p->workers++;
	}
	GNN_TRY(gnn_queue_push(p->full, b));
out:
	return rc;
}

/* Ids of 32 bits. Returns the largest of them, and counts self-loops. */
GNN_CPU_CLONES
static uint32_t pack_narrow(uint64_t *to, const uint32_t *src, const uint32_t *dst, uint64_t n,
	uint32_t *loops)
{
	uint32_t largest = 0, equal = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t larger = src[i] > dst[i] ? src[i] : dst[i];

		to[i] = (uint64_t)src[i] << ID_BITS | dst[i];
		equal += src[i] == dst[i];
		largest = larger > largest ? larger : largest;
	}
	*loops = equal;
	return largest;
}

/* Returns the largest id, or `largest`. */
GNN_CPU_CLONES
static uint64_t pack(struct batch *b, const struct gnn_edges *e, uint64_t n, uint64_t largest)
{
	uint64_t *to = b->edge + b->count;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t src = e->src[i], dst = e->dst[i], larger = src > dst ? src : dst;

		to[i] = src << ID_BITS | dst;
		largest = larger > largest ? larger : largest;
	}
	if (b->weight != NULL)
		memcpy(b->weight + b->count, e->weight, n * sizeof(float));
	b->count += n;
	return largest;
}

static bool has_room(const struct gnn_edgepool *p, uint64_t edges, uint64_t bits)
{
	uint64_t keys = (p->count + edges) * (p->opts.both_ways ? 2 : 1), bytes, writers;
	uint64_t chunk = gnn_chunks_bytes(p->chunks);
	struct gnn_bucket_layout l;

	if (bits >> ID_BITS != 0 || keys > UINT32_MAX)
		return false;
	l = layout_of(p, bits, UINT64_MAX);
	writers = workers_of(p->opts.threads) * l.count; /* of one bucket each */
	bytes = keys * gnn_bucket_ops(&l)->bytes;
	bytes += bytes / (chunk / GNN_CHUNK_HEAD_BYTES - 1) + gnn_min_u64(writers, keys) * chunk;
	bytes += (p->opts.weighted ? p->parts + 2 : workers_of(p->opts.threads) + 1) *
		gnn_bucketset_part_bytes(&l);
	bytes += (p->sets + 1) * workers_of(p->opts.threads) * gnn_bucketset_writer_bytes(&l);
	return bytes <= p->opts.memory_bytes;
}

static int add(struct gnn_edgepool *p, struct gnn_edges e)
{
	int rc = GNN_OK;

	while (e.count > 0) {
		struct gnn_edges rest;
		uint64_t n;

		if (p->current == NULL)
			GNN_TRY(take_batch(p));
		n = gnn_min_u64(e.count, p->batch_edges - p->current->count);
		p->id_end = pack(p->current, &e, n, p->id_end - (p->id_end > 0)) + 1;
		p->count += n;
		if (p->current->count == p->batch_edges)
			GNN_TRY(hand_to_workers(p));
		rest = gnn_edges_slice(&e, n, e.count);
		e = rest;
	}
out:
	return rc;
}

int gnn_edgepool_add(struct gnn_edgepool *p, const struct gnn_edges *e, uint64_t bits)
{
	int rc;

	GNN_ASSERT(e->weight != NULL || !p->opts.weighted || e->count == 0);
	if (!has_room(p, e->count, p->bits | bits))
		return GNN_EOF;
	p->bits |= bits;
	rc = add(p, *e);
	return rc < 0 ? join_workers(p, rc) : GNN_OK;
}

static int add_narrow(struct gnn_edgepool *p, const struct gnn_edge_batch *e, uint64_t *loops)
{
	int rc = GNN_OK;

	for (uint64_t at = 0, n; at < e->count; at += n) {
		struct batch *b;
		uint64_t largest;
		uint32_t equal;

		if (p->current == NULL)
			GNN_TRY(take_batch(p));
		b = p->current;
		n = gnn_min_u64(e->count - at, p->batch_edges - b->count);
		largest = pack_narrow(b->edge + b->count, e->src32 + at, e->dst32 + at, n, &equal);
		if (b->weight != NULL)
			memcpy(b->weight + b->count, e->weight + at, n * sizeof(float));
		b->count += n;
		p->id_end = gnn_max_u64(p->id_end, largest + 1);
		p->count += n;
		*loops += equal;
		if (b->count == p->batch_edges)
			GNN_TRY(hand_to_workers(p));
	}
out:
	return rc;
}

int gnn_edgepool_add_narrow(struct gnn_edgepool *p, const struct gnn_edge_batch *e,
	uint64_t *loops)
{
	int rc;

	GNN_ASSERT(e->weight != NULL || !p->opts.weighted || e->count == 0);
	if (!has_room(p, e->count, p->bits | e->bits))
		return GNN_EOF;
	p->bits |= e->bits;
	rc = add_narrow(p, e, loops);
	return rc < 0 ? join_workers(p, rc) : GNN_OK;
}

/* --- ending --- */

/* All sets but the last go to it, as its first part. */
static int relay_sets(struct gnn_edgepool *p, gnn_bucketwalk_map_fn map, const void *with)
{
	uint32_t last = p->sets - 1;
	struct gnn_bucketrelay r = {
		.to = p->set[last], .writer = workers_of(p->opts.threads), .map = map, .with = with,
		.weighted = p->opts.weighted, .both_ways = p->opts.both_ways,
	};
	int rc = GNN_OK;

	for (uint32_t i = 0; i < last; i++) {
		const struct gnn_bucket_layout *l = gnn_bucketset_layout(p->set[i]);

		GNN_TRY(end_set(p, p->set[i]));
		for (uint32_t k = 0; k < l->count; k++) {
			GNN_TRY(gnn_bucketwalk_relay(p->set[i], k, &r));
			gnn_bucketset_drop(p->set[i], k);
		}
	}
	if (last > 0 && p->opts.weighted)
		GNN_TRY(gnn_bucketset_part(r.to, r.writer, 0));
	for (uint32_t i = 0; i < last; i++)
		gnn_bucketset_destroy(p->set[i]);
	p->set[0] = r.to;
	p->sets = 1;
	rc = end_set(p, r.to);
out:
	return rc;
}

/* Waits for the threads; what is in the last batch becomes a part in this one. */
static int finish_batches(struct gnn_edgepool *p)
{
	struct batch *last = p->current;
	struct gnn_bucket_layout l;
	int rc;

	gnn_queue_close(p->full);
	GNN_TRY(join_workers(p, GNN_OK));
	if (last == NULL || last->count == 0)
		return GNN_OK;
	l = layout_of(p, p->bits, p->parts > 0 ? UINT64_MAX :
		p->count * (p->opts.both_ways ? 2 : 1));
	GNN_TRY(set_of(p, &l));
	last->set = p->set[p->sets - 1];
	last->number = p->parts++;
	GNN_TRY(distribute(p, 0, last));
out:
	return rc;
}

int gnn_edgepool_end(struct gnn_edgepool *p)
{
	struct gnn_bucket_layout l;
	int rc;

	GNN_TRY(finish_batches(p));
	free_batches(p);
	if (p->sets == 0)
		goto out;
	l = layout_of(p, p->bits, UINT64_MAX);
	if (p->sets > 1)
		GNN_TRY(set_of(p, &l));
	GNN_TRY(relay_sets(p, NULL, NULL));
out:
	free_batches(p);
	return rc;
}

int gnn_edgepool_relabel(struct gnn_edgepool *p, gnn_bucketwalk_map_fn map, const void *with,
	uint64_t count)
{
	struct gnn_bucket_layout l;
	int rc = GNN_OK;

	p->id_end = count;
	p->bits = count - (count > 0);
	if (p->sets == 0)
		goto out;
	l = layout_of(p, p->bits, p->parts > 1 ? UINT64_MAX :
		p->count * (p->opts.both_ways ? 2 : 1));
	GNN_TRY(gnn_bucketset_create(&p->set[1], &l, p->chunks, workers_of(p->opts.threads) + 1));
	p->sets = 2;
	GNN_TRY(relay_sets(p, map, with));
out:
	return rc;
}

/* --- handing on --- */

int gnn_edgepool_visit(struct gnn_edgepool *p, gnn_bucketwalk_fn fn, void *receiver)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < p->sets; i++)
		for (uint32_t k = 0; k < gnn_bucketset_layout(p->set[i])->count; k++)
			GNN_TRY(gnn_bucketwalk(p->set[i], k, &(struct gnn_bucketwalk_opts){
				fn, receiver, p->opts.weighted, p->opts.both_ways}));
out:
	return rc;
}

int gnn_edgepool_drain(struct gnn_edgepool *p, gnn_bucketwalk_fn fn, void *receiver)
{
	int rc;

	GNN_TRY(finish_batches(p));
	free_batches(p);
	for (uint32_t i = 0; i < p->sets; i++)
		GNN_TRY(end_set(p, p->set[i]));
	GNN_TRY(gnn_edgepool_visit(p, fn, receiver));
out:
	return rc;
}

uint64_t gnn_edgepool_id_end(const struct gnn_edgepool *p)
{
	return p->id_end;
}

struct gnn_bucketset *gnn_edgepool_set(const struct gnn_edgepool *p)
{
	return p->sets > 0 ? p->set[0] : NULL;
}

struct gnn_chunks *gnn_edgepool_chunks(const struct gnn_edgepool *p)
{
	return p->chunks;
}
