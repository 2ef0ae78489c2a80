/*
 * infer/plan.h - what is kept in memory between and within layers, and how much it takes.
 *
 * Flow     store, model, budget -> [plan] -> infer
 * Owns     nothing
 * Lends    nothing
 * Thread   plain data
 * Fails    GNN_EOS the budget is too small: names budget, need, and what needs it;
 *          GNN_ECONFIG model and store do not meet
 *
 * Resident plan: the states of one layer and the input of the next are dense arrays by vertex in
 * memory. Between layers the narrower of h and the next layer's message rows is kept.
 */
#ifndef GNN_INFER_PLAN_H
#define GNN_INFER_PLAN_H

#include "infer/feed.h"
#include "infer/opts.h"

struct gnn_layer_plan {
	bool     features;      /* the input is streamed from the store; else it is in memory */
	bool     input_message; /* the input in memory already is message rows */
	bool     keep_messages; /* SOFTMAX: all message rows are kept for the second pass */
	uint64_t chunk_rows;
	uint32_t input_width;   /* floats of a row in memory */
	uint64_t input_bytes;   /* of the whole input in memory; 0 with features */
	uint64_t state_bytes, carry_bytes, score_bytes;
	uint64_t buffer_bytes;  /* feed, message rows, row vectors, finished rows */
};

enum { GNN_IN_FLIGHT_MAX = 16 };

struct gnn_plan {
	uint32_t layer_count;
	struct gnn_layer_plan layer[GNN_LAYERS_MAX];
	uint32_t ahead;       /* work items that circulate */
	uint32_t in_flight;   /* of them, issued to the backend at most */
	uint64_t entries;     /* of a work item */
	uint64_t finish_rows; /* rows finished at a time, whole panels */
	uint64_t peak_bytes;
	uint32_t peak_layer;
};

GNN_BEGIN_DECLS

int gnn_plan_make(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d);
struct gnn_feed_opts gnn_plan_feed(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d);

GNN_END_DECLS

#endif
