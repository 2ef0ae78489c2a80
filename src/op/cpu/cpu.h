/*
 * op/cpu/cpu.h - what the files of the CPU backend share.
 *
 * Flow     backend_cpu -> rows (widen, dense, elementwise), aggregate
 * Owns     the backend object: thread count, panels of each thread, packed weights
 * Lends    nothing
 * Thread   one caller; the operations open their own parallel regions
 * Fails    GNN_EOS memory
 */
#ifndef GNN_OP_CPU_CPU_H
#define GNN_OP_CPU_CPU_H

#include "base/clones.h"
#include "op/backend.h"

/* A function for AVX-512, with 32 registers: called where gnn_cpu.wide says so. The same bits. */
#if defined(__x86_64__)
#define GNN_CPU_WIDE __attribute__((target("arch=x86-64-v4")))
#else
#define GNN_CPU_WIDE
#endif

enum { GNN_CPU_TILE = 16 }; /* output columns of one block of a packed weight */

struct gnn_cpu {
	struct gnn_backend base;
	uint32_t threads;
	float   *scratch;        /* (threads, scratch_floats) */
	uint64_t scratch_floats;
	float   *packed;         /* weights as gnn_cpu_dense_pack leaves them */
	uint64_t packed_floats;
	bool     wide;           /* the machine has AVX-512 */
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

/*
 * y = x W^T, GNN_PANEL_ROWS rows whatever p->rows is, by the packed weight: blocks of GNN_CPU_TILE
 * columns. Each value is the sum of pieces of 512 products, in order; a piece is a chain of fmaf
 * in order. So a row has the same bits at any place, on any thread and machine. Bias and the like
 * are left to the caller.
 */
void gnn_cpu_dense     (const struct gnn_rowop *op, const struct gnn_cpu_panel *p,
	const float *packed, bool wide);
void gnn_cpu_dense_pack(float *packed, const struct gnn_rowop *op, uint64_t block);

/* The row operation of p's rows, all kinds but GNN_ROW_DENSE. */
void gnn_cpu_elementwise(const struct gnn_rowop *op, const struct gnn_cpu_panel *p);

/* y += op->bias, in p->to. */
void gnn_cpu_bias(const struct gnn_rowop *op, const struct gnn_cpu_panel *p);

GNN_END_DECLS

#endif
