/*
 * train/onehop.h - the bottom layer of a batch on the CPU: one hop, its rows, their aggregates.
 *
 * Flow     ids of a batch, step -> [onehop] -> rows of a bare bottom block in host memory
 * Owns     a sampler, in a reuse the aggregates of hot vertices
 * Lends    nothing
 * Thread   one caller, who has the collect for himself
 * Fails    as sampler and collect; GNN_EOS memory
 *
 * A super-batch is so many consecutive steps, on across epochs. A hot vertex is drawn and
 * aggregated when its super-batch first needs it, with the numbers of the super-batch's first
 * step, and is reused to its end; other vertices are drawn anew in each step. Aggregates know
 * nothing of weights: those that are used are always the newest. What comes out depends on (seed,
 * step) alone: not on which batches came before, nor on who asks.
 */
#ifndef GNN_TRAIN_ONEHOP_H
#define GNN_TRAIN_ONEHOP_H

#include "train/collect.h"
#include "train/sampler.h"

struct gnn_onehop_opts {
	const uint32_t *place;  /* (V) of a hot vertex, below hot_count, or GNN_NOT_HOT; borrowed */
	uint64_t hot_count;     /* whose aggregates are reused; 0: nobody's, place is not read */
	uint64_t super_batch;   /* steps, at least 1 */
};

/* What a batch took. */
struct gnn_onehop_counts {
	double   seconds;
	uint64_t gathered; /* rows of features */
	uint64_t computed; /* aggregates, of hot vertices too */
	uint64_t reused;   /* aggregates that an earlier step of the super-batch made */
	uint64_t age;      /* steps since the oldest of them was drawn; below super_batch */
};

struct gnn_onehop;

GNN_BEGIN_DECLS

/* `sampler` is that of the whole net, drawing on the collect's CPU; `c` is borrowed. */
int  gnn_onehop_create (struct gnn_onehop **out, const struct gnn_onehop_opts *o,
	const struct gnn_sampler_opts *sampler, struct gnn_collect *c);
/*
 * Aggregates of `count` distinct vertices, for two parts their own rows behind all of them:
 * *x, (parts count, dim) in the room.
 */
int  gnn_onehop_rows   (struct gnn_onehop *h, const gnn_vid *id, uint64_t count, uint64_t step,
	struct gnn_collect_room *room, float **x, struct gnn_onehop_counts *counts);
void gnn_onehop_destroy(struct gnn_onehop *h); /* NULL is fine */

GNN_END_DECLS

#endif
