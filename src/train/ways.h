/*
 * train/ways.h - by which way the first layer is made: asked for, or the fastest here.
 *
 * Flow     source, batches of the first steps -> [ways] -> layerwise and reuse of the training
 * Owns     nothing that stays
 * Lends    nothing
 * Thread   one caller; collective
 * Fails    as carrier and net
 *
 * Ways that are never stale: by steps; by layers, the CPU aggregating; and that with aggregates of
 * hot vertices reused. The first steps of the training, a super-batch of them and at most STEPS,
 * are brought and differentiated by each, twice, on a net of their own; the shorter time counts,
 * and of several ranks the longest; a later way must be faster by a twentieth. Ways round otherwise
 * and the last trains on other samples: what was chosen is kept by the checkpoint, and named it
 * gives the same bits.
 */
#ifndef GNN_TRAIN_WAYS_H
#define GNN_TRAIN_WAYS_H

#include "train/batch.h"
#include "train/opts.h"

/* The checkpoint has the number. */
enum gnn_way { GNN_WAY_OPEN, GNN_WAY_STEP, GNN_WAY_LAYER, GNN_WAY_AGGREGATES, GNN_WAY_COUNT };

struct gnn_ways_opts {
	const struct gnn_train_opts   *train;
	struct gnn_train_source       *source;
	const struct gnn_net          *net;     /* of the training: its shape */
	const struct gnn_batches_opts *batches; /* by steps */
	uint64_t                       steps;   /* of the training */
};

GNN_BEGIN_DECLS

/*
 * Measures and says; *way, and where that keeps aggregates of hot vertices *hot, for the caller. A
 * training whose first layer can be made in one way only goes that way.
 */
int gnn_ways_choose(enum gnn_way *way, struct gnn_hot **hot, const struct gnn_ways_opts *o);
/* The training goes this way. */
void gnn_ways_take(struct gnn_train_opts *train, enum gnn_way way);
const char *gnn_reuse_name(enum gnn_reuse reuse);

GNN_END_DECLS

#endif
