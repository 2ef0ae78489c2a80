/*
 * train/gauge.h - which gather is the fastest here, measured on the rows of a batch.
 *
 * Flow     table, batches -> [gauge] -> gather and share of the table
 * Owns     nothing that stays
 * Lends    nothing
 * Thread   one caller
 * Fails    as sampler and delivery
 *
 * The first batch is drawn on the CPU and its rows are brought to the device by zero-copy, and
 * staged, and by both with the share that these two rates say: share = staged time / (staged time +
 * zero-copy time). The shortest time of RUNS each counts. How many blocks read in place is then
 * chosen by the time of whole steps (train/rehearsal.h). Bits do not depend on what wins.
 */
#ifndef GNN_TRAIN_GAUGE_H
#define GNN_TRAIN_GAUGE_H

#include "train/batch.h"
#include "train/table.h"

GNN_BEGIN_DECLS

/*
 * Where the table is open, or read in place; says what is done. `batches` of the training,
 * `threads` that stage.
 */
int gnn_gauge_gather(struct gnn_table *t, const struct gnn_batches_opts *batches, uint32_t threads);

GNN_END_DECLS

#endif
