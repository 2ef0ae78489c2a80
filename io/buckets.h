/*
 * io/buckets.h - all edges in memory, sorted by source and by destination, without runs.
 *
 * Flow     edgepool -> [buckets] -> csr
 * Owns     a second array of keys; what a thread sorts in
 * Lends    rows, for the call
 * Thread   one caller, in whose thread rows are handed over; all work is done by several
 * Fails    GNN_EOS; what the receiver returns
 *
 * The pool holds the edges by the upper bits of the source. What there is of a bucket in all blocks
 * fits the second-level cache: there it is sorted, by the lowest digit first, and goes back to
 * where it came from. From these, in order, keys are distributed by the upper bits of the
 * destination, through one line of cache for each bucket, which goes to memory when it is full.
 * What lies in a bucket then is in order of the sources, and what is left is to sort by the lower
 * bits of the destination.
 */
#ifndef GNN_IO_BUCKETS_H
#define GNN_IO_BUCKETS_H

#include "io/csr.h"
#include "io/edgepool.h"

struct gnn_buckets;

struct gnn_buckets_opts {
	struct gnn_edgepool *pool;  /* ended; is emptied when all is by destination */
	uint32_t threads;
	bool     both_ways;         /* as in the pool */
	bool     unique;            /* the first of equal edges stays */
};

typedef int (*gnn_buckets_fn)(void *receiver, const struct gnn_csr_rows *rows);

GNN_BEGIN_DECLS

/* Beside the keys, of which there are two arrays; at most, when they will be laid out anew. */
uint64_t gnn_buckets_extra_bytes(const struct gnn_edgepool *pool, uint32_t threads, bool anew);

/* Sorted by source when it returns. */
int  gnn_buckets_create (struct gnn_buckets **out, const struct gnn_buckets_opts *o);
uint64_t gnn_buckets_edges(const struct gnn_buckets *b); /* to be stored */
/* All rows: by source first, then, unless both_ways, by destination. */
int  gnn_buckets_by_src (struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver);
int  gnn_buckets_by_dst (struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver);
void gnn_buckets_destroy(struct gnn_buckets *b); /* NULL is fine; the pool stays */

GNN_END_DECLS

#endif
