/*
 * infer/permute.h - features that lie in another order, brought into that of the vertices.
 *
 * Flow     features in the order of another store -> [permute] -> runs -> rows of layer 0
 * Owns     what it reads with, and one piece of message rows
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ECONFIG what cannot take such features; GNN_EDATA ranks that are none; as streams
 *
 * Before layer 0 the features are read once, in sequence. Message rows are made of them, where
 * those are narrower and all that the layer asks for, else they stay as they are; and each goes to
 * the runs (io/runs.h) as the row of its vertex. The layer then reads the runs as it would rows of
 * the layer before it. Bits of a message row depend neither on its place in a panel nor on who is
 * beside it, so they are those of a store that has its features in its own order.
 */
#ifndef GNN_INFER_PERMUTE_H
#define GNN_INFER_PERMUTE_H

#include "infer/opts.h"
#include "layer/conv.h"

GNN_BEGIN_DECLS

/* GNN_OK where the features are in the store's own order, or where they can be brought into it. */
int gnn_permute_check(const struct gnn_infer_opts *o);
/* Memory beside the runs and the row program, of `rows` features at a time. */
uint64_t gnn_permute_bytes(const struct gnn_store *s, const struct gnn_conv *c, uint64_t rows);
uint64_t gnn_permute_read_bytes(const struct gnn_store *s);

GNN_END_DECLS

#endif
