/*
 * layer/attend.h - what GAT and GATv2 share: heads, loops, and what stands behind the softmax.
 *
 * Flow     layer_gat.c, layer_gatv2.c -> [attend] -> conv
 * Owns     nothing; blocks go to the conv
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ECONFIG shapes or settings that contradict each other
 */
#ifndef GNN_LAYER_ATTEND_H
#define GNN_LAYER_ATTEND_H

#include "layer/lower.h"

GNN_BEGIN_DECLS

/* By the shape (1, heads, channels); `columns` is heads x channels. */
int gnn_attend_heads(const struct gnn_weight *att, uint32_t columns, uint32_t *heads);

/*
 * The one matrix (columns, dim_in) that two names may stand for: a file may hold either or both;
 * *differ when both are there and differ. Neither: *out is NULL.
 */
int gnn_attend_shared(const struct gnn_weight *a, const struct gnn_weight *b, uint32_t *columns,
	uint32_t *dim_in, const struct gnn_weight **out, bool *differ);

/*
 * All of the conv but its messages and scores, of which dim_in, width and heads are set: states,
 * loop rule, slope, the residual, and the finish.
 */
int gnn_attend_finish(struct gnn_conv *c, const struct gnn_lowering *l);

GNN_END_DECLS

#endif
