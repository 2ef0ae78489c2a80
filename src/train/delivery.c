/* train/delivery.c - see delivery.h. */
#include "train/delivery.h"

#include "base/clock.h"
#include "base/fault.h"
#include "op/grad.h"
#include "train/cache.h"

#include <string.h>

enum {
	STRIP_BYTES = 4 << 20,    /* long enough for the bus, short enough to overlap */
	LINE_BYTES = 128,
	BLOCK_ROWS = 256,         /* that one thread looks up in the cache */
};

/* One delivery on its way. */
struct way {
	struct gnn_delivery      *d;
	struct gnn_delivery_args *a;
	const gnn_vid            *host;
	const gnn_vid            *staged_id; /* of the rows that the CPU gathers */
	const uint64_t           *staged_row; /* where they go; NULL: from `first` on, in order */
	uint64_t                  staged, first, missed;
	uint64_t                 *counter; /* of missed rows on the device, or NULL */
};

static bool is_staged(const struct gnn_table *t)
{
	return t->gather == GNN_GATHER_STAGED || t->gather == GNN_GATHER_BOTH;
}

static uint64_t strip_rows(const struct gnn_delivery *d)
{
	return gnn_max_u64(STRIP_BYTES / (d->table->source->dim * sizeof(float)), 1);
}

int gnn_delivery_init(struct gnn_delivery *d, const struct gnn_table *t, struct gnn_backend *b,
	uint32_t threads)
{
	int rc = GNN_OK;

	d->table = t;
	d->backend = b;
	d->threads = threads;
	if (t->cache != NULL)
		GNN_TRY(b->ops->alloc(b, &d->missed, sizeof(uint64_t)));
	if (t->gather == GNN_GATHER_BOTH)
		GNN_TRY(b->ops->create(&d->own, &(struct gnn_backend_opts){.threads = 1,
			.beside = b}));
	if (!is_staged(t))
		return rc;
	GNN_TRY(gnn_collect_init(&d->collect, t->source, b, threads));
	for (uint32_t i = 0; i < GNN_DELIVERY_STRIPS; i++)
		GNN_TRY(gnn_collect_take(&d->collect, &d->strip[i],
			strip_rows(d) * t->source->dim));
out:
	return rc;
}

void gnn_delivery_fini(struct gnn_delivery *d)
{
	struct gnn_room *room[] = {&d->id, &d->missed_id, &d->missed_row, &d->missed_count,
		&d->there_strip, &d->there_row};

	if (d->backend == NULL)
		return;
	for (uint32_t i = 0; i < GNN_COUNT_OF(room); i++)
		gnn_room_fini(room[i]);
	for (uint32_t i = 0; i < GNN_DELIVERY_STRIPS; i++)
		if (d->collect.device != NULL)
			gnn_collect_free(&d->collect, &d->strip[i]);
	gnn_collect_fini(&d->collect);
	d->backend->ops->free(d->backend, d->missed);
	gnn_backend_destroy(d->own);
	*d = (struct gnn_delivery){0};
}

/* A path that a test slows down. */
/* Rows [first, end) from the table, or only those of the cache, by a kernel of `b`. */
static int gather(const struct way *w, struct gnn_backend *b, uint64_t first, uint64_t end,
	bool table)
{
	const struct gnn_table *t = w->d->table;
	const struct gnn_cache *cache = t->cache;
	const bool in_place = table && t->gather != GNN_GATHER_RESIDENT;
	const enum gnn_dtype dtype = cache != NULL ? cache->dtype : t->source->dtype;
	const uint64_t row_bytes = t->source->dim * gnn_dtype_bytes(dtype);
	struct gnn_gather_args args = {.table = table ? t->rows : NULL, .dtype = dtype,
		.width = t->source->dim, .id = w->a->there + first, .rows = end - first,
		.to = w->a->to + first * t->source->dim,
		.blocks = in_place ? t->blocks : 0,
		.shift = in_place && row_bytes % LINE_BYTES != 0, .drop = w->a->drop,
		.name = w->a->there + first};

	if (first == end)
		return GNN_OK;
	if (cache != NULL) {
		args.place = cache->place;
		args.cache = cache->rows;
		args.missed = w->counter;
	}
	if (in_place)
		gnn_fault_dawdle(GNN_FAULT_IN_PLACE);
	return b->ops->grad->gather(b, &args);
}

/* One kernel does it all. */
static int gather_all(struct way *w)
{
	struct gnn_delivery *d = w->d;
	struct gnn_backend *b = d->backend;
	const bool cached = d->table->cache != NULL;
	int rc;

	w->missed = cached ? 0 : w->a->rows;
	w->counter = d->missed;
	if (cached)
		GNN_TRY(b->ops->copy(b, d->missed, 8, &w->missed, 8, 8, 1));
	GNN_TRY(gather(w, b, 0, w->a->rows, true));
	if (cached)
		GNN_TRY(b->ops->copy(b, &w->missed, 8, d->missed, 8, 8, 1));
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

/* Ids that are drawn on the device, as the host reads them. */
static int fetch_ids(struct way *w)
{
	struct gnn_delivery *d = w->d;
	struct gnn_backend *b = d->backend;
	const uint64_t bytes = w->a->rows * sizeof(gnn_vid);
	int rc = GNN_OK;

	w->host = w->a->host;
	if (w->host != NULL)
		return GNN_OK;
	GNN_TRY(gnn_room_take(&d->id, w->a->rows, sizeof(gnn_vid)));
	GNN_TRY(b->ops->copy(b, d->id.data, bytes, w->a->there, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
	w->host = d->id.data;
out:
	return rc;
}

static bool is_missed(const struct way *w, uint64_t i)
{
	return w->d->table->cache->hot->place[w->host[i]] == GNN_NO_PLACE;
}

static uint64_t count_missed(const struct way *w, uint64_t first, uint64_t end)
{
	uint64_t count = 0;

	for (uint64_t i = first; i < end; i++)
		count += is_missed(w, i);
	return count;
}

static void fill_missed(const struct way *w, uint64_t first, uint64_t end, gnn_vid *id,
	uint64_t *row)
{
	for (uint64_t i = first; i < end; i++)
		if (is_missed(w, i)) {
			*id++ = w->host[i];
			*row++ = i;
		}
}

/* What the cache lacks, in order: blocks of rows are counted, then each is filled in. */
static int find_missed(struct way *w)
{
	struct gnn_delivery *d = w->d;
	const uint64_t rows = w->a->rows, blocks = gnn_ceil_div(rows, BLOCK_ROWS);
	uint64_t *count;
	int rc;

	GNN_TRY(gnn_room_take(&d->missed_id, rows, sizeof(gnn_vid)));
	GNN_TRY(gnn_room_take(&d->missed_row, rows, sizeof(uint64_t)));
	GNN_TRY(gnn_room_take(&d->missed_count, blocks, sizeof(uint64_t)));
	count = d->missed_count.data;
#pragma omp parallel for num_threads((int)gnn_min_u64(d->threads, blocks)) schedule(static)
	for (uint64_t k = 0; k < blocks; k++)
		count[k] = count_missed(w, k * BLOCK_ROWS,
			gnn_min_u64((k + 1) * BLOCK_ROWS, rows));
	w->missed = 0;
	for (uint64_t k = 0; k < blocks; k++) {
		const uint64_t here = count[k];

		count[k] = w->missed;
		w->missed += here;
	}
#pragma omp parallel for num_threads((int)gnn_min_u64(d->threads, blocks)) schedule(static)
	for (uint64_t k = 0; k < blocks; k++)
		fill_missed(w, k * BLOCK_ROWS, gnn_min_u64((k + 1) * BLOCK_ROWS, rows),
			(gnn_vid *)d->missed_id.data + count[k],
			(uint64_t *)d->missed_row.data + count[k]);
out:
	return rc;
}

/* Rows that the cache lacks, and from which one on they are staged. */
static int list_missed(struct way *w)
{
	struct gnn_delivery *d = w->d;
	const struct gnn_table *t = d->table;
	const double share = t->gather == GNN_GATHER_BOTH ? t->share : 0;
	const uint64_t *row;
	uint64_t in_place;
	int rc;

	if (t->cache == NULL) {
		w->missed = w->a->rows;
		w->first = (uint64_t)(share * (double)w->a->rows);
		w->staged = w->a->rows - w->first;
		w->staged_id = w->host + w->first;
		return GNN_OK;
	}
	GNN_TRY(find_missed(w));
	row = d->missed_row.data;
	in_place = (uint64_t)(share * (double)w->missed);
	w->staged = w->missed - in_place;
	w->first = share == 0 ? 0 : in_place == w->missed ? w->a->rows : row[in_place];
	w->staged_id = (gnn_vid *)d->missed_id.data + in_place;
	w->staged_row = row + in_place;
out:
	return rc;
}

/* Rows that were copied to where they stay. */
static int drop(const struct way *w, uint64_t first, uint64_t count)
{
	const uint32_t dim = w->d->table->source->dim;
	struct gnn_backend *b = w->d->backend;
	float *at = w->a->to + first * dim;

	if (w->a->drop.below == 0)
		return GNN_OK;
	return b->ops->grad->dropout(b, &(struct gnn_dropout_args){.from = at, .to = at,
		.id = w->a->there + first, .rows = count, .width = dim, .drop = w->a->drop});
}

/* Rows of one strip, which the CPU has gathered, to where they go. */
static int send(struct way *w, const void *strip, uint64_t at, uint64_t count)
{
	struct gnn_delivery *d = w->d;
	struct gnn_backend *b = d->backend;
	const uint32_t dim = d->table->source->dim;
	const uint64_t bytes = count * dim * sizeof(float);
	int rc;

	if (w->staged_row == NULL) {
		GNN_TRY(b->ops->copy(b, w->a->to + (w->first + at) * dim, bytes, strip, bytes,
			bytes, 1));
		return drop(w, w->first + at, count);
	}
	GNN_TRY(b->ops->copy(b, d->there_strip.data, bytes, strip, bytes, bytes, 1));
	GNN_TRY(b->ops->grad->gather(b, &(struct gnn_gather_args){.table = d->there_strip.data,
		.dtype = GNN_F32, .width = dim, .rows = count, .to = w->a->to,
		.row = (uint64_t *)d->there_row.data + at, .drop = w->a->drop,
		.name = w->a->there}));
out:
	return rc;
}

static int prepare_rows(struct way *w)
{
	struct gnn_delivery *d = w->d;
	struct gnn_backend *b = d->backend;
	const uint64_t bytes = w->staged * sizeof(uint64_t);
	int rc = GNN_OK;

	if (w->staged_row == NULL)
		return GNN_OK;
	GNN_TRY(gnn_room_take_on(&d->there_strip, b, strip_rows(d),
		d->table->source->dim * sizeof(float)));
	GNN_TRY(gnn_room_take_on(&d->there_row, b, w->staged, sizeof(uint64_t)));
	GNN_TRY(b->ops->copy(b, d->there_row.data, bytes, w->staged_row, bytes, bytes, 1));
out:
	return rc;
}

/* The CPU gathers a strip while those before are copied. */
static int stage(struct way *w)
{
	struct gnn_delivery *d = w->d;
	struct gnn_backend *b = d->backend;
	const uint64_t most = strip_rows(d);
	uint64_t count, start;
	int rc;

	GNN_TRY(prepare_rows(w));
	memset(d->busy, 0, sizeof(d->busy));
	gnn_fault_dawdle(GNN_FAULT_STAGED);
	for (uint64_t at = 0, turn = 0; at < w->staged; at += count, turn++) {
		const uint64_t i = turn % GNN_DELIVERY_STRIPS;
		float *strip = d->strip[i].room.data;

		count = gnn_min_u64(most, w->staged - at);
		if (d->busy[i])
			GNN_TRY(b->ops->wait(b, d->ticket[i]));
		start = gnn_clock_ns();
		GNN_TRY(gnn_collect_features(&d->collect, w->staged_id + at, count, strip));
		w->a->collect_s += gnn_clock_s_since(start);
		GNN_TRY(send(w, strip, at, count));
		GNN_TRY(b->ops->mark(b, &d->ticket[i]));
		d->busy[i] = true;
	}
	rc = GNN_OK;
out:
	return rc;
}

static int gather_and_stage(struct way *w)
{
	struct gnn_delivery *d = w->d;
	struct gnn_backend *b = d->backend;
	int rc;

	GNN_TRY(fetch_ids(w));
	GNN_TRY(list_missed(w));
	if (w->first > 0) {
		GNN_TRY(b->ops->sync(b)); /* ids are there before another stream reads them */
		GNN_TRY(gather(w, d->own, 0, w->first, true));
	}
	if (d->table->cache != NULL)
		GNN_TRY(gather(w, b, w->first, w->a->rows, false));
	GNN_TRY(stage(w));
	if (d->own != NULL)
		GNN_TRY(d->own->ops->sync(d->own));
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

int gnn_delivery_rows(struct gnn_delivery *d, struct gnn_delivery_args *a)
{
	const struct gnn_table *t = d->table;
	struct way w = {.d = d, .a = a};
	int rc;

	a->collect_s = 0;
	GNN_TRY(is_staged(t) ? gather_and_stage(&w) : gather_all(&w));
	a->hits = a->rows - w.missed;
	a->bus_bytes = t->gather == GNN_GATHER_RESIDENT ? 0 :
		t->source->dim * (w.staged * sizeof(float) +
		(w.missed - w.staged) * gnn_dtype_bytes(t->source->dtype));
out:
	return rc;
}
