/*
 * layer/lower.h - what layer_<arch>.c gets to lower one layer, and the helpers they share.
 *
 * Flow     model -> [lower] -> layer_<arch>.c -> conv
 * Owns     nothing; blocks go to the conv
 * Lends    weights, until the model is destroyed
 * Thread   one caller
 * Fails    GNN_ECONFIG a tensor missing, of a wrong shape, or an order that the layer cannot take
 */
#ifndef GNN_LAYER_LOWER_H
#define GNN_LAYER_LOWER_H

#include "layer/conv.h"
#include "layer/keys.h"
#include "layer/settings.h"

/* torch's LeakyReLU as an activation; the slope of GAT's scores is gnnrun.negative_slope. */
#define GNN_LEAKY_RELU_SLOPE 0.01f

struct gnn_lowering {
	const struct gnn_weight   *weight; /* of this layer, by (role, item) */
	uint32_t                   weight_count;
	const struct gnn_settings *set;
	enum gnn_message_order     order;
	bool                       published;
	uint32_t                   layer, layers;
};

/* Lowers one layer into a zeroed conv, but for the activation behind it. */
typedef int (*gnn_lower_fn)(struct gnn_conv *c, const struct gnn_lowering *l);

GNN_BEGIN_DECLS

int gnn_lower_gcn (struct gnn_conv *c, const struct gnn_lowering *l);
int gnn_lower_gcn_dgl(struct gnn_conv *c, const struct gnn_lowering *l);
int gnn_lower_sage(struct gnn_conv *c, const struct gnn_lowering *l);
int gnn_lower_gin (struct gnn_conv *c, const struct gnn_lowering *l);
int gnn_lower_gat (struct gnn_conv *c, const struct gnn_lowering *l);
int gnn_lower_gatv2(struct gnn_conv *c, const struct gnn_lowering *l);

/* The tensor of a role, or NULL. */
const struct gnn_weight *gnn_lower_find(const struct gnn_lowering *l, enum gnn_role role,
	uint32_t item);
/* Its data, or NULL. */
const float *gnn_lower_data(const struct gnn_lowering *l, enum gnn_role role, uint32_t item);

/* "[64, 1433]", cut when it does not fit. */
const char *gnn_lower_shape_text(const struct gnn_tensor *t, char *to, size_t size);

/* A matrix of any shape with sides of 1 to 2^24, told as (rows, cols). */
int gnn_lower_matrix(const struct gnn_weight *w, uint32_t *rows, uint32_t *cols);
/* The exact shape wanted; w may be NULL, which is fine. */
int gnn_lower_vector_of(const struct gnn_weight *w, uint32_t count);
int gnn_lower_matrix_of(const struct gnn_weight *w, uint32_t rows, uint32_t cols);

/* A matrix stored (cols, rows), turned round into a block of the conv. */
int gnn_lower_turned(struct gnn_conv *c, const struct gnn_weight *w, uint32_t *rows,
	uint32_t *cols, const float **out);

/* A batch norm in evaluation; weight and bias may be NULL. */
struct gnn_batch_norm {
	const struct gnn_weight *weight, *bias, *mean, *var;
};

/* As y = scale x + shift in double, (width) each, one behind the other; the caller frees it. */
int gnn_lower_batch_norm(const struct gnn_batch_norm *n, uint32_t width, double **out);

/* Sets transform_first: what was asked for where the layer can, else `best`; sums published. */
int gnn_lower_order(struct gnn_conv *c, const struct gnn_lowering *l, bool best,
	bool can_transform, bool can_aggregate);

GNN_END_DECLS

#endif
