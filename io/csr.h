/*
 * io/csr.h - sorted edges become the arrays of one direction of the topology.
 *
 * Flow     keymerge -> [csr] -> container, idset
 * Owns     its array writers
 * Lends    nothing
 * Thread   one caller; the two directions may be written by two threads
 * Fails    GNN_EDATA more self-loops at a vertex than 32 bits count; GNN_EIO, GNN_EOS
 */
#ifndef GNN_IO_CSR_H
#define GNN_IO_CSR_H

#include "io/container.h"
#include "io/edge_batch.h"
#include "io/idset.h"

struct gnn_csr;

struct gnn_csr_opts {
	struct gnn_container *container;
	bool     in;         /* rows are destinations */
	bool     weighted;
	bool     self_loops; /* writes their array */
	uint64_t vertices;
	struct gnn_idset   *ids;     /* is told the rows that have edges; NULL: none */
	struct gnn_scratch *scratch; /* of it */
};

struct gnn_csr_counts {
	uint64_t edges, max_degree;
	uint64_t self_loops, loop_vertices;
	uint64_t duplicates; /* edges with an equal one in front of them */
};

/*
 * Whole rows whose edges have been counted, or edges of rows that were pushed before, or both. The
 * ends are counted from the first edge that is pushed next.
 */
struct gnn_csr_rows {
	uint64_t        first, count;
	const uint32_t *end;      /* (count) */
	const uint32_t *loops;    /* (count) self-loops; NULL: none */
	uint64_t        duplicates;
	const uint32_t *neighbor; /* (edges) */
	const float    *weight;   /* (edges), or NULL */
	uint64_t        edges;
};

GNN_BEGIN_DECLS

int  gnn_csr_open (struct gnn_csr **out, const struct gnn_csr_opts *o);
/* Edges sorted by (row, neighbour): `src` are the rows. `csr` is a gnn_csr. */
int  gnn_csr_push (void *csr, struct gnn_edges *sorted);
/* The same by rows, which follow each other without a gap; never mixed with push. */
int  gnn_csr_push_rows(void *csr, const struct gnn_csr_rows *rows);
int  gnn_csr_close(struct gnn_csr **c, struct gnn_csr_counts *counts); /* sets c to NULL */
void gnn_csr_abort(struct gnn_csr *c); /* NULL is fine */

GNN_END_DECLS

#endif
