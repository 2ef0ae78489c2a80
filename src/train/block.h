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
#include "op/hop.h"
#include "train/lists.h"
#include "train/room.h"

enum { GNN_BLOCKS_MAX = 64 };

struct gnn_block {
	uint64_t  dst_count, src_count, entry_count;
	uint64_t *first;      /* (dst_count + 1); NULL: bare */
	uint32_t *src;        /* (entry_count) row */
	float    *weight;     /* (entry_count), unless NONE */
	uint64_t *back_first; /* (src_count + 1), NULL until turned */
	uint32_t *back_dst;   /* (entry_count) row, ascending for each source */
	uint32_t *back_entry; /* (entry_count) its place above */
	float    *back_weight;
	struct gnn_room room[7];
};

GNN_BEGIN_DECLS

/* Room for so many in the backend's memory; sets the counts, `first`, `src`, `weight`. */
int  gnn_block_size(struct gnn_block *b, struct gnn_backend *backend, uint64_t dst_count,
	uint64_t entry_count, bool weighted);
/* A block without entries: `count` rows that come aggregated, one for each destination. */
void gnn_block_bare(struct gnn_block *b, uint64_t count);
/* Groups the entries by source, destinations ascending. */
int  gnn_block_turn(struct gnn_block *b, struct gnn_backend *backend);
void gnn_block_fini(struct gnn_block *b);

/* Every vertex with its whole in-list, in host memory: src_count = dst_count = V, rows are ids. */
int  gnn_block_whole(struct gnn_block *b, const struct gnn_lists *l,
	const struct gnn_edge_rule *rule, uint32_t threads);

GNN_END_DECLS

static inline bool gnn_block_is_bare(const struct gnn_block *b)
{
	return b->first == NULL;
}

#endif
