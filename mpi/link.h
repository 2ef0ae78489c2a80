/*
 * mpi/link.h - bytes between the device memories of ranks, by NCCL.
 *
 * Flow     comm -> [link] -> NCCL, on a stream of the caller's device
 * Owns     the communicator, the library, which is loaded when it is wanted
 * Lends    nothing
 * Thread   one caller, the one that opened it; every rank makes the same calls in one order
 * Fails    GNN_SKIPPED NCCL does not start on all ranks; as comm; GNN_EOS what NCCL says
 *
 * No call waits for a device. A rank that waits for what it issued asks check meanwhile: when a
 * rank has failed, check gives up what is on its way, and the waiting ends. NVLink multicast stays
 * off unless NCCL_NVLS_ENABLE says otherwise.
 */
#ifndef GNN_MPI_LINK_H
#define GNN_MPI_LINK_H

#include "mpi/comm.h"

struct gnn_link;

/* Bytes to or from a rank; both ends know how many, and post those between them in one order. */
struct gnn_link_message {
	uint32_t peer;
	bool     sends;
	void    *data; /* device memory */
	uint64_t bytes;
};

GNN_BEGIN_DECLS

/*
 * Collective, with the device of each rank current. Where NCCL does not start on every rank all
 * return GNN_SKIPPED, with the reason as text.
 */
int  gnn_link_open (struct gnn_link **out, struct gnn_comm *c);
void gnn_link_close(struct gnn_link *l); /* NULL is fine; gives up what is on its way */
const char *gnn_link_version(const struct gnn_link *l);

/* Issues all messages at once on a stream, a cudaStream_t; those of no bytes are left out. */
int  gnn_link_exchange(struct gnn_link *l, const struct gnn_link_message *m, uint32_t count,
	void *stream);
/* data (count) becomes its sum over the ranks, on every rank the same bits. */
int  gnn_link_sum(struct gnn_link *l, float *data, uint64_t count, void *stream);
/* As a backend's watch wants it: arg is a link; a wait that lasts too long is a failure too. */
int  gnn_link_check(void *arg, bool first);

GNN_END_DECLS

#endif
