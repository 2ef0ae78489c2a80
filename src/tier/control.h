/*
 * tier/control.h - the state machine of all vertices: where each row is, who goes, who is done.
 *
 * Flow     edge batches (topology alone) -> [control] -> tier programs
 * Owns     8 bytes a vertex, 25 a slot, the eviction orders, the pages of the spill
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory, stores below the smallest legal size
 *
 * A vertex is NOT_STARTED, RESIDENT in the top or the host store, EVICTED to a record of the
 * spill, or COMPLETED: one 32-bit place says which and where, and beside it stands the number of
 * messages to come. Each vertex also has one own event, possibly empty, when its own row comes, so
 * that vertices without edges complete too. No row is looked at: the machine can run alone.
 */
#ifndef GNN_TIER_CONTROL_H
#define GNN_TIER_CONTROL_H

#include "tier/evict.h"
#include "tier/inlists.h"
#include "tier/tier_program.h"

struct gnn_control_opts {
	uint64_t vertices;
	const uint32_t *in;            /* (V) listed in-degrees */
	const uint32_t *loops;         /* (V) listed self-loops, or NULL: none */
	bool     drop_loops;           /* they are no messages */
	uint64_t fanout;               /* messages of a vertex at most; 0: all */
	bool     carry;                /* from in-degree GNN_HUB_DEGREE on: two slots */
	bool     strip_own;            /* own entries are events only: left out of the batches */
	bool     keep_own;             /* own rows are listed: GNN_MOVE_OWN */
	const struct gnn_inlists *inlists; /* for policies that ask for the next use; NULL: the
	                                      steps bring it */
	uint64_t epoch_rows;           /* source rows of a chunk */
	uint64_t source_rows;          /* numbers of sources are below it; at least (V) is taken */
	uint32_t top_slots;
	uint32_t host_slots;           /* 0: the spill is below the top */
	uint32_t pin_slots;            /* of the top, for the vertices of highest in-degree */
	uint32_t pin_degree;           /* which they must have at least */
	enum gnn_evict_policy policy;
	uint64_t seed;
	bool     count_reloads;        /* of each vertex, a byte each: for reloaded[] */
	uint32_t page_records;         /* of the spill */
	uint32_t streams_max;          /* pages of the spill that may be open at once */
};

enum { GNN_RELOADED_MAX = 16 };

struct gnn_control_stats {
	uint64_t evictions, reloads;      /* vertices that left the top, that came back */
	uint64_t spilled_rows, reloaded_rows; /* to and from the spill */
	uint64_t admitted, graduated;     /* vertices */
	uint64_t messages, pinned_messages;
	uint64_t pairs;                   /* (work item, destination) */
	uint64_t pinned_pairs;            /* of them, destinations that are pinned */
	/* With count_reloads: vertices that came back 1, 2, 3 ... times, the last: or more. */
	uint64_t reloaded[GNN_RELOADED_MAX];
	uint64_t pinned;                  /* vertices */
	uint64_t top_rows, host_rows, spill_rows; /* in use now */
	uint64_t spill_rows_max;
	uint64_t pages;                   /* of the spill, ever in use */
};

enum gnn_control_store { GNN_STORE_NONE, GNN_STORE_TOP, GNN_STORE_HOST, GNN_STORE_SPILL };

/* Of a row in use, its slot or record, and that of its carry, or GNN_SLOT_NONE. */
struct gnn_control_place {
	enum gnn_control_store store;
	uint32_t at, mate;
};

struct gnn_control;

GNN_BEGIN_DECLS

int  gnn_control_create (struct gnn_control **out, const struct gnn_control_opts *o);
/*
 * One work item: the batch of source rows [first_row, first_row + rows), with an own entry for each
 * of them in this item or another of the chunk. The program is valid until it is cleared.
 */
int  gnn_control_step   (struct gnn_control *c, gnn_vid first_row, uint64_t rows,
	const struct gnn_edge_batch *b, struct gnn_tier_program *p);
/*
 * Of the next step: the source that each group waits for behind it. Always without in-lists; with
 * them it may be told too, or NULL: whoever goes through the edges can look there on all cores.
 */
void gnn_control_foresee(struct gnn_control *c, const uint32_t *next);
/*
 * Going on where another machine stood, between chunks: own rows in front of `first_row` have come,
 * messages to come are put for all vertices, then each row in use gets a record of the spill (and
 * the one behind it, for a carry); *full as in tier/pages.h. GNN_EDATA where that cannot be.
 */
void gnn_control_put_left(struct gnn_control *c, gnn_vid first, uint64_t count,
	const uint32_t *left);
int  gnn_control_restore(struct gnn_control *c, gnn_vid first_row, gnn_vid v,
	const uint32_t *next, uint64_t *record, uint32_t *rows, uint32_t *full);
int  gnn_control_restored(struct gnn_control *c, gnn_vid first_row);
/* What stands now: messages to come, and where the row of v is. */
void gnn_control_left   (const struct gnn_control *c, gnn_vid first, uint64_t count,
	uint32_t *left);
void gnn_control_received(const struct gnn_control *c, uint32_t *received); /* (V) messages */
struct gnn_control_place gnn_control_place(const struct gnn_control *c, gnn_vid v);
void gnn_control_stats  (const struct gnn_control *c, struct gnn_control_stats *out);
int  gnn_control_end    (const struct gnn_control *c); /* asserts that all is completed */
void gnn_control_destroy(struct gnn_control *c); /* NULL is fine */

uint64_t gnn_control_bytes(const struct gnn_control_opts *o); /* memory that create takes */
uint32_t gnn_control_slots_min(const struct gnn_control_opts *o); /* smallest legal top */

GNN_END_DECLS

#endif
