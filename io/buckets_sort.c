/* io/buckets_sort.c - see buckets.h. A bucket is sorted, its rows end; what of it goes where. */
#include "base/mem.h"
#include "io/buckets_parts.h"

#include <string.h>

enum {
	RANGE_KEYS = 256 << 10,
	RANGES = 4,        /* for every thread, at least */
	BUCKET_SHARE = 4,  /* a large bucket has this many times as many keys as the others */
	UNPACKED = 1024,
};

/* --- sizes --- */

static uint32_t workers_of(uint32_t threads)
{
	return (uint32_t)gnn_max_u64(1, gnn_min_u64(threads, GNN_BUCKETS_THREADS_MAX));
}

static uint64_t bucket_keys_of(const struct gnn_bucket_layout *l, uint64_t keys)
{
	return gnn_min_u64(keys, BUCKET_SHARE * gnn_ceil_div(keys, l->count));
}

static uint64_t range_keys_of(uint64_t bucket_keys, uint64_t keys, uint32_t workers)
{
	return gnn_max_u64(bucket_keys, gnn_min_u64(RANGE_KEYS, keys / (RANGES * workers)));
}

/* Keys of the largest bucket; *all gets those of all. */
static uint64_t largest_of(const struct gnn_bucketset *s, uint64_t *all)
{
	uint64_t largest = 0;

	*all = 0;
	for (uint32_t k = 0; k < gnn_bucketset_layout(s)->count; k++) {
		uint64_t count = gnn_bucketset_count(s, k);

		largest = gnn_max_u64(largest, count);
		*all += count;
	}
	return largest;
}

uint64_t gnn_buckets_extra_bytes(const struct gnn_buckets_opts *o, bool anew)
{
	const struct gnn_bucketset *s = gnn_edgepool_set(o->pool);
	uint64_t weight = o->weighted ? sizeof(float) : 0, workers = workers_of(o->threads);
	uint64_t largest, keys, key, bucket_keys, bytes, chunk;
	const struct gnn_bucket_layout *l;

	if (s == NULL)
		return 0;
	l = gnn_bucketset_layout(s);
	key = gnn_bucket_ops(l)->bytes;
	chunk = gnn_chunks_bytes(gnn_edgepool_chunks(o->pool));
	largest = largest_of(s, &keys);
	bucket_keys = bucket_keys_of(l, keys);
	bytes = workers * 2 * bucket_keys * key + (workers + 2) * (sizeof(uint32_t) + weight) *
		range_keys_of(bucket_keys, keys, (uint32_t)workers);
	if (largest > bucket_keys || anew)
		bytes += (anew ? keys : largest) * (2 * key + weight);
	bytes += workers * (gnn_bucketset_writer_bytes(l) + gnn_min_u64(l->count, keys) * chunk);
	bytes += gnn_bucketset_part_bytes(l) * 2 *
		(l->count + keys / range_keys_of(bucket_keys, keys, (uint32_t)workers) + 1) / 2;
	return bytes + l->count * sizeof(uint32_t) + 2 * gnn_edgepool_id_end(o->pool) *
		sizeof(uint32_t);
}

/* --- sorting one bucket --- */

/* Counts become places, in order. */
static void settle_places(uint32_t *count, uint32_t mask)
{
	uint32_t sum = 0;

	for (uint32_t d = 0; d <= mask; d++) {
		uint32_t here = count[d];

		count[d] = sum;
		sum += here;
	}
}

/* All keys as they are. */
static void gather(const struct gnn_buckets *b, uint32_t bucket, uint8_t *to)
{
	struct gnn_bucket_reader r;
	struct gnn_bucket_span s;

	gnn_bucketset_read(b->set, bucket, &r);
	while (gnn_bucket_reader_next(&r, &s)) {
		memcpy(to, s.key, s.count * b->ops->bytes);
		to += s.count * b->ops->bytes;
	}
}

struct sorted {
	void *key, *spare; /* goes back and forth between these; key is where the result is */
	uint64_t count;
};

/* Keys of one bucket, without weights: equal ones are the same. */
static void sort_lanes(const struct gnn_buckets *b, uint32_t bucket, const struct sorted *s)
{
	gather(b, bucket, s->key);
	b->sort(s->key, s->spare, s->count, b->layout.bits + b->layout.shift);
}

/*
 * Digit after digit, from the lowest. The places of the last one have moved on to the ends of the
 * rows then, if the row is one digit: they are added to `first` and put into `end`.
 */
static void sort_digits(const struct gnn_buckets *b, uint32_t bucket, struct sorted *s,
	uint32_t first, uint32_t *end, uint64_t rows)
{
	struct gnn_bucket_digit digit[GNN_BUCKET_DIGITS_MAX];
	uint32_t place[GNN_BUCKET_DIGITS_MAX][GNN_BUCKET_COUNTS];
	uint32_t digits = gnn_bucket_digits(&b->layout, s->count, !b->in_by_dst, digit);
	struct gnn_bucket_reader r;
	struct gnn_bucket_span span;

	if (digits == 0) {
		gather(b, bucket, s->key);
		return;
	}
	for (uint32_t i = 0; i < digits; i++)
		memset(place[i], 0, (digit[i].mask + 1) * sizeof(**place));
	gnn_bucketset_read(b->set, bucket, &r);
	while (gnn_bucket_reader_next(&r, &span))
		b->ops->count(span.key, span.count, digit, digits, place);
	for (uint32_t i = 0; i < digits; i++)
		settle_places(place[i], digit[i].mask);
	gnn_bucketset_read(b->set, bucket, &r);
	while (gnn_bucket_reader_next(&r, &span))
		b->ops->pass(span.key, span.count, digit[0], place[0], s->key);
	for (uint32_t i = 1; i < digits; i++) {
		void *from = s->key;

		b->ops->pass(from, s->count, digit[i], place[i], s->spare);
		s->key = s->spare;
		s->spare = from;
	}
	if (gnn_bucket_row_is_digit(&b->layout))
		for (uint64_t row = 0; row < rows; row++)
			end[row] = first + place[digits - 1][row];
}

/* Where rows end, from sorted keys. */
static void find_ends(const struct gnn_buckets *b, const struct sorted *s, uint32_t first,
	uint32_t *end, uint64_t rows)
{
	uint32_t last = first;

	memset(end, 0, rows * sizeof(*end));
	b->ops->ends(&b->layout, s->key, s->count, first, end);
	for (uint64_t row = 0; row < rows; row++) {
		last = end[row] > last ? end[row] : last;
		end[row] = last;
	}
}

/* --- the work on a range --- */

/* A key is no smaller than its neighbour, which comes in its place. */
static void unpack_in_place(const struct gnn_buckets *b, const struct sorted *s,
	struct gnn_delivery *d)
{
	uint32_t neighbor[UNPACKED];

	d->neighbor = s->key;
	for (uint64_t i = 0, n; i < s->count; i += n) {
		n = gnn_min_u64(UNPACKED, s->count - i);
		b->ops->unpack(&b->layout, (uint8_t *)s->key + i * b->ops->bytes, n, neighbor,
			d->weight == NULL ? NULL : d->weight + i);
		memcpy(d->neighbor + i, neighbor, n * sizeof(*neighbor));
	}
}

/* Its rows go to the delivery, its keys, when they are not by destination yet, there too. */
static int finish_bucket(struct gnn_bucket_worker *w, uint32_t bucket, struct sorted *s,
	struct gnn_delivery *d, bool large)
{
	const struct gnn_buckets *b = w->buckets;
	const struct gnn_bucket_layout *l = &b->layout;
	struct gnn_bucket_writer *to;
	int rc = GNN_OK;

	if (b->by_dst != NULL && !b->in_by_dst) {
		gnn_bucketset_move(b->set, bucket, b->by_dst, w->number);
		GNN_TRY(gnn_bucketset_writer(b->by_dst, w->number, &to));
		b->ops->by_dst(to, l, s->key, s->count, bucket);
		GNN_TRY(to->status);
	}
	if (large)
		unpack_in_place(b, s, d);
	else
		b->ops->unpack(l, s->key, s->count, d->neighbor + d->edges,
			d->weight == NULL ? NULL : d->weight + d->edges);
	d->edges += s->count;
out:
	return rc;
}

static uint64_t rows_of(const struct gnn_buckets *b, uint32_t bucket)
{
	uint64_t first = (uint64_t)bucket << b->layout.shift;

	return first >= b->rows ? 0 : gnn_min_u64(b->rows - first, b->layout.row_mask + 1);
}

static int work_on_bucket(struct gnn_bucket_worker *w, uint32_t bucket, struct gnn_delivery *d)
{
	struct gnn_buckets *b = w->buckets;
	uint64_t rows = rows_of(b, bucket), first = (uint64_t)bucket << b->layout.shift;
	struct sorted s = {w->key, w->spare, gnn_bucketset_count(b->set, bucket)};
	bool large = gnn_buckets_is_large(b, s.count), lanes = !b->in_by_dst && b->sort != NULL;
	bool ends = !lanes && gnn_bucket_row_is_digit(&b->layout);
	uint32_t *end = b->end + first;
	uint64_t duplicates = 0;
	int rc = GNN_OK;

	if (rows == 0)
		return GNN_OK;
	if (large)
		s = (struct sorted){b->large_key, b->large_spare, s.count};
	if (lanes)
		sort_lanes(b, bucket, &s);
	else
		sort_digits(b, bucket, &s, (uint32_t)d->edges, end, rows);
	if (!b->in_by_dst) {
		uint64_t count = s.count;

		s.count = b->ops->settle(&b->layout, s.key, count, b->opts.unique, &duplicates);
		ends = ends && s.count == count;
		if (b->loops != NULL)
			memset(b->loops + first, 0, rows * sizeof(*b->loops));
		if (b->loops != NULL)
			b->ops->loops(&b->layout, s.key, s.count, bucket, b->loops + first);
	}
	if (!ends)
		find_ends(b, &s, (uint32_t)d->edges, end, rows);
	d->duplicates += b->opts.unique ? 0 : duplicates;
	if (b->fn != NULL)
		GNN_TRY(finish_bucket(w, bucket, &s, d, large));
	else
		d->edges += s.count;
out:
	return rc;
}

static int work_on_range(struct gnn_bucket_worker *w, struct gnn_delivery *d)
{
	struct gnn_buckets *b = w->buckets;
	int rc = GNN_OK;

	for (uint32_t k = b->range_first[d->range]; k < b->range_first[d->range + 1]; k++) {
		if (k + 1 < b->layout.count)
			gnn_bucketset_prefetch(b->set, k + 1);
		GNN_TRY(work_on_bucket(w, k, d));
	}
	if (b->by_dst != NULL && !b->in_by_dst)
		GNN_TRY(gnn_bucketset_part(b->by_dst, w->number, d->range));
out:
	return rc;
}

/* --- opening --- */

static int open_workers(struct gnn_buckets *b)
{
	uint64_t bytes = b->bucket_keys * b->ops->bytes;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(b->worker, b->workers, GNN_MEM_SORT);
	for (uint32_t i = 0; i < b->workers; i++) {
		struct gnn_bucket_worker *w = &b->worker[i];

		w->buckets = b;
		w->number = i;
		GNN_TRY(gnn_mem_pages(&w->key, bytes, GNN_MEM_SORT));
		GNN_TRY(gnn_mem_pages(&w->spare, bytes, GNN_MEM_SORT));
	}
out:
	return rc;
}

static void free_large(struct gnn_buckets *b)
{
	gnn_mem_free(b->large_key);
	gnn_mem_free(b->large_spare);
	gnn_mem_free(b->large_weight);
	b->large_key = b->large_spare = NULL;
	b->large_weight = NULL;
}

/* The largest bucket by destination may be larger than any by source. */
static int open_large(struct gnn_buckets *b)
{
	struct gnn_bucket_digit digit[GNN_BUCKET_DIGITS_MAX];
	uint64_t keys, largest = largest_of(b->set, &keys);
	void *block;
	int rc = GNN_OK;

	free_large(b);
	if (!gnn_buckets_is_large(b, largest))
		return GNN_OK;
	GNN_TRY(gnn_mem_pages(&b->large_key, largest * b->ops->bytes, GNN_MEM_SORT));
	if ((b->sort != NULL && !b->in_by_dst) ||
		gnn_bucket_digits(&b->layout, 1, !b->in_by_dst, digit) > 1)
		GNN_TRY(gnn_mem_pages(&b->large_spare, largest * b->ops->bytes, GNN_MEM_SORT));
	if (b->opts.weighted) {
		GNN_TRY(gnn_mem_pages(&block, largest * sizeof(float), GNN_MEM_SORT));
		b->large_weight = block;
	}
out:
	return rc;
}

static int open_rows(struct gnn_buckets *b)
{
	void *block;
	int rc;

	GNN_TRY(gnn_mem_pages(&block, b->rows * sizeof(*b->end), GNN_MEM_SORT));
	b->end = block;
	if (b->opts.loops) {
		GNN_TRY(gnn_mem_pages(&block, b->rows * sizeof(*b->loops), GNN_MEM_SORT));
		b->loops = block;
	}
out:
	return rc;
}

/* How buckets by source are sorted. Equal edges keep their order with weights. */
static gnn_lanesort_fn sort_of(const struct gnn_buckets *b)
{
	return b->opts.weighted ? NULL : gnn_lanesort(b->ops->bytes);
}

static int open_buckets(struct gnn_buckets *b)
{
	int rc;

	b->layout = *gnn_bucketset_layout(b->set);
	b->ops = gnn_bucket_ops(&b->layout);
	b->sort = sort_of(b);
	b->rows = gnn_edgepool_id_end(b->opts.pool);
	largest_of(b->set, &b->keys);
	b->edges = b->keys;
	b->bucket_keys = bucket_keys_of(&b->layout, b->keys);
	b->range_keys = range_keys_of(b->bucket_keys, b->keys, b->workers);
	GNN_NEW_ARRAY(b->range_first, b->layout.count + 1, GNN_MEM_SORT);
	GNN_TRY(open_rows(b));
	GNN_TRY(open_large(b));
	GNN_TRY(open_workers(b));
	GNN_TRY(gnn_buckets_open_deliveries(b));
out:
	return rc;
}

/* How many edges there are without equal ones is found by sorting them once more. */
static int count_edges(struct gnn_buckets *b)
{
	int rc;

	b->edges = 0;
	GNN_TRY(gnn_buckets_run(b, work_on_range, NULL, NULL));
out:
	return rc;
}

int gnn_buckets_create(struct gnn_buckets **out, const struct gnn_buckets_opts *o)
{
	struct gnn_buckets *b = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(b, GNN_MEM_SORT);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	b->opts = *o;
	b->set = gnn_edgepool_set(o->pool);
	b->workers = workers_of(o->threads);
	if (b->set != NULL)
		GNN_TRY(open_buckets(b));
	if (b->set != NULL && o->unique)
		GNN_TRY(count_edges(b));
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
		gnn_mem_free(b->worker[i].key);
		gnn_mem_free(b->worker[i].spare);
	}
	gnn_mem_free(b->worker);
	gnn_buckets_close_deliveries(b);
	gnn_bucketset_destroy(b->by_dst);
	free_large(b);
	gnn_mem_free(b->range_first);
	gnn_mem_free(b->end);
	gnn_mem_free(b->loops);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	gnn_mem_free(b);
}

uint64_t gnn_buckets_edges(const struct gnn_buckets *b)
{
	return b->edges;
}

/* --- both orders --- */

int gnn_buckets_by_src(struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver)
{
	int rc = GNN_OK;

	if (b->set == NULL)
		return GNN_OK;
	if (!b->opts.both_ways)
		GNN_TRY(gnn_bucketset_create(&b->by_dst, &b->layout,
			gnn_edgepool_chunks(b->opts.pool), b->workers));
	GNN_TRY(gnn_buckets_run(b, work_on_range, fn, receiver));
	if (b->by_dst == NULL)
		goto out;
	GNN_TRY(gnn_bucketset_end(b->by_dst));
	gnn_edgepool_empty(b->opts.pool);
	b->set = b->by_dst;
	b->in_by_dst = true;
	GNN_TRY(open_large(b));
out:
	return rc;
}

int gnn_buckets_by_dst(struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver)
{
	return b->set == NULL ? GNN_OK : gnn_buckets_run(b, work_on_range, fn, receiver);
}
