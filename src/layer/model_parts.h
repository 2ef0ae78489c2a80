/*
 * layer/model_parts.h - the inside of a model, for those who build and describe it.
 *
 * Flow     safetensors -> [model_parts] -> model.c, describe.c
 * Owns     everything in struct gnn_model
 * Lends    nothing
 * Thread   one caller
 * Fails    as model.h
 */
#ifndef GNN_LAYER_MODEL_PARTS_H
#define GNN_LAYER_MODEL_PARTS_H

#include "layer/lower.h"

struct gnn_model_opts; /* layer/model.h */

/* A convolution as one version of a library names its tensors. */
struct gnn_variant {
	enum gnn_arch    arch;
	enum gnn_library library;
	const char      *name;  /* "GCNConv of PyG 2" */
	uint64_t         need;   /* GNN_ROLE_BIT of what every layer has */
	uint64_t         may;    /* of what it may have */
	uint64_t         one_of; /* of what it has one or more of; 0: nothing */
	const char      *aggregator;      /* that the keys say; NULL: the layer has no choice */
	bool             free_aggregator; /* they do not: another may be told */
	gnn_lower_fn     lower;
};

struct gnn_model {
	char                     *path;
	struct gnn_safetensors   *file;
	struct gnn_weight        *weight; /* by (layer, role, item) once grouped */
	uint32_t                  weight_count;
	struct gnn_settings       set;
	const struct gnn_variant *variant;
	enum gnn_message_order    order;
	bool                      published;
	char                      missing[512]; /* what must be told; "" when nothing */
	uint32_t                  layers;
	struct gnn_conv          *conv; /* (layers) */
	struct gnn_jump           jump;
};

GNN_BEGIN_DECLS

/*
 * Everything of gnn_model_load. On GNN_ECONFIG *out is the model as far as it was understood; on
 * another failure NULL.
 */
int gnn_model_understand(struct gnn_model **out, const struct gnn_model_opts *o);

/* The weights of one layer. */
void gnn_model_layer_weights(const struct gnn_model *m, uint32_t layer,
	const struct gnn_weight **first, uint32_t *count);

/* behind.c: what must still be told about norms and jumping knowledge, into m->missing. */
void gnn_model_ask_behind(struct gnn_model *m);
/* Norms, activations, jumping knowledge and head behind convs that are lowered. */
int  gnn_model_put_behind(struct gnn_model *m);

/* The convolution that the keys of all layers and what is told leave; needs told settings. */
int gnn_model_choose_variant(struct gnn_model *m);

GNN_END_DECLS

#endif
