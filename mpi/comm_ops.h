/*
 * mpi/comm_ops.h - what a transport between ranks does, behind comm.h.
 *
 * Flow     comm -> [comm_ops] -> comm_self, comm_mpi
 * Owns     nothing
 * Lends    nothing
 * Thread   as comm.h says
 * Fails    as comm.h says
 */
#ifndef GNN_MPI_COMM_OPS_H
#define GNN_MPI_COMM_OPS_H

#include "mpi/ranks.h"

struct gnn_comm;

enum gnn_comm_kind {
	GNN_COMM_SEND,
	GNN_COMM_RECV,
	GNN_COMM_GATHER,
	GNN_COMM_BROADCAST,
	GNN_COMM_BARRIER,
	GNN_COMM_MPI_EXCHANGE, /* timed */
	GNN_COMM_MPI_SUM,
};

struct gnn_comm_request {
	enum gnn_comm_kind       kind;
	const void              *from;
	void                    *to;
	uint64_t                 bytes;
	uint32_t                 peer; /* or root */
	uint32_t                 tag;
	bool                     done;
	double                  *seconds; /* of what is timed; of the caller, which waits */
	struct gnn_comm_request *next;
	void                    *pieces; /* of the transport */
	uint32_t                 piece_count;
};

struct gnn_comm_ops {
	/* Takes r until wait. */
	void (*post)(struct gnn_comm *c, struct gnn_comm_request *r);
	int  (*wait)(struct gnn_comm *c, struct gnn_comm_request *r);
	/* Tells all ranks that this one failed with the current error text. */
	void (*fail)(struct gnn_comm *c, int status);
	bool (*failed)(struct gnn_comm *c);
	void (*phase)(struct gnn_comm *c, const char *phase);
	/* Ends the transport and frees c. */
	int  (*end)(struct gnn_comm *c, int rc, bool *said);
};

/* Every transport embeds this first. */
struct gnn_comm {
	const struct gnn_comm_ops *ops;
	uint32_t                   rank, size;
	uint32_t                   peer_timeout_s;
	struct gnn_comm_rank      *ranks; /* (size) */
	void                     **kept;
	uint32_t                   kept_count;
};

GNN_BEGIN_DECLS

int gnn_comm_self_start(struct gnn_comm **out);
int gnn_comm_mpi_start (struct gnn_comm **out, const struct gnn_comm_opts *o);

/* This rank's own line of the table, but for what only the transport knows. */
void gnn_comm_describe(struct gnn_comm_rank *me);

GNN_END_DECLS

#endif
