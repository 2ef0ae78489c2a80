/*
 * infer/nextuse_fill.h - the edges of a pass from the last to the first, into a file of next uses.
 *
 * Flow     store (out-lists, backwards) -> [nextuse_fill] -> nextuse
 * Owns     lists of a piece, offsets, packets of a round, while they fill
 * Lends    nothing
 * Thread   one caller; collective where there are several ranks
 * Fails    GNN_EDATA, GNN_EIO of the store; GNN_EOS memory; as comm
 */
#ifndef GNN_INFER_NEXTUSE_FILL_H
#define GNN_INFER_NEXTUSE_FILL_H

#include "infer/packets.h"
#include "io/dio.h"

enum { GNN_NEXTUSE_ROWS = 1 << 13 }; /* whose offsets are in memory, of one rank */

struct gnn_nextuse_opts {
	const struct gnn_store *store;
	struct gnn_draw  draw;       /* of the layer's sample */
	bool             drop_loops;
	gnn_vid          first_row;  /* edges in front of its list are not asked for */
	/* Several ranks: chunks and their messages as the feed will have them. */
	const struct gnn_packets_opts *packets; /* NULL: this rank is alone */
	uint64_t         piece_bytes; /* a multiple of GNN_PAGE_BYTES */
	const char      *path;       /* of the file to be, a suffix is added; copied */
	enum gnn_dio_engine engine;
};

struct gnn_nextuse;

GNN_BEGIN_DECLS

/* The edge in front of those that were put: into v, from a source; a message or none. */
int gnn_nextuse_put(struct gnn_nextuse *n, gnn_vid v, uint32_t source, bool message);

int gnn_nextuse_fill       (struct gnn_nextuse *n, const struct gnn_nextuse_opts *o,
	uint64_t *read_bytes);
int gnn_nextuse_fill_rounds(struct gnn_nextuse *n, const struct gnn_nextuse_opts *o,
	uint64_t *read_bytes);

GNN_END_DECLS

#endif
