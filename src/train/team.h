/*
 * train/team.h - the ranks that train one model together.
 *
 * Flow     train's step, a rank's share of the seeds -> [team] -> gradient and figures of all
 * Owns     what travels between the ranks
 * Lends    nothing
 * Thread   one caller; collective, in one order on all ranks
 * Fails    as comm; GNN_EOS memory; GNN_EBUG weights that are no longer those of the other ranks
 *
 * NULL is a rank alone: its figures and its gradient are those of all.
 */
#ifndef GNN_TRAIN_TEAM_H
#define GNN_TRAIN_TEAM_H

#include "mpi/comm.h"
#include "train/net.h"

struct gnn_team;

/* What was done in a step. */
struct gnn_tally {
	double   loss; /* sums over the ranks: */
	uint64_t counted, input_vertices, aggregated, reused, h2d_bytes, cache_hits;
	uint64_t age;  /* the most of any rank: */
	uint64_t stop; /* 1: a signal came */
};

GNN_BEGIN_DECLS

/* *out is NULL for a rank alone. The net's gradients and norms are of all ranks from now on. */
int  gnn_team_open  (struct gnn_team **out, struct gnn_comm *c, struct gnn_net *n,
	struct gnn_backend *b);
/* Before forward of a batch. */
int  gnn_team_begin (struct gnn_team *t, const struct gnn_sample *s);
/* Behind backward: the tally becomes that of all ranks. */
int  gnn_team_tally (struct gnn_team *t, struct gnn_tally *tally);
/* Returns when the gradient is that of all ranks. */
int  gnn_team_finish(struct gnn_team *t);
/* Whether all ranks have the same weights, to the bit. */
int  gnn_team_check (struct gnn_team *t);
void gnn_team_close (struct gnn_team *t); /* NULL is fine; after a failure the comm knows of it */

GNN_END_DECLS

#endif
