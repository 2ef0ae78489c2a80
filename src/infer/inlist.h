/*
 * infer/inlist.h - the in-lists of all vertices, a piece at a time, in order.
 *
 * Flow     store (topology/in) -> [inlist] -> degrees (weighted), sampling
 * Owns     the streams
 * Lends    a part, until the next
 * Thread   one caller
 * Fails    GNN_EDATA, GNN_EIO from the streams; GNN_EOS memory
 *
 * Where a list begins and ends is known from the degrees: the offsets are not read again.
 */
#ifndef GNN_INFER_INLIST_H
#define GNN_INFER_INLIST_H

#include "infer/degrees.h"
#include "infer/neighbors.h"

enum { GNN_INLIST_EDGES = 1 << 18 }; /* of a part */

struct gnn_inlist_opts {
	const struct gnn_store   *store;
	const struct gnn_degrees *degrees;
	bool neighbors, weights; /* what is read; at least one */
	bool verify;
};

/* `count` edges; the first is edge `skipped` of the list of row `first` of the store. */
struct gnn_inlist_part {
	gnn_vid        first;
	uint64_t       skipped;
	uint64_t       count;
	const void    *neighbors; /* u32 or u64, or NULL: not read */
	const float   *weights;   /* or NULL */
	enum gnn_dtype dtype;
};

struct gnn_inlist;

GNN_BEGIN_DECLS

int  gnn_inlist_open (struct gnn_inlist **out, const struct gnn_inlist_opts *o);
int  gnn_inlist_next (struct gnn_inlist *l, struct gnn_inlist_part *part); /* GNN_EOF */
void gnn_inlist_close(struct gnn_inlist *l); /* NULL is fine */
uint64_t gnn_inlist_read_bytes(const struct gnn_inlist *l);

GNN_END_DECLS

static inline gnn_vid gnn_inlist_neighbor(const struct gnn_inlist_part *p, uint64_t i)
{
	return gnn_neighbor_at(p->neighbors, p->dtype, i);
}

#endif
