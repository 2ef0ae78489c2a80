/*
 * cuda/gnn_cuda_ranks.h - the launchers of the kernels that measure and move orders of vertices.
 *
 * Flow     ranks_cuda.c -> [gnn_cuda_ranks] -> kernels on the stream given
 * Owns     nothing: buffers and streams come from the caller
 * Lends    nothing
 * Thread   one caller a stream
 * Fails    GNN_EOS a launch or CUB was refused
 *
 * As gnn_cuda.h. Vertices are fewer than 2^32. What is only wanted while an order is measured and
 * what is only wanted while it moves share memory: changes and scan with keys, terms with the other
 * keys.
 */
#ifndef GNN_CUDA_GNN_CUDA_RANKS_H
#define GNN_CUDA_GNN_CUDA_RANKS_H

#include "op/ranks.h"
#include "op/ranks_fold.h"

/* What kernels count. */
struct gnn_cuda_rank_totals {
	uint64_t span, bandwidth, changed;
	int64_t  active_sum, active_peak;
};

struct gnn_cuda_rank_work {
	uint64_t  vertices;
	uint32_t *rank;            /* (V) */
	struct gnn_centre *centre; /* (V) or NULL: not wanted */
	uint64_t *key[2];          /* (V + 1) each; or changes of activity; or terms of J */
	uint32_t *id[2];           /* (V) each */
	double   *block;           /* (blocks) */
	struct gnn_cuda_rank_totals *totals;
	void     *scratch;         /* of CUB */
	uint64_t  scratch_bytes;
};

/* Lists of the vertices [first, end): offsets (end - first + 1), neighbours from offsets[0] on. */
struct gnn_cuda_rank_lists {
	uint64_t        first, end;
	const uint64_t *offsets;
	const uint32_t *neighbors;
};

GNN_BEGIN_DECLS

int gnn_cuda_ranks_scratch(uint64_t vertices, bool moves, uint64_t *bytes);
/* Ranks to and from the u64 at key[0]. */
int gnn_cuda_run_rank_narrow(const struct gnn_cuda_rank_work *w, void *stream);
int gnn_cuda_run_rank_widen (const struct gnn_cuda_rank_work *w, const uint32_t *rank,
	void *stream);
int gnn_cuda_run_spread(const struct gnn_cuda_rank_work *w, const struct gnn_cuda_rank_lists *in,
	void *stream);
/* Occupancy to the totals, dispersions to the blocks. */
int gnn_cuda_run_spread_end(const struct gnn_cuda_rank_work *w, void *stream);
int gnn_cuda_run_pull(const struct gnn_cuda_rank_work *w, const struct gnn_cuda_rank_lists *out,
	void *stream);
int gnn_cuda_run_rank_sort(const struct gnn_cuda_rank_work *w, void *stream);

GNN_END_DECLS

#endif
