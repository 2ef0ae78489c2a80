/*
 * op/cpu/grad.h - what the CPU's operations of training share.
 *
 * Flow     grad_cpu.c -> linear, dropout, norm, attend, loss, update
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller; the operations open their own parallel regions
 * Fails    GNN_EOS memory
 */
#ifndef GNN_OP_CPU_GRAD_H
#define GNN_OP_CPU_GRAD_H

#include "op/cpu/cpu.h"
#include "op/grad.h"

enum { GNN_CPU_SLABS = 16, GNN_CPU_SLAB_ROWS = 512 };

/* Height of the slabs that sums over rows are made of: at most GNN_CPU_SLABS of them. */
static inline uint64_t gnn_cpu_slab_rows(uint64_t rows)
{
	return gnn_max_u64(GNN_CPU_SLAB_ROWS,
		gnn_align_up(gnn_ceil_div(rows, GNN_CPU_SLABS), GNN_PANEL_ROWS));
}

GNN_BEGIN_DECLS

int gnn_cpu_gather(struct gnn_backend *b, const struct gnn_gather_args *a);
/* One row behind dropout; may be in place. */
void gnn_cpu_drop_row(float *to, const float *from, uint32_t width, uint64_t name,
	const struct gnn_drop *d);
int gnn_cpu_linear(struct gnn_backend *b, const struct gnn_linear_args *a);
int gnn_cpu_linear_back(struct gnn_backend *b, const struct gnn_linear_back_args *a);
int gnn_cpu_dropout(struct gnn_backend *b, const struct gnn_dropout_args *a);
int gnn_cpu_activate(struct gnn_backend *b, const struct gnn_activate_args *a);
int gnn_cpu_activate_back(struct gnn_backend *b, const struct gnn_activate_args *a);
int gnn_cpu_batch_norm(struct gnn_backend *b, const struct gnn_batch_norm_args *a);
int gnn_cpu_batch_norm_back(struct gnn_backend *b, const struct gnn_batch_norm_args *a);
int gnn_cpu_attend(struct gnn_backend *b, const struct gnn_attend_args *a);
int gnn_cpu_attend_back(struct gnn_backend *b, const struct gnn_attend_args *a);
int gnn_cpu_score(struct gnn_backend *b, const struct gnn_score_args *a);
int gnn_cpu_finish(struct gnn_backend *b, const struct gnn_finish_args *a);
int gnn_cpu_score_back(struct gnn_backend *b, const struct gnn_score_back_args *a);
int gnn_cpu_loss(struct gnn_backend *b, struct gnn_loss_args *a);
int gnn_cpu_sum_squares(struct gnn_backend *b, const float *x, uint64_t count, double *sum);
int gnn_cpu_update(struct gnn_backend *b, struct gnn_update_args *a);

GNN_END_DECLS

#endif
