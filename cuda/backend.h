/*
 * cuda/backend.h - the object of the CUDA backend, for the files that fill its vtables.
 *
 * Flow     op -> [backend] -> backend_cuda.c, grad_cuda.c, sample_cuda.c, places_cuda.c
 * Owns     device, row programs, working memory of grouping and of training
 * Lends    nothing
 * Thread   one caller
 * Fails    as device.h
 */
#ifndef GNN_CUDA_BACKEND_H
#define GNN_CUDA_BACKEND_H

#include "cuda/gnn_cuda_sample.h"
#include "cuda/rows.h"

/* What an operation of training answers to the host, in pinned memory. */
struct gnn_cuda_answer {
	double   sum;
	uint64_t count;
	float    most;
};

struct gnn_cuda_grad {
	double  *scratch;       /* shares of slabs, sums of columns */
	uint64_t scratch_items;
	struct gnn_cuda_answer *there, *answer;
};

struct gnn_cuda {
	struct gnn_backend     base; /* first */
	struct gnn_cuda_device device;
	struct gnn_cuda_rows   rows;
	struct gnn_cuda_group  group;
	struct gnn_cuda_grad   grad;
	struct gnn_cuda_sample sample;
};

extern const struct gnn_grad_ops gnn_grad_cuda;
extern const struct gnn_sample_ops gnn_sample_cuda;
extern const struct gnn_place_ops gnn_places_cuda;

void gnn_cuda_grad_fini(struct gnn_cuda *c);
void gnn_cuda_sample_fini(struct gnn_cuda *c);

#endif
