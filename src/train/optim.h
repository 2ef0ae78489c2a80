/*
 * train/optim.h - the optimiser: learning rate over time, clipping, one step for all weights.
 *
 * Flow     gradients -> [optim] -> weights
 * Owns     first and second moments
 * Lends    them, for the checkpoint
 * Thread   one caller
 * Fails    GNN_EOS memory; what the backend fails with
 *
 * Adam, AdamW and SGD with momentum as torch.optim has them. The schedule is a factor of the
 * learning rate over t, the share of all steps that is done:
 *   constant 1, linear 1 - t, cosine (1 + cos pi t) / 2, step .1 for each whole third of t
 */
#ifndef GNN_TRAIN_OPTIM_H
#define GNN_TRAIN_OPTIM_H

#include "train/net.h"

enum gnn_schedule { GNN_SCHEDULE_CONSTANT, GNN_SCHEDULE_LINEAR, GNN_SCHEDULE_COSINE,
	GNN_SCHEDULE_STEP };

struct gnn_optim_opts {
	enum gnn_optimizer kind;
	enum gnn_schedule  schedule;
	double   lr, momentum;
	double   clip;                /* largest norm of the gradient; 0: no limit */
	double   weight_decay[GNN_NET_LAYERS_MAX];
};

struct gnn_optim;

GNN_BEGIN_DECLS

int  gnn_optim_create (struct gnn_optim **out, const struct gnn_optim_opts *o, struct gnn_net *n,
	struct gnn_backend *b);
void gnn_optim_destroy(struct gnn_optim *p); /* NULL is fine */
float *gnn_optim_moment(struct gnn_optim *p, uint32_t which); /* 0, 1: (learned), the backend's */

/* Step `step` of `steps`, from 0; *change: the largest change of a weight. */
int  gnn_optim_step(struct gnn_optim *p, uint64_t step, uint64_t steps, double *change);
double gnn_schedule_factor(enum gnn_schedule s, uint64_t step, uint64_t steps);

GNN_END_DECLS

#endif
