/*
 * train/mix.h - a batch whose second layer takes rows from two places: what the first layer makes
 * of cold vertices, and what was made of hot ones before.
 *
 * Flow     ids of a batch, rows of hot vertices -> [mix] -> net
 * Owns     nothing: arrays lie in a room of the batch
 * Lends    them, until the room is used again
 * Thread   one caller
 * Fails    GNN_EOS memory
 */
#ifndef GNN_TRAIN_MIX_H
#define GNN_TRAIN_MIX_H

#include "train/block.h"

#define GNN_NOT_HOT UINT32_MAX

struct gnn_mix {
	uint64_t cold, hot;        /* rows of the second layer: made by the first, and before */
	const uint64_t *from;      /* (cold + hot) where a row stands among [cold, hot] */
	const uint64_t *row;       /* (cold + hot) the other way round */
	const uint64_t *kept_row;  /* (hot) of `kept` */
	const gnn_vid  *cold_id;   /* (cold) */
	const gnn_vid  *id;        /* (block.src_count) of the rows that the first layer takes */
	struct gnn_block block;    /* of the cold ones */
	const float *kept;         /* (kept_count, columns) behind the activation */
	const float *aggregate;    /* (parts kept_count, columns in) they were made of, or NULL: */
	uint64_t kept_count;       /* hot rows give no gradient */
};

GNN_BEGIN_DECLS

/* Sorts `count` ids: v is hot where place[v] is and row[place[v]] says where it is kept. */
int gnn_mix_split(struct gnn_mix *m, struct gnn_room *room, const gnn_vid *id, uint64_t count,
	const uint32_t *place, const uint32_t *row);
/*
 * The same ids with rows of `from` from `kept` on cold again, in arrays of a room; `m` has no block
 * and no rows yet.
 */
int gnn_mix_cut(struct gnn_mix *m, struct gnn_room *room, const struct gnn_mix *from,
	const gnn_vid *id, uint64_t kept);
/* Words of the arrays, which lie one behind the other from `from` on. */
uint64_t gnn_mix_words(const struct gnn_mix *m);
/* Points the arrays at a copy of the words. */
void gnn_mix_lay(struct gnn_mix *m, const uint64_t *words);

GNN_END_DECLS

#endif
