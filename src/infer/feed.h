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
 * edges into the range `to` are handed on; lists ascend, so a range is a slice of each. With
 * several ranks chunk k of all of them makes up round k: see feed_rounds.c.
 */
#ifndef GNN_INFER_FEED_H
#define GNN_INFER_FEED_H

#include "infer/work.h"

struct gnn_feed;

GNN_BEGIN_DECLS

int  gnn_feed_start(struct gnn_feed **out, const struct gnn_feed_opts *o);
int  gnn_feed_next (struct gnn_feed *f, struct gnn_work **work); /* GNN_EOF; the thread's error */
void gnn_feed_put  (struct gnn_feed *f, struct gnn_work *work);
uint64_t gnn_feed_read_bytes(const struct gnn_feed *f); /* after GNN_EOF */
void gnn_feed_cancel(struct gnn_feed *f); /* from any thread: next returns GNN_ESTOP */
void gnn_feed_stop (struct gnn_feed *f); /* NULL is fine; also in the middle */
uint64_t gnn_feed_bytes(const struct gnn_feed_opts *o); /* memory that start takes */
/* What ranks send each other of the topology. */
struct gnn_packets_opts gnn_feed_packets(const struct gnn_feed_opts *o);

GNN_END_DECLS

#endif
