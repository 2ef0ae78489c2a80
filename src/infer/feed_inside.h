/*
 * infer/feed_inside.h - the feed's own state and steps, for the files that it is made of.
 *
 * Flow     feed -> [feed_inside] -> feed_lists, feed_rounds
 * Owns     as feed.h says
 * Lends    nothing
 * Thread   the control thread
 * Fails    as feed.h says
 */
#ifndef GNN_INFER_FEED_INSIDE_H
#define GNN_INFER_FEED_INSIDE_H

#include "base/queue.h"
#include "base/stage.h"
#include "infer/packets.h"
#include "infer/work.h"
#include "io/stream.h"

struct gnn_feed {
	struct gnn_feed_opts o;
	struct gnn_rows_reader *rows, *own;
	struct gnn_stream   *offsets, *neighbors, *weights;
	struct gnn_piece    *offset_piece; /* starts of the chunk's rows */
	struct gnn_piece    *offset_next;  /* looked at for the end of the last row */
	struct gnn_piece    *edge_piece, *weight_piece; /* of the same edges */
	gnn_eid              edge_cursor;  /* next edge to take */
	gnn_eid              edge_end;     /* of edge_piece */
	gnn_vid              tail;         /* where the last edge of the item before leads */
	uint64_t             tail_copies;  /* of it, when its list goes on; else 0 */
	struct gnn_grouper   grouper;
	struct gnn_work     *work; /* (ahead) */
	struct gnn_queue    *ready, *idle;
	struct gnn_stage    *stage;
	uint64_t             read_bytes;
	struct gnn_packets   packets; /* of several ranks */
	uint64_t            *taken;   /* (ranks + 1) of the round at hand */
	uint64_t            *place;   /* (ranks) merging: where each packet is */
	uint64_t            *slice;   /* (panels of a chunk, ranks) merging: edges */
	bool                 stopped; /* behind a round, by a signal */
};

/* The rows of a chunk, which its last item takes along. */
struct gnn_feed_chunk {
	struct gnn_rows_part rows, own;
};

GNN_BEGIN_DECLS

/* Offsets of the next chunk; *end is where its last row ends. */
int gnn_feed_next_offsets(struct gnn_feed *f, uint64_t rows, gnn_eid *end);
int gnn_feed_next_edges(struct gnn_feed *f); /* the piece behind the one at hand */
/* Weights from an edge of the piece on, or NULL. */
const float *gnn_feed_weights(const struct gnn_feed *f, gnn_eid edge);
int gnn_feed_check_row(const struct gnn_feed *f, gnn_vid v, gnn_eid begin, gnn_eid end);
/* An idle item that is `like` another, and the last of a chunk. */
int gnn_feed_begin(struct gnn_feed *f, struct gnn_work **out, const struct gnn_work *like);
int gnn_feed_push_last(struct gnn_feed *f, struct gnn_work *w, const struct gnn_feed_chunk *c);
/* A full grouper becomes a work item, and the chunk goes on in the next one. */
int gnn_feed_make_room(struct gnn_feed *f, struct gnn_work **w);

/* The edges of a chunk, to the end of its last row, as lists. */
int gnn_feed_lists(struct gnn_feed *f, struct gnn_work *w, const struct gnn_feed_chunk *c,
	gnn_eid end);
/* The edges of a round as one list, in as many items as it needs: *w becomes the last. */
int gnn_feed_merge(struct gnn_feed *f, struct gnn_work **w);
int gnn_feed_merge_init(struct gnn_feed *f); /* feed_stop frees */
uint64_t gnn_feed_merge_bytes(const struct gnn_feed_opts *o);
/* A pass of several ranks, round by round. */
int gnn_feed_rounds(struct gnn_feed *f);

GNN_END_DECLS

#endif
