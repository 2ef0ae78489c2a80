/*
 * train/gradsum.h - the gradients of several ranks become their sum, while backward still works.
 *
 * Flow     net's gradient, layer by layer from the top -> [gradsum] -> the sum, on every rank
 * Owns     a thread, copies of the gradient that travel
 * Lends    nothing
 * Thread   ready and finish by one caller; the thread inside sends and receives
 * Fails    as comm; GNN_EOS memory or thread; what the backend fails with
 *
 * Layers are put together to buckets. Of a bucket each rank adds up one slice, in the order of
 * ranks and in doubles, and sends it to all: bits do not depend on who was first. On a device that
 * does not share memory with the host the buckets go when all layers are done.
 */
#ifndef GNN_TRAIN_GRADSUM_H
#define GNN_TRAIN_GRADSUM_H

#include "mpi/comm.h"
#include "op/backend.h"

struct gnn_gradsum;

struct gnn_gradsum_opts {
	struct gnn_comm    *comm;
	struct gnn_backend *backend;
	float          *gradient;     /* layer_first[layers] floats, backend memory; borrowed */
	const uint64_t *layer_first;  /* (layers + 1) ascending; copied */
	uint32_t        layers;
	uint64_t        bucket_bytes; /* at least, but for the last */
};

GNN_BEGIN_DECLS

int  gnn_gradsum_create (struct gnn_gradsum **out, const struct gnn_gradsum_opts *o);
/* The gradient of this layer is whole; of each layer once, from the top down. */
int  gnn_gradsum_ready  (struct gnn_gradsum *g, uint32_t layer);
/* Returns when all layers are sums. */
int  gnn_gradsum_finish (struct gnn_gradsum *g);
/* After a failure the comm must know of it. NULL is fine. */
void gnn_gradsum_destroy(struct gnn_gradsum *g);

GNN_END_DECLS

#endif
