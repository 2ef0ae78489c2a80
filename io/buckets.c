/* io/buckets.c - see buckets.h. */
#include "io/buckets.h"

#include "base/mem.h"
#include "base/stage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	SPARE_KEYS = 64 << 10, /* sorted within the cache */
	THREADS_MAX = 64,
	RANGES = 8,            /* for every thread: what one takes at a time */
	UNPACKED = 4096,       /* handed over at a time */
};

struct bucket {
	uint64_t first, count; /* keys; the first is that in an array */
	uint64_t duplicates, loops;
	bool done;             /* guarded by the lock */
};

/* A part of the keys of a bucket. */
struct span {
	void *key;
	uint64_t count;
};

struct worker {
	struct gnn_buckets *buckets;
	void (*work)(struct worker *w, uint32_t range);
	struct gnn_stage *stage;
	struct gnn_bucket_lines lines;
	void *key, *spare;     /* (spare_keys) */
};

struct gnn_buckets {
	struct gnn_buckets_opts opts;
	struct gnn_edgepool *pool;
	struct gnn_bucket_layout layout;
	const struct gnn_bucket_ops *ops;
	uint64_t rows, keys;
	void *other;           /* (keys) by destination */
	bool in_other;         /* where the buckets are: there, or in the pool */
	uint64_t spare_keys;
	void *large;           /* (keys of the largest bucket), when it is over spare_keys */
	pthread_mutex_t large_lock;
	struct bucket *bucket; /* (buckets) of the order that is worked on */
	uint32_t *end;         /* (rows) */
	uint32_t *loops;       /* (rows of a bucket) */
	uint32_t ranges;
	uint64_t *place;       /* (ranges, buckets) counts by destination, then places */
	uint32_t *range_first; /* (ranges + 1) buckets */
	struct worker *worker; /* (workers) */
	uint32_t workers;
	atomic_uint next;      /* range */
	atomic_bool stop;
	pthread_mutex_t lock;
	pthread_cond_t one_done;
};

/* --- sizes --- */

static uint32_t workers_of(uint32_t threads)
{
	return (uint32_t)gnn_max_u64(1, gnn_min_u64(threads, THREADS_MAX));
}

static uint64_t count_in_pool(const struct gnn_edgepool *p, uint32_t bucket)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < gnn_edgepool_blocks(p); i++) {
		const uint32_t *first = gnn_edgepool_block(p, i)->first + bucket;

		count += first[1] - first[0];
	}
	return count;
}

static uint64_t largest_in_pool(const struct gnn_edgepool *p)
{
	uint64_t largest = 0;

	for (uint32_t k = 0; k < gnn_edgepool_layout(p)->count; k++)
		largest = gnn_max_u64(largest, count_in_pool(p, k));
	return largest;
}

uint64_t gnn_buckets_extra_bytes(const struct gnn_edgepool *p, uint32_t threads)
{
	const struct gnn_bucket_layout *l = gnn_edgepool_layout(p);
	uint64_t bucket = 2 * sizeof(struct bucket), key, largest, worker;

	if (gnn_edgepool_blocks(p) == 0)
		return 0;
	key = gnn_bucket_ops(l)->bytes;
	largest = largest_in_pool(p);
	worker = 2 * gnn_min_u64(largest, SPARE_KEYS) * key;
	bucket += workers_of(threads) *
		(GNN_BUCKET_LINE_BYTES + (RANGES + 1) * sizeof(uint64_t));
	return l->count * bucket + workers_of(threads) * worker + largest * key +
		(gnn_edgepool_id_end(p) + l->row_mask + 1) * sizeof(uint32_t);
}

/* --- threads --- */

static int work(void *arg)
{
	struct worker *w = arg;
	struct gnn_buckets *b = w->buckets;
	uint32_t range;

	while (range = atomic_fetch_add(&b->next, 1), range < b->ranges)
		if (!atomic_load_explicit(&b->stop, memory_order_relaxed))
			w->work(w, range);
	return GNN_OK;
}

/* Starts all workers but the first `from`. */
static int start(struct gnn_buckets *b, uint32_t from, void (*fn)(struct worker *, uint32_t))
{
	int rc = GNN_OK;

	atomic_store(&b->next, 0);
	for (uint32_t i = 0; i < b->workers; i++)
		b->worker[i].work = fn;
	for (uint32_t i = from; i < b->workers; i++)
		GNN_TRY(gnn_stage_start(&b->worker[i].stage, "edge-buckets", work, &b->worker[i]));
out:
	return rc;
}

static void join(struct gnn_buckets *b, int rc)
{
	struct gnn_err_state text;

	gnn_err_save(&text, rc);
	atomic_store(&b->stop, rc < 0);
	for (uint32_t i = 0; i < b->workers; i++)
		gnn_stage_join(&b->worker[i].stage);
	gnn_err_restore(&text);
}

/* --- keys of a bucket --- */

/* Part number i of a bucket, where it is now. False when there are no more. */
static bool span_of(const struct gnn_buckets *b, uint32_t bucket, uint32_t i, struct span *s)
{
	const struct bucket *one = &b->bucket[bucket];
	const struct gnn_edgeblock *block;

	if (b->in_other) {
		*s = (struct span){(uint8_t *)b->other + one->first * b->ops->bytes, one->count};
		return i == 0;
	}
	if (i == gnn_edgepool_blocks(b->pool))
		return false;
	block = gnn_edgepool_block(b->pool, i);
	*s = (struct span){(uint8_t *)block->key + (uint64_t)block->first[bucket] * b->ops->bytes,
		block->first[bucket + 1] - block->first[bucket]};
	return true;
}

/* All keys of a bucket to one place. */
static void gather(const struct gnn_buckets *b, uint32_t bucket, uint8_t *to)
{
	struct span s;

	for (uint32_t i = 0; span_of(b, bucket, i, &s); i++) {
		memcpy(to, s.key, s.count * b->ops->bytes);
		to += s.count * b->ops->bytes;
	}
}

/* The first keys of a bucket back to where it is. */
static void scatter(const struct gnn_buckets *b, uint32_t bucket, const uint8_t *from,
	uint64_t count)
{
	struct span s;

	for (uint32_t i = 0; count > 0 && span_of(b, bucket, i, &s); i++) {
		uint64_t n = gnn_min_u64(s.count, count);

		memcpy(s.key, from, n * b->ops->bytes);
		from += n * b->ops->bytes;
		count -= n;
	}
}

static uint64_t *places_of(const struct gnn_buckets *b, uint32_t range)
{
	return b->place + (uint64_t)range * b->layout.count;
}

/* Ranges of buckets, with about as many keys each. */
static void cut_ranges(struct gnn_buckets *b)
{
	uint32_t k = 0;

	for (uint32_t r = 0; r < b->ranges; r++) {
		while (k < b->layout.count && b->bucket[k].first < b->keys / b->ranges * r)
			k++;
		b->range_first[r] = k;
	}
	b->range_first[b->ranges] = b->layout.count;
}

/* --- by source --- */

/* In the cache when it fits it; else one at a time, on its place in the other array. */
static void sort_one_src(struct worker *w, uint32_t k, struct gnn_bucket_found *found)
{
	struct gnn_buckets *b = w->buckets;
	struct bucket *one = &b->bucket[k];
	bool large = one->count > b->spare_keys;
	void *key = large ? (uint8_t *)b->other + one->first * b->ops->bytes : w->key, *sorted;

	if (large)
		pthread_mutex_lock(&b->large_lock);
	gather(b, k, key);
	sorted = b->ops->sort(key, large ? b->large : w->spare, one->count, b->layout.low,
		b->layout.bits + b->layout.shift);
	one->count = b->ops->settle(&b->layout, sorted, one->count, k, b->opts.unique, found);
	scatter(b, k, sorted, one->count);
	if (large)
		pthread_mutex_unlock(&b->large_lock);
	one->duplicates = found->duplicates;
	one->loops = found->loops;
}

static void sort_src(struct worker *w, uint32_t range)
{
	struct gnn_buckets *b = w->buckets;
	struct gnn_bucket_found found = {.by_dst = places_of(b, range)};

	for (uint32_t k = b->range_first[range]; k < b->range_first[range + 1]; k++)
		sort_one_src(w, k, &found);
}

/* --- opening --- */

/* As large as the largest bucket, or as what is sorted within the cache. */
static int open_workers(struct gnn_buckets *b, uint64_t largest)
{
	uint64_t buckets = b->layout.count;
	void *block;
	int rc = GNN_OK;

	b->spare_keys = gnn_min_u64(largest, SPARE_KEYS);
	if (largest > SPARE_KEYS)
		GNN_TRY(gnn_mem_pages(&b->large, largest * b->ops->bytes, GNN_MEM_SORT));
	GNN_NEW_ARRAY(b->worker, b->workers, GNN_MEM_SORT);
	for (uint32_t i = 0; i < b->workers; i++) {
		struct worker *w = &b->worker[i];

		w->buckets = b;
		GNN_TRY(gnn_mem_pages(&block, buckets * GNN_BUCKET_LINE_BYTES, GNN_MEM_SORT));
		w->lines.line = block;
		GNN_NEW_ARRAY(w->lines.first, buckets, GNN_MEM_SORT);
		GNN_TRY(gnn_mem_pages(&w->key, b->spare_keys * b->ops->bytes, GNN_MEM_SORT));
		GNN_TRY(gnn_mem_pages(&w->spare, b->spare_keys * b->ops->bytes, GNN_MEM_SORT));
	}
out:
	return rc;
}

static int open_buckets(struct gnn_buckets *b)
{
	uint64_t largest = 0;
	void *block;
	int rc = GNN_OK;

	b->layout = *gnn_edgepool_layout(b->pool);
	b->ops = gnn_bucket_ops(&b->layout);
	b->rows = gnn_edgepool_id_end(b->pool);
	GNN_NEW_ARRAY(b->bucket, b->layout.count, GNN_MEM_SORT);
	GNN_NEW_ARRAY(b->place, (uint64_t)b->ranges * b->layout.count, GNN_MEM_SORT);
	GNN_NEW_ARRAY(b->range_first, b->ranges + 1, GNN_MEM_SORT);
	GNN_NEW_ARRAY(b->loops, b->layout.row_mask + 1, GNN_MEM_SORT);
	GNN_TRY(gnn_mem_pages(&block, b->rows * sizeof(*b->end), GNN_MEM_SORT));
	b->end = block;
	for (uint32_t k = 0; k < b->layout.count; k++) {
		struct bucket *one = &b->bucket[k];

		*one = (struct bucket){.first = b->keys, .count = count_in_pool(b->pool, k)};
		b->keys += one->count;
		largest = gnn_max_u64(largest, one->count);
	}
	GNN_TRY(open_workers(b, largest));
	GNN_TRY(gnn_mem_pages(&b->other, b->keys * b->ops->bytes, GNN_MEM_SORT));
	cut_ranges(b);
out:
	return rc;
}

/* All ranges, by all workers, this thread being the first. */
static int sort_all(struct gnn_buckets *b)
{
	int rc;

	GNN_TRY(start(b, 1, sort_src));
	work(&b->worker[0]);
out:
	join(b, rc);
	b->keys = 0;
	for (uint32_t k = 0; k < b->layout.count; k++)
		b->keys += b->bucket[k].count;
	return rc;
}

int gnn_buckets_create(struct gnn_buckets **out, const struct gnn_buckets_opts *o)
{
	struct gnn_buckets *b = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(b, GNN_MEM_SORT);
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->large_lock, NULL);
	pthread_cond_init(&b->one_done, NULL);
	b->opts = *o;
	b->pool = o->pool;
	b->workers = workers_of(o->threads);
	b->ranges = b->workers * RANGES;
	if (gnn_edgepool_blocks(b->pool) > 0) {
		GNN_TRY(open_buckets(b));
		GNN_TRY(sort_all(b));
	}
	*out = b;
	b = NULL;
out:
	gnn_buckets_destroy(b);
	return rc;
}

void gnn_buckets_destroy(struct gnn_buckets *b)
{
	if (b == NULL)
		return;
	for (uint32_t i = 0; b->worker != NULL && i < b->workers; i++) {
		gnn_mem_free(b->worker[i].lines.line);
		gnn_mem_free(b->worker[i].lines.first);
		gnn_mem_free(b->worker[i].key);
		gnn_mem_free(b->worker[i].spare);
	}
	gnn_mem_free(b->worker);
	gnn_mem_free(b->range_first);
	gnn_mem_free(b->place);
	gnn_mem_free(b->bucket);
	gnn_mem_free(b->large);
	gnn_mem_free(b->other);
	gnn_mem_free(b->end);
	gnn_mem_free(b->loops);
	pthread_cond_destroy(&b->one_done);
	pthread_mutex_destroy(&b->large_lock);
	pthread_mutex_destroy(&b->lock);
	gnn_mem_free(b);
}

uint64_t gnn_buckets_edges(const struct gnn_buckets *b)
{
	return b->keys;
}

/* --- handing over --- */

static uint64_t rows_of(const struct gnn_buckets *b, uint32_t k)
{
	uint64_t first = (uint64_t)k << b->layout.shift;

	return first >= b->rows ? 0 : gnn_min_u64(b->rows - first, b->layout.row_mask + 1);
}

/* The sorted keys in a part of a bucket: with `unique` the last parts may be empty. */
static bool sorted_span(const struct gnn_buckets *b, uint32_t k, uint32_t i, uint64_t before,
	struct span *s)
{
	if (before == b->bucket[k].count || !span_of(b, k, i, s))
		return false;
	s->count = gnn_min_u64(s->count, b->bucket[k].count - before);
	return true;
}

/* Where its rows end; then the thread that hands over may take the bucket. */
static void finish_bucket(struct gnn_buckets *b, uint32_t k)
{
	uint32_t *end = b->end + ((uint64_t)k << b->layout.shift), last = 0;
	uint64_t at = 0, rows = rows_of(b, k);
	struct span s;

	memset(end, 0, rows * sizeof(*end));
	for (uint32_t i = 0; sorted_span(b, k, i, at, &s); i++, at += s.count)
		b->ops->ends(&b->layout, s.key, s.count, (uint32_t)at, end);
	for (uint64_t r = 0; r < rows; r++) {
		last = end[r] > last ? end[r] : last;
		end[r] = last;
	}
	pthread_mutex_lock(&b->lock);
	b->bucket[k].done = true;
	pthread_cond_signal(&b->one_done);
	pthread_mutex_unlock(&b->lock);
}

static void await_bucket(struct gnn_buckets *b, uint32_t k)
{
	pthread_mutex_lock(&b->lock);
	while (!b->bucket[k].done)
		pthread_cond_wait(&b->one_done, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

static int hand_over_span(const struct gnn_buckets *b, const struct span *s, gnn_buckets_fn fn,
	void *receiver)
{
	uint32_t neighbor[UNPACKED];
	float weight[UNPACKED];
	int rc = GNN_OK;

	for (uint64_t i = 0; i < s->count; i += UNPACKED) {
		struct gnn_csr_rows rows = {.neighbor = neighbor, .weight = weight,
			.edges = gnn_min_u64(UNPACKED, s->count - i)};

		b->ops->unpack(&b->layout, (uint8_t *)s->key + i * b->ops->bytes, rows.edges,
			neighbor, weight);
		GNN_TRY(fn(receiver, &rows));
	}
out:
	return rc;
}

static int hand_over_bucket(struct gnn_buckets *b, uint32_t k, gnn_buckets_fn fn, void *receiver)
{
	struct gnn_csr_rows rows = {
		.first = (uint64_t)k << b->layout.shift,
		.count = rows_of(b, k),
		.end = b->end + ((uint64_t)k << b->layout.shift),
		.duplicates = b->bucket[k].duplicates,
	};
	uint64_t at = 0;
	struct span s;
	int rc;

	if (b->bucket[k].loops > 0) {
		memset(b->loops, 0, rows.count * sizeof(*b->loops));
		for (uint32_t i = 0; sorted_span(b, k, i, at, &s); i++, at += s.count)
			b->ops->loops(&b->layout, s.key, s.count, k, b->loops);
		rows.loops = b->loops;
	}
	GNN_TRY(fn(receiver, &rows));
	at = 0;
	for (uint32_t i = 0; sorted_span(b, k, i, at, &s); i++, at += s.count)
		GNN_TRY(hand_over_span(b, &s, fn, receiver));
out:
	return rc;
}

/* Buckets in order, while the workers prepare them. */
static int hand_over(struct gnn_buckets *b, void (*prepare)(struct worker *, uint32_t),
	gnn_buckets_fn fn, void *receiver)
{
	int rc;

	GNN_TRY(start(b, 0, prepare));
	for (uint32_t k = 0; k < b->layout.count && rows_of(b, k) > 0; k++) {
		await_bucket(b, k);
		GNN_TRY(hand_over_bucket(b, k, fn, receiver));
	}
out:
	join(b, rc);
	return rc;
}

/* What is by source is distributed by destination on the way. */
static void prepare_src(struct worker *w, uint32_t range)
{
	struct gnn_buckets *b = w->buckets;
	struct span s;

	w->lines.next = places_of(b, range);
	memcpy(w->lines.first, w->lines.next, b->layout.count * sizeof(uint64_t));
	for (uint32_t k = b->range_first[range]; k < b->range_first[range + 1]; k++) {
		uint64_t at = 0;

		for (uint32_t i = 0; !b->opts.both_ways && sorted_span(b, k, i, at, &s); i++) {
			b->ops->by_dst(&w->lines, &b->layout, s.key, s.count, k, b->other);
			at += s.count;
		}
		finish_bucket(b, k);
	}
	if (!b->opts.both_ways)
		b->ops->end(&w->lines, &b->layout, b->other);
}

/* The lower bits of the destination are left. */
static void prepare_dst(struct worker *w, uint32_t range)
{
	struct gnn_buckets *b = w->buckets;
	const struct gnn_bucket_layout *l = &b->layout;

	for (uint32_t k = b->range_first[range]; k < b->range_first[range + 1]; k++) {
		uint64_t count = b->bucket[k].count;
		bool large = count > b->spare_keys;
		struct span s;
		void *sorted;

		span_of(b, k, 0, &s);
		if (large)
			pthread_mutex_lock(&b->large_lock);
		sorted = b->ops->sort(s.key, large ? b->large : w->spare, count, l->low + l->bits,
			l->shift);
		if (sorted != s.key)
			memcpy(s.key, sorted, count * b->ops->bytes);
		if (large)
			pthread_mutex_unlock(&b->large_lock);
		finish_bucket(b, k);
	}
}

/* Counts become the places where each range writes into each bucket; and the buckets are set. */
static uint64_t settle_places(const struct gnn_buckets *b, struct bucket *bucket)
{
	uint64_t sum = 0, largest = 0;

	for (uint32_t k = 0; k < b->layout.count; k++) {
		bucket[k] = (struct bucket){.first = sum};
		for (uint32_t r = 0; r < b->ranges; r++) {
			uint64_t *at = places_of(b, r) + k, count = *at;

			*at = sum;
			sum += count;
		}
		bucket[k].count = sum - bucket[k].first;
		largest = gnn_max_u64(largest, bucket[k].count);
	}
	GNN_ASSERT(sum == b->keys);
	return largest;
}

/* The largest bucket by destination may be larger than any by source. */
static int enlarge(struct gnn_buckets *b, uint64_t largest)
{
	gnn_mem_free(b->large);
	b->large = NULL;
	return largest <= b->spare_keys ? GNN_OK :
		gnn_mem_pages(&b->large, largest * b->ops->bytes, GNN_MEM_SORT);
}

int gnn_buckets_by_src(struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver)
{
	struct bucket *by_dst = NULL; /* those by source are needed until all are handed over */
	uint64_t largest;
	int rc = GNN_OK;

	if (b->rows == 0)
		return GNN_OK;
	GNN_NEW_ARRAY(by_dst, b->layout.count, GNN_MEM_SORT);
	largest = settle_places(b, by_dst);
	GNN_TRY(hand_over(b, prepare_src, fn, receiver));
	gnn_mem_free(b->bucket);
	b->bucket = by_dst;
	by_dst = NULL;
	b->in_other = true;
	gnn_edgepool_empty(b->pool);
	cut_ranges(b);
	GNN_TRY(enlarge(b, largest));
out:
	gnn_mem_free(by_dst);
	return rc;
}

int gnn_buckets_by_dst(struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver)
{
	return b->rows == 0 ? GNN_OK : hand_over(b, prepare_dst, fn, receiver);
}
