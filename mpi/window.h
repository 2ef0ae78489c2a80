/*
 * mpi/window.h - memory that the ranks of a host have together: one copy, filled by all of them.
 *
 * Flow     who loads an array -> [window] -> every rank of the host reads it
 * Owns     the mapping; alone, a block of base/mem
 * Lends    the memory, until close
 * Thread   open is collective, in one order on all ranks; constant once filled
 * Fails    GNN_EOS over the budget; as comm
 *
 * It is an unnamed file in memory that rank 0 of the host makes and the others open: it takes no
 * room of /dev/shm, and goes with the last process, however that ends. A rank counts its share of
 * the bytes. Pages lie near the rank that first writes them. Where ranks of a host cannot open each
 * other's files, as in containers of their own, each has a copy; a warning says so.
 */
#ifndef GNN_MPI_WINDOW_H
#define GNN_MPI_WINDOW_H

#include "base/mem.h"
#include "mpi/comm.h"

struct gnn_window;

GNN_BEGIN_DECLS

/* c: NULL for a rank alone. */
int   gnn_window_open (struct gnn_window **out, struct gnn_comm *c, uint64_t bytes,
	enum gnn_mem_kind kind);
void *gnn_window_data (const struct gnn_window *w); /* aligned to a page */
/* Of `bytes` of it [*first, *end), cut at multiples of `unit`, are this rank's to fill. */
void  gnn_window_part (const struct gnn_window *w, uint64_t bytes, uint64_t unit, uint64_t *first,
	uint64_t *end);
void  gnn_window_close(struct gnn_window *w); /* NULL is fine */

/* How many copies' worth of a window a rank counts: 1 / this. */
uint32_t gnn_window_sharers(const struct gnn_comm *c);

GNN_END_DECLS

#endif
