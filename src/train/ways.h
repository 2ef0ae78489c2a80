/*
 * train/ways.h - by which way batches are made: asked for, or the fastest here.
 *
 * Flow     source, batches of the first steps -> [ways] -> layerwise, reuse and sampler
 * Owns     nothing that stays
 * Lends    nothing
 * Thread   one caller; collective
 * Fails    as carrier and net
 *
 * Ways that are never stale: by steps; by layers, the CPU aggregating; and that with aggregates of
 * hot vertices reused; each, where a device may sample, with it sampling and the CPU. The first
 * steps of the training, 32 at most, are brought and differentiated by each on a net of their own:
 * twice, of which the shorter time counts, or with the pipeline of the training, of which the
 * second half does; of several ranks the longest. A later way must be faster by a twentieth. Who
 * samples changes no bit. Ways round otherwise and the last trains on other samples: they compete
 * where that was asked for, the winner is kept by the checkpoint, and named it gives the same bits.
 */
#ifndef GNN_TRAIN_WAYS_H
#define GNN_TRAIN_WAYS_H

#include "base/json.h"
#include "train/batch.h"
#include "train/opts.h"

/* The checkpoint has the number. */
enum gnn_way { GNN_WAY_OPEN, GNN_WAY_STEP, GNN_WAY_LAYER, GNN_WAY_AGGREGATES, GNN_WAY_COUNT };

struct gnn_ways_opts {
	const struct gnn_train_opts   *train;
	struct gnn_train_source       *source;
	const struct gnn_net          *net;     /* of the training: its shape */
	const struct gnn_batches_opts *batches;
	struct gnn_hot                *hot;     /* where they are chosen already; lent */
	const struct gnn_table        *table;   /* of a device; NULL: cores */
	uint64_t                       steps;   /* of the training */
};

struct gnn_ways_choice {
	enum gnn_way    way;
	bool            samples; /* the device does */
	struct gnn_hot *hot;     /* of a way that keeps aggregates, for the caller; or those lent */
};

GNN_BEGIN_DECLS

/* Measures and says, where there is more than one way. */
int  gnn_ways_choose(struct gnn_ways_choice *out, struct gnn_ways_seen *seen,
	const struct gnn_ways_opts *o);
/* The training goes this way. */
void gnn_ways_take(struct gnn_train_opts *train, enum gnn_way way);
const char *gnn_reuse_name(enum gnn_reuse reuse);
/* "ways" and "chosen" of an object. */
void gnn_ways_print(struct gnn_json *j, const struct gnn_ways_seen *seen);

GNN_END_DECLS

#endif
