/*
 * infer/portion.h - the rows that a rank has of an array of the result, into the one file.
 *
 * Flow     rows of this rank, in order -> [portion] -> container
 * Owns     its array writer, and the bytes that another rank writes
 * Lends    nothing
 * Thread   one caller; close is collective
 * Fails    GNN_EIO, GNN_EOS; as comm
 *
 * What ranks write is cut at multiples of GNN_BLOCK_BYTES of the array, so that no page and no
 * checksum has two writers: the bytes of a rank in front of the first cut in its range, less than a
 * block, are sent to the rank that has the block's beginning.
 */
#ifndef GNN_INFER_PORTION_H
#define GNN_INFER_PORTION_H

#include "infer/share.h"

struct gnn_portion;

struct gnn_portion_opts {
	const struct gnn_share *share; /* NULL: all rows are here */
	const gnn_vid          *bound; /* (ranks + 1) rows of the array that each rank has */
	struct gnn_container   *container;
	const char             *name;
	uint64_t                row_bytes;
};

GNN_BEGIN_DECLS

int  gnn_portion_open (struct gnn_portion **out, const struct gnn_portion_opts *o);
int  gnn_portion_push (struct gnn_portion *p, const void *from, uint64_t bytes);
/* Waits, and tells rank 0's container of the blocks that all ranks wrote. Sets it to NULL. */
int  gnn_portion_close(struct gnn_portion **p);
void gnn_portion_abort(struct gnn_portion *p); /* NULL is fine */

GNN_END_DECLS

#endif
