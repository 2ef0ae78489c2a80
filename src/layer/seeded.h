/*
 * layer/seeded.h - a model of seeded weights: something to run before anything was trained.
 *
 * Flow     architecture, widths, seed -> [seeded] -> safetensors
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EUSAGE widths or heads that make no model; GNN_ECREAT, GNN_EIO while writing
 *
 * Weights are uniform within Glorot's range, biases within 0.1; a weight depends on the seed, its
 * tensor and its place alone. Keys are PyG's current ones, and __metadata__ says the rest.
 */
#ifndef GNN_LAYER_SEEDED_H
#define GNN_LAYER_SEEDED_H

#include "layer/settings.h"

struct gnn_seeded_opts {
	const char     *path;
	enum gnn_arch   arch;       /* gcn, sage, gin, gat */
	const uint32_t *dims;       /* (layers + 1) features in, widths, out; GAT: of each head */
	uint32_t        dim_count;
	const uint32_t *heads;      /* (layers) of GAT; NULL: 1 each */
	uint32_t        head_count;
	uint64_t        seed;
};

GNN_BEGIN_DECLS

int gnn_model_seeded(const struct gnn_seeded_opts *o);

GNN_END_DECLS

#endif
