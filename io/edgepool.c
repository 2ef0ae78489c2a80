/* io/edgepool.c - see edgepool.h. add -> full -> workers -> blocks; empty batches come back. */
#include "io/edgepool.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"

#include <pthread.h>
#include <string.h>

enum {
	WORKERS_MAX = 16,
	BATCH_EDGES_MAX = 256 << 10, /* of which a bucket gets half a page or less */
	BATCH_EDGES_MIN = 4 << 10,
	MEMORY_SHARE = 32,           /* a batch is this part of the memory at most */
	SLICE_EDGES = 4096,          /* handed on at a time */
	ID_BITS = 32,
};

/* Edges that wait: source << 32 | destination. */
struct batch {
	uint64_t *edge;
	float *weight; /* NULL: none */
	uint64_t count;
	uint32_t number;  /* of the block to be */
	struct gnn_bucket_layout layout;
};

struct gnn_edgepool {
	struct gnn_edgepool_opts opts;
	uint64_t batch_edges;
	struct batch batch[WORKERS_MAX + 2];
	uint32_t made;           /* of the batches */
	struct batch *current;   /* being filled, or NULL */
	uint64_t count, id_end, bits;
	struct gnn_queue *empty, *full;
	struct gnn_stage *worker[WORKERS_MAX];
	uint32_t workers;        /* started */
	pthread_mutex_t lock;    /* guards the list of blocks */
	struct gnn_edgeblock *block;
	uint32_t blocks, room;
};

static uint32_t workers_of(uint32_t threads)
{
	return (uint32_t)gnn_max_u64(1, gnn_min_u64(threads, WORKERS_MAX));
}

static uint64_t batch_edges(uint64_t memory_bytes)
{
	uint64_t edges = memory_bytes / MEMORY_SHARE / sizeof(uint64_t);

	return gnn_max_u64(BATCH_EDGES_MIN, gnn_min_u64(edges, BATCH_EDGES_MAX));
}

int gnn_edgepool_create(struct gnn_edgepool **out, const struct gnn_edgepool_opts *o)
{
	struct gnn_edgepool *p = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(p, GNN_MEM_SORT);
	pthread_mutex_init(&p->lock, NULL);
	p->opts = *o;
	p->batch_edges = batch_edges(o->memory_bytes);
	GNN_TRY(gnn_queue_create(&p->empty, WORKERS_MAX + 2));
	GNN_TRY(gnn_queue_create(&p->full, WORKERS_MAX + 2));
	*out = p;
	p = NULL;
out:
	gnn_edgepool_destroy(p);
	return rc;
}

/* --- blocks --- */

static void free_block(struct gnn_edgeblock *b)
{
	gnn_mem_free(b->key);
	gnn_mem_free(b->first);
	*b = (struct gnn_edgeblock){0};
}

static uint64_t block_keys(const struct gnn_edgeblock *b)
{
	return b->first[b->layout.count];
}

static int new_block(struct gnn_edgepool *p, uint32_t *number)
{
	void *list;
	int rc = GNN_OK;

	pthread_mutex_lock(&p->lock);
	*number = p->blocks;
	list = p->block;
	if (p->blocks == p->room) {
		GNN_TRY(gnn_mem_resize(&list, 2 * p->room + 16, sizeof(*p->block), GNN_MEM_SORT));
		p->block = list;
		p->room = 2 * p->room + 16;
	}
	p->blocks++;
out:
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* Where each bucket ends, of the keys of a batch. */
static void count_keys(const struct batch *b, bool both_ways, uint32_t *first)
{
	uint32_t shift = b->layout.shift;

	for (uint64_t i = 0; i < b->count; i++)
		first[(b->edge[i] >> ID_BITS >> shift) + 1]++;
	for (uint64_t i = 0; both_ways && i < b->count; i++)
		first[((uint32_t)b->edge[i] >> shift) + 1] +=
			b->edge[i] >> ID_BITS != (uint32_t)b->edge[i];
	for (uint32_t k = 0; k < b->layout.count; k++)
		first[k + 1] += first[k];
}

/* A batch becomes a block. */
static int distribute(struct gnn_edgepool *p, struct batch *b)
{
	const struct gnn_bucket_ops *ops = gnn_bucket_ops(&b->layout);
	uint32_t next[1 << GNN_BUCKET_BITS_MAX], buckets = b->layout.count;
	struct gnn_edgeblock block = {.layout = b->layout};
	int rc;

	GNN_NEW_ARRAY(block.first, buckets + 1, GNN_MEM_SORT);
	count_keys(b, p->opts.both_ways, block.first);
	GNN_TRY(gnn_mem_pages(&block.key, (uint64_t)block.first[buckets] * ops->bytes,
		GNN_MEM_SORT));
	memcpy(next, block.first, buckets * sizeof(*next));
	ops->by_src(&b->layout, b->edge, b->weight, b->count, p->opts.both_ways, next, block.key);
	pthread_mutex_lock(&p->lock);
	p->block[b->number] = block;
	pthread_mutex_unlock(&p->lock);
	block = (struct gnn_edgeblock){0};
	b->count = 0;
out:
	free_block(&block);
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
	struct gnn_edgepool *p = arg;
	void *item;
	int rc;

	for (;;) {
		GNN_TRY(gnn_queue_pop(p->full, &item));
		if (rc == GNN_EOF)
			break;
		GNN_TRY(distribute(p, item));
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
		int one = gnn_stage_join(&p->worker[i]);

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
	for (uint32_t i = 0; i < p->blocks; i++)
		free_block(&p->block[i]);
	gnn_mem_free(p->block);
	p->block = NULL;
	p->blocks = p->room = 0;
}

void gnn_edgepool_destroy(struct gnn_edgepool *p)
{
	if (p == NULL)
		return;
	if (p->full != NULL && p->empty != NULL)
		cancel(p);
	for (uint32_t i = 0; i < p->workers; i++)
		gnn_stage_join(&p->worker[i]);
	free_batches(p);
	gnn_edgepool_empty(p);
	gnn_queue_destroy(p->empty);
	gnn_queue_destroy(p->full);
	pthread_mutex_destroy(&p->lock);
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

static uint32_t bits_of(uint64_t ids)
{
	return ids == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(ids);
}

/* With `keys` in all, as far as is known. */
static struct gnn_bucket_layout layout_of(const struct gnn_edgepool *p, uint64_t bits,
	uint64_t keys)
{
	return gnn_bucket_layout(bits_of(bits), keys, p->opts.weighted);
}

static int hand_to_workers(struct gnn_edgepool *p)
{
	struct batch *b = p->current;
	int rc;

	p->current = NULL;
	b->layout = layout_of(p, p->bits, UINT64_MAX);
	GNN_TRY(new_block(p, &b->number));
	if (p->workers < workers_of(p->opts.threads)) {
		GNN_TRY(gnn_stage_start(&p->worker[p->workers], "edge-pool", work, p));
		p->workers++;
	}
	GNN_TRY(gnn_queue_push(p->full, b));
out:
	return rc;
}

/* Ids of 32 bits. Returns the largest of them, and counts self-loops. */
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
	uint64_t keys = (p->count + edges) * (p->opts.both_ways ? 2 : 1);
	struct gnn_bucket_layout l;

	if (bits >> ID_BITS != 0 || keys > UINT32_MAX)
		return false;
	l = layout_of(p, bits, UINT64_MAX);
	keys *= gnn_bucket_ops(&l)->bytes;
	return keys + (p->blocks + 2) * l.count * sizeof(uint32_t) <= p->opts.memory_bytes;
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

/* What the ids of edges on their way from one layout to the next become. */
struct mapping {
	gnn_edgepool_map_fn map;
	const void *with;
};

static void map_edges(const struct mapping *m, uint64_t *edge, uint64_t count)
{
	uint64_t id[2 * SLICE_EDGES];

	for (uint64_t at = 0, n; at < count; at += n) {
		n = gnn_min_u64(SLICE_EDGES, count - at);
		for (uint64_t i = 0; i < n; i++) {
			id[i] = edge[at + i] >> ID_BITS;
			id[n + i] = (uint32_t)edge[at + i];
		}
		m->map(m->with, id, 2 * n);
		for (uint64_t i = 0; i < n; i++)
			edge[at + i] = id[i] << ID_BITS | id[n + i];
	}
}

/* The edges of a block go through a batch once more; with `m` under other ids. */
static int lay_out_again(struct gnn_edgepool *p, uint32_t number, const struct gnn_bucket_layout *l,
	const struct mapping *m)
{
	struct gnn_edgeblock b = p->block[number];
	const struct gnn_bucket_ops *ops = gnn_bucket_ops(&b.layout);
	struct batch *to = &p->batch[0];

	to->count = 0;
	for (uint32_t k = 0; k < b.layout.count; k++)
		to->count += ops->restore(&b.layout, (uint8_t *)b.key +
			(uint64_t)b.first[k] * ops->bytes, b.first[k + 1] - b.first[k], k,
			p->opts.both_ways, to->edge + to->count,
			to->weight == NULL ? NULL : to->weight + to->count);
	free_block(&p->block[number]);
	if (m != NULL)
		map_edges(m, to->edge, to->count);
	to->number = number;
	to->layout = *l;
	return distribute(p, to);
}

/* Waits for the threads; what is in the last batch becomes a block in this one. */
static int finish_blocks(struct gnn_edgepool *p)
{
	struct batch *last = p->current;
	int rc;

	gnn_queue_close(p->full);
	GNN_TRY(join_workers(p, GNN_OK));
	if (last == NULL || last->count == 0)
		return GNN_OK;
	last->layout = layout_of(p, p->bits, p->blocks > 0 ? UINT64_MAX :
		p->count * (p->opts.both_ways ? 2 : 1));
	GNN_TRY(new_block(p, &last->number));
	GNN_TRY(distribute(p, last));
out:
	return rc;
}

int gnn_edgepool_end(struct gnn_edgepool *p)
{
	struct gnn_bucket_layout l;
	int rc;

	GNN_TRY(finish_blocks(p));
	if (p->blocks == 0)
		goto out;
	l = p->blocks == 1 ? p->block[0].layout : layout_of(p, p->bits, UINT64_MAX);
	for (uint32_t i = 0; i < p->blocks; i++) {
		if (gnn_bucket_same(&p->block[i].layout, &l))
			continue;
		GNN_TRY(lay_out_again(p, i, &l, NULL));
	}
out:
	free_batches(p);
	return rc;
}

int gnn_edgepool_relabel(struct gnn_edgepool *p, gnn_edgepool_map_fn map, const void *with,
	uint64_t count)
{
	const struct mapping m = {map, with};
	struct gnn_bucket_layout l;
	int rc = GNN_OK;

	p->id_end = count;
	p->bits = count - (count > 0);
	if (p->blocks == 0)
		goto out;
	l = layout_of(p, p->bits, p->blocks > 1 ? UINT64_MAX : block_keys(&p->block[0]));
	GNN_TRY(new_batch(p, &p->batch[p->made++]));
	for (uint32_t i = 0; i < p->blocks; i++)
		GNN_TRY(lay_out_again(p, i, &l, &m));
out:
	free_batches(p);
	return rc;
}

static int drain_block(const struct gnn_edgepool *p, const struct gnn_edgeblock *b,
	gnn_edgepool_fn fn, void *receiver)
{
	const struct gnn_bucket_ops *ops = gnn_bucket_ops(&b->layout);
	uint64_t edge[SLICE_EDGES], src[SLICE_EDGES], dst[SLICE_EDGES];
	float weight[SLICE_EDGES];
	int rc = GNN_OK;

	for (uint32_t k = 0; k < b->layout.count; k++)
		for (uint32_t i = b->first[k]; i < b->first[k + 1]; i += SLICE_EDGES) {
			uint64_t n = gnn_min_u64(SLICE_EDGES, b->first[k + 1] - i);

			n = ops->restore(&b->layout, (uint8_t *)b->key + (uint64_t)i * ops->bytes,
				n, k, p->opts.both_ways, edge, p->opts.weighted ? weight : NULL);
			for (uint64_t e = 0; e < n; e++) {
				src[e] = edge[e] >> ID_BITS;
				dst[e] = (uint32_t)edge[e];
			}
			GNN_TRY(fn(receiver, &(struct gnn_edges){src, dst,
				p->opts.weighted ? weight : NULL, n}));
		}
out:
	return rc;
}

int gnn_edgepool_visit(struct gnn_edgepool *p, gnn_edgepool_fn fn, void *receiver)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < p->blocks; i++)
		GNN_TRY(drain_block(p, &p->block[i], fn, receiver));
out:
	return rc;
}

int gnn_edgepool_drain(struct gnn_edgepool *p, gnn_edgepool_fn fn, void *receiver)
{
	int rc;

	GNN_TRY(finish_blocks(p));
	free_batches(p);
	for (uint32_t i = 0; i < p->blocks; i++) {
		GNN_TRY(drain_block(p, &p->block[i], fn, receiver));
		free_block(&p->block[i]);
	}
out:
	return rc;
}

uint64_t gnn_edgepool_id_end(const struct gnn_edgepool *p)
{
	return p->id_end;
}

uint32_t gnn_edgepool_blocks(const struct gnn_edgepool *p)
{
	return p->blocks;
}

const struct gnn_edgeblock *gnn_edgepool_block(const struct gnn_edgepool *p, uint32_t i)
{
	GNN_ASSERT(i < p->blocks);
	return &p->block[i];
}

const struct gnn_bucket_layout *gnn_edgepool_layout(const struct gnn_edgepool *p)
{
	static const struct gnn_bucket_layout none; /* of a graph without edges */

	return p->blocks > 0 ? &p->block[0].layout : &none;
}
