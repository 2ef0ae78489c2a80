/*
 * cuda/gnn_cuda_sample.h - the launchers of the kernels that make the blocks of a batch.
 *
 * Flow     sample_cuda.c -> [gnn_cuda_sample] -> kernels on the stream given
 * Owns     nothing: buffers and streams come from the caller
 * Lends    nothing
 * Thread   one caller a stream
 * Fails    GNN_EOS a launch or CUB was refused
 *
 * As gnn_cuda.h. `work` has room for the destinations or entries of a call.
 */
#ifndef GNN_CUDA_GNN_CUDA_SAMPLE_H
#define GNN_CUDA_GNN_CUDA_SAMPLE_H

#include "op/sample.h"

/* Working memory for so many items, device memory but for the answer. */
struct gnn_cuda_sample {
	uint64_t  items;
	uint32_t *key, *value, *key_out; /* (items) each */
	void     *scratch;
	uint64_t  scratch_bytes;
	uint64_t *answer;                /* host memory that kernels write to */
};

GNN_BEGIN_DECLS

/* Bytes of scratch that CUB wants for so many items. */
int gnn_cuda_sample_scratch(uint64_t items, uint64_t *bytes);

int gnn_cuda_run_enter (uint32_t *table, const uint64_t *id, uint64_t count, bool there,
	void *stream);
/* *work->answer: the entries. */
int gnn_cuda_run_count (const struct gnn_cuda_sample *work, const struct gnn_hop *h,
	const struct gnn_hop_rows *rows, void *stream);
int gnn_cuda_run_list  (const struct gnn_hop *h, const struct gnn_hop_rows *rows,
	uint64_t *entry, void *stream);
/* *work->answer: the new rows. */
int gnn_cuda_run_number(const struct gnn_cuda_sample *work, const struct gnn_number_args *a,
	void *stream);
int gnn_cuda_run_weigh (const struct gnn_hop *h, const struct gnn_weigh_args *a, void *stream);
int gnn_cuda_run_turn  (const struct gnn_cuda_sample *work, const struct gnn_turn_args *a,
	void *stream);

GNN_END_DECLS

#endif
