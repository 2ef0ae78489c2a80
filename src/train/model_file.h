/*
 * train/model_file.h - a trained net as safetensors that PyG loads and infer reads.
 *
 * Flow     weights -> [model_file] -> M.safetensors
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ECREAT, GNN_EIO while writing; GNN_EOS memory
 *
 * Keys are those of convs = ModuleList of PyG 2.5's layers, GIN's net being PyG's MLP class; what
 * they do not say stands in __metadata__.
 */
#ifndef GNN_TRAIN_MODEL_FILE_H
#define GNN_TRAIN_MODEL_FILE_H

#include "train/params.h"

GNN_BEGIN_DECLS

/* `weights` (floats of p) on the host; `steps` were taken. */
int gnn_model_file_write(const char *path, const struct gnn_net_shape *s,
	const struct gnn_params *p, const float *weights, uint64_t steps);

GNN_END_DECLS

#endif
