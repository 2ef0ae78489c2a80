/*
 * io/buckets_parts.h - buckets from the inside.
 *
 * Flow     buckets_sort, buckets_rows -> [buckets_parts]
 * Owns     nothing
 * Lends    nothing
 * Thread   start and join by the thread that has the buckets; the rest by any, for its own range
 * Fails    GNN_EOS no thread
 */
#ifndef GNN_IO_BUCKETS_PARTS_H
#define GNN_IO_BUCKETS_PARTS_H

#include "io/buckets.h"

#include <pthread.h>

struct gnn_bucket {
	uint64_t first, count; /* keys; the first is that in an array */
	uint64_t duplicates, loops;
	bool done;             /* guarded by the lock */
};

/* A part of the keys of a bucket. */
struct gnn_bucket_span {
	void *key;
	uint64_t count;
};

struct gnn_bucket_worker {
	struct gnn_buckets *buckets;
	void (*work)(struct gnn_bucket_worker *w, uint32_t range);
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
	struct gnn_bucket *bucket; /* (buckets) of the order that is worked on */
	uint32_t *end;         /* (rows) */
	uint32_t *loops;       /* (rows) by source, when there are any */
	uint32_t ranges;
	uint64_t *place;       /* (ranges, buckets) counts by destination, then places */
	uint32_t *range_first; /* (ranges + 1) buckets */
	struct gnn_bucket_worker *worker; /* (workers) */
	uint32_t workers;
	pthread_mutex_t lock;  /* guards done of all buckets and: */
	uint32_t next;         /* range */
	bool stop;
	pthread_cond_t one_done;
};

GNN_BEGIN_DECLS

/* Starts all workers but the first `from`. */
int  gnn_buckets_start(struct gnn_buckets *b, uint32_t from,
	void (*fn)(struct gnn_bucket_worker *, uint32_t));
void gnn_buckets_join (struct gnn_buckets *b, int rc);
/* Part number i of a bucket, where it is now. False when there are no more. */
bool gnn_buckets_span (const struct gnn_buckets *b, uint32_t bucket, uint32_t i,
	struct gnn_bucket_span *s);
uint64_t *gnn_buckets_places(const struct gnn_buckets *b, uint32_t range);
/* Ranges of buckets, with about as many keys each. */
void gnn_buckets_cut_ranges(struct gnn_buckets *b);

GNN_END_DECLS

#endif
