/*
 * io/bucketwalk.h - the edges of a bucket again: handed on, or put into another set.
 *
 * Flow     bucketset -> [bucketwalk] -> edgepool's receivers; bucketset
 * Owns     nothing
 * Lends    a slice of edges, for the call
 * Thread   any thread; no state
 * Fails    what the receiver returns; GNN_EOS of the other set
 *
 * Equal edges keep their order. Of an edge and its reverse one that were put both, one comes.
 */
#ifndef GNN_IO_BUCKETWALK_H
#define GNN_IO_BUCKETWALK_H

#include "io/bucketset.h"
#include "io/edge_batch.h"

typedef int (*gnn_bucketwalk_fn)(void *receiver, const struct gnn_edges *e);
typedef void (*gnn_bucketwalk_map_fn)(const void *with, uint64_t *ids, uint64_t count);

struct gnn_bucketwalk_opts {
	gnn_bucketwalk_fn fn;
	void *receiver;
	bool  weighted, both_ways;
};

struct gnn_bucketrelay {
	struct gnn_bucketset *to;
	uint32_t writer;
	gnn_bucketwalk_map_fn map; /* NULL, or what ids become */
	const void *with;
	bool weighted, both_ways;
};

GNN_BEGIN_DECLS

int gnn_bucketwalk      (const struct gnn_bucketset *s, uint32_t bucket,
	const struct gnn_bucketwalk_opts *o);
int gnn_bucketwalk_relay(const struct gnn_bucketset *s, uint32_t bucket,
	const struct gnn_bucketrelay *r);

GNN_END_DECLS

#endif
