/*
 * io/keymerge.h - many sorted runs in, one sorted sequence out, by threads in a line.
 *
 * Flow     runs -> gather -> sort -> [keymerge] -> csr, extsort, idset
 * Owns     the windows, chunks and read buffers, inside the memory it is given
 * Lends    sorted edges, for the call
 * Thread   one caller, in whose thread the edges are handed over
 * Fails    GNN_EIO, GNN_EOS; what the receiver returns
 *
 * Instead of comparing key by key, the merge takes from all runs what is below a bound, a few tens
 * of thousands of keys that fit the cache, and radix-sorts them: stable, since the parts stand in
 * the order of the runs. The bound is the smallest key of which it is not known that everything
 * below it has been read. Chunks are sorted by several threads and handed over in order.
 */
#ifndef GNN_IO_KEYMERGE_H
#define GNN_IO_KEYMERGE_H

#include "io/edge_batch.h"
#include "io/keyrun.h"

/* Sorted edges: `src` are the majors, `dst` the minors. May change the arrays. */
typedef int (*gnn_keymerge_fn)(void *receiver, struct gnn_edges *sorted);

struct gnn_keymerge_opts {
	struct gnn_scratch *scratch;
	struct gnn_keyruns *runs;  /* dropped when merged, unless kept; too many are merged first */
	bool     keep;
	bool     weighted;
	bool     unique;           /* only the first of equal keys */
	uint32_t threads;          /* that sort */
	uint64_t memory_bytes;
	/* Changes ends in place, keeping their order; on any thread. NULL: none. */
	void   (*map)(const void *with, uint64_t *ids, uint64_t count);
	const void *with;
};

GNN_BEGIN_DECLS

int gnn_keymerge(const struct gnn_keymerge_opts *o, gnn_keymerge_fn fn, void *receiver);

GNN_END_DECLS

#endif
