/*
 * train/evaluate.h - how good a net is on every split, exactly, over the whole graph.
 *
 * Flow     net, source -> [evaluate] -> a figure for each split
 * Owns     in memory, the whole graph as a block and, but over a bottom, features as floats
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory; GNN_ECONFIG a metric that the labels do not allow; as the inference
 *
 * Features in memory, on the CPU, one rank: each layer runs over the whole graph there. Else the
 * model is written to `folder` and the inference engine runs it from disk, with all ranks.
 */
#ifndef GNN_TRAIN_EVALUATE_H
#define GNN_TRAIN_EVALUATE_H

#include "infer/opts.h"
#include "train/net.h"
#include "train/foresee.h"
#include "train/source.h"

struct gnn_evaluator;

struct gnn_evaluator_opts {
	const struct gnn_train_source *source;
	struct gnn_net          *net;
	struct gnn_backend      *backend;
	struct gnn_comm         *comm;    /* ranks that evaluate together; NULL: one alone */
	bool                     devices_shared; /* by several of them */
	enum gnn_metric          metric;
	uint32_t                 threads;
	const char              *folder;  /* of the checkpoint; made when needed; copied */
	const char              *scratch; /* of the inference; NULL: in `folder` */
	const struct gnn_foreseen *foreseen; /* memory that a training takes beside it */
};

GNN_BEGIN_DECLS

int  gnn_evaluator_create (struct gnn_evaluator **out, const struct gnn_evaluator_opts *o);
/* figure is NaN where there is no such split. */
int  gnn_evaluator_run    (struct gnn_evaluator *e, double figure[GNN_SPLIT_COUNT]);
const char *gnn_evaluator_metric(const struct gnn_evaluator *e); /* after run */
void gnn_evaluator_destroy(struct gnn_evaluator *e); /* NULL is fine */

GNN_END_DECLS

#endif
