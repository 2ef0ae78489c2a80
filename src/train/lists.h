/*
 * train/lists.h - the in-lists of a store in memory: what a sampler draws from.
 *
 * Flow     store -> [lists] -> sampler, whole-graph block
 * Owns     offsets, neighbours, self-loop counts
 * Lends    nothing
 * Thread   constant once loaded
 * Fails    GNN_EDATA offsets that do not ascend, a neighbour outside the graph; GNN_EIO; GNN_EOS
 */
#ifndef GNN_TRAIN_LISTS_H
#define GNN_TRAIN_LISTS_H

#include "io/store.h"
#include "mpi/comm.h"
#include "op/lists.h"

GNN_BEGIN_DECLS

/* Of all ranks that share a host once; `comm` is NULL for one alone. Collective. */
int  gnn_lists_load(struct gnn_lists **out, const struct gnn_store *s, struct gnn_comm *comm);
void gnn_lists_free(struct gnn_lists *l); /* NULL is fine */

GNN_END_DECLS

#endif
