/*
 * cuda/rows.h - row programs on the device.
 *
 * Flow     backend_cuda.c -> [rows] -> cuBLAS, elementwise.cu, rowwise.cu
 * Owns     device copies of weights, two row buffers, two panels
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory, a launch or cuBLAS
 *
 * Dense operations run in panels of GNN_CUDA_PANEL_ROWS rows from the first row given, which stands
 * at a multiple of that height, one cuBLAS call each; column-wise operations between them are
 * gathered into one pass.
 */
#ifndef GNN_CUDA_ROWS_H
#define GNN_CUDA_ROWS_H

#include "cuda/dense.h"

enum { GNN_CUDA_WEIGHTS_MAX = 1024 };

struct gnn_cuda_weight {
	const float *host;
	uint64_t     count;
	float       *there;
};

struct gnn_cuda_rows {
	struct gnn_cuda_device *device;
	float                  *scratch[2];
	uint64_t                scratch_floats[2];
	struct gnn_cuda_dense   dense;
	struct gnn_cuda_weight  weight[GNN_CUDA_WEIGHTS_MAX];
	uint32_t                weight_count;
};

void gnn_cuda_rows_init(struct gnn_cuda_rows *r, struct gnn_cuda_device *d);
int  gnn_cuda_rows_run (struct gnn_cuda_rows *r, const struct gnn_rows_args *a);
void gnn_cuda_rows_fini(struct gnn_cuda_rows *r);
/* The device copy of `count` floats of the model, made when first seen. */
int  gnn_cuda_rows_weight(struct gnn_cuda_rows *r, const float *host, uint64_t count,
	const float **out);

#endif
