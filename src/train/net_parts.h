/*
 * train/net_parts.h - the inside of a net, for the files that make its layers.
 *
 * Flow     net.c -> [net_parts] -> conv_sum.c, conv_gat.c
 * Owns     everything in struct gnn_net
 * Lends    nothing
 * Thread   one caller
 * Fails    as net.h
 */
#ifndef GNN_TRAIN_NET_PARTS_H
#define GNN_TRAIN_NET_PARTS_H

#include "op/grad.h"
#include "train/net_ranks.h"
#include "train/params.h"
#include "train/sampler.h"

/* Buffers of a layer, each in backend memory, grown when asked for more. */
enum gnn_slot {
	GNN_SLOT_X,      /* input behind dropout */
	GNN_SLOT_MID,    /* aggregate (dst, in) or transformed rows (src, out) */
	GNN_SLOT_Y,
	GNN_SLOT_DX,
	GNN_SLOT_DMID,
	GNN_SLOT_HIDDEN, /* GIN: behind the first linear; GAT: heads side by side */
	GNN_SLOT_NORMED, /* GIN: behind norm and activation */
	GNN_SLOT_DHIDDEN,
	GNN_SLOT_MOMENTS,
	GNN_SLOT_SCORE,
	GNN_SLOT_ALPHA,
	GNN_SLOT_DLOGIT,
	GNN_SLOT_DSCORE,
	GNN_SLOT_MIXED,  /* mixed batches: rows of the second layer */
	GNN_SLOT_DMIXED, /* their gradient, cold ones first */
	GNN_SLOT_HELD,   /* aggregates of hot ones */
	GNN_SLOTS,
};

struct gnn_buffer {
	float   *data;
	uint64_t floats;
};

struct gnn_net {
	struct gnn_backend  *backend;
	struct gnn_net_shape shape;
	double               dropout;
	uint64_t             seed;
	struct gnn_params   params;
	float              *weights, *gradient;
	uint64_t           *row;       /* 0, 1, 2 ... in backend memory */
	uint64_t            row_count;
	struct gnn_net_ranks ranks;    /* ready NULL: alone */
	const uint32_t     *counts;    /* of the batch at hand, with ranks */
	struct gnn_buffer   buffer[GNN_NET_LAYERS_MAX][GNN_SLOTS];
};

/* One layer on its way. */
struct gnn_pass_layer {
	struct gnn_net *n;
	uint32_t        layer;
	const struct gnn_block *b;
	const uint64_t *id;
	const float    *x;        /* behind dropout; bare: aggregates */
	const float    *own;      /* rows of the destinations, behind dropout */
	uint64_t        step;
	bool            training;
	uint32_t        dim_in, dim_out;
};

GNN_BEGIN_DECLS

int gnn_net_take(struct gnn_net *n, uint32_t layer, enum gnn_slot slot, uint64_t floats,
	float **out);
float *gnn_net_at  (struct gnn_net *n, uint32_t layer, enum gnn_param_role role);
float *gnn_net_grad(struct gnn_net *n, uint32_t layer, enum gnn_param_role role);
/* The stream of dropout: `part` 0 the inputs, 1 attention, or own rows beside aggregates. */
struct gnn_drop gnn_net_drop(const struct gnn_pass_layer *p, uint32_t part);
/* y = A x over the block, or with `back` y = A^T x; `width` columns. */
int gnn_net_aggregate(const struct gnn_pass_layer *p, const float *x, float *y, uint32_t width,
	bool back);

int gnn_conv_sum_forward (const struct gnn_pass_layer *p, float *y);
int gnn_conv_sum_backward(const struct gnn_pass_layer *p, const float *dy, float *dx);
int gnn_conv_gat_forward (const struct gnn_pass_layer *p, float *y);
int gnn_conv_gat_backward(const struct gnn_pass_layer *p, const float *dy, float *dx);
bool gnn_conv_sum_transforms(const struct gnn_net *n, uint32_t layer, const struct gnn_block *b);

GNN_END_DECLS

#endif
