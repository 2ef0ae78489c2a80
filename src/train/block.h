/*
 * train/block.h - the sampled edges of one layer of a batch, with compact ids, both ways round.
 *
 * Flow     sampler -> [block] -> net
 * Owns     its arrays, which grow and are used again
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ECONFIG more rows or edges than 32 bits name; GNN_EOS memory
 *
 * Row i of a block is vertex id[i] of its batch; the destinations are the first rows. The entries
 * of a destination stand in source order, its own row where its id stands in that order, each with
 * the factor of its message, the destination's factor included.
 */
#ifndef GNN_TRAIN_BLOCK_H
#define GNN_TRAIN_BLOCK_H

#include "op/edges.h"
#include "train/lists.h"
#include "train/room.h"

enum { GNN_BLOCKS_MAX = 64 };

enum gnn_weighting {
	GNN_WEIGH_NONE, /* attention finds its own */
	GNN_WEIGH_GCN,  /* (deg u deg v)^-1/2 by full degrees, sampled ones scaled up */
	GNN_WEIGH_MEAN, /* 1 / sampled count */
	GNN_WEIGH_SUM,  /* 1, sampled ones scaled up */
};

/* What a convolution makes of the listed in-edges. */
struct gnn_edge_rule {
	bool drop_loops; /* listed self-loops are no messages */
	bool own;        /* the own row is one */
	enum gnn_weighting weighting;
};

struct gnn_block {
	uint64_t  dst_count, src_count, entry_count;
	uint64_t *first;      /* (dst_count + 1) */
	uint32_t *src;        /* (entry_count) row */
	float    *weight;     /* (entry_count), unless NONE */
	uint64_t *back_first; /* (src_count + 1), NULL until turned */
	uint32_t *back_dst;   /* (entry_count) row, ascending for each source */
	uint32_t *back_entry; /* (entry_count) its place above */
	float    *back_weight;
	struct gnn_room room[7];
};

GNN_BEGIN_DECLS

/* Room for so many; sets the counts, `first`, `src`, `weight`. */
int  gnn_block_size(struct gnn_block *b, uint64_t dst_count, uint64_t entry_count, bool weighted);
/* Groups the entries by source, destinations ascending. */
int  gnn_block_turn(struct gnn_block *b);
void gnn_block_fini(struct gnn_block *b);

/* Every vertex with its whole in-list: src_count = dst_count = V, rows are ids. */
int  gnn_block_whole(struct gnn_block *b, const struct gnn_lists *l,
	const struct gnn_edge_rule *rule, uint32_t threads);

GNN_END_DECLS

/* In-edges that count as messages of v, own row apart; and its degree for GCN. */
static inline uint64_t gnn_rule_population(const struct gnn_edge_rule *r, const struct gnn_lists *l,
	gnn_vid v)
{
	return gnn_lists_degree(l, v) - (r->drop_loops ? gnn_lists_loops(l, v) : 0);
}

/* deg^-1/2 of GCN. */
float gnn_rule_norm(const struct gnn_edge_rule *r, const struct gnn_lists *l, gnn_vid v);

#endif
