/* io/buckets_deliver.c - ranges of buckets to the workers, and their rows on in order. */
#include "base/mem.h"
#include "base/stage.h"
#include "io/buckets_parts.h"

static uint64_t rows_before(const struct gnn_buckets *b, uint32_t bucket)
{
	return gnn_min_u64((uint64_t)bucket << b->layout.shift, b->rows);
}

bool gnn_buckets_is_large(const struct gnn_buckets *b, uint64_t keys)
{
	return keys > b->bucket_keys;
}

int gnn_buckets_open_deliveries(struct gnn_buckets *b)
{
	void *block;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(b->delivery, b->workers + 2, GNN_MEM_SORT);
	b->deliveries = b->workers + 2;
	for (uint32_t i = 0; i < b->deliveries; i++) {
		struct gnn_delivery *d = &b->delivery[i];

		GNN_TRY(gnn_mem_pages(&block, b->range_keys * sizeof(uint32_t), GNN_MEM_SORT));
		d->own_neighbor = block;
		if (!b->opts.weighted)
			continue;
		GNN_TRY(gnn_mem_pages(&block, b->range_keys * sizeof(float), GNN_MEM_SORT));
		d->own_weight = block;
	}
out:
	return rc;
}

void gnn_buckets_close_deliveries(struct gnn_buckets *b)
{
	for (uint32_t i = 0; i < b->deliveries; i++) {
		gnn_mem_free(b->delivery[i].own_neighbor);
		gnn_mem_free(b->delivery[i].own_weight);
	}
	gnn_mem_free(b->delivery);
}

/* --- taking a range --- */

static struct gnn_delivery *find_idle(struct gnn_buckets *b)
{
	for (uint32_t i = 0; i < b->deliveries; i++)
		if (b->delivery[i].idle)
			return &b->delivery[i];
	return NULL;
}

/* One bucket, larger than others may be together. */
static bool large_range(const struct gnn_buckets *b, uint32_t range)
{
	return gnn_buckets_is_large(b, gnn_bucketset_count(b->set, b->range_first[range]));
}

/*
 * The next range, and where its rows go. Large ones have one place for all: it is free when all
 * that comes before has been delivered. NULL when there are no more, or all have to stop.
 */
static struct gnn_delivery *take_range(struct gnn_buckets *b)
{
	struct gnn_delivery *d = NULL;
	bool large = false;

	pthread_mutex_lock(&b->lock);
	while (!b->stop && b->next < b->ranges && (d = find_idle(b)) == NULL)
		pthread_cond_wait(&b->changed, &b->lock);
	if (!b->stop && b->next < b->ranges) {
		d->idle = false;
		d->range = b->next++;
		large = large_range(b, d->range);
		while (large && !b->stop && b->delivered != d->range)
			pthread_cond_wait(&b->changed, &b->lock);
	} else {
		d = NULL;
	}
	if (b->stop)
		d = NULL;
	pthread_mutex_unlock(&b->lock);
	if (d == NULL)
		return NULL;
	d->neighbor = d->own_neighbor;
	d->weight = large ? b->large_weight : d->own_weight;
	d->edges = d->duplicates = 0;
	return d;
}

/* --- handing on --- */

static int hand_on(struct gnn_buckets *b, const struct gnn_delivery *d)
{
	uint64_t first = rows_before(b, b->range_first[d->range]);

	if (b->fn == NULL) {
		b->edges += d->edges;
		return GNN_OK;
	}
	return b->fn(b->receiver, &(struct gnn_csr_rows){
		.first = first,
		.count = rows_before(b, b->range_first[d->range + 1]) - first,
		.end = b->end + first,
		.loops = b->loops == NULL || b->in_by_dst ? NULL : b->loops + first,
		.duplicates = d->duplicates,
		.neighbor = d->neighbor,
		.weight = d->weight,
		.edges = d->edges,
	});
}

static struct gnn_delivery *find_next(struct gnn_buckets *b)
{
	for (uint32_t i = 0; i < b->deliveries; i++)
		if (b->delivery[i].ready && b->delivery[i].range == b->delivered)
			return &b->delivery[i];
	return NULL;
}

/*
 * Whoever is through with the range that comes next hands it on, and with it those behind it that
 * are ready by then.
 */
static int deliver(struct gnn_buckets *b, struct gnn_delivery *d)
{
	int rc = GNN_OK;

	pthread_mutex_lock(&b->lock);
	d->ready = true;
	while (!b->delivering && rc == GNN_OK && (d = find_next(b)) != NULL) {
		b->delivering = true;
		pthread_mutex_unlock(&b->lock);
		rc = hand_on(b, d);
		pthread_mutex_lock(&b->lock);
		b->delivering = false;
		d->ready = false;
		d->idle = true;
		b->delivered++;
		pthread_cond_broadcast(&b->changed);
	}
	pthread_mutex_unlock(&b->lock);
	return rc;
}

/* --- all ranges --- */

static void stop_all(struct gnn_buckets *b)
{
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static int work_on(void *arg)
{
	struct gnn_bucket_worker *w = arg;
	struct gnn_buckets *b = w->buckets;
	struct gnn_delivery *d;
	int rc = GNN_OK;

	while ((d = take_range(b)) != NULL) {
		GNN_TRY(b->work(w, d));
		GNN_TRY(deliver(b, d));
	}
out:
	if (rc < 0)
		stop_all(b);
	return rc;
}

/* About as many keys in each, and several ranges for every thread. A large bucket is alone. */
static void cut_ranges(struct gnn_buckets *b)
{
	uint64_t keys = 0;
	bool alone = true;

	b->ranges = 0;
	for (uint32_t k = 0; k < b->layout.count; k++) {
		uint64_t count = gnn_bucketset_count(b->set, k);

		if (alone || gnn_buckets_is_large(b, count) || keys + count > b->range_keys) {
			b->range_first[b->ranges++] = k;
			keys = 0;
		}
		alone = gnn_buckets_is_large(b, count);
		keys += count;
	}
	b->range_first[b->ranges] = b->layout.count;
}

int gnn_buckets_run(struct gnn_buckets *b, gnn_bucket_work_fn work, gnn_buckets_fn fn,
	void *receiver)
{
	struct gnn_err_state first = {0};
	int rc = GNN_OK, one;

	cut_ranges(b);
	b->work = work;
	b->fn = fn;
	b->receiver = receiver;
	b->next = b->delivered = 0; /* there are no threads yet */
	b->stop = false;
	for (uint32_t i = 0; i < b->deliveries; i++)
		b->delivery[i].idle = true;
	for (uint32_t i = 1; i < b->workers && i < b->ranges && rc == GNN_OK; i++)
		rc = gnn_stage_start(&b->worker[i].stage, "edge-buckets", work_on, &b->worker[i]);
	if (rc == GNN_OK)
		rc = work_on(&b->worker[0]);
	else
		stop_all(b);
	gnn_err_save(&first, rc);
	for (uint32_t i = 0; i < b->workers; i++) {
		one = gnn_stage_join(&b->worker[i].stage);
		if (one < 0 && rc == GNN_OK)
			gnn_err_save(&first, rc = one);
	}
	return rc < 0 ? gnn_err_restore(&first) : GNN_OK;
}
