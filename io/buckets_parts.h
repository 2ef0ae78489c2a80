/*
 * io/buckets_parts.h - buckets from the inside: ranges of them are sorted, and delivered in order.
 *
 * Flow     buckets_sort -> [buckets_parts] -> receiver
 * Owns     nothing
 * Lends    a delivery to fill, from take until deliver
 * Thread   open, run and close by the thread that has the buckets; the rest by all workers
 * Fails    run: GNN_EOS no thread; what the receiver and the work return
 */
#ifndef GNN_IO_BUCKETS_PARTS_H
#define GNN_IO_BUCKETS_PARTS_H

#include "io/buckets.h"
#include "io/lanesort.h"

#include <pthread.h>

enum { GNN_BUCKETS_THREADS_MAX = 32 };

/* What came of a range of buckets. */
struct gnn_delivery {
	uint32_t range;
	bool     idle, ready;  /* else a worker has it; guarded by the lock */
	uint32_t *own_neighbor; /* (range_keys) */
	float    *own_weight;   /* (range_keys), or NULL */
	uint32_t *neighbor;     /* (edges) its own ones, or those of a large bucket */
	float    *weight;       /* (edges), or NULL */
	uint64_t edges, duplicates;
};

struct gnn_bucket_worker;
typedef int (*gnn_bucket_work_fn)(struct gnn_bucket_worker *w, struct gnn_delivery *d);

struct gnn_bucket_worker {
	struct gnn_buckets *buckets;
	struct gnn_stage *stage;
	uint32_t number;
	void *key, *spare;      /* (bucket_keys) */
};

struct gnn_buckets {
	struct gnn_buckets_opts opts;
	struct gnn_bucket_layout layout;
	const struct gnn_bucket_ops *ops;
	gnn_lanesort_fn sort;                /* by source; NULL: digit after digit */
	uint64_t rows, keys, edges;
	struct gnn_bucketset *set, *by_dst;  /* what is sorted; where it goes from there, or NULL */
	bool in_by_dst;                      /* what is sorted is that */
	uint64_t bucket_keys, range_keys;    /* but for large buckets */
	void *large_key, *large_spare;       /* of the largest bucket, when it is large */
	float *large_weight;
	uint32_t *end, *loops;               /* (rows); loops NULL when there are none */
	struct gnn_bucket_worker *worker;    /* (workers) */
	uint32_t workers;
	uint32_t *range_first;               /* (ranges + 1) buckets */
	uint32_t ranges;
	gnn_bucket_work_fn work;
	gnn_buckets_fn fn;                   /* NULL: none */
	void *receiver;
	struct gnn_delivery *delivery;       /* (deliveries) */
	uint32_t deliveries;
	pthread_mutex_t lock;                /* guards idle and ready of all deliveries and: */
	pthread_cond_t changed;
	uint32_t next, delivered;            /* ranges */
	bool delivering, stop;
};

GNN_BEGIN_DECLS

int  gnn_buckets_open_deliveries (struct gnn_buckets *b);
void gnn_buckets_close_deliveries(struct gnn_buckets *b);
/* Cuts `set` into ranges and has all of them worked on, by as many threads as there are. */
int  gnn_buckets_run(struct gnn_buckets *b, gnn_bucket_work_fn work, gnn_buckets_fn fn,
	void *receiver);
/* A bucket that is sorted alone, in the large arrays. */
bool gnn_buckets_is_large(const struct gnn_buckets *b, uint64_t keys);

GNN_END_DECLS

#endif
