/*
 * infer/hood.h - a neighbourhood: some destinations, the vertices they gather from, and the edges.
 *
 * Flow     store (in-lists, mapped) -> [hood] -> gather
 * Owns     ids, edges and degrees of the vertices at hand; 4 bytes a vertex of the graph
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EDATA in-lists that lead out of the graph; GNN_EOS memory
 *
 * Its vertices are numbered from 0, the destinations first. A destination's edges stand in
 * the order of their sources in the graph, its own row among them, so that sums have the bits they
 * have when rows are streamed.
 */
#ifndef GNN_INFER_HOOD_H
#define GNN_INFER_HOOD_H

#include "infer/program.h"
#include "layer/conv.h"

struct gnn_hood {
	gnn_vid  *id;        /* (count): the graph's vertex behind each number */
	uint64_t  count;
	uint64_t  dst_count; /* the first of them are the destinations */
	struct gnn_program program; /* edges; vertex, slot and src are its numbers */
	struct gnn_degrees *degrees; /* (count) */
	uint64_t  id_room, entry_room;
};

struct gnn_hood_maker {
	const struct gnn_store   *store;
	const struct gnn_degrees *degrees;
	struct gnn_backend       *backend; /* that will read its degrees */
	const uint64_t *offsets;   /* (V + 1) */
	const void     *neighbors; /* (E), of the store's type */
	const float    *weights;   /* (E) or NULL */
	uint32_t       *number;    /* (V): of the one at hand, counted from 1; 0: not in it */
};

GNN_BEGIN_DECLS

int  gnn_hood_maker_init(struct gnn_hood_maker *m, const struct gnn_store *s,
	const struct gnn_degrees *d, struct gnn_backend *b);
void gnn_hood_maker_fini(struct gnn_hood_maker *m);

/* Of `dst_count` distinct destinations for one conv. `h` starts zeroed. */
int  gnn_hood_make(struct gnn_hood *h, struct gnn_hood_maker *m, const struct gnn_conv *c,
	const gnn_vid *dst, uint64_t dst_count);
void gnn_hood_fini(struct gnn_hood *h); /* zeroed is fine */

GNN_END_DECLS

#endif
