/*
 * train/hot.h - which vertices the bottom layer needs most often.
 *
 * Flow     source, sampler's options -> [hot] -> onehop
 * Owns     a place a vertex, an id a place
 * Lends    nothing
 * Thread   constant once chosen
 * Fails    GNN_EOS memory; as sampler and comm
 *
 *   presample  the batches of the first epoch are drawn, but for their last hop, and counted
 *   window     all of them, in order of ids: train/plan.h knows the steps to come, and chooses
 *   degree     the listed out-edges: as often a vertex stands in the in-lists of others
 *
 * Of equals the smaller id is hotter. A vertex that is never needed is not hot. Several ranks
 * choose what one would.
 */
#ifndef GNN_TRAIN_HOT_H
#define GNN_TRAIN_HOT_H

#include "mpi/comm.h"
#include "train/batch.h"

enum gnn_hot_policy { GNN_HOT_PRESAMPLE, GNN_HOT_DEGREE, GNN_HOT_WINDOW };

struct gnn_hot {
	uint32_t *place;    /* (V) in order of hotness, below count; or GNN_NOT_HOT */
	gnn_vid  *id;       /* (count) in order of hotness */
	uint64_t  count;
};

struct gnn_hot_opts {
	enum gnn_hot_policy policy;
	double   ratio;     /* of all vertices, at most */
	const struct gnn_batches_opts *batches; /* without workers and rows: of the training */
	struct gnn_comm *comm; /* ranks that divide the steps to draw; NULL: one alone */
};

GNN_BEGIN_DECLS

int  gnn_hot_choose(struct gnn_hot **out, const struct gnn_hot_opts *o);
void gnn_hot_free  (struct gnn_hot *h); /* NULL is fine */

GNN_END_DECLS

#endif
