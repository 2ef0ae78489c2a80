/*
 * train/owners.h - of the rows of a batch that several ranks have, which one counts each.
 *
 * Flow     samples of all ranks -> [owners] -> batch norms over the batch
 * Owns     lists that travel, the answer
 * Lends    the answer, until the next find
 * Thread   one caller; collective
 * Fails    as comm; GNN_EOS memory; what the backend fails with
 *
 * A vertex that is needed by seeds of two ranks is drawn by both, and is one row of the batch all
 * the same. Of the ranks that have a vertex among the destinations of a layer the lowest counts it.
 * Vertex v is asked for at rank v mod P.
 */
#ifndef GNN_TRAIN_OWNERS_H
#define GNN_TRAIN_OWNERS_H

#include "mpi/comm.h"
#include "train/sampler.h"

struct gnn_owners;

GNN_BEGIN_DECLS

int  gnn_owners_create (struct gnn_owners **out, struct gnn_comm *c, struct gnn_backend *b);
/* *counts: for each destination of the lowest block, in host memory: bit l: counted in layer l. */
int  gnn_owners_find   (struct gnn_owners *o, const struct gnn_sample *s, const uint32_t **counts);
void gnn_owners_destroy(struct gnn_owners *o); /* NULL is fine */

GNN_END_DECLS

#endif
