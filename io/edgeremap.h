/*
 * io/edgeremap.h - edges in memory under compact ids: each becomes the number of smaller ones.
 *
 * Flow     builder -> [edgeremap: edgepool -> idset -> edgepool]
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS, and as idset
 */
#ifndef GNN_IO_EDGEREMAP_H
#define GNN_IO_EDGEREMAP_H

#include "io/edgepool.h"
#include "io/idset.h"

struct gnn_edgeremap_opts {
	struct gnn_edgepool *pool; /* ended; its ids are below the limit of: */
	struct gnn_idset *ids;     /* empty; is sealed, with these: */
	uint64_t merge_bytes, copy_bytes;
	uint32_t threads;
};

GNN_BEGIN_DECLS

int gnn_edgeremap(const struct gnn_edgeremap_opts *o);

GNN_END_DECLS

#endif
