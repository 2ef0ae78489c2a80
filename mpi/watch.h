/*
 * mpi/watch.h - news of failures between ranks, and heart-beats of the neighbours in a ring.
 *
 * Flow     comm_mpi (its thread) -> [watch] -> the same on the other ranks
 * Owns     its requests
 * Lends    nothing
 * Thread   the one that speaks MPI
 * Fails    GNN_EOS memory at init; MPI's own failures end the job, by its default handler
 */
#ifndef GNN_MPI_WATCH_H
#define GNN_MPI_WATCH_H

#include "mpi/ranks.h"

#define OMPI_SKIP_MPICXX 1 /* its retired C++ binding does not compile without warnings */
#include <mpi.h>

enum { GNN_PHASE_BYTES = 32, GNN_NEIGHBOURS = 2 };

/* That a rank failed, told by itself or by a neighbour that hears no more of it. */
struct gnn_notice {
	int32_t  status; /* 0: none known */
	uint32_t rank;   /* that failed */
	char     text[GNN_ERR_TEXT_MAX];
};

struct gnn_beat {
	char phase[GNN_PHASE_BYTES];
};

struct gnn_watch {
	MPI_Comm          comm;
	uint32_t          rank, size;
	uint64_t          timeout_ns;
	const struct gnn_comm_rank *ranks;
	struct gnn_notice own;    /* that this rank tells */
	struct gnn_notice lowest; /* of the lowest rank known to have failed */
	struct gnn_notice arriving;
	MPI_Request       receive;
	MPI_Request      *tell;   /* (size) */
	bool              told;
	uint32_t          neighbours;
	uint32_t          neighbour[GNN_NEIGHBOURS];
	struct gnn_beat   beat_out[GNN_NEIGHBOURS], beat_in[GNN_NEIGHBOURS];
	struct gnn_beat   last[GNN_NEIGHBOURS];
	MPI_Request       send_beat[GNN_NEIGHBOURS], receive_beat[GNN_NEIGHBOURS];
	uint64_t          heard_ns[GNN_NEIGHBOURS], next_beat_ns;
	bool              gone[GNN_NEIGHBOURS]; /* silent past the deadline */
};

GNN_BEGIN_DECLS

int  gnn_watch_init(struct gnn_watch *w, MPI_Comm comm, uint64_t timeout_ns,
	const struct gnn_comm_rank *ranks);
/* Looks for news once, and lets the neighbours hear of this rank when it is time. */
void gnn_watch_step(struct gnn_watch *w, const char *phase);
/* From now on all ranks are told that `rank` failed. The first call counts. */
void gnn_watch_tell(struct gnn_watch *w, uint32_t rank, int status, const char *text);
void gnn_watch_fini(struct gnn_watch *w);

GNN_END_DECLS

#endif
