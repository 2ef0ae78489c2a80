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
 *   s_v = combine over u of m_u, and of v's own row by `own`; behind it k_v = keep(h_v), if any
 *   h'_v = after(finish([ s_v | late(h_v) ])), vectors finish_vec
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
};

/* Whether weights act before or after the combination, where the layer has the choice. */
enum gnn_message_order { GNN_ORDER_AUTO, GNN_ORDER_TRANSFORM_FIRST, GNN_ORDER_AGGREGATE_FIRST };

enum { GNN_CONV_BLOCKS_MAX = 64 };

struct gnn_conv {
	const char        *arch;
	uint32_t           dim_in, dim_out;
	enum gnn_combine   combine;
	uint32_t           width;       /* message columns combined; softmax: heads x channels */
	uint32_t           state_width; /* + heads for softmax, + what is kept */
	bool               drop_loops;  /* listed self-loops are no messages */
	bool               own_counts;  /* the own row counts in deg */
	bool               edge_weights; /* a message is scaled by the weight of its edge, if any */
	bool               weighted_degrees; /* deg is then the sum of the weights of in-edges */
	enum gnn_own       own;
	float              own_factor;
	struct gnn_rowprog message;
	enum gnn_norm      message_vec[GNN_ROW_VECTORS];
	struct gnn_rowprog keep;        /* no vectors; 0 columns: nothing is kept */
	struct gnn_rowprog late;        /* as keep, but read once more when all sums are done */
	struct gnn_rowprog finish;
	enum gnn_norm      finish_vec[GNN_ROW_VECTORS];
	struct gnn_rowprog after;       /* empty: nothing. It begins with STANDARD, whose numbers
	                                   come from the rows of finish() of all vertices */
	struct gnn_rowprog jump;        /* h' -> columns [jump_first, ...) of the model's jump */
	uint32_t           jump_first;
	uint64_t           fanout;      /* in-edges used of a vertex at most; 0: all */
	bool               sample_degrees; /* deg counts in-edges used: a mean over the sample */
	bool               scales_sums; /* in-edges used count population / sample times each */
	uint32_t           heads;       /* softmax */
	float              slope;
	const float       *att;         /* PAIR_SOFTMAX: (heads, channels); o_v is the target row,
	                                   or m_v where message() gives no more */
	struct gnn_rowprog scores;      /* SOFTMAX: z -> [s | t], 2 x heads wide */
	bool               three_steps; /* SOFTMAX: all z first, then their maxima, then the sums */
	bool               transform_first;
	float             *block[GNN_CONV_BLOCKS_MAX]; /* owned derived weights */
	uint32_t           block_count;
};

/*
 * What the rows of all layers become together (jumping knowledge): jump programs of the convs,
 * merged, then `finish`. width 0: the last layer's rows are the model's.
 */
struct gnn_jump {
	uint32_t           width;
	enum gnn_merge     how; /* SUM begins with 0, MAX with -infinity */
	struct gnn_rowprog finish;
};

GNN_BEGIN_DECLS

/* A zeroed block of `count` floats owned by the conv. */
int  gnn_conv_block(struct gnn_conv *c, uint64_t count, float **out);
void gnn_conv_fini (struct gnn_conv *c);

/* The factor of one vertex, from its listed in-degree, or out-degree where the norm takes it. */
float gnn_norm_of(enum gnn_norm norm, const struct gnn_conv *c, uint64_t degree,
	uint64_t self_loops);

/* Floats of scores that a softmax keeps of every vertex; 0 without one. */
uint32_t gnn_conv_score_width(const struct gnn_conv *c);

/* Whether a factor of its rows takes out-degrees. */
bool gnn_conv_needs_out_degrees(const struct gnn_conv *c);

GNN_END_DECLS

#endif
