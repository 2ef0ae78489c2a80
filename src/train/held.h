/*
 * train/held.h - an array of a store in memory, once a host.
 *
 * Flow     container -> [held] -> source, lists, bottom
 * Owns     nothing: the caller closes the window
 * Lends    nothing
 * Thread   one caller; collective: each rank of a host reads and verifies its part
 * Fails    GNN_EIO, GNN_EDATA reading; GNN_EOS memory; as comm
 */
#ifndef GNN_TRAIN_HELD_H
#define GNN_TRAIN_HELD_H

#include "io/container.h"
#include "mpi/window.h"

GNN_BEGIN_DECLS

int gnn_held_load(struct gnn_window **out, struct gnn_comm *comm, struct gnn_container *c,
	const struct gnn_array *a, enum gnn_mem_kind kind);
/* Into memory at `to`, which is `w`'s or in it. */
int gnn_held_fill(const struct gnn_window *w, void *to, struct gnn_container *c,
	const struct gnn_array *a);

GNN_END_DECLS

#endif
