/*
 * io/extsort.h - edges in any order in, runs sorted by source and by destination out.
 *
 * Flow     builder -> [extsort] -> keyruns
 * Owns     batches of edges, the threads that sort them, the runs
 * Lends    runs, after end
 * Thread   one caller; every batch is sorted, coded and stored by one of the threads
 * Fails    GNN_EOS, GNN_EIO, GNN_ECREAT of the scratch
 */
#ifndef GNN_IO_EXTSORT_H
#define GNN_IO_EXTSORT_H

#include "io/edge_batch.h"
#include "io/keyrun.h"

enum gnn_edge_order { GNN_BY_SRC, GNN_BY_DST, GNN_EDGE_ORDERS };

struct gnn_idset;
struct gnn_extsort;

struct gnn_extsort_opts {
	struct gnn_scratch *scratch;
	struct gnn_idset   *ids;        /* is told all ids; NULL: none */
	uint64_t memory_bytes;          /* for batches */
	uint32_t threads;
	bool     weighted;
	bool     both_ways;             /* the reverse of every edge is added, of self-loops not */
	bool     unique;                /* the first of equal edges stays */
	bool     order[GNN_EDGE_ORDERS]; /* which runs are wanted; may be dropped later */
};

GNN_BEGIN_DECLS

int  gnn_extsort_create (struct gnn_extsort **out, const struct gnn_extsort_opts *o);
/* `bits` is the union of all ids in the edges. */
int  gnn_extsort_add    (struct gnn_extsort *s, const struct gnn_edges *e, uint64_t bits);
/* From the next batch on no runs of this order are written; those that exist stay. */
void gnn_extsort_drop_order(struct gnn_extsort *s, enum gnn_edge_order order);
int  gnn_extsort_end    (struct gnn_extsort *s); /* waits for all threads, frees the batches */
uint32_t gnn_extsort_batches(const struct gnn_extsort *s); /* sorted: runs of each order */
uint64_t gnn_extsort_id_end (const struct gnn_extsort *s); /* the largest id + 1, or 0 */
struct gnn_keyruns *gnn_extsort_runs(struct gnn_extsort *s, enum gnn_edge_order order);
void gnn_extsort_destroy(struct gnn_extsort *s); /* NULL is fine */

/* Of `threads` threads: batches, sort buffers and the handles of a scratch that are in use. */
uint64_t gnn_extsort_memory_max(uint32_t threads, bool weighted); /* more is of no use */
uint32_t gnn_extsort_workers   (uint32_t threads);

GNN_END_DECLS

#endif
