/*
 * infer/nextuse.h - which source every vertex waits for, from a file that is read along the edges.
 *
 * Flow     store (out-lists, backwards) -> [nextuse] -> scratch -> [nextuse] -> feed -> control
 * Owns     4 bytes a vertex, a piece of the file, the file, which has no name
 * Lends    nothing
 * Thread   one caller at a time; create is collective where there are several ranks
 * Fails    GNN_EDATA lists that do not fit the graph, a damaged piece; GNN_ECREAT, GNN_EIO scratch;
 *          as comm
 *
 * For in-lists that do not fit memory. The out-lists are read once from their end: in front of an
 * edge into v stands the source of v's message behind it. Read forwards beside the edges, these
 * say at each moment which source v waits for. Of copies of one edge that a piece's border parts
 * in a sample, one may be thought to be another: a victim may be chosen less well for it.
 *
 * Several ranks go through their rounds from the last to the first, and send each other edges as
 * they will in the pass itself; a source is the row that it is of its rank. The file is written as
 * it is filled: piece 0 has the edges that come last.
 */
#ifndef GNN_INFER_NEXTUSE_H
#define GNN_INFER_NEXTUSE_H

#include "infer/nextuse_fill.h"

#define GNN_NEXTUSE_NONE UINT32_MAX

struct gnn_nextuse;

GNN_BEGIN_DECLS

int  gnn_nextuse_create (struct gnn_nextuse **out, const struct gnn_nextuse_opts *o);
/* The next `count` edges, which lead to these, have come. NULL is fine. */
int  gnn_nextuse_take   (struct gnn_nextuse *n, const void *neighbors, enum gnn_dtype dtype,
	uint64_t count);
/* (V) the source that each vertex waits for now, or NONE; NULL of NULL. */
const uint32_t *gnn_nextuse_now(const struct gnn_nextuse *n);
uint64_t gnn_nextuse_read_bytes   (const struct gnn_nextuse *n);
uint64_t gnn_nextuse_written_bytes(const struct gnn_nextuse *n);
void gnn_nextuse_destroy(struct gnn_nextuse *n); /* NULL is fine */

uint64_t gnn_nextuse_bytes(const struct gnn_store *s, uint64_t piece_bytes); /* memory */
uint64_t gnn_nextuse_file_bytes(const struct gnn_store *s, uint64_t piece_bytes);

GNN_END_DECLS

#endif
