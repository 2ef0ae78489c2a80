/*
 * train/net_load.h - how much memory a net's buffers take for blocks of a given size.
 *
 * Flow     net, sizes of blocks -> [net_load] -> foresee
 * Owns     nothing; plain data
 * Lends    nothing
 * Thread   pure functions
 * Fails    never
 *
 * The same sizes as net.c, conv_sum.c and conv_gat.c ask for. Of the blocks only the counts are
 * read, and whether they are bare.
 */
#ifndef GNN_TRAIN_NET_LOAD_H
#define GNN_TRAIN_NET_LOAD_H

#include "train/net.h"

struct gnn_net_load {
	uint64_t bytes[GNN_NET_LAYERS_MAX][16]; /* by slot of a layer, at the most so far */
	uint64_t rows;                          /* of the largest block */
	bool     dropped;                       /* the first layer's rows come behind dropout */
	uint64_t sums, panel;                   /* bytes of the CPU's own scratch: sums of weight
	                                           gradients; rows in front of and behind a product,
	                                           of each thread */
};

GNN_BEGIN_DECLS

/* A forward and backward pass over a layer of a batch, or with `training` false a forward one. */
void gnn_net_load_layer(struct gnn_net_load *l, const struct gnn_net *n, uint32_t layer,
	const struct gnn_block *b, bool training);
/* The first layer's rows made apart, `hot` of them before, and mixed (train/mix.h). */
void gnn_net_load_mix  (struct gnn_net_load *l, const struct gnn_net *n, uint64_t rows,
	uint64_t hot);
/* Of all buffers, each a quarter larger than asked for, as they are taken. */
uint64_t gnn_net_load_bytes(const struct gnn_net_load *l);
/* Scratch of a CPU backend beside them, the last one kept while a larger is taken. */
uint64_t gnn_net_load_scratch(const struct gnn_net_load *l, uint32_t threads);

GNN_END_DECLS

#endif
