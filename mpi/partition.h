/*
 * mpi/partition.h - contiguous ranges of vertices, one a rank, of about equal weight.
 *
 * Flow     weights of the rows -> [partition] -> which rank owns which vertex
 * Owns     the bounds
 * Lends    nothing
 * Thread   constant once made
 * Fails    GNN_EOS memory; what the weight function fails with
 *
 * Bounds are multiples of the panel height (the last is the number of vertices), so that dense
 * panels lie over the same absolute rows whatever the number of ranks. Ranges may be empty.
 */
#ifndef GNN_MPI_PARTITION_H
#define GNN_MPI_PARTITION_H

#include "base/err.h"

struct gnn_partition {
	uint32_t ranks;
	gnn_vid *bound; /* (ranks + 1), ascending: rank r owns [bound[r], bound[r + 1]) */
};

/* Weight of all rows below v: never falling in v. */
typedef int (*gnn_weight_fn)(void *arg, gnn_vid v, uint64_t *weight);

GNN_BEGIN_DECLS

int  gnn_partition_init(struct gnn_partition *p, uint64_t vertices, uint32_t ranks,
	uint32_t panel_rows, gnn_weight_fn weight, void *arg);
void gnn_partition_fini(struct gnn_partition *p);
uint32_t gnn_partition_owner(const struct gnn_partition *p, gnn_vid v);

GNN_END_DECLS

#endif
