/*
 * train/prepare.h - what a training works on, the same on all its ranks.
 *
 * Flow     store, options -> [prepare] -> source
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller; collective
 * Fails    as source, bottom and foresee; GNN_ECONFIG ranks that see different stores; as comm
 */
#ifndef GNN_TRAIN_PREPARE_H
#define GNN_TRAIN_PREPARE_H

#include "train/foresee.h"
#include "train/opts.h"

GNN_BEGIN_DECLS

int gnn_prepare_source(struct gnn_train_source **out, const struct gnn_train_opts *o);
/* What batches and layers of the training will take, refused where it is more than there is. */
int gnn_prepare_memory(struct gnn_foreseen *f, const struct gnn_hot *hot,
	const struct gnn_train_opts *o, const struct gnn_batches_opts *batches);
/*
 * What goes with layerwise and reuse of the training, settled: rows a vertex of the source; hot
 * vertices, chosen unless *hot has them; what the CPU aggregates, which borrows them.
 */
int gnn_prepare_layerwise(struct gnn_hot **hot, struct gnn_onehop_opts *onehop,
	struct gnn_train_source *source, const struct gnn_train_opts *o,
	const struct gnn_batches_opts *batches);
/*
 * A zeroed table, what the device keeps of the features, NULL for nothing, and how the other rows
 * get there; `batches` of the training, `hot` of its hybrid; `reserve` bytes are not to be taken.
 */
int gnn_prepare_gather(struct gnn_table *t, struct gnn_cache **cache, const struct gnn_hot *hot,
	const struct gnn_train_opts *o, const struct gnn_batches_opts *batches, uint64_t reserve);

GNN_END_DECLS

#endif
