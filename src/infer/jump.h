/*
 * infer/jump.h - what the rows of all layers become together: one running array by vertex.
 *
 * Flow     finished rows of each layer -> [jump] -> rows of the model
 * Owns     the array, (V, width), and one block of rows
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory; what the backend fails with
 */
#ifndef GNN_INFER_JUMP_H
#define GNN_INFER_JUMP_H

#include "layer/model.h"

struct gnn_jump_run {
	struct gnn_backend    *backend;
	const struct gnn_jump *jump; /* NULL: the model has none */
	float                 *rows; /* (V, width) */
	float                 *part; /* (block_rows, width) what a layer brings */
};

GNN_BEGIN_DECLS

/* Blocks begin at whole panels and have `block_rows` at most. */
int  gnn_jump_init (struct gnn_jump_run *j, struct gnn_backend *b, const struct gnn_model *m,
	uint64_t vertices, uint64_t block_rows);
void gnn_jump_fini (struct gnn_jump_run *j); /* all zero is fine */
/* Rows of a layer, (rows, dim_out of c), join in. */
int  gnn_jump_add  (struct gnn_jump_run *j, const struct gnn_conv *c, uint64_t first,
	uint64_t rows, const float *h);
/* The model's rows, once every layer has joined. */
int  gnn_jump_finish(struct gnn_jump_run *j, uint64_t first, uint64_t rows, float *to);
uint64_t gnn_jump_bytes(const struct gnn_model *m, uint64_t vertices);

GNN_END_DECLS

#endif
