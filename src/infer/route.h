/*
 * infer/route.h - rows of all ranks to the ranks that write them, by the number of a row.
 *
 * Flow     rows in any order -> [route] -> rows of this rank's range of numbers
 * Owns     what is on its way
 * Lends    rows that came, until the next call
 * Thread   one caller; each call is collective
 * Fails    GNN_EOS memory; as comm
 */
#ifndef GNN_INFER_ROUTE_H
#define GNN_INFER_ROUTE_H

#include "infer/share.h"

/* Rows and their numbers, by rank, in the order that each rank gave them. */
struct gnn_routed {
	uint64_t *id;
	char     *rows;
	uint64_t  count, room;
};

struct gnn_route {
	const struct gnn_share *share;
	const uint64_t   *bound;     /* (ranks + 1) numbers that each rank takes */
	uint64_t          row_bytes;
	uint64_t         *count;     /* (ranks) rows to each, */
	uint64_t         *counts;    /* and from each */
	struct gnn_routed out, in;
	struct gnn_comm_request **request; /* (4 ranks) */
};

GNN_BEGIN_DECLS

int  gnn_route_init(struct gnn_route *r, const struct gnn_share *s, const uint64_t *bound,
	uint64_t row_bytes);
void gnn_route_fini(struct gnn_route *r); /* all zero is fine */
/* `count` rows of this rank, which may be none; what came is in r->in. */
int  gnn_route_rows(struct gnn_route *r, const uint64_t *id, const void *rows, uint64_t count);

GNN_END_DECLS

#endif
