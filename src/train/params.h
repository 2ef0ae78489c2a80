/*
 * train/params.h - what a net learns: its tensors by PyG's names, in one block of floats.
 *
 * Flow     shape of the net -> [params] -> net, optimiser, checkpoint, safetensors
 * Owns     nothing but the table
 * Lends    nothing
 * Thread   constant once laid out
 * Fails    GNN_ECONFIG widths out of range; GNN_EOS memory
 *
 * Learned tensors come first, layer by layer; behind them what is kept but not learned (the
 * running moments of batch norms). Initial weights are PyG's: a weight depends on the seed, its
 * tensor and its place alone.
 */
#ifndef GNN_TRAIN_PARAMS_H
#define GNN_TRAIN_PARAMS_H

#include "layer/settings.h"

enum { GNN_NET_LAYERS_MAX = 32, GNN_PARAM_NAME = 64, GNN_PARAM_RANK = 3 };

struct gnn_net_shape {
	enum gnn_arch arch;          /* gcn, sage, gin, gat */
	uint32_t layers;
	uint32_t dim_in;             /* features */
	uint32_t channels[GNN_NET_LAYERS_MAX]; /* of the output of each layer; GAT: of a head */
	uint32_t heads[GNN_NET_LAYERS_MAX];    /* GAT; else 1 */
};

enum gnn_param_role { GNN_PARAM_W, GNN_PARAM_BIAS, GNN_PARAM_W_OWN, GNN_PARAM_GAMMA,
	GNN_PARAM_BETA, GNN_PARAM_W2, GNN_PARAM_BIAS2, GNN_PARAM_ATT_SRC, GNN_PARAM_ATT_DST,
	GNN_PARAM_MEAN, GNN_PARAM_VAR, GNN_PARAM_ROLES };

struct gnn_param {
	char     name[GNN_PARAM_NAME]; /* "convs.0.lin.weight" */
	enum gnn_param_role role;
	uint32_t layer;
	uint32_t rank;
	uint64_t shape[GNN_PARAM_RANK];
	uint64_t first, count;         /* floats of the block */
	double   range;                /* drawn uniform within +- range; 0: `value` */
	float    value;
};

struct gnn_params {
	struct gnn_param *param;
	uint32_t count;
	uint64_t learned;  /* floats */
	uint64_t floats;   /* learned and kept */
	uint64_t at[GNN_NET_LAYERS_MAX][GNN_PARAM_ROLES]; /* first; UINT64_MAX: no such */
	uint64_t layer_first[GNN_NET_LAYERS_MAX + 1];     /* learned floats of each layer */
};

GNN_BEGIN_DECLS

int  gnn_params_init(struct gnn_params *p, const struct gnn_net_shape *s);
void gnn_params_fini(struct gnn_params *p);
void gnn_params_draw(const struct gnn_params *p, uint64_t seed, float *to); /* (floats) */

/* Columns of a layer's input and output. */
uint32_t gnn_shape_in (const struct gnn_net_shape *s, uint32_t layer);
uint32_t gnn_shape_out(const struct gnn_net_shape *s, uint32_t layer);
/* GAT: whether heads stand side by side, as on all but the last layer. */
bool     gnn_shape_concat(const struct gnn_net_shape *s, uint32_t layer);

GNN_END_DECLS

#endif
