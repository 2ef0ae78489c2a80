/*
 * infer/infer.h - embeddings of every vertex: the state machine over the layers.
 *
 * Flow     store + model -> [infer] -> result file, metrics
 * Owns     plan, states, stages
 * Lends    nothing
 * Thread   one caller; stages inside
 * Fails    GNN_ECONFIG model and store do not meet; GNN_EOS budget; GNN_EDATA, GNN_EIO streaming
 */
#ifndef GNN_INFER_INFER_H
#define GNN_INFER_INFER_H

#include "infer/opts.h"

GNN_BEGIN_DECLS

int gnn_infer_run(const struct gnn_infer_opts *o, struct gnn_infer_report *report);

GNN_END_DECLS

#endif
