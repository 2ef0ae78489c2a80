/*
 * infer/pick.h - the k-th smallest hash of a list that is seen once, in memory of 2 k.
 *
 * Flow     in-list, a stretch at a time -> [pick] -> threshold
 * Owns     a buffer of hashes
 * Lends    nothing
 * Thread   one caller each
 * Fails    GNN_EOS memory
 */
#ifndef GNN_INFER_PICK_H
#define GNN_INFER_PICK_H

#include "infer/inlist.h"

#define GNN_PICK_FINE UINT64_MAX

struct gnn_pick {
	uint64_t *hash;   /* (room) below the bound, in no order */
	uint64_t  room, count;
	uint64_t  k;
	uint64_t  bound;  /* hashes from here on are not among the k smallest */
	gnn_vid   last;   /* neighbour seen last, to number copies */
	uint64_t  copy;
};

GNN_BEGIN_DECLS

int  gnn_pick_init(struct gnn_pick *p, uint64_t k_max);
void gnn_pick_fini(struct gnn_pick *p);

void gnn_pick_begin(struct gnn_pick *p, uint64_t k); /* one list */
/*
 * Edges [i, i + count) of a part, all of the list of v. Gives v where a neighbour is not below
 * `vertices` or a copy number does not fit its bits, else GNN_PICK_FINE.
 */
gnn_vid gnn_pick_edges(struct gnn_pick *p, const struct gnn_draw *s, uint64_t vertices,
	gnn_vid v, const struct gnn_inlist_part *part, uint64_t i, uint64_t count);
/* The k-th smallest of at least k hashes. */
uint64_t gnn_pick_end(struct gnn_pick *p);

GNN_END_DECLS

#endif
