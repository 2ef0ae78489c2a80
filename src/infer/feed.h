/*
 * infer/feed.h - one pass over the graph as a sequence of chunk programs, prepared ahead.
 *
 * Flow     rows, store (out-lists) -> [feed] -> executor
 * Owns     a control thread, the streams, a few work items that circulate
 * Lends    work items, each until put
 * Thread   start, next, put and stop by one caller
 * Fails    GNN_EDATA, GNN_EIO from the streams; GNN_EOS memory or thread
 *
 * A chunk is a range of source rows in whole panels. Its edges come in one or more work items, in
 * order: more than one where the chunk has more than `entries`, even within one source row. Only
 * edges into the range `to` are handed on; lists ascend, so a range is a slice of each.
 */
#ifndef GNN_INFER_FEED_H
#define GNN_INFER_FEED_H

#include "infer/program.h"
#include "infer/rows.h"

struct gnn_feed;

struct gnn_work {
	struct gnn_program   program; /* grouped, or */
	struct gnn_edge_list list;    /* as it lies in the store: the backend groups */
	gnn_vid     first_row; /* of the chunk */
	uint64_t    rows;
	const void *row_data;  /* the chunk's rows, */
	const void *own_data;  /* and those that its own entries take; NULL: none */
	bool        first;     /* of its chunk: transform the rows now */
	bool        last;      /* of its chunk */
	struct gnn_rows_part rows_, own_; /* internal: given back with the last item */
	struct gnn_piece *neighbors_, *weights_;
	uint64_t         *offsets_; /* internal: copy of the chunk's, in list mode */
};

struct gnn_feed_opts {
	const struct gnn_store   *store;
	const struct gnn_degrees *degrees;
	struct gnn_rows  rows; /* of every vertex from first_row on, or NONE: only topology */
	struct gnn_rows  own;  /* beside them, from chunk border to chunk border, or NONE */
	struct gnn_range to;
	gnn_vid  first_row;   /* where the pass begins: a multiple of chunk_rows */
	bool     own_entries; /* one a vertex of the range */
	bool     drop_loops;
	bool     lists;       /* hand on lists: the backend groups */
	bool     weighted;    /* edges bring their weights */
	const float *own_weights; /* (V) of own entries, or NULL: 1 */
	struct gnn_draw sample;
	uint64_t chunk_rows;  /* a multiple of GNN_PANEL_ROWS */
	uint64_t entries;     /* edges and own rows in one item at most */
	uint64_t read_bytes;  /* on their way from each array, as nearly as pieces allow */
	uint64_t list_bytes;  /* neighbours read at once, and of one item in list mode, at most */
	uint32_t ahead;       /* work items in flight, at least 2 */
	bool     verify;
};

GNN_BEGIN_DECLS

int  gnn_feed_start(struct gnn_feed **out, const struct gnn_feed_opts *o);
int  gnn_feed_next (struct gnn_feed *f, struct gnn_work **work); /* GNN_EOF; the thread's error */
void gnn_feed_put  (struct gnn_feed *f, struct gnn_work *work);
uint64_t gnn_feed_read_bytes(const struct gnn_feed *f); /* after GNN_EOF */
void gnn_feed_cancel(struct gnn_feed *f); /* from any thread: next returns GNN_ESTOP */
void gnn_feed_stop (struct gnn_feed *f); /* NULL is fine; also in the middle */
uint64_t gnn_feed_bytes(const struct gnn_feed_opts *o); /* memory that start takes */

GNN_END_DECLS

#endif
