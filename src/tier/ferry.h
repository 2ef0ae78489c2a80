/*
 * tier/ferry.h - rows between the top store on a device and what is below it in host memory.
 *
 * Flow     tier -> [ferry] -> host store, spill; and back
 * Owns     two buffers each way, on either side
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory; what backend and spill fail with
 *
 * Rows that leave are gathered on the device and fetched beside the operations that follow; they
 * are on their way until `land`, which puts them where they belong. Rows that come are gathered on
 * the host and staged, which overlaps what was issued before.
 */
#ifndef GNN_TIER_FERRY_H
#define GNN_TIER_FERRY_H

#include "op/backend.h"
#include "tier/spill.h"
#include "tier/tier_program.h"

enum { GNN_FERRIES = 2 };

struct gnn_ferry_opts {
	struct gnn_backend *backend;
	uint32_t width;          /* floats of a row */
	uint64_t block_rows;     /* of a buffer */
	float   *top;            /* (slots, width) on the device */
	float   *host;           /* (slots, width), or NULL */
	struct gnn_spill *spill;
	uint32_t pages_ahead;    /* of the spill, asked for in front of their rows */
};

/* Rows on their way down. */
struct gnn_ferry_load {
	enum gnn_move_kind     kind; /* SPILL_TOP or DEMOTE */
	const struct gnn_move *moves;
	uint64_t               count, ticket;
};

struct gnn_ferry {
	struct gnn_ferry_opts o;
	float   *there[GNN_FERRIES]; /* (block_rows, width) on the device */
	float   *down[GNN_FERRIES];  /* the same in host memory */
	float   *up[GNN_FERRIES];
	struct gnn_ferry_load load[GNN_FERRIES]; /* oldest first */
	uint32_t first, count;
	uint64_t up_ticket[GNN_FERRIES];
	uint64_t up_count;
};

GNN_BEGIN_DECLS

int  gnn_ferry_init(struct gnn_ferry *f, const struct gnn_ferry_opts *o);
void gnn_ferry_fini(struct gnn_ferry *f); /* zeroed is fine */
/* `moves` stay until all has landed; `there` is the same list as the device reads it. */
int  gnn_ferry_down(struct gnn_ferry *f, enum gnn_move_kind kind, const struct gnn_move *moves,
	const struct gnn_move *there, uint64_t count);
int  gnn_ferry_land(struct gnn_ferry *f);
/* PROMOTE or RELOAD; nothing that it takes may be on its way down. */
int  gnn_ferry_up  (struct gnn_ferry *f, enum gnn_move_kind kind, const struct gnn_move *moves,
	const struct gnn_move *there, uint64_t count);
/* Rows `from` of the moves, at most block_rows, into host memory; they stay in their slots. */
int  gnn_ferry_read(struct gnn_ferry *f, const struct gnn_move *moves, uint64_t count, float *to);

uint64_t gnn_ferry_host_bytes  (uint32_t width, uint64_t block_rows);
uint64_t gnn_ferry_device_bytes(uint32_t width, uint64_t block_rows); /* what is staged, too */

GNN_END_DECLS

#endif
