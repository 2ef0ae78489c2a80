/*
 * io/buckets.h - all edges in memory, sorted by source and by destination, without runs.
 *
 * Flow     edgepool -> [buckets] -> csr
 * Owns     the keys by destination; what a thread sorts in; rows on their way to the receiver
 * Lends    rows, for the call
 * Thread   one caller; several threads do all the work, and hand rows over one at a time
 * Fails    GNN_EOS; what the receiver returns
 *
 * The pool holds the edges by the upper bits of the source. A bucket fits the second-level cache:
 * there it is sorted, by the lowest digit first, and from there its neighbours go to the receiver,
 * and its keys to buckets by the upper bits of the destination. Its memory is theirs from then on.
 * What lies in a bucket by destination is in order of the sources, and what is left is to sort by
 * the lower bits of the destination.
 */
#ifndef GNN_IO_BUCKETS_H
#define GNN_IO_BUCKETS_H

#include "io/csr.h"
#include "io/edgepool.h"

struct gnn_buckets;

struct gnn_buckets_opts {
	struct gnn_edgepool *pool;  /* ended; is emptied when all is by destination */
	uint32_t threads;
	bool     weighted;          /* this and the next as in the pool */
	bool     both_ways;
	bool     unique;            /* the first of equal edges stays */
	bool     loops;             /* there are self-loops, to be counted by row */
};

typedef int (*gnn_buckets_fn)(void *receiver, const struct gnn_csr_rows *rows);

GNN_BEGIN_DECLS

/* Beside the keys, at most; `anew` when they will be laid out anew. */
uint64_t gnn_buckets_extra_bytes(const struct gnn_buckets_opts *o, bool anew);

int  gnn_buckets_create (struct gnn_buckets **out, const struct gnn_buckets_opts *o);
uint64_t gnn_buckets_edges(const struct gnn_buckets *b); /* to be stored */
/* All rows: by source first, then, unless both_ways, by destination. */
int  gnn_buckets_by_src (struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver);
int  gnn_buckets_by_dst (struct gnn_buckets *b, gnn_buckets_fn fn, void *receiver);
void gnn_buckets_destroy(struct gnn_buckets *b); /* NULL is fine; the pool stays */

GNN_END_DECLS

#endif
