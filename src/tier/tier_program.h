/*
 * tier/tier_program.h - what one work item does to the stores: rows that move, edges, rows done.
 *
 * Flow     control -> [tier_program] -> tier
 * Owns     its arrays, which grow and stay for the next item
 * Lends    the batches of its steps, until begun again
 * Thread   one at a time
 * Fails    GNN_EOS memory
 *
 * A step is what can be resident at once: its moves in the order of the kinds, then its edges and
 * own rows, then its finished rows. A row of a store is a slot; rows with a carry take two.
 */
#ifndef GNN_TIER_TIER_PROGRAM_H
#define GNN_TIER_TIER_PROGRAM_H

#include "op/edges.h"
#include "op/moves.h"
#include "tier/pages.h"

enum gnn_move_kind {
	GNN_MOVE_SPILL_HOST, /* host slot -> record */
	GNN_MOVE_SPILL_TOP,  /* top slot -> record */
	GNN_MOVE_DEMOTE,     /* top slot -> host slot */
	GNN_MOVE_PROMOTE,    /* host slot -> top slot */
	GNN_MOVE_RELOAD,     /* record -> top slot */
	GNN_MOVE_INIT,       /* a new row in a top slot; `from` is 1 for a carry */
	GNN_MOVE_OWN,        /* row of the chunk -> top slot: not a move, an own row to be kept */
	GNN_MOVE_KINDS,
};

struct gnn_move_list {
	struct gnn_move *move;
	uint64_t         count, capacity;
};

struct gnn_tier_step {
	struct gnn_edge_batch batch;
	uint64_t move_end[GNN_MOVE_KINDS]; /* the step's begin where the one before ends */
	uint64_t full_end;
	uint64_t done_end;
	uint64_t group_begin_, entry_begin_, first_begin_; /* internal */
};

struct gnn_tier_program {
	uint64_t              epoch;
	struct gnn_tier_step *step;
	uint64_t              step_count, step_capacity;
	struct gnn_move_list  moves[GNN_MOVE_KINDS];
	struct gnn_page_list  full;  /* pages of the spill that take no more: to be written */
	struct gnn_move_list  done;  /* top slot, free after the step -> the vertex finished */
	uint64_t             *vertex, *slot, *carry, *first; /* (group_capacity + steps) */
	uint32_t             *src;
	float                *weight; /* (entry_capacity) where entries have weights */
	bool                  weighted;
	uint64_t              group_count, group_capacity, first_count, first_capacity;
	uint64_t              entry_count, entry_capacity;
};

GNN_BEGIN_DECLS

void gnn_tier_program_fini(struct gnn_tier_program *p); /* zeroed is fine */
void gnn_tier_program_clear(struct gnn_tier_program *p, uint64_t epoch);

int gnn_tier_program_move(struct gnn_tier_program *p, enum gnn_move_kind kind, uint64_t from,
	uint64_t to);
int gnn_tier_program_full(struct gnn_tier_program *p, uint32_t page);
int gnn_tier_program_done(struct gnn_tier_program *p, gnn_vid v, uint32_t slot);

/* Room for `groups` more groups with `entries` entries, weighted or not, in one more step. */
int gnn_tier_program_reserve(struct gnn_tier_program *p, uint64_t groups, uint64_t entries,
	bool weighted);
/* Begins a step; end closes it. */
struct gnn_tier_step *gnn_tier_program_begin(struct gnn_tier_program *p);
void gnn_tier_program_end(struct gnn_tier_program *p);
/* Group i of `b` into the step; own entries are left out when `strip`. */
void gnn_tier_program_group(struct gnn_tier_program *p, const struct gnn_edge_batch *b,
	uint64_t i, uint32_t slot, uint32_t carry, bool strip);
/* Points the batches at the arrays, once all steps are there. */
void gnn_tier_program_seal(struct gnn_tier_program *p);

GNN_END_DECLS

/* Where the moves of a step begin. */
static inline uint64_t gnn_tier_step_begin(const struct gnn_tier_program *p, uint64_t step,
	enum gnn_move_kind kind)
{
	return step == 0 ? 0 : p->step[step - 1].move_end[kind];
}

#endif
