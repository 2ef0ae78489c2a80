/*
 * train/evaluate.h - how good a net is on every split: each layer over the whole graph, exactly.
 *
 * Flow     net, source -> [evaluate] -> a figure for each split
 * Owns     the whole graph as a block, features as floats
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory; GNN_ECONFIG a metric that the labels do not allow
 */
#ifndef GNN_TRAIN_EVALUATE_H
#define GNN_TRAIN_EVALUATE_H

#include "infer/opts.h"
#include "train/net.h"
#include "train/source.h"

struct gnn_evaluator;

GNN_BEGIN_DECLS

int  gnn_evaluator_create (struct gnn_evaluator **out, const struct gnn_source *s,
	struct gnn_net *n, struct gnn_backend *b, enum gnn_metric metric, uint32_t threads);
/* figure is NaN where there is no such split. */
int  gnn_evaluator_run    (struct gnn_evaluator *e, double figure[GNN_SPLIT_COUNT]);
const char *gnn_evaluator_metric(const struct gnn_evaluator *e); /* after run */
void gnn_evaluator_destroy(struct gnn_evaluator *e); /* NULL is fine */

GNN_END_DECLS

#endif
