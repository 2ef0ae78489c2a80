/*
 * train/late.h - rows of hot vertices that are not there when their super-batch is due.
 *
 * Flow     slices as they are made; steps the trainer asks for -> [late] -> slices that count
 * Owns     how far slices are, the decisions
 * Lends    nothing
 * Thread   made and is_over by who makes slices, due by the trainer, settle by its carrier
 * Fails    GNN_EOS memory; GNN_ESTOP from settle after a cancel; as decisions
 *
 * A super-batch's rows are made in n slices, the hottest vertices first. Who waits gets them all.
 * Else, when the trainer asks for the super-batch's first step and slices are missing, those that
 * are there count for all of its steps, the vertices of the others are cold, and what is missing
 * is not made any more. Which they were depends on the clock: a training is repeated bit by bit by
 * replaying its log, lines "SUPER-BATCH SLICES" of the super-batches that were late.
 */
#ifndef GNN_TRAIN_LATE_H
#define GNN_TRAIN_LATE_H

#include "train/decisions.h"
#include "train/onehop.h"

enum gnn_late_mode { GNN_LATE_WAIT, GNN_LATE_COLD, GNN_LATE_REPLAY };

struct gnn_late_opts {
	enum gnn_late_mode mode;
	uint64_t           super_batch; /* slices, too */
	uint64_t           step;        /* at which training begins or goes on */
	const struct gnn_decision *log; /* (count) that is replayed, or of the checkpoint; copied */
	uint64_t           count;
};

struct gnn_late;

GNN_BEGIN_DECLS

int  gnn_late_create (struct gnn_late **out, const struct gnn_late_opts *o);
enum gnn_late_mode gnn_late_mode_of(const struct gnn_late *l);
void gnn_late_destroy(struct gnn_late *l); /* NULL is fine */
/* So many slices of a super-batch are there, made with what `counts` says. */
void gnn_late_made   (struct gnn_late *l, uint64_t super_batch, uint64_t slices,
	const struct gnn_onehop_counts *counts);
/* Whether no more slices of it than `slices` will be taken. */
bool gnn_late_is_over(struct gnn_late *l, uint64_t super_batch, uint64_t slices);
/* The trainer waits for the batch of a step. */
void gnn_late_due    (struct gnn_late *l, uint64_t step);
/* The slices that count for a super-batch, and what they took; waits as the mode says. */
int  gnn_late_settle (struct gnn_late *l, uint64_t super_batch, uint64_t *slices,
	struct gnn_onehop_counts *counts);
bool gnn_late_is_settled(struct gnn_late *l, uint64_t super_batch); /* the last that was */
void gnn_late_cancel (struct gnn_late *l);
/* Super-batches that were late; a copy, freed by the caller. */
int  gnn_late_log    (struct gnn_late *l, struct gnn_decision **log, uint64_t *count);

int  gnn_late_write  (const char *path, uint64_t super_batch, const struct gnn_decision *log,
	uint64_t count);
/* *log is freed by the caller. */
int  gnn_late_read   (const char *path, uint64_t super_batch, struct gnn_decision **log,
	uint64_t *count);

GNN_END_DECLS

#endif
