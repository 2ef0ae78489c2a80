/*
 * io/topo.h - from sorted runs of edges to the arrays of the topology in a container.
 *
 * Flow     builder, extsort or buckets -> [topo] -> keymerge, csr -> container
 * Owns     the sorts that sparse ids need in between
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS, GNN_EIO; GNN_EDATA more self-loops at a vertex than 32 bits count
 */
#ifndef GNN_IO_TOPO_H
#define GNN_IO_TOPO_H

#include "io/buckets.h"
#include "io/csr.h"
#include "io/extsort.h"
#include "io/idset.h"

/* Plain data: the builder fills the first part, the second is what has become of it. */
struct gnn_topo {
	struct gnn_scratch   *scratch;
	struct gnn_idset     *ids;       /* remap: sealed; else still empty, and filled by write */
	struct gnn_extsort   *sort;      /* ended: edges as they came, with their ids */
	struct gnn_buckets   *buckets;   /* in its place, when all fits the memory; else NULL */
	struct gnn_container *container; /* for write */
	uint64_t work_bytes;             /* memory, array writers included: */
	uint64_t writer_bytes;
	uint32_t threads;
	bool     weighted, undirected, dedup, remap;
	bool     sparse;                 /* remap, with ids that the bitmap does not hold */
	uint64_t vertices;
	uint64_t edges_added, loops_added;

	struct gnn_extsort   *by_src;    /* sparse: (external source, row of destination) */
	struct gnn_extsort   *by_dst;    /* sparse: (row of source, row of destination) */
	uint64_t edges;                  /* to be stored, after count */
	struct gnn_progress  *progress;  /* of what is merged now */
	struct gnn_csr_counts out, in;   /* after write */
};

GNN_BEGIN_DECLS

/* The edges that were added, with their reverses if the graph is undirected. */
static inline uint64_t gnn_topo_listed(const struct gnn_topo *t)
{
	return t->undirected ? 2 * t->edges_added - t->loops_added : t->edges_added;
}

/* Finds out how many edges there will be, which must be known when the container is made. */
int  gnn_topo_count(struct gnn_topo *t);
int  gnn_topo_write(struct gnn_topo *t);
void gnn_topo_fini (struct gnn_topo *t); /* what it owns itself */

GNN_END_DECLS

#endif
