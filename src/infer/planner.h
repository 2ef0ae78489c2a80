/*
 * infer/planner.h - chooses the plan: what fits the budgets, with the fewest readings.
 *
 * Flow     store, model, budgets -> [planner] -> plan
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS a budget is too small: names budget, need, what needs it, what would suffice;
 *          GNN_ECONFIG model and store do not meet
 *
 * Buffers halve until they leave at least half of the budget to the states, down to a floor.
 */
#ifndef GNN_INFER_PLANNER_H
#define GNN_INFER_PLANNER_H

#include "infer/plan.h"

GNN_BEGIN_DECLS

/* Before anything is loaded: whether the smallest plan fits the budget. */
int gnn_planner_check(const struct gnn_infer_opts *o);
int gnn_planner_make (struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d);
/* The same where another plan will do as well: *legal is false where any rank cannot have it. */
int gnn_planner_try  (struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, bool *legal);

/* That, from what each rank found: GNN_ECONFIG or GNN_EOS of any is false on all of them. */
int gnn_planner_legal(const struct gnn_infer_opts *o, int status, bool *legal);

/* The plan that an earlier run had: kind, halvings, shards. Collective where ranks are several. */
struct gnn_plan_choice {
	enum gnn_plan_kind kind;
	uint32_t level;
	uint64_t chunk_bytes;
	const uint32_t *shards; /* one a layer */
};
int gnn_planner_again(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, const struct gnn_plan_choice *c);

GNN_END_DECLS

#endif
