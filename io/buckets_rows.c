/* io/buckets_rows.c - both orders are handed over, row after row; see buckets.h. */
#include "base/mem.h"
#include "io/buckets_parts.h"

#include <string.h>

enum { UNPACKED = 4096 }; /* handed over at a time */

static uint64_t rows_of(const struct gnn_buckets *b, uint32_t k)
{
	uint64_t first = (uint64_t)k << b->layout.shift;

	return first >= b->rows ? 0 : gnn_min_u64(b->rows - first, b->layout.row_mask + 1);
}

/* The sorted keys in a part of a bucket: with `unique` the last parts may be empty. */
static bool sorted_span(const struct gnn_buckets *b, uint32_t k, uint32_t i, uint64_t before,
	struct gnn_bucket_span *s)
{
	if (before == b->bucket[k].count || !gnn_buckets_span(b, k, i, s))
		return false;
	s->count = gnn_min_u64(s->count, b->bucket[k].count - before);
	return true;
}

/* Keys that are as wide as a neighbour become one where they are. */
static bool unpacks_in_place(const struct gnn_buckets *b)
{
	return b->ops->bytes == sizeof(uint32_t);
}

static void finish_span(struct gnn_buckets *b, uint32_t k, const struct gnn_bucket_span *s,
	uint64_t at)
{
	uint64_t row = (uint64_t)k << b->layout.shift;

	b->ops->ends(&b->layout, s->key, s->count, (uint32_t)at, b->end + row);
	if (b->bucket[k].loops > 0)
		b->ops->loops(&b->layout, s->key, s->count, k, b->loops + row);
	if (unpacks_in_place(b))
		b->ops->unpack(&b->layout, s->key, s->count, s->key, NULL);
}

/* Where its rows end; then the thread that hands over may take the bucket. */
static void finish_bucket(struct gnn_buckets *b, uint32_t k)
{
	uint64_t at = 0, rows = rows_of(b, k), row = (uint64_t)k << b->layout.shift;
	uint32_t *end = b->end + row, last = 0;
	struct gnn_bucket_span s;

	memset(end, 0, rows * sizeof(*end));
	if (b->bucket[k].loops > 0)
		memset(b->loops + row, 0, rows * sizeof(*b->loops));
	for (uint32_t i = 0; sorted_span(b, k, i, at, &s); i++, at += s.count)
		finish_span(b, k, &s, at);
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

static int hand_over_span(const struct gnn_buckets *b, const struct gnn_bucket_span *s,
	gnn_buckets_fn fn, void *receiver)
{
	uint32_t neighbor[UNPACKED];
	float weight[UNPACKED];
	int rc = GNN_OK;

	if (unpacks_in_place(b))
		return fn(receiver, &(struct gnn_csr_rows){.neighbor = s->key, .edges = s->count});
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
	struct gnn_bucket_span s;
	int rc;

	if (b->bucket[k].loops > 0)
		rows.loops = b->loops + rows.first;
	GNN_TRY(fn(receiver, &rows));
	for (uint32_t i = 0; sorted_span(b, k, i, at, &s); i++, at += s.count)
		GNN_TRY(hand_over_span(b, &s, fn, receiver));
out:
	return rc;
}

/* Buckets in order, while the workers prepare them. */
static int hand_over(struct gnn_buckets *b, void (*prepare)(struct gnn_bucket_worker *, uint32_t),
	gnn_buckets_fn fn, void *receiver)
{
	int rc;

	GNN_TRY(gnn_buckets_start(b, 0, prepare));
	for (uint32_t k = 0; k < b->layout.count && rows_of(b, k) > 0; k++) {
		await_bucket(b, k);
		GNN_TRY(hand_over_bucket(b, k, fn, receiver));
	}
out:
	gnn_buckets_join(b, rc);
	return rc;
}

/* What is by source is distributed by destination on the way. */
static void prepare_src(struct gnn_bucket_worker *w, uint32_t range)
{
	struct gnn_buckets *b = w->buckets;
	struct gnn_bucket_span s;

	w->lines.next = gnn_buckets_places(b, range);
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
static void prepare_dst(struct gnn_bucket_worker *w, uint32_t range)
{
	struct gnn_buckets *b = w->buckets;
	const struct gnn_bucket_layout *l = &b->layout;

	for (uint32_t k = b->range_first[range]; k < b->range_first[range + 1]; k++) {
		uint64_t count = b->bucket[k].count;
		bool large = count > b->spare_keys;
		struct gnn_bucket_span s = {0};
		void *sorted;

		gnn_buckets_span(b, k, 0, &s);
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
static uint64_t settle_places(const struct gnn_buckets *b, struct gnn_bucket *bucket)
{
	uint64_t sum = 0, largest = 0;

	for (uint32_t k = 0; k < b->layout.count; k++) {
		bucket[k] = (struct gnn_bucket){.first = sum};
		for (uint32_t r = 0; r < b->ranges; r++) {
			uint64_t *at = gnn_buckets_places(b, r) + k, count = *at;

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

static int open_loops(struct gnn_buckets *b)
{
	uint64_t loops = 0;
	void *block;
	int rc = GNN_OK;

	for (uint32_t k = 0; k < b->layout.count; k++)
		loops += b->bucket[k].loops;
	if (loops == 0)
		return GNN_OK;
	GNN_TRY(gnn_mem_pages(&block, b->rows * sizeof(*b->loops), GNN_MEM_SORT));
	b->loops = block;
out:
	return rc;
}

int gnn_buckets_by_src(struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver)
{
	struct gnn_bucket *by_dst = NULL; /* those by source are needed until all are handed over */
	uint64_t largest;
	int rc = GNN_OK;

	if (b->rows == 0)
		return GNN_OK;
	GNN_TRY(open_loops(b));
	GNN_NEW_ARRAY(by_dst, b->layout.count, GNN_MEM_SORT);
	largest = settle_places(b, by_dst);
	GNN_TRY(hand_over(b, prepare_src, fn, receiver));
	gnn_mem_free(b->bucket);
	b->bucket = by_dst;
	by_dst = NULL;
	b->in_other = true;
	gnn_edgepool_empty(b->pool);
	gnn_buckets_cut_ranges(b);
	GNN_TRY(enlarge(b, largest));
out:
	gnn_mem_free(by_dst);
	return rc;
}

int gnn_buckets_by_dst(struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver)
{
	return b->rows == 0 ? GNN_OK : hand_over(b, prepare_dst, fn, receiver);
}
