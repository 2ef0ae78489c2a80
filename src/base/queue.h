/*
 * base/queue.h - a bounded queue of pointers, the only way that stages hand things over.
 *
 * Flow     producer -> [queue] -> consumer
 * Owns     the ring; not what the pointers point at
 * Lends    nothing: who pops, owns
 * Thread   any number of producers and consumers
 * Fails    GNN_EOF from pop when closed and drained; GNN_ESTOP from both after a cancel
 */
#ifndef GNN_BASE_QUEUE_H
#define GNN_BASE_QUEUE_H

#include "base/err.h"

struct gnn_queue;

GNN_BEGIN_DECLS

int  gnn_queue_create (struct gnn_queue **out, uint32_t capacity);
int  gnn_queue_push   (struct gnn_queue *q, void *item); /* waits while full */
int  gnn_queue_pop    (struct gnn_queue *q, void **item); /* waits while empty */
void gnn_queue_close  (struct gnn_queue *q);  /* no more pushes; pops drain, then GNN_EOF */
void gnn_queue_cancel (struct gnn_queue *q);  /* wakes everybody; GNN_ESTOP from now on */
void gnn_queue_destroy(struct gnn_queue *q);  /* NULL is fine; items are not freed */

GNN_END_DECLS

#endif
