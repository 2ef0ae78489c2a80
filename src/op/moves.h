/*
 * op/moves.h - rows of one matrix that become rows of another.
 *
 * Flow     tier -> [moves] -> backend
 * Owns     nothing; plain data with borrowed arrays
 * Lends    nothing
 * Thread   constant once filled
 * Fails    never
 */
#ifndef GNN_OP_MOVES_H
#define GNN_OP_MOVES_H

#include "base/err.h"

/* Row `from` of one matrix becomes row `to` of the other; no row is written twice. */
struct gnn_move {
	uint32_t from, to;
};

/* Which of the rows is named by the moves, and which is the i-th for move i. */
enum gnn_move_rule {
	GNN_MOVE_BOTH,    /* both are named */
	GNN_MOVE_GATHER,  /* `to` is the i-th */
	GNN_MOVE_SCATTER, /* `from` is the i-th */
};

struct gnn_move_args {
	const float *from;
	uint64_t     from_pitch; /* floats */
	float       *to;
	uint64_t     to_pitch;
	uint32_t     width;
	const struct gnn_move *moves; /* (count) */
	uint64_t     count;
	enum gnn_move_rule rule;
};

#endif
