/*
 * infer/forecast.h - what the stores of a tiered layer will do, from a sample of the vertices.
 *
 * Flow     plan, store (some in-lists) -> [forecast] -> estimate
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EDATA, GNN_EIO of the store; GNN_EOS memory
 *
 * The state machine itself runs over a few thousand vertices, in stores that are as much smaller:
 * its counts, scaled up, are those of the whole within a few percent where a sample shows them.
 */
#ifndef GNN_INFER_FORECAST_H
#define GNN_INFER_FORECAST_H

#include "infer/plan.h"

struct gnn_forecast {
	double evictions, reloads;        /* vertices */
	double written_bytes, read_bytes; /* of the spill */
	double control_s;                 /* of the state machine */
};

GNN_BEGIN_DECLS

int gnn_forecast_tiered(struct gnn_forecast *f, const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d);

GNN_END_DECLS

#endif
