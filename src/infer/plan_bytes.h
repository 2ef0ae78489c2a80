/*
 * infer/plan_bytes.h - the memory that a plan takes, against the budgets; private to plan*.c.
 *
 * Flow     plan -> [plan_bytes] -> plan
 * Owns     nothing
 * Lends    nothing
 * Thread   plain data
 * Fails    GNN_EOS from refuse
 */
#ifndef GNN_INFER_PLAN_BYTES_H
#define GNN_INFER_PLAN_BYTES_H

#include "infer/plan.h"

GNN_BEGIN_DECLS

/* What is free for the plan; without degrees, what they take is set aside. */
void gnn_plan_budgets(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d);
/* The byte figures of a layer whose rows and shards are known. */
void gnn_plan_add_bytes(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o);
void gnn_plan_sum(struct gnn_plan *p, const struct gnn_infer_opts *o); /* the peaks */

bool gnn_plan_fits(const struct gnn_plan *p);
bool gnn_plan_layer_fits(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o);
bool gnn_plan_buffers_are_small(const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o);
/* Shards that the states of a layer want at least, by what the rest leaves them. */
uint64_t gnn_plan_wanted_shards(const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o);
/* Features in another order, `rows` at a time: runs as large as there is room. */
void gnn_plan_permute_buffers(struct gnn_plan *p, const struct gnn_infer_opts *o, uint64_t rows);
/* The tiered plan: sizes of what circulates, and what is left for the store of a layer. */
int  gnn_plan_tier_check(const struct gnn_infer_opts *o, const struct gnn_degrees *d);
int  gnn_plan_tier_refuse(const struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d);
void gnn_plan_tier_buffers(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, uint32_t level);
bool gnn_plan_tier_layer(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d); /* false: not even the smallest store fits */
uint64_t gnn_plan_tier_bytes(const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o); /* beside the stores, in host memory */
uint64_t gnn_plan_tier_device_bytes(const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o); /* and in that of the backend, where it has its own */

int  gnn_plan_refuse(const struct gnn_plan *p, const struct gnn_infer_opts *o);

GNN_END_DECLS

#endif
