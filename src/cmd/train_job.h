/*
 * cmd/train_job.h - what options say of a training, as `gnnrun train` and `bench train` take them.
 *
 * Flow     config -> [train_job] -> cmd_train, bench_train
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EUSAGE lists of a wrong length or of other words; GNN_ECONFIG what does not go
 *          together
 */
#ifndef GNN_CMD_TRAIN_JOB_H
#define GNN_CMD_TRAIN_JOB_H

#include "base/choices.h"
#include "base/config.h"
#include "train/opts.h"

GNN_BEGIN_DECLS

/* The net, what its batches are made of, and what of them is reused. */
int gnn_train_read_batches (struct gnn_train_opts *o, const struct gnn_config *c);
/* How weights change, for how long, and what is the best of them. */
int gnn_train_read_learning(struct gnn_train_opts *o, const struct gnn_config *c);
/* Who samples and who gathers; nothing is cached. */
struct gnn_table_wish gnn_train_wish(enum gnn_opt_orchestration orchestration);
/* --gather */
enum gnn_gather_wish gnn_train_told_gather(const struct gnn_config *c);

GNN_END_DECLS

#endif
