/*
 * tier/tier.h - the stores of a layer's states: rows move as a tier program says.
 *
 * Flow     tier programs -> [tier] -> rows in the top store, where they are aggregated
 * Owns     the top store in backend memory, the host store, the spill
 * Lends    the top store
 * Thread   one caller
 * Fails    GNN_EOS memory; what backend and spill fail with
 *
 * The top store is the backend's memory. Below it stands the host store, where the backend has a
 * memory of its own, and below that the spill. Rows move by explicit copies and reads.
 */
#ifndef GNN_TIER_TIER_H
#define GNN_TIER_TIER_H

#include "op/backend.h"
#include "tier/ferry.h"
#include "tier/image.h"

struct gnn_tier_opts {
	struct gnn_backend *backend;
	uint32_t width;       /* floats of a row */
	float    empty;       /* of a new row; a new carry is 0 */
	uint32_t top_slots;
	uint32_t host_slots;  /* 0: the spill is below the top; so where the backend is unified */
	uint64_t block_rows;  /* that cross between host and backend at once, where it is not */
	struct gnn_spill_opts spill; /* row_bytes is set here */
};

struct gnn_tier {
	struct gnn_tier_opts o;
	float    *top;        /* (top_slots, width) */
	float    *blank;      /* (2, width): an empty row, an empty carry */
	float    *host;       /* (host_slots, width), or NULL */
	struct gnn_spill *spill;
	struct gnn_ferry ferry; /* where the backend is not unified */
	/* A step's rows may be on their way down: pages that it fills are written behind them. */
	const struct gnn_tier_program *flying;
	uint64_t full, full_end;
};

GNN_BEGIN_DECLS

int  gnn_tier_create (struct gnn_tier **out, const struct gnn_tier_opts *o);
/* The moves of one step, but for own rows: its rows are in the top then. */
int  gnn_tier_move   (struct gnn_tier *t, const struct gnn_tier_program *p,
	const struct gnn_tier_lists *l, uint64_t step); /* l: p's as the backend reads them */
/* Begins to read what the program will reload; only behind the program in front of it. */
int  gnn_tier_ask    (struct gnn_tier *t, const struct gnn_tier_program *p);
int  gnn_tier_rest   (struct gnn_tier *t); /* after a program, which is not needed then */
/* Rows `from` of the moves, in the top, into host memory; between programs. */
int  gnn_tier_read   (struct gnn_tier *t, const struct gnn_move *moves, uint64_t count, float *to);
void gnn_tier_destroy(struct gnn_tier *t); /* NULL is fine */

GNN_END_DECLS

#endif
