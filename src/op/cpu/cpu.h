/*
 * op/cpu/cpu.h - what the files of the CPU backend share.
 *
 * Flow     backend_cpu -> rows (widen, dense, elementwise), aggregate
 * Owns     the backend object: thread count, panels of each thread, checked dense shapes
 * Lends    nothing
 * Thread   one caller; the operations open their own parallel regions
 * Fails    GNN_EOS memory
 */
#ifndef GNN_OP_CPU_CPU_H
#define GNN_OP_CPU_CPU_H

#include "op/backend.h"

/*
 * A function marked so is compiled twice, for AVX2 with FMA and for the plain target, and the
 * loader picks. Both give the same bits: no contraction, fmaf is exact in either. Helpers must be
 * inlined into it, or they would be compiled for the plain target only.
 */
#if defined(__x86_64__)
#define GNN_CPU_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define GNN_CPU_CLONES
#endif
#define GNN_CPU_INLINE static inline __attribute__((always_inline))

enum { GNN_CPU_TILE = 16 }; /* output columns of one block of a packed weight */

/* A dense shape that was checked, and whether it runs on the own kernel. */
struct gnn_cpu_shape {
	uint32_t dim_in, dim_out;
	bool     own;
};

struct gnn_cpu {
	struct gnn_backend base;
	uint32_t threads;
	float   *scratch;        /* (threads, scratch_floats) */
	uint64_t scratch_floats;
	float   *packed;         /* weights as the own kernel wants them */
	uint64_t packed_floats;
	struct gnn_cpu_shape *shapes;
	uint32_t shape_count;
};

/*
 * How many threads so many elementary operations are worth: to wake one takes as long as some ten
 * thousand of them, and more on a busy machine.
 */
static inline int gnn_cpu_team(const struct gnn_backend *b, uint64_t operations)
{
	return (int)gnn_min_u64(((const struct gnn_cpu *)b)->threads, 1 + operations / 32768);
}

/* One panel on its way through one row operation. */
struct gnn_cpu_panel {
	const float *from;
	float       *to; /* equals from only for operations that may run in place */
	uint64_t     from_pitch, to_pitch;
	uint64_t     rows;
	const float *vec[GNN_ROW_VECTORS]; /* of the panel's first row on */
};

GNN_BEGIN_DECLS

int  gnn_cpu_rows     (struct gnn_backend *b, const struct gnn_rows_args *a);
int  gnn_cpu_aggregate(struct gnn_backend *b, const struct gnn_aggregate_args *a);
int  gnn_cpu_moments  (struct gnn_backend *b, const struct gnn_moments_args *a);
int  gnn_cpu_merge    (struct gnn_backend *b, const struct gnn_merge_args *a);

/* scratch: `threads` blocks of at least `floats` each; the contents are lost. */
int  gnn_cpu_reserve(struct gnn_cpu *c, uint64_t floats);

/* Rows of any element type to floats. */
void gnn_cpu_widen(float *to, uint64_t to_pitch, const void *from, enum gnn_dtype type,
	uint64_t from_pitch, uint64_t width, uint64_t rows);

/* y = x W^T, GNN_PANEL_ROWS rows whatever p->rows is; bias and the like are left to the caller. */
void gnn_cpu_dense_blas(const struct gnn_rowop *op, const struct gnn_cpu_panel *p);

/* The same in a fixed order per row, by the packed weight: blocks of GNN_CPU_TILE columns. */
void gnn_cpu_dense_own (const struct gnn_rowop *op, const struct gnn_cpu_panel *p,
	const float *packed);
void gnn_cpu_dense_pack(float *packed, const struct gnn_rowop *op, uint64_t block);

/* Checks the shape unless that was done, and notes the verdict. */
int  gnn_cpu_check_dense (struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out);
bool gnn_cpu_dense_is_own(const struct gnn_cpu *c, uint32_t dim_in, uint32_t dim_out);

/* The row operation of p's rows, all kinds but GNN_ROW_DENSE. */
void gnn_cpu_elementwise(const struct gnn_rowop *op, const struct gnn_cpu_panel *p);

/* y += op->bias, in p->to. */
void gnn_cpu_bias(const struct gnn_rowop *op, const struct gnn_cpu_panel *p);

GNN_END_DECLS

#endif
