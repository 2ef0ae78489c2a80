/*
 * layer/keys.h - what a tensor is, read from its name.
 *
 * Flow     names -> [keys] -> role and layer of each -> model
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; a constant table
 * Fails    GNN_ECONFIG names that are no layers of one model; the text lists them
 *
 * "gnn.convs.3.lin_l.weight" is the stem "gnn.convs.3." and a known ending. Stems of one model
 * are equal but for one number, which orders the layers; gaps in it do not matter. A norm has a
 * stem of its own: one with the number of its layer, or the layers' own with a number in between.
 */
#ifndef GNN_LAYER_KEYS_H
#define GNN_LAYER_KEYS_H

#include "io/safetensors.h"

enum gnn_role {
	GNN_ROLE_UNKNOWN,
	GNN_ROLE_WEIGHT,       /* plain "weight" */
	GNN_ROLE_BIAS,
	GNN_ROLE_LIN_WEIGHT,
	GNN_ROLE_LIN_BIAS,
	GNN_ROLE_LIN_L_WEIGHT,
	GNN_ROLE_LIN_L_BIAS,
	GNN_ROLE_LIN_R_WEIGHT,
	GNN_ROLE_LIN_R_BIAS,
	GNN_ROLE_LIN_SRC_WEIGHT,
	GNN_ROLE_LIN_DST_WEIGHT,
	GNN_ROLE_ATT,          /* GAT: (1, heads, 2 channels): destination, then source */
	GNN_ROLE_ATT_SRC,
	GNN_ROLE_ATT_DST,
	GNN_ROLE_ATTN,         /* DGL's */
	GNN_ROLE_ATTN_L,
	GNN_ROLE_ATTN_R,
	GNN_ROLE_FC_WEIGHT,
	GNN_ROLE_FC_SRC_WEIGHT,
	GNN_ROLE_FC_SRC_BIAS,
	GNN_ROLE_FC_DST_WEIGHT,
	GNN_ROLE_FC_DST_BIAS,
	GNN_ROLE_RES_WEIGHT,
	GNN_ROLE_RES_FC_WEIGHT,
	GNN_ROLE_RES_FC_BIAS,
	GNN_ROLE_FC_SELF_WEIGHT,
	GNN_ROLE_FC_SELF_BIAS,
	GNN_ROLE_FC_NEIGH_WEIGHT,
	GNN_ROLE_FC_NEIGH_BIAS,
	GNN_ROLE_FC_POOL_WEIGHT,
	GNN_ROLE_FC_POOL_BIAS,
	GNN_ROLE_LIN_REL_WEIGHT,
	GNN_ROLE_LIN_REL_BIAS,
	GNN_ROLE_LIN_ROOT_WEIGHT,
	GNN_ROLE_EPS,
	GNN_ROLE_MLP_WEIGHT,   /* of the linear or batch norm at place `item` of a layer's MLP */
	GNN_ROLE_MLP_BIAS,
	GNN_ROLE_MLP_MEAN,
	GNN_ROLE_MLP_VAR,
	GNN_ROLE_APPLY_FUNC,   /* of no tensor: a mark of layers whose MLP is named as in DGL */
	GNN_ROLE_COUNTER,      /* understood, and not needed */
	GNN_ROLE_NORM_WEIGHT,  /* of the norm behind the layer */
	GNN_ROLE_NORM_BIAS,
	GNN_ROLE_NORM_MEAN,
	GNN_ROLE_NORM_VAR,
	GNN_ROLE_NORM_COUNTER,
	GNN_ROLE_HEAD_WEIGHT,  /* of the linear behind all layers, `layer` is their number */
	GNN_ROLE_HEAD_BIAS,
	GNN_ROLE_UNSUPPORTED,  /* understood, but this program cannot compute it */
};

#define GNN_ROLE_BIT(role) (UINT64_C(1) << (role))

/* Places of PyG's MLP class: linear i at 3 i, its norm at 3 i + 1, its activation at 3 i + 2. */
enum { GNN_MLP_CLASS_STEP = 3 };

struct gnn_weight {
	const struct gnn_tensor *tensor;
	float        *data;     /* once loaded; (shape) in C order */
	enum gnn_role role;
	const char   *meaning;  /* for people; of UNSUPPORTED: what it would take */
	uint32_t      stem;     /* bytes of the name in front of the ending */
	uint32_t      layer;
	uint32_t      item;     /* place in an MLP */
	bool          mlp_class;  /* PyG's MLP class, not a Sequential */
	bool          apply_func; /* DGL's name of an MLP */
};

GNN_BEGIN_DECLS

/* Sets role, meaning, stem and item of each from its tensor's name. */
void gnn_keys_match(struct gnn_weight *w, uint32_t count);

/* Reads a number of at most six digits at *at and moves behind it. */
bool gnn_keys_number(const char **at, uint32_t *out);

/*
 * group.c: numbers the layers from 0 and sorts by (layer, role, item); every role must be known.
 * Tells norms and the head apart from layers: roles that depend on shapes or on other names.
 */
int gnn_keys_group(struct gnn_weight *w, uint32_t count, uint32_t *layers);

/* How keys of a role end: "lin.weight", the first of several. */
const char *gnn_role_ending(enum gnn_role role);

GNN_END_DECLS

#endif
