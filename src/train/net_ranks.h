/*
 * train/net_ranks.h - what a net of one of several ranks asks of the others.
 *
 * Flow     team -> [net_ranks] -> net and its parts
 * Owns     nothing; plain data, `arg` is borrowed
 * Lends    nothing
 * Thread   called by the one that runs the net
 * Fails    as what is called
 */
#ifndef GNN_TRAIN_NET_RANKS_H
#define GNN_TRAIN_NET_RANKS_H

#include "op/grad.h"

struct gnn_net_ranks {
	int  (*ready)(void *arg, uint32_t layer); /* backward is done with a layer's gradient */
	void  *arg;
	struct gnn_norm_ranks norm;               /* batch norms in training */
};

#endif
