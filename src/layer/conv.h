/*
 * layer/conv.h - a graph convolution lowered to row programs and one aggregation.
 *
 * Flow     model (weights by name) -> layer_<arch>.c lowers -> [conv] -> infer runs it
 * Owns     derived weights (stacked, folded), in the conv's own block list
 * Lends    nothing
 * Thread   constant once built
 * Fails    GNN_ECONFIG weights that do not fit the architecture
 *
 * For every vertex v, over its listed in-edges u -> v after the loop rule:
 *
 *   [ m_u | o_u ] = message(h_u), vectors message_vec      columns [0, width) and the rest
 *   s_v = combine over u of m_u, and of v's own row by `own`
 *   h'_v = finish(s_v), vectors finish_vec
 *
 * deg(v) below is the listed in-degree, less listed self-loops if drop_loops, plus 1 if own_counts.
 */
#ifndef GNN_LAYER_CONV_H
#define GNN_LAYER_CONV_H

#include "op/backend.h"

enum gnn_own {
	GNN_OWN_NONE,
	GNN_OWN_MESSAGE, /* own_factor times m_v joins the combination (SOFTMAX: as a message) */
	GNN_OWN_ROW,     /* o_v, the columns of message() past width, is added to the sum */
	GNN_OWN_KEEP,    /* h_v stands beside the sum: state columns [width, width + dim_in) */
};

/* Whether weights act before or after the combination, where the layer has the choice. */
enum gnn_message_order { GNN_ORDER_AUTO, GNN_ORDER_TRANSFORM_FIRST, GNN_ORDER_AGGREGATE_FIRST };

enum { GNN_CONV_BLOCKS_MAX = 64 };

struct gnn_conv {
	const char        *arch;
	uint32_t           dim_in, dim_out;
	enum gnn_combine   combine;
	uint32_t           width;       /* message columns combined; SOFTMAX: heads x channels */
	uint32_t           state_width; /* + heads for SOFTMAX, + dim_in for OWN_KEEP */
	bool               drop_loops;  /* listed self-loops are no messages */
	bool               own_counts;  /* the own row counts in deg */
	bool               edge_weights; /* a message is scaled by the weight of its edge, if any */
	bool               weighted_degrees; /* deg is then the sum of the weights of in-edges */
	enum gnn_own       own;
	float              own_factor;
	struct gnn_rowprog message;
	enum gnn_norm      message_vec[GNN_ROW_VECTORS];
	struct gnn_rowprog finish;
	enum gnn_norm      finish_vec[GNN_ROW_VECTORS];
	uint32_t           heads;       /* SOFTMAX */
	float              slope;
	struct gnn_rowprog scores;      /* SOFTMAX: z -> [s | t], 2 x heads wide */
	bool               transform_first;
	float             *block[GNN_CONV_BLOCKS_MAX]; /* owned derived weights */
	uint32_t           block_count;
};

GNN_BEGIN_DECLS

/* A zeroed block of `count` floats owned by the conv. */
int  gnn_conv_block(struct gnn_conv *c, uint64_t count, float **out);
void gnn_conv_fini (struct gnn_conv *c);

/* The factor of one vertex, from its listed in-degree, or out-degree where the norm takes it. */
float gnn_norm_of(enum gnn_norm norm, const struct gnn_conv *c, uint64_t degree,
	uint64_t self_loops);

/* Whether a factor of its rows takes out-degrees. */
bool gnn_conv_needs_out_degrees(const struct gnn_conv *c);

GNN_END_DECLS

#endif
