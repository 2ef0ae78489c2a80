/*
 * layer/model.h - a trained model: tensors by PyG's or DGL's names, understood, lowered.
 *
 * Flow     safetensors + settings -> [model] -> list of convs -> infer
 * Owns     tensors, convs
 * Lends    convs, until destroy
 * Thread   one caller; constant once loaded
 * Fails    GNN_ENOENT; GNN_EDATA a damaged file; GNN_ECONFIG not understood, something must be
 *          told (the text lists it), shapes that do not meet; GNN_EUSAGE a fanout that does not fit
 */
#ifndef GNN_LAYER_MODEL_H
#define GNN_LAYER_MODEL_H

#include "layer/conv.h"
#include "layer/settings.h"

struct gnn_model;

struct gnn_model_opts {
	const char        *path;
	const char *const *set; /* --model-set, "key=value" each; "gnnrun." may be left out */
	uint32_t           set_count;
	enum gnn_message_order order;
	bool               published; /* layers as the paper on source-centric inference has them */
};

GNN_BEGIN_DECLS

int  gnn_model_load   (struct gnn_model **out, const struct gnn_model_opts *o);
/* One layer without weights: what the first layer of a gcn, sage (mean) or gin aggregates. */
int  gnn_model_bare   (struct gnn_model **out, enum gnn_arch arch, uint32_t dim);
void gnn_model_destroy(struct gnn_model *m); /* NULL is fine */
uint32_t               gnn_model_layers(const struct gnn_model *m);
const struct gnn_conv *gnn_model_conv  (const struct gnn_model *m, uint32_t layer);
const struct gnn_jump *gnn_model_jump  (const struct gnn_model *m); /* NULL: none */
/* Columns of what a layer gives to the result: behind the last one, of the whole model. */
uint32_t               gnn_model_width (const struct gnn_model *m, uint32_t layer);
/*
 * In-edges that the layers use of each vertex: "all", a number, or a list of both from the last
 * layer inwards; GNN_EUSAGE for one of another length. scale: sums count for the whole.
 */
int  gnn_model_set_fanout(struct gnn_model *m, const char *text, bool scale);
/* Prints on stdout how each tensor was understood and each setting's source. */
int  gnn_model_describe(const struct gnn_model_opts *o, bool json);

GNN_END_DECLS

#endif
