/*
 * train/outfit.h - what a training has beside its net: by which way, from where, evaluated by whom.
 *
 * Flow     options, source, net -> [outfit] -> train, bench
 * Owns     hot vertices, the table, a cache, the evaluator; the options, settled
 * Lends    all of them, until close
 * Thread   one caller; collective
 * Fails    as ways, prepare, foresee, cache and evaluate
 *
 * What is open is settled by measuring: on cores before anything is opened, on a device once it has
 * its table. Where the CPU's share wins there, the table is opened anew, without features.
 */
#ifndef GNN_TRAIN_OUTFIT_H
#define GNN_TRAIN_OUTFIT_H

#include "train/evaluate.h"
#include "train/ways.h"

struct gnn_outfit_opts {
	struct gnn_train_source *source;
	struct gnn_net          *net;
	uint64_t                 steps; /* of the training */
	bool                     timed; /* only, so that nothing is evaluated */
};

struct gnn_outfit {
	struct gnn_train_opts  train;   /* settled */
	struct gnn_outfit_opts o;
	struct gnn_hot        *hot;
	struct gnn_onehop_opts onehop;
	struct gnn_table       table;
	struct gnn_cache      *cache;
	struct gnn_evaluator  *evaluator;
	struct gnn_ways_seen   ways;
};

GNN_BEGIN_DECLS

/* Zeroed `f`. *way: of the checkpoint, or GNN_WAY_OPEN and then what was chosen. */
int  gnn_outfit_open (struct gnn_outfit *f, const struct gnn_train_opts *train,
	const struct gnn_outfit_opts *o, uint64_t *way);
void gnn_outfit_close(struct gnn_outfit *f);
/* Of the training, from a step on. */
struct gnn_batches_opts gnn_outfit_batches(const struct gnn_outfit *f, uint64_t first_step);

GNN_END_DECLS

#endif
