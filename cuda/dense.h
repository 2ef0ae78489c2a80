/*
 * cuda/dense.h - y = x W^T in panels of one height, each by one cuBLAS call.
 *
 * Flow     rows -> [dense] -> cuBLAS, or panel.cu for shapes whose bits depend on the place
 * Owns     the verdicts on shapes, two panels for the last, short one
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory, cuBLAS, a launch
 *
 * The bits of a row depend on the height of the panel and on the row, not on its place or its
 * neighbours: check tries that for a shape, and puts it on the own kernel where it does not hold.
 */
#ifndef GNN_CUDA_DENSE_H
#define GNN_CUDA_DENSE_H

#include "cuda/device.h"

enum { GNN_CUDA_SHAPES_MAX = 256 };

struct gnn_cuda_dense {
	struct gnn_cuda_device *device;
	float   *panel[2];
	uint64_t panel_floats;
	struct {
		uint32_t dim_in, dim_out;
		bool     own;
	} shape[GNN_CUDA_SHAPES_MAX];
	uint32_t shape_count;
};

struct gnn_cuda_dense_args {
	const float *x, *weight;
	uint64_t     x_pitch, y_pitch, rows;
	float       *y;
	uint32_t     dim_in, dim_out;
};

int  gnn_cuda_dense_check(struct gnn_cuda_dense *d, uint32_t dim_in, uint32_t dim_out);
int  gnn_cuda_dense_run  (struct gnn_cuda_dense *d, const struct gnn_cuda_dense_args *a);
void gnn_cuda_dense_fini (struct gnn_cuda_dense *d);

#endif
