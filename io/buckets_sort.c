/* io/buckets_sort.c - edges by source, and the threads; see buckets.h. */
#include "base/mem.h"
#include "base/stage.h"
#include "io/buckets_parts.h"

#include <string.h>

enum {
	SPARE_KEYS = 64 << 10, /* sorted within the cache */
	THREADS_MAX = 64,
	RANGES = 8,            /* for every thread: what one takes at a time */
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

/* Keys of the largest bucket, or of all. */
static uint64_t largest_in_pool(const struct gnn_edgepool *p, bool all)
{
	uint64_t largest = 0, sum = 0;

	for (uint32_t k = 0; k < gnn_edgepool_layout(p)->count; k++) {
		uint64_t count = count_in_pool(p, k);

		largest = gnn_max_u64(largest, count);
		sum += count;
	}
	return all ? sum : largest;
}

uint64_t gnn_buckets_extra_bytes(const struct gnn_edgepool *p, uint32_t threads, bool anew)
{
	const struct gnn_bucket_layout *l = gnn_edgepool_layout(p);
	uint64_t bucket = 2 * sizeof(struct gnn_bucket), key, largest, worker;

	if (gnn_edgepool_blocks(p) == 0)
		return 0;
	key = gnn_bucket_ops(l)->bytes;
	largest = largest_in_pool(p, anew);
	worker = 2 * gnn_min_u64(largest, SPARE_KEYS) * key;
	bucket += workers_of(threads) *
		(GNN_BUCKET_LINE_BYTES + (RANGES + 1) * sizeof(uint64_t));
	return l->count * bucket + workers_of(threads) * worker + largest * key +
		2 * gnn_edgepool_id_end(p) * sizeof(uint32_t);
}

/* --- threads --- */

static bool take_range(struct gnn_buckets *b, uint32_t *range)
{
	bool more;

	pthread_mutex_lock(&b->lock);
	*range = b->next;
	more = !b->stop && b->next < b->ranges;
	b->next += more;
	pthread_mutex_unlock(&b->lock);
	return more;
}

static int work(void *arg)
{
	struct gnn_bucket_worker *w = arg;
	struct gnn_buckets *b = w->buckets;
	uint32_t range;

	while (take_range(b, &range))
		w->work(w, range);
	return GNN_OK;
}

int gnn_buckets_start(struct gnn_buckets *b, uint32_t from,
	void (*fn)(struct gnn_bucket_worker *, uint32_t))
{
	int rc = GNN_OK;

	b->next = 0; /* there are no threads yet */
	for (uint32_t i = 0; i < b->workers; i++)
		b->worker[i].work = fn;
	for (uint32_t i = from; i < b->workers; i++)
		GNN_TRY(gnn_stage_start(&b->worker[i].stage, "edge-buckets", work, &b->worker[i]));
out:
	return rc;
}

void gnn_buckets_join(struct gnn_buckets *b, int rc)
{
	struct gnn_err_state text;

	gnn_err_save(&text, rc);
	pthread_mutex_lock(&b->lock);
	b->stop = rc < 0;
	pthread_mutex_unlock(&b->lock);
	for (uint32_t i = 0; i < b->workers; i++)
		gnn_stage_join(&b->worker[i].stage);
	gnn_err_restore(&text);
}

/* --- keys of a bucket --- */

bool gnn_buckets_span(const struct gnn_buckets *b, uint32_t bucket, uint32_t i,
	struct gnn_bucket_span *s)
{
	const struct gnn_bucket *one = &b->bucket[bucket];
	const struct gnn_edgeblock *block;

	if (b->in_other) {
		*s = (struct gnn_bucket_span){
			(uint8_t *)b->other + one->first * b->ops->bytes, one->count};
		return i == 0;
	}
	if (i == gnn_edgepool_blocks(b->pool))
		return false;
	block = gnn_edgepool_block(b->pool, i);
	*s = (struct gnn_bucket_span){
		(uint8_t *)block->key + (uint64_t)block->first[bucket] * b->ops->bytes,
		block->first[bucket + 1] - block->first[bucket]};
	return true;
}

/* All keys of a bucket to one place. */
static void gather(const struct gnn_buckets *b, uint32_t bucket, uint8_t *to)
{
	struct gnn_bucket_span s;

	for (uint32_t i = 0; gnn_buckets_span(b, bucket, i, &s); i++) {
		memcpy(to, s.key, s.count * b->ops->bytes);
		to += s.count * b->ops->bytes;
	}
}

/* The first keys of a bucket back to where it is. */
static void scatter(const struct gnn_buckets *b, uint32_t bucket, const uint8_t *from,
	uint64_t count)
{
	struct gnn_bucket_span s;

	for (uint32_t i = 0; count > 0 && gnn_buckets_span(b, bucket, i, &s); i++) {
		uint64_t n = gnn_min_u64(s.count, count);

		memcpy(s.key, from, n * b->ops->bytes);
		from += n * b->ops->bytes;
		count -= n;
	}
}

uint64_t *gnn_buckets_places(const struct gnn_buckets *b, uint32_t range)
{
	return b->place + (uint64_t)range * b->layout.count;
}

void gnn_buckets_cut_ranges(struct gnn_buckets *b)
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
static void sort_one_src(struct gnn_bucket_worker *w, uint32_t k, struct gnn_bucket_found *found)
{
	struct gnn_buckets *b = w->buckets;
	struct gnn_bucket *one = &b->bucket[k];
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

static void sort_src(struct gnn_bucket_worker *w, uint32_t range)
{
	struct gnn_buckets *b = w->buckets;
	struct gnn_bucket_found found = {.by_dst = gnn_buckets_places(b, range)};

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
		struct gnn_bucket_worker *w = &b->worker[i];

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
	GNN_TRY(gnn_mem_pages(&block, b->rows * sizeof(*b->end), GNN_MEM_SORT));
	b->end = block;
	for (uint32_t k = 0; k < b->layout.count; k++) {
		struct gnn_bucket *one = &b->bucket[k];

		*one = (struct gnn_bucket){.first = b->keys, .count = count_in_pool(b->pool, k)};
		b->keys += one->count;
		largest = gnn_max_u64(largest, one->count);
	}
	GNN_TRY(open_workers(b, largest));
	GNN_TRY(gnn_mem_pages(&b->other, b->keys * b->ops->bytes, GNN_MEM_SORT));
	gnn_buckets_cut_ranges(b);
out:
	return rc;
}

/* All ranges, by all workers, this thread being the first. */
static int sort_all(struct gnn_buckets *b)
{
	int rc;

	GNN_TRY(gnn_buckets_start(b, 1, sort_src));
	work(&b->worker[0]);
out:
	gnn_buckets_join(b, rc);
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
