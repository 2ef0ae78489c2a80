/*
 * order/lists.h - the neighbour lists of a store: in memory where they fit, else in parts.
 *
 * Flow     store (topology) -> [lists] -> spread, orders
 * Owns     both arrays of offsets; the neighbours when they fit, else one part of them
 * Lends    a part, until the next; a list, until close
 * Thread   one caller; what is lent is read by any number of threads
 * Fails    GNN_EDATA offsets that fall, an id that is no vertex, a checksum; GNN_EIO; GNN_EOS
 *
 * A part is whole lists, so whoever folds over a list sees it at once. Lists at random, which
 * orders that follow edges need, are lent from the mapped file when memory does not hold them:
 * pages of the file do not count against the budget. All of it was checked when it is lent.
 */
#ifndef GNN_ORDER_LISTS_H
#define GNN_ORDER_LISTS_H

#include "io/store.h"
#include "op/places.h"

struct gnn_lists;

struct gnn_lists_opts {
	struct gnn_store *store;
	uint64_t memory_bytes; /* for neighbours; offsets come on top */
	bool     at_random;    /* gnn_lists_of will be called */
	uint32_t threads;
};

/* Neighbours with numbers [0, count) of one list, or of the lists of a part. */
struct gnn_list {
	const uint32_t *narrow; /* one of the two */
	const uint64_t *wide;
	uint64_t        count;
};

/* The lists of vertices [first, end). That of v begins at offsets[v] - offsets[first] in all. */
struct gnn_lists_part {
	gnn_vid         first, end;
	const uint64_t *offsets; /* (V + 1), of all vertices */
	struct gnn_list all;
};

GNN_BEGIN_DECLS

int  gnn_lists_open (struct gnn_lists **out, const struct gnn_lists_opts *o);
bool gnn_lists_resident(const struct gnn_lists *l);
uint64_t gnn_lists_longest(const struct gnn_lists *l); /* of either direction */
const uint64_t *gnn_lists_offsets(const struct gnn_lists *l, enum gnn_direction d); /* (V + 1) */
const void *gnn_lists_all(const struct gnn_lists *l, enum gnn_direction d); /* resident: (E) */
struct gnn_list gnn_lists_of(const struct gnn_lists *l, enum gnn_direction d, gnn_vid v);
int  gnn_lists_begin(struct gnn_lists *l, enum gnn_direction d); /* a pass over all lists */
int  gnn_lists_next (struct gnn_lists *l, struct gnn_lists_part *part); /* GNN_EOF at the end */
uint64_t gnn_lists_read_bytes(const struct gnn_lists *l);
void gnn_lists_close(struct gnn_lists *l); /* NULL is fine */

static inline gnn_vid gnn_list_at(const struct gnn_list *l, uint64_t i)
{
	return l->narrow != NULL ? l->narrow[i] : l->wide[i];
}

GNN_END_DECLS

#endif
