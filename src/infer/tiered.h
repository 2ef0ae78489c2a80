/*
 * infer/tiered.h - the tiered plan of one layer: states in stores, rows that graduate one by one.
 *
 * Flow     feed -> control -> [tiered: moves, edges] -> panels of done rows -> [finish] -> runs
 * Owns     control, stores, the panel of done rows, programs that circulate
 * Lends    nothing
 * Thread   one caller; control runs on a thread of its own during a pass
 * Fails    GNN_EOS memory; GNN_EIO, GNN_EDATA of scratch; what the backend fails with
 */
#ifndef GNN_INFER_TIERED_H
#define GNN_INFER_TIERED_H

#include "infer/run.h"
#include "tier/control.h"
#include "tier/tier.h"

enum { GNN_TIERED_LISTS = 2 };

struct gnn_tiered {
	struct gnn_control *control;
	struct gnn_tier    *tier;
	struct gnn_nextuse *next; /* where in-lists do not fit memory */
	struct gnn_inlists_cursor cursor; /* where they do, if ids are narrow */
	/* Rows that are done and wait until a panel is full. */
	float              *panel;    /* (finish_rows, state_width) */
	uint64_t           *vertex;   /* (finish_rows) */
	uint64_t            waiting;
	/* Vertices of a panel, as the backend reads them; one list each while it may do so. */
	struct gnn_move    *list[GNN_TIERED_LISTS]; /* (finish_rows) */
	uint64_t            list_ticket[GNN_TIERED_LISTS], flushes;
	struct gnn_degrees  degrees;  /* of the vertices of the panel, by row */
	/* (chunk_rows, kept columns) of a chunk, or NULL; of several ranks, of two by turns. */
	float              *own[GNN_EXCHANGE_TURNS];
	uint64_t            own_count;
};

GNN_BEGIN_DECLS

/* What the policy must know of the graph. */
int  gnn_tiered_prepare(struct gnn_run *r);
int  gnn_tiered_open (struct gnn_run *r, uint32_t l); /* into r->tiered */
void gnn_tiered_close(struct gnn_run *r); /* not open is fine */

/*
 * One pass of the layer from r->at.row on: all is absorbed, all rows are done and on their way.
 * GNN_STOPPED.
 */
int  gnn_tiered_pass (struct gnn_run *r, uint32_t l, const struct gnn_pass *pass);

/* Rows of the top store that are done leave their slots; `there`: as the backend reads `done`. */
int  gnn_tiered_graduate(struct gnn_run *r, uint32_t l, const struct gnn_move *done,
	const struct gnn_move *there, uint64_t count);
/* What the stores hold, into a checkpoint; and from it, into stores just opened. */
int  gnn_tiered_seal   (struct gnn_run *r, struct gnn_manifest *m);
int  gnn_tiered_restore(struct gnn_run *r);
int  gnn_tiered_flush(struct gnn_run *r, uint32_t l); /* those that wait become rows */

GNN_END_DECLS

#endif
