/*
 * mpi/launch.h - who started this program, and as one of how many.
 *
 * Flow     environment of the launcher -> [launch] -> comm
 * Owns     nothing
 * Lends    nothing
 * Thread   any; reads the environment
 * Fails    GNN_ECONFIG from refuse, which says the cure
 */
#ifndef GNN_MPI_LAUNCH_H
#define GNN_MPI_LAUNCH_H

#include "base/err.h"

struct gnn_launch {
	const char *name;       /* the variable that told, or NULL */
	uint32_t    tasks;      /* started together; 1 when nobody said */
	bool        speaks_mpi; /* MPI will see the others */
	bool        bound;      /* mpirun has tied each task to some of its cores */
};

GNN_BEGIN_DECLS

void gnn_launch_read(struct gnn_launch *l);
/* Several tasks were started, and this program sees itself alone. */
int  gnn_launch_refuse(const struct gnn_launch *l);

GNN_END_DECLS

#endif
