/*
 * io/edgepool.h - edges in memory as long as they fit it, distributed by source as they come.
 *
 * Flow     builder -> [edgepool] -> buckets, or extsort when there are too many
 * Owns     blocks of keys in buckets, the threads that distribute
 * Lends    blocks, from end until empty or destroy
 * Thread   one caller; blocks are filled by threads of its own
 * Fails    GNN_EOS memory; GNN_EOF, which is no error: what is added does not fit
 *
 * How many bits an id takes is known at the end only. A block is laid out by what is known when it
 * is full; at the end those that were laid out otherwise are distributed again.
 */
#ifndef GNN_IO_EDGEPOOL_H
#define GNN_IO_EDGEPOOL_H

#include "io/bucketkey.h"
#include "io/edge_batch.h"

struct gnn_edgepool;

struct gnn_edgepool_opts {
	uint64_t memory_bytes; /* of the blocks; twice that is taken once they are sorted */
	uint32_t threads;
	bool     weighted;
	bool     both_ways;    /* the reverse of every edge is added, of self-loops not */
};

/* The keys of a part of the edges, bucket after bucket, in the order in which they came. */
struct gnn_edgeblock {
	void     *key;
	uint32_t *first; /* (buckets + 1) */
	struct gnn_bucket_layout layout;
};

typedef int (*gnn_edgepool_fn)(void *receiver, const struct gnn_edges *e);
typedef void (*gnn_edgepool_map_fn)(const void *with, uint64_t *ids, uint64_t count);

GNN_BEGIN_DECLS

int  gnn_edgepool_create(struct gnn_edgepool **out, const struct gnn_edgepool_opts *o);
/* All of them, or none of them and GNN_EOF: too many, or an id over 32 bits. */
int  gnn_edgepool_add   (struct gnn_edgepool *p, const struct gnn_edges *e, uint64_t bits);
/* The same of narrow ids; counts the self-loops among them. */
int  gnn_edgepool_add_narrow(struct gnn_edgepool *p, const struct gnn_edge_batch *e,
	uint64_t *loops);
int  gnn_edgepool_end   (struct gnn_edgepool *p); /* all blocks have one layout then */
/*
 * After end: all ids become what `map` makes of them, numbers below `count`. The order of edges
 * stays, and so do equal edges.
 */
int  gnn_edgepool_relabel(struct gnn_edgepool *p, gnn_edgepool_map_fn map, const void *with,
	uint64_t count);
/* After end: hands all edges on, of both_ways in one direction, and keeps them. */
int  gnn_edgepool_visit (struct gnn_edgepool *p, gnn_edgepool_fn fn, void *receiver);
/*
 * Instead of all that follows: hands all edges on and frees them as they go. Equal edges keep their
 * order; with both_ways they come in one direction.
 */
int  gnn_edgepool_drain (struct gnn_edgepool *p, gnn_edgepool_fn fn, void *receiver);
void gnn_edgepool_empty  (struct gnn_edgepool *p); /* frees the blocks */
void gnn_edgepool_destroy(struct gnn_edgepool *p); /* NULL is fine */

uint64_t gnn_edgepool_id_end(const struct gnn_edgepool *p); /* the largest id + 1, or 0 */
uint32_t gnn_edgepool_blocks(const struct gnn_edgepool *p);
const struct gnn_edgeblock     *gnn_edgepool_block (const struct gnn_edgepool *p, uint32_t i);
const struct gnn_bucket_layout *gnn_edgepool_layout(const struct gnn_edgepool *p);

GNN_END_DECLS

#endif
