/*
 * infer/model_store.h - how a model and a store meet: widths, weights, degrees.
 *
 * Flow     store + model -> [model_store] -> degrees
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ECONFIG they do not meet; as degrees
 */
#ifndef GNN_INFER_MODEL_STORE_H
#define GNN_INFER_MODEL_STORE_H

#include "infer/degrees.h"
#include "layer/model.h"

GNN_BEGIN_DECLS

int  gnn_model_fits(const struct gnn_model *m, const struct gnn_store *s);
/* Whether the layers scale messages by the weights of the store; all are of one architecture. */
bool gnn_model_uses_weights(const struct gnn_model *m, const struct gnn_store *s);
/* Of all kinds that the layers take, mirrored into b. */
int  gnn_model_degrees(struct gnn_degrees **out, const struct gnn_model *m,
	const struct gnn_store *s, struct gnn_backend *b, bool verify);

GNN_END_DECLS

#endif
