/*
 * train/carrier.h - batches in order, each where it is computed on, two ahead of the step at work.
 *
 * Flow     batches -> [carrier] -> train
 * Owns     the batches, three places on the device, two threads, each with a backend of its own
 * Lends    a batch that is there, until put
 * Thread   next and put by one caller
 * Fails    as batches and there
 *
 * One thread samples, or brings what the CPU sampled; the other brings the rows of the batch
 * before.
 * Unified backends have nothing to carry: next lends the host's batch. Without a pipeline the
 * caller carries.
 */
#ifndef GNN_TRAIN_CARRIER_H
#define GNN_TRAIN_CARRIER_H

#include "train/there.h"

struct gnn_carrier_opts {
	struct gnn_batches_opts batches; /* `collect` and `bare` follow from the table */
	const struct gnn_table *table;
	struct gnn_shelves     *shelves; /* of hot rows, and their plans; or NULL */
	bool     pipeline;
	uint32_t threads;                /* that gather what the device sampled */
};

struct gnn_carrier;

GNN_BEGIN_DECLS

int  gnn_carrier_start(struct gnn_carrier **out, const struct gnn_carrier_opts *o);
int  gnn_carrier_next (struct gnn_carrier *c, struct gnn_there **there); /* GNN_EOF */
void gnn_carrier_put  (struct gnn_carrier *c, struct gnn_there *there);
void gnn_carrier_stop (struct gnn_carrier *c); /* NULL is fine; also in the middle */

GNN_END_DECLS

#endif
