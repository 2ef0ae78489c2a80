/*
 * train/net.h - the layers of a net over blocks: forward, and backward to the weights.
 *
 * Flow     sample, rows -> [net] -> scores of the seeds;  their gradient -> [net] -> gradients
 * Owns     weights, gradients, what each layer keeps between forward and backward
 * Lends    weights and gradients; outputs, until the next forward
 * Thread   one caller
 * Fails    GNN_EOS memory; what the backend fails with
 *
 * A layer is dropout (training only), convolution, and, but for the last, an activation. Where
 * weights and aggregation may change places, the cheaper order is taken, told from the sizes of
 * the block alone. The input of the net has no gradient. Over a bare bottom block (gcn, sage, gin)
 * the rows come aggregated, and for sage the own rows stand behind all of them. In a mixed batch
 * (train/mix.h) the gradient of hot rows ends there, or with their aggregates (gcn, sage) reaches
 * the first layer's weights: dW += (dy act'(y))^T aggregate.
 */
#ifndef GNN_TRAIN_NET_H
#define GNN_TRAIN_NET_H

#include "op/grad.h"
#include "train/net_ranks.h"
#include "train/params.h"
#include "train/sampler.h"

struct gnn_net_opts {
	struct gnn_backend  *backend;
	struct gnn_net_shape shape;
	double               dropout; /* of inputs, and of attention */
	uint64_t             seed;
};

/* What one layer works on. */
struct gnn_layer_input {
	const struct gnn_block *block; /* in backend memory; turned round for backward */
	const uint64_t *id;            /* (src_count) names rows to dropout */
	const float    *x;             /* (src_count, columns in); bare: gnn_net_parts of them */
	uint64_t        step;
	bool            training;
	bool            dropped;       /* x is behind the layer's dropout as it comes */
};

/* What a step trains on. */
struct gnn_net_input {
	const struct gnn_sample *sample;
	const float *x;                /* rows of features, or aggregates, for the first layer */
	uint64_t     step;
	bool         dropped;          /* x came by gnn_net_input_drop */
};

struct gnn_net;

GNN_BEGIN_DECLS

int  gnn_net_create (struct gnn_net **out, const struct gnn_net_opts *o);
/* Another of the same shape, dropout and seed, with the weights it would begin with. */
int  gnn_net_create_like(struct gnn_net **out, const struct gnn_net *n);
void gnn_net_destroy(struct gnn_net *n); /* NULL is fine */

const struct gnn_params    *gnn_net_params(const struct gnn_net *n);
const struct gnn_net_shape *gnn_net_shape_of(const struct gnn_net *n);
float *gnn_net_weights (struct gnn_net *n); /* (floats), backend memory */
float *gnn_net_gradient(struct gnn_net *n); /* (learned), backend memory */

/* What the sampler must do for an architecture. */
struct gnn_edge_rule gnn_net_rule(enum gnn_arch arch);
/* Tables of rows that a bare bottom block takes: aggregates, and own rows where they are apart. */
uint32_t gnn_net_parts(enum gnn_arch arch);
/* Whether backward of a layer takes its block turned round. */
bool gnn_net_turns(const struct gnn_net *n, uint32_t layer, const struct gnn_block *b);

/* One layer; *y (dst_count, columns out) is lent until the layer's next forward. */
int gnn_net_layer  (struct gnn_net *n, uint32_t layer, const struct gnn_layer_input *in,
	float **y);
/* A layer's rows behind dropout: its input, or what it keeps until its next forward. */
const float *gnn_net_dropped(struct gnn_net *n, uint32_t layer, const struct gnn_layer_input *in);
/* All layers in training. A mixed sample's first layer makes cold rows only. */
int gnn_net_forward(struct gnn_net *n, const struct gnn_net_input *in, float **y);
/* Zeroes the gradient, then adds what comes from dy (seeds, columns out), which is overwritten. */
int gnn_net_backward(struct gnn_net *n, const struct gnn_net_input *in, float *dy);
/*
 * The dropout of a step's rows of features, by their ids: who gathers them may apply it. Backward
 * takes the rows behind it alone.
 */
struct gnn_drop gnn_net_input_drop(const struct gnn_net *n, uint64_t step);
/* From now on; copied. NULL: alone again. */
void gnn_net_join(struct gnn_net *n, const struct gnn_net_ranks *r);
/* Which rows of the coming batch count (train/owners.h); borrowed until its backward is done. */
void gnn_net_count(struct gnn_net *n, const uint32_t *counts);
/* Gives back what layers keep, as after an evaluation of the whole graph. */
void gnn_net_trim(struct gnn_net *n);

GNN_END_DECLS

#endif
