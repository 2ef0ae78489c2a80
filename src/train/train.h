/*
 * train/train.h - the epoch loop: sample, gather, forward, loss, backward, step; evaluate, keep.
 *
 * Flow     store, options -> [train] -> best and last model, report
 * Owns     source, net, optimiser, batches, state
 * Lends    nothing
 * Thread   one caller; threads inside
 * Fails    GNN_ECONFIG nothing to train on, a checkpoint of something else; GNN_EDATA a loss that
 *          is no number (names the batch and vertices); GNN_ESTOP stopped by a signal, with a
 *          checkpoint; GNN_EOS, GNN_EIO, GNN_ECREAT
 */
#ifndef GNN_TRAIN_TRAIN_H
#define GNN_TRAIN_TRAIN_H

#include "train/opts.h"

GNN_BEGIN_DECLS

int  gnn_train_run(const struct gnn_train_opts *o, struct gnn_train_report *report);
/* Steps of a super-batch that reuses embeddings; 0: nothing stale is used. */
uint64_t gnn_train_stale_steps(const struct gnn_train_opts *o);
void gnn_train_report_fini(struct gnn_train_report *r);

GNN_END_DECLS

#endif
