/*
 * cuda/gnn_cuda.h - the launchers of the CUDA kernels, with no CUDA type in sight.
 *
 * Flow     backend_cuda.c -> [gnn_cuda] -> kernels on the stream given
 * Owns     nothing: buffers, streams and handles come from the caller
 * Lends    nothing
 * Thread   one caller a stream
 * Fails    GNN_EOS a launch was refused; GNN_EBUG never on good arguments (asserted)
 *
 * Every pointer is device memory unless its name says host. A launcher neither allocates nor
 * waits. `stream` is a cudaStream_t, `blas` a cublasHandle_t.
 */
#ifndef GNN_CUDA_GNN_CUDA_H
#define GNN_CUDA_GNN_CUDA_H

#include "op/backend.h"

/*
 * Height of a dense panel: lower ones leave most of the device idle (1024 -> 128 in panels of 1024
 * rows keeps up with 250 GB/s of features, in panels of 4096 with 470; 128 -> 64 needs the latter).
 */
enum { GNN_CUDA_PANEL_ROWS = 4096, GNN_CUDA_STEPS_MAX = 8 };

/* One column-wise operation of a fused pass, of those that op/rowprog.h calls so. */
struct gnn_cuda_step {
	int          kind; /* enum gnn_rowop_kind */
	int          act;  /* enum gnn_act */
	float        slope, center, factor;
	uint32_t     first, count;
	const float *a; /* bias, or scale of AFFINE, or the vector over rows */
	const float *b; /* shift of AFFINE */
};

struct gnn_cuda_steps {
	int32_t              count;
	struct gnn_cuda_step step[GNN_CUDA_STEPS_MAX];
};

/* to = steps(widened from), rows x width; may be in place when f32 and of equal pitch. */
struct gnn_cuda_elementwise {
	const void    *from;
	enum gnn_dtype dtype;
	uint64_t       from_pitch, to_pitch, rows;
	uint32_t       width;
	float         *to;
	struct gnn_cuda_steps steps;
};

/* A whole row at once: DIVIDE, HEAD_MEAN, ADD, SCORES, L2NORM, LAYERNORM. */
struct gnn_cuda_rowwise {
	int          kind;
	const float *from;
	uint64_t     from_pitch, to_pitch, rows;
	uint32_t     dim_in, dim_out, heads, tail;
	float        epsilon;
	const float *att_src, *att_dst;
	float       *to;
};

/* One panel, y = x W^T: x (GNN_CUDA_PANEL_ROWS, dim_in), weight (dim_out, dim_in). */
struct gnn_cuda_panel {
	const float *x, *weight;
	uint64_t     x_pitch, y_pitch;
	float       *y;
	uint32_t     dim_in, dim_out;
};

/* Working memory of grouping, for up to `entries` entries. */
struct gnn_cuda_group {
	uint64_t  vertices;
	uint32_t  vertex_bits, row_bits;
	uint64_t  entries;
	uint64_t *key[2];     /* (entries) each */
	float    *weight[2];  /* (entries) each; NULL: no list is weighted */
	uint64_t *vertex;     /* (entries) of each group */
	uint64_t *carry;      /* (entries) likewise */
	uint64_t *first;      /* (entries + 1) */
	uint32_t *src;        /* (entries) */
	uint8_t  *head;       /* (entries) flags */
	uint64_t *counter;    /* [0] groups, [1] entries that stay */
	void     *scratch;    /* of CUB */
	uint64_t  scratch_bytes;
	uint32_t *broken;     /* host memory mapped: set when a neighbour is outside the graph */
	const uint64_t *hub_bits, *hub_rank;
};

GNN_BEGIN_DECLS

int gnn_cuda_run_elementwise(const struct gnn_cuda_elementwise *e, void *stream);
int gnn_cuda_run_rowwise    (const struct gnn_cuda_rowwise *r, void *stream);
int gnn_cuda_run_fill       (float *to, float value, uint64_t count, void *stream);
int gnn_cuda_run_factors    (const struct gnn_factors_args *a, void *stream);
int gnn_cuda_run_move       (const struct gnn_move_args *a, void *stream);
int gnn_cuda_run_panel      (const struct gnn_cuda_panel *p, void *stream);
/* SUM, MAX, MIN and SOFTMAX; and the two of pairs, `att` on the device. */
int gnn_cuda_run_aggregate  (const struct gnn_aggregate_args *a, void *stream);
int gnn_cuda_run_pair       (const struct gnn_aggregate_args *a, void *stream);
int gnn_cuda_run_moments    (const struct gnn_moments_args *a, void *stream);
int gnn_cuda_run_merge      (const struct gnn_merge_args *a, void *stream);

/* Bytes that CUB wants for `entries`; no launch. */
int gnn_cuda_group_scratch(const struct gnn_cuda_group *g, uint64_t *bytes);
/* Groups l (its arrays on the device) into g; `out` lends g's arrays. */
int gnn_cuda_run_group(const struct gnn_cuda_group *g, const struct gnn_edge_list *l,
	struct gnn_edge_batch *out, void *stream);

GNN_END_DECLS

#endif
