/*
 * infer/work.h - what a feed is asked for, and the work items that it hands out.
 *
 * Flow     plan -> [work: feed_opts] -> feed -> [work] -> executor
 * Owns     nothing; plain data
 * Lends    nothing
 * Thread   a work item belongs to who holds it
 * Fails    never
 */
#ifndef GNN_INFER_WORK_H
#define GNN_INFER_WORK_H

#include "infer/nextuse.h"
#include "infer/program.h"
#include "infer/rows.h"
#include "infer/share.h"

/* What a round brings the executor: rows of its chunk that other ranks need, and theirs. */
struct gnn_round {
	uint32_t *row;  /* of the chunk, by rank that they go to; or, where moves are asked for, */
	struct gnn_move *move; /* of each such row, to its place among those that go */
	uint64_t *send; /* (ranks + 1) where those for a rank begin in `row` */
	uint64_t *take; /* (ranks + 1) where those of a rank come to stand, behind the chunk's */
};

struct gnn_work {
	struct gnn_program   program; /* grouped, or */
	struct gnn_edge_list list;    /* as it lies in the store: the backend groups */
	gnn_vid     first_row; /* of the chunk */
	uint64_t    rows;
	const void *row_data;  /* the chunk's rows, */
	const void *own_data;  /* and those that its own entries take; NULL: none */
	bool        first;     /* of its chunk: transform the rows now */
	bool        last;      /* of its chunk */
	bool        stop;      /* several ranks: any of them wants to stop behind this chunk */
	struct gnn_round round; /* several ranks: filled in the first item */
	struct gnn_rows_part rows_, own_; /* internal: given back with the last item */
	struct gnn_piece *neighbors_, *weights_;
	uint64_t         *offsets_; /* internal: copy of the chunk's, in list mode */
	uint32_t         *source_;  /* internal, of several ranks in list mode: */
	void             *edges_;
	float            *edge_weights_;
};

struct gnn_feed_opts {
	const struct gnn_store   *store;
	const struct gnn_degrees *degrees;
	const struct gnn_share   *share; /* of several ranks; NULL: this one is alone */
	uint32_t lanes;       /* threads that group edges and hand them out to ranks; 0 is 1 */
	uint32_t shards, shard; /* several ranks: destinations that all ask for now */
	uint32_t panel_rows;
	struct gnn_rows  rows; /* of every vertex from first_row on, or NONE: only topology */
	struct gnn_rows  own;  /* beside them, from chunk border to chunk border, or NONE */
	struct gnn_range to;
	gnn_vid  first_row;   /* where the pass begins: a multiple of chunk_rows */
	bool     own_entries; /* one a vertex of the range */
	bool     drop_loops;
	bool     lists;       /* hand on lists: the backend groups */
	bool     moves;       /* several ranks: rows that go are listed as moves, for a backend */
	bool     weighted;    /* edges bring their weights */
	const float *own_weights; /* (V) of own entries, or NULL: 1 */
	struct gnn_draw sample;
	struct gnn_nextuse *next; /* reads along the edges of all vertices, or NULL */
	const struct gnn_inlists_cursor *cursor; /* the same from in-lists in memory, or NULL */
	uint64_t chunk_rows;  /* a multiple of GNN_PANEL_ROWS */
	uint64_t entries;     /* edges and own rows in one item at most */
	uint64_t read_bytes;  /* on their way from each array, as nearly as pieces allow */
	uint64_t list_bytes;  /* neighbours read at once, and of one item in list mode, at most */
	uint32_t ahead;       /* work items in flight, at least 2 */
	bool     verify;
};

#endif
