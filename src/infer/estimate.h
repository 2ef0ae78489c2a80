/*
 * infer/estimate.h - bytes and seconds that a plan will take, layer by layer.
 *
 * Flow     plan, rates -> [estimate] -> --explain; predicted beside actual in the report
 * Owns     nothing
 * Lends    nothing
 * Thread   plain data
 * Fails    as the rates
 *
 * Bytes follow from the plan alone. Seconds: in each pass reading, writing and computing overlap,
 * so the slowest of them counts; finishing and handing on of a shard comes behind it.
 */
#ifndef GNN_INFER_ESTIMATE_H
#define GNN_INFER_ESTIMATE_H

#include "infer/plan.h"
#include "infer/rates.h"

GNN_BEGIN_DECLS

/* Fills the predicted_ figures and what the plan says of each layer; measures for a moment. */
int  gnn_estimate_fill(struct gnn_infer_report *r, const struct gnn_plan *p,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d);
/* Of several ranks: bytes of all, memory and seconds of the one that wants most. */
int  gnn_estimate_join(struct gnn_infer_report *r, const struct gnn_share *s);
/* Predicted beside actual, a line a layer. */
void gnn_estimate_log(const struct gnn_infer_report *r);

GNN_END_DECLS

#endif
