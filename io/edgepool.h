/*
 * io/edgepool.h - edges in memory as long as they fit it, distributed by source as they come.
 *
 * Flow     builder -> [edgepool] -> buckets, or extsort when there are too many
 * Owns     sets of keys in buckets, their memory, the threads that distribute
 * Lends    the one set and its memory, from end until empty or destroy
 * Thread   one caller; sets are filled by threads of its own
 * Fails    GNN_EOS memory; GNN_EOF, which is no error: what is added does not fit
 *
 * How many bits an id takes is known at the end only. A batch of edges goes to a set that is laid
 * out by what is known when it is full; at the end there is one set, the others being distributed
 * again.
 */
#ifndef GNN_IO_EDGEPOOL_H
#define GNN_IO_EDGEPOOL_H

#include "io/bucketwalk.h"

struct gnn_edgepool;

struct gnn_edgepool_opts {
	uint64_t memory_bytes; /* of all keys; they are sorted in place but for what buckets add */
	uint32_t threads;
	bool     weighted;
	bool     both_ways;    /* the reverse of every edge is added, of self-loops not */
};

GNN_BEGIN_DECLS

int  gnn_edgepool_create(struct gnn_edgepool **out, const struct gnn_edgepool_opts *o);
/* All of them, or none of them and GNN_EOF: too many, or an id over 32 bits. */
int  gnn_edgepool_add   (struct gnn_edgepool *p, const struct gnn_edges *e, uint64_t bits);
/* The same of narrow ids; counts the self-loops among them. */
int  gnn_edgepool_add_narrow(struct gnn_edgepool *p, const struct gnn_edge_batch *e,
	uint64_t *loops);
int  gnn_edgepool_end   (struct gnn_edgepool *p); /* there is one set then, or none */
/*
 * After end: all ids become what `map` makes of them, numbers below `count`. The order of edges
 * stays, and so do equal edges.
 */
int  gnn_edgepool_relabel(struct gnn_edgepool *p, gnn_bucketwalk_map_fn map, const void *with,
	uint64_t count);
/* After end: hands all edges on, of both_ways in one direction, and keeps them. */
int  gnn_edgepool_visit (struct gnn_edgepool *p, gnn_bucketwalk_fn fn, void *receiver);
/*
 * Instead of end: hands all edges on. Equal edges keep their order; with both_ways they come in one
 * direction.
 */
int  gnn_edgepool_drain (struct gnn_edgepool *p, gnn_bucketwalk_fn fn, void *receiver);
void gnn_edgepool_empty  (struct gnn_edgepool *p); /* frees the set; its chunks stay */
void gnn_edgepool_destroy(struct gnn_edgepool *p); /* NULL is fine */

uint64_t gnn_edgepool_id_end(const struct gnn_edgepool *p); /* the largest id + 1, or 0 */
/* NULL when there are no edges. */
struct gnn_bucketset *gnn_edgepool_set   (const struct gnn_edgepool *p);
struct gnn_chunks    *gnn_edgepool_chunks(const struct gnn_edgepool *p);

GNN_END_DECLS

#endif
