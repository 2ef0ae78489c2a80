/*
 * cuda/gnn_cuda_places.h - the launchers of the kernels that measure and move orders of vertices.
 *
 * Flow     places_cuda.c -> [gnn_cuda_places] -> kernels on the stream given
 * Owns     nothing: buffers and streams come from the caller
 * Lends    nothing
 * Thread   one caller a stream
 * Fails    GNN_EOS a launch or CUB was refused
 *
 * As gnn_cuda.h. Vertices are fewer than 2^32. What is only wanted while an order is measured and
 * what is only wanted while it moves share memory: changes and scan with keys, terms with the other
 * keys.
 */
#ifndef GNN_CUDA_GNN_CUDA_PLACES_H
#define GNN_CUDA_GNN_CUDA_PLACES_H

#include "op/places.h"
#include "op/places_fold.h"

/* What kernels count. */
struct gnn_cuda_place_totals {
	uint64_t span, bandwidth, changed;
	int64_t  active_sum, active_peak;
};

struct gnn_cuda_place_work {
	uint64_t  vertices;
	uint32_t *place;            /* (V) */
	struct gnn_centre *centre; /* (V) or NULL: not wanted */
	uint64_t *key[2];          /* (V + 1) each; or changes of activity; or terms of J */
	uint32_t *id[2];           /* (V) each */
	double   *block;           /* (blocks) */
	struct gnn_cuda_place_totals *totals;
	void     *scratch;         /* of CUB */
	uint64_t  scratch_bytes;
};

/* Lists of the vertices [first, end): offsets (end - first + 1), neighbours from offsets[0] on. */
struct gnn_cuda_place_lists {
	uint64_t        first, end;
	const uint64_t *offsets;
	const uint32_t *neighbors;
};

GNN_BEGIN_DECLS

int gnn_cuda_places_scratch(uint64_t vertices, bool moves, uint64_t *bytes);
/* Places to and from the u64 at key[0]. */
int gnn_cuda_run_place_narrow(const struct gnn_cuda_place_work *w, void *stream);
int gnn_cuda_run_place_widen (const struct gnn_cuda_place_work *w, const uint32_t *place,
	void *stream);
int gnn_cuda_run_spread(const struct gnn_cuda_place_work *w, const struct gnn_cuda_place_lists *in,
	void *stream);
/* Occupancy to the totals, dispersions to the blocks. */
int gnn_cuda_run_spread_end(const struct gnn_cuda_place_work *w, void *stream);
int gnn_cuda_run_pull(const struct gnn_cuda_place_work *w, const struct gnn_cuda_place_lists *out,
	void *stream);
int gnn_cuda_run_place_sort(const struct gnn_cuda_place_work *w, void *stream);

GNN_END_DECLS

#endif
