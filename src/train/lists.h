/*
 * train/lists.h - the in-lists of a store in memory: what a sampler draws from.
 *
 * Flow     store -> [lists] -> sampler, whole-graph block
 * Owns     offsets, neighbours, self-loop counts; weights, and what GCN makes of them
 * Lends    nothing
 * Thread   constant once loaded
 * Fails    GNN_EDATA offsets that do not ascend, a neighbour outside the graph, weights that are no
 *          numbers or add up to less than 0; GNN_EIO; GNN_EOS
 *
 * Degrees of a weighted graph are those of infer/degrees_weighted.c: sums in list order in double
 * precision; a vertex keeps the weight of its last self-loop, and has 1 where there is none.
 */
#ifndef GNN_TRAIN_LISTS_H
#define GNN_TRAIN_LISTS_H

#include "io/store.h"
#include "mpi/comm.h"
#include "op/lists.h"

GNN_BEGIN_DECLS

/*
 * Of all ranks that share a host once; `comm` is NULL for one alone. Collective. `weighted`: with
 * weights, where the store has them.
 */
int  gnn_lists_load(struct gnn_lists **out, const struct gnn_store *s, struct gnn_comm *comm,
	bool weighted);
/* degree[v] and own[v] by the weights, which are there. */
int  gnn_lists_weigh(const struct gnn_lists *l, float *degree, float *own);
void gnn_lists_free(struct gnn_lists *l); /* NULL is fine */

GNN_END_DECLS

#endif
