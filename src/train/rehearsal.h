/*
 * train/rehearsal.h - how long steps take, by training that learns nothing.
 *
 * Flow     batches, table -> [rehearsal] -> seconds -> gauge, ways
 * Owns     a net of its own, for as long as it runs
 * Lends    nothing
 * Thread   one caller
 * Fails    as carrier and net
 *
 * Batches are brought and differentiated as in the training, on weights that stay as they are.
 */
#ifndef GNN_TRAIN_REHEARSAL_H
#define GNN_TRAIN_REHEARSAL_H

#include "train/carrier.h"

GNN_BEGIN_DECLS

/*
 * All steps of the carrier's batches, by another net like theirs; the shorter time of `runs`, of
 * the steps behind the first `skipped`.
 */
int gnn_rehearse(const struct gnn_carrier_opts *o, uint32_t runs, uint64_t skipped, uint64_t *ns);

GNN_END_DECLS

#endif
