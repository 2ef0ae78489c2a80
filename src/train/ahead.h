/*
 * train/ahead.h - what a training that reuses embeddings has beside it: shelves, who fills them.
 *
 * Flow     train -> versions, waiting -> [ahead] -> shelves -> carrier; state
 * Owns     shelves, decisions of the hybrid and of what was late
 * Lends    the shelves, until destroy
 * Thread   the trainer
 * Fails    as shelf, hybrid and late
 *
 * Every call takes NULL, the ahead of a training that reuses none.
 */
#ifndef GNN_TRAIN_AHEAD_H
#define GNN_TRAIN_AHEAD_H

#include "train/state.h"
#include "train/there.h"

struct gnn_ahead_opts {
	const struct gnn_train_opts   *train;
	const struct gnn_hot          *hot;
	const struct gnn_batches_opts *batches; /* of the training */
	struct gnn_train_source       *source;
	struct gnn_net                *net;
	const struct gnn_table        *table;
	struct gnn_train_state        *state;   /* from which it goes on, and that is saved */
	uint64_t                       steps;   /* of the training */
};

struct gnn_ahead;

GNN_BEGIN_DECLS

/* *out: NULL where no embeddings are reused. */
int  gnn_ahead_start  (struct gnn_ahead **out, const struct gnn_ahead_opts *o);
struct gnn_shelves *gnn_ahead_shelves(struct gnn_ahead *a);
/* Before the batch of a step is waited for. */
void gnn_ahead_due    (struct gnn_ahead *a, uint64_t step);
/* Before a batch, which was waited for, is trained. */
void gnn_ahead_begin  (struct gnn_ahead *a, const struct gnn_there *t, double waited_s);
/* The net's weights are those before step `step`. */
int  gnn_ahead_publish(struct gnn_ahead *a, uint64_t step);
/* What the state keeps, and the log of decisions. */
int  gnn_ahead_save   (struct gnn_ahead *a);
/* Why waiting ended with `rc`: a failure of its own thread, or just that. */
int  gnn_ahead_reason (struct gnn_ahead *a, int rc);
void gnn_ahead_destroy(struct gnn_ahead *a);

GNN_END_DECLS

#endif
