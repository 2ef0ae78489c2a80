/*
 * train/plan.h - which hot vertices each super-batch needs, known before it is trained.
 *
 * Flow     ids of a super-batch's batches -> [plan] -> which rows a batch need not make
 * Owns     the plans of the super-batches at hand
 * Lends    a plan, until the fourth behind it is begun
 * Thread   one makes them in order; wait by any
 * Fails    GNN_EOS memory; GNN_ESTOP from wait after a cancel
 */
#ifndef GNN_TRAIN_PLAN_H
#define GNN_TRAIN_PLAN_H

#include "train/hybrid.h"
#include "train/room.h"

struct gnn_plans_opts {
	const uint32_t *place; /* (V) of a hot vertex, by hotness below hot_count, or GNN_NOT_HOT */
	const gnn_vid  *id;    /* (hot_count) by place */
	uint64_t hot_count;
	uint64_t super_batch;  /* steps */
	uint64_t first;        /* super-batch that is planned first */
	bool     window;       /* hot are those that two steps or more need, of equals the first: */
	uint64_t most;         /* so many of them, those that most steps need; else all there are */
	struct gnn_hybrid *hybrid; /* says how many of the hottest are; NULL: all */
};

/* What a super-batch needs. */
struct gnn_plan {
	uint64_t  index;      /* of the super-batch */
	uint64_t  count;      /* of its queue */
	gnn_vid  *id;         /* (count) in order of hotness; in a window, of steps that need it */
	uint32_t *row;        /* (hot_count) by place: row of the queue, or GNN_NOT_HOT */
	struct gnn_room room;
};

struct gnn_plans;

GNN_BEGIN_DECLS

int  gnn_plans_create(struct gnn_plans **out, const struct gnn_plans_opts *o);
uint64_t gnn_plans_made(struct gnn_plans *p); /* super-batches below have their plan */
/* The next plan: empty, then with what batches need, then whole. */
void gnn_plans_begin (struct gnn_plans *p);
void gnn_plans_mark  (struct gnn_plans *p, const gnn_vid *id, uint64_t count);
int  gnn_plans_end   (struct gnn_plans *p);
/* The plan of the super-batch of a step, once it is whole. */
int  gnn_plans_wait  (struct gnn_plans *p, uint64_t step, const struct gnn_plan **plan);
const uint32_t *gnn_plans_place(const struct gnn_plans *p);
void gnn_plans_cancel(struct gnn_plans *p);
void gnn_plans_destroy(struct gnn_plans *p); /* NULL is fine */

GNN_END_DECLS

#endif
