/*
 * infer/feed.h - one pass over the graph as a sequence of chunk programs, prepared ahead.
 *
 * Flow     store (features, out-lists) -> [feed] -> executor
 * Owns     a control thread, the streams, a few work items that circulate
 * Lends    work items, each until put
 * Thread   start, next, put and stop by one caller
 * Fails    GNN_EDATA, GNN_EIO from the streams; GNN_EOS memory or thread
 *
 * A chunk is a range of source rows in whole panels. Its edges come in one or more work items, in
 * order: more than one where the chunk has more than `entries`, even within one source row.
 */
#ifndef GNN_INFER_FEED_H
#define GNN_INFER_FEED_H

#include "infer/program.h"

struct gnn_feed;

enum { GNN_FEED_LIST_BYTES = 4 << 20 }; /* neighbours of one item in list mode at most */

struct gnn_work {
	struct gnn_program   program; /* grouped, or */
	struct gnn_edge_list list;    /* as it lies in the store: the backend groups */
	gnn_vid     first_row; /* of the chunk */
	uint64_t    rows;
	const void *features;  /* (rows, F) as stored, or NULL when rows come from memory */
	bool        first;     /* of its chunk: transform the rows now */
	struct gnn_piece *features_, *neighbors_, *weights_; /* internal: given back with it */
	uint64_t         *offsets_; /* internal: copy of the chunk's, in list mode */
};

struct gnn_feed_opts {
	const struct gnn_store   *store;
	const struct gnn_degrees *degrees;
	bool     features;    /* stream them; else only topology */
	bool     own;         /* one own entry a vertex */
	bool     drop_loops;
	bool     lists;       /* hand on lists: the backend groups */
	bool     weighted;    /* edges bring their weights */
	const float *own_weights; /* (V) of own entries, or NULL: 1 */
	uint64_t chunk_rows;  /* a multiple of GNN_PANEL_ROWS */
	uint64_t entries;     /* edges and own rows in one item at most */
	uint32_t ahead;       /* work items in flight, at least 2 */
	bool     verify;
};

GNN_BEGIN_DECLS

int  gnn_feed_start(struct gnn_feed **out, const struct gnn_feed_opts *o);
int  gnn_feed_next (struct gnn_feed *f, struct gnn_work **work); /* GNN_EOF; the thread's error */
void gnn_feed_put  (struct gnn_feed *f, struct gnn_work *work);
uint64_t gnn_feed_read_bytes(const struct gnn_feed *f); /* after GNN_EOF */
void gnn_feed_stop (struct gnn_feed *f); /* NULL is fine; also in the middle */
uint64_t gnn_feed_bytes(const struct gnn_feed_opts *o); /* memory that start takes */

GNN_END_DECLS

#endif
