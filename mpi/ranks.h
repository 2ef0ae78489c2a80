/*
 * mpi/ranks.h - plain data about the ranks of a run.
 *
 * Flow     launcher -> comm -> [ranks] -> who asks
 * Owns     nothing
 * Lends    nothing
 * Thread   constant once filled
 * Fails    never
 */
#ifndef GNN_MPI_RANKS_H
#define GNN_MPI_RANKS_H

#include "base/err.h"

enum { GNN_COMM_HOST_BYTES = 64, GNN_COMM_RANKS_MAX = 1 << 16,
	GNN_COMM_TIMED_MAX = 1 << 30 };

struct gnn_comm_opts {
	uint32_t peer_timeout_s;  /* a rank silent for longer has failed */
	bool     allow_singleton; /* several lone programs of one launcher are meant */
};

struct gnn_comm_rank {
	char     host[GNN_COMM_HOST_BYTES];
	uint32_t local_rank; /* among the ranks that share memory */
	uint32_t local_size;
	uint32_t cores;      /* in its affinity mask */
	uint32_t sharers;    /* ranks of its host with the same mask, itself included */
	uint64_t core_set;   /* a hash of the mask */
};

#endif
