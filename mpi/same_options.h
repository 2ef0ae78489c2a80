/*
 * mpi/same_options.h - whether all ranks were started as the same program with the same options.
 *
 * Flow     config of each rank -> [same_options] -> main
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller; collective
 * Fails    GNN_ECONFIG names the first rank that differs, the option, and what each has; as comm
 *
 * What belongs to a node may differ: memory, threads, where scratch is, what is logged where.
 */
#ifndef GNN_MPI_SAME_OPTIONS_H
#define GNN_MPI_SAME_OPTIONS_H

#include "base/config.h"
#include "mpi/comm.h"

GNN_BEGIN_DECLS

int gnn_same_options(struct gnn_comm *comm, const struct gnn_config *c);

GNN_END_DECLS

#endif
