/*
 * mpi/comm.h - the ranks of a run: who they are, agreement, and bytes between them.
 *
 * Flow     a rank -> [comm] -> the other ranks
 * Owns     the thread that speaks MPI, the requests in flight
 * Lends    the table of ranks, until end
 * Thread   collectives (agree, gather, broadcast, reduce) by one thread, in one order on all
 *          ranks; send, recv and wait by any thread
 * Fails    the status of the rank that failed first, with rank, host and its words; GNN_EIO a
 *          rank is silent past the deadline; GNN_ECONFIG the launcher started lone programs
 *
 * A rank that fails tells all others, so that nobody waits for it: whatever they wait for returns
 * its status. A rank alone needs no MPI: all calls return at once.
 */
#ifndef GNN_MPI_COMM_H
#define GNN_MPI_COMM_H

#include "mpi/ranks.h"

struct gnn_comm;
struct gnn_comm_request;

enum gnn_reduce { GNN_REDUCE_SUM, GNN_REDUCE_MIN, GNN_REDUCE_MAX };

GNN_BEGIN_DECLS

int gnn_comm_start(struct gnn_comm **out, const struct gnn_comm_opts *o);
/*
 * Called by every rank with its own status. Returns the status of the job, the same on every rank:
 * of the lowest rank that failed by itself. *said: the job has said why; else the caller does. NULL
 * inside is a rank alone.
 */
int gnn_comm_end(struct gnn_comm **c, int rc, bool *said);

uint32_t gnn_comm_rank(const struct gnn_comm *c); /* 0 of NULL */
uint32_t gnn_comm_size(const struct gnn_comm *c); /* 1 of NULL */
const struct gnn_comm_rank *gnn_comm_ranks(const struct gnn_comm *c); /* (size) */

/* What this rank is at, told to the others when it falls silent; a string that stays. */
void gnn_comm_phase(struct gnn_comm *c, const char *phase);

/*
 * Collectives. What is on its way belongs to the comm: the caller's memory may go when they return,
 * also when they fail, which they do as soon as any rank has.
 * agree: rc when this rank failed; else 0 once all ranks are here and well.
 */
int gnn_comm_agree(struct gnn_comm *c, int rc);
/* all: (size, bytes); at most 1 GiB together. */
int gnn_comm_gather(struct gnn_comm *c, const void *mine, uint64_t bytes, void *all);
int gnn_comm_broadcast(struct gnn_comm *c, uint32_t root, void *data, uint64_t bytes);
/* Reduced in rank order, so that the bits are the same on every rank and in every run. */
int gnn_comm_reduce_u64(struct gnn_comm *c, enum gnn_reduce how, uint64_t *value, uint32_t count);
int gnn_comm_reduce_f64(struct gnn_comm *c, enum gnn_reduce how, double *value, uint32_t count);

/*
 * Messages of any size between two ranks; both sides know the size. Those of equal ends and tag
 * arrive in the order posted. The bytes must stay until wait returns, which frees the request, also
 * when it fails; after a failure hand them to keep, for MPI may still touch them.
 */
int  gnn_comm_send(struct gnn_comm *c, uint32_t to, uint32_t tag, const void *data,
	uint64_t bytes, struct gnn_comm_request **out);
int  gnn_comm_recv(struct gnn_comm *c, uint32_t from, uint32_t tag, void *data, uint64_t bytes,
	struct gnn_comm_request **out);
int  gnn_comm_wait(struct gnn_comm *c, struct gnn_comm_request **r); /* NULL inside is fine */
/*
 * For measuring: how long MPI's own collective takes, called at once by all ranks, each with two
 * blocks of (size, bytes): an exchange of `bytes` with every rank, or a sum of `bytes` of f64.
 */
int  gnn_comm_time_mpi(struct gnn_comm *c, bool sum, const void *from, void *to, uint64_t bytes,
	double *seconds);
bool gnn_comm_failed(struct gnn_comm *c);
void gnn_comm_keep(struct gnn_comm *c, void *block); /* takes a block of base/mem; freed by end */

GNN_END_DECLS

#endif
