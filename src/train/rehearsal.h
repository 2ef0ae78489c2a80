/*
 * train/rehearsal.h - how long steps take, by training that learns nothing.
 *
 * Flow     batches, table -> [rehearsal] -> seconds, bytes -> gauge, ways, cmd
 * Owns     a net of its own, for as long as it runs
 * Lends    nothing
 * Thread   one caller
 * Fails    as carrier and net
 *
 * Batches are brought and differentiated as in the training, on weights that stay as they are.
 */
#ifndef GNN_TRAIN_REHEARSAL_H
#define GNN_TRAIN_REHEARSAL_H

#include "train/carrier.h"

/* Of some steps; the parts overlap where batches are brought ahead. */
struct gnn_rehearsed {
	uint64_t ns;       /* from the first of them to the last */
	uint64_t steps, input_vertices, h2d_bytes;
	double   sample_s, collect_s, transfer_s, compute_s;
};

GNN_BEGIN_DECLS

/*
 * All steps of the carrier's batches, by another net like theirs; the shortest of `runs`, of the
 * steps behind the first `skipped`.
 */
int gnn_rehearse(const struct gnn_carrier_opts *o, uint32_t runs, uint64_t skipped,
	struct gnn_rehearsed *out);

GNN_END_DECLS

#endif
