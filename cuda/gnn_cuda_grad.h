/*
 * cuda/gnn_cuda_grad.h - the launchers of the kernels of training.
 *
 * Flow     grad_cuda.c -> [gnn_cuda_grad] -> kernels on the stream given
 * Owns     nothing: buffers and streams come from the caller
 * Lends    nothing
 * Thread   one caller a stream
 * Fails    GNN_EOS a launch was refused
 *
 * As gnn_cuda.h. `scratch` has gnn_cuda_scratch_items doubles: the shares of the slabs that sums
 * over rows are made of, and behind them the sums. Sums have one order, given by the sizes alone.
 */
#ifndef GNN_CUDA_GNN_CUDA_GRAD_H
#define GNN_CUDA_GNN_CUDA_GRAD_H

#include "op/grad.h"

enum { GNN_CUDA_SLABS = 64, GNN_CUDA_SUMS = 2, GNN_CUDA_REDUCE_BLOCKS = 128 };

struct gnn_cuda_answer; /* cuda/backend.h: sum, count, most */

GNN_BEGIN_DECLS

static inline uint64_t gnn_cuda_scratch_items(uint64_t width)
{
	return gnn_max_u64((GNN_CUDA_SLABS + GNN_CUDA_SUMS) * width, GNN_CUDA_REDUCE_BLOCKS);
}

int gnn_cuda_run_gather       (const struct gnn_gather_args *a, void *stream);
int gnn_cuda_run_repeat       (float *y, const float *row, uint64_t rows, uint32_t width,
	void *stream);
int gnn_cuda_run_dropout      (const struct gnn_dropout_args *a, void *stream);
int gnn_cuda_run_activate     (const struct gnn_activate_args *a, bool back, void *stream);
int gnn_cuda_run_finish       (const struct gnn_finish_args *a, void *stream);
int gnn_cuda_run_update       (const struct gnn_update_args *a, float *most, void *stream);
int gnn_cuda_run_column_sums  (const float *dy, float *to, uint64_t rows, uint32_t width,
	double *scratch, void *stream);
int gnn_cuda_run_batch_norm   (const struct gnn_batch_norm_args *a, double *scratch, void *stream);
int gnn_cuda_run_batch_norm_back(const struct gnn_batch_norm_args *a, double *scratch,
	void *stream);
int gnn_cuda_run_attend       (const struct gnn_attend_args *a, void *stream);
int gnn_cuda_run_attend_back  (const struct gnn_attend_args *a, void *stream);
int gnn_cuda_run_score        (const struct gnn_score_args *a, void *stream);
int gnn_cuda_run_score_back   (const struct gnn_score_back_args *a, double *scratch, void *stream);
/* `scratch` has a double for each row; *sum and *count on the device. */
int gnn_cuda_run_loss         (const struct gnn_loss_args *a, double *scratch, double *sum,
	uint64_t *count, void *stream);
int gnn_cuda_run_sum_squares  (const float *x, uint64_t count, double *scratch, double *sum,
	void *stream);

GNN_END_DECLS

#endif
