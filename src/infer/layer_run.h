/*
 * infer/layer_run.h - one layer at work: states of all vertices, absorbing and finishing.
 *
 * Flow     feed -> [layer_run: absorb] -> states -> [layer_run: finish] -> rows of the next layer
 * Owns     states, carry, scores, the buffer of message rows
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory; what the backend fails with
 *
 * absorb takes message rows and a program and does not ask where they came from: rows that other
 * ranks send will enter here.
 */
#ifndef GNN_INFER_LAYER_RUN_H
#define GNN_INFER_LAYER_RUN_H

#include "infer/plan.h"

/* SUM and MAX need one pass over the graph, SOFTMAX two: maxima of the scores, then the sums. */
enum gnn_pass { GNN_PASS_SCORES, GNN_PASS_COMBINE };

struct gnn_layer_run {
	struct gnn_backend          *backend;
	const struct gnn_conv       *conv;
	const struct gnn_layer_plan *plan;
	const struct gnn_degrees    *degrees;
	enum gnn_dtype               feature_dtype;
	float                       *input;   /* (V, input_width), owned; NULL: streamed */
	float                       *message; /* (chunk_rows, message width) */
	float                       *kept;    /* SOFTMAX: (V, width), unless input holds them */
	float                       *state;   /* (V, state_width) */
	float                       *carry;   /* (hubs, state_width) */
	float                       *scores;  /* SOFTMAX: (V, 3 heads): s, t, maximum of s */
	float                       *vec[GNN_ROW_VECTORS]; /* factors of the rows at hand */
	const void                  *offsets_there; /* of the chunk, as staged */
	uint64_t                     messages; /* entries absorbed, own rows included */
	struct gnn_rowprog           identity;
};

GNN_BEGIN_DECLS

/* Takes `input` (freed by fini), also on failure. `rows_max`: of a chunk or a finished block. */
int  gnn_layer_run_init(struct gnn_layer_run *r, struct gnn_backend *b,
	const struct gnn_conv *c, const struct gnn_layer_plan *plan, const struct gnn_degrees *d,
	enum gnn_dtype feature_dtype, float *input, uint64_t rows_max);
void gnn_layer_run_fini(struct gnn_layer_run *r);

bool gnn_layer_run_needs_scores(const struct gnn_layer_run *r);
int  gnn_layer_run_absorb(struct gnn_layer_run *r, enum gnn_pass pass, const struct gnn_work *w);
void gnn_layer_run_drop_input(struct gnn_layer_run *r); /* all is absorbed */
/* Rows [first, first + rows) of the layer's output, (rows, dim_out). */
int  gnn_layer_run_finish(struct gnn_layer_run *r, gnn_vid first, uint64_t rows, float *to);
/* Message rows of `rows` rows of h at `first`, as the layer before keeps them for this one. */
int  gnn_layer_run_messages(struct gnn_backend *b, const struct gnn_conv *c,
	const struct gnn_degrees *d, float *const *vec, gnn_vid first, uint64_t rows,
	const float *h, float *to);

GNN_END_DECLS

#endif
