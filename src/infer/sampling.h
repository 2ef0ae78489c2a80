/*
 * infer/sampling.h - the thresholds by which each edge knows whether it is in a sample.
 *
 * Flow     store (topology/in, original ids) -> [sampling] -> feed (CPU), group (GPU)
 * Owns     8 bytes a vertex, 8 more where the store is reordered; the same on a device
 * Lends    thresholds, until the next layer
 * Thread   one caller; threads inside
 * Fails    GNN_EDATA a neighbour outside the graph; GNN_EIO; GNN_EOS memory
 *
 * One pass over the in-lists for each layer that samples. A list costs its length once: hashes
 * below the bound so far are kept in a buffer of twice the fanout, and whenever it is full the
 * smaller half is selected and the bound falls. Lists within a part of the pass are worked on side
 * by side; one that goes on in the next part keeps its buffer.
 */
#ifndef GNN_INFER_SAMPLING_H
#define GNN_INFER_SAMPLING_H

#include "infer/degrees.h"
#include "infer/share.h"
#include "layer/conv.h"

struct gnn_sampling_opts {
	const struct gnn_store   *store;
	const struct gnn_share   *share;  /* of several ranks; NULL: this one is alone */
	const struct gnn_degrees *degrees;
	const uint64_t           *fanout; /* (layers) of each, 0: all */
	uint32_t                  layers;
	struct gnn_backend       *backend;
	uint64_t seed;
	uint32_t threads;
	bool     verify;
};

struct gnn_sampling;

GNN_BEGIN_DECLS

/* What there is to sample decides: without a finite fanout below some in-degree *out is NULL. */
int  gnn_sampling_create (struct gnn_sampling **out, const struct gnn_sampling_opts *o);
void gnn_sampling_destroy(struct gnn_sampling *s); /* NULL is fine */

/* Makes the thresholds of a layer, which c is; adds what was read to *read_bytes. NULL is fine. */
int  gnn_sampling_begin(struct gnn_sampling *s, uint32_t layer, const struct gnn_conv *c,
	uint64_t *read_bytes);
/* The rule of the layer, with host arrays, or with the backend's. */
struct gnn_draw gnn_sampling_here (const struct gnn_sampling *s);
struct gnn_draw gnn_sampling_there(const struct gnn_sampling *s);

/* Messages of a layer: in-edges used, and own rows where they are messages. */
uint64_t gnn_sampling_messages(const struct gnn_degrees *d, const struct gnn_conv *c);
/* GNN_EDATA where the out-lists gave other messages than the in-lists say. */
int gnn_sampling_agree(uint64_t out, uint64_t in);

GNN_END_DECLS

#endif
