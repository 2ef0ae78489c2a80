/*
 * op/edges.h - the edges of a chunk, as they lie in the store and grouped by destination.
 *
 * Flow     feed -> [edge_list] -> group -> [edge_batch] -> aggregate
 * Owns     nothing; plain data with borrowed arrays
 * Lends    nothing
 * Thread   constant once filled
 * Fails    never
 */
#ifndef GNN_OP_EDGES_H
#define GNN_OP_EDGES_H

#include "base/err.h"
#include "op/draw.h"

#define GNN_NO_CARRY UINT64_MAX
#define GNN_OWN_BIT  UINT32_C(0x80000000)

/* Destinations whose states stand in memory: the others' entries are dropped. */
struct gnn_range {
	gnn_vid  first;
	uint64_t count;
	uint64_t carry_first; /* carry row of the first hub at or past `first` */
};

/*
 * Edges of one block of message rows, grouped by destination, in source order within a group.
 * An entry of `src` is a row of the block; with GNN_OWN_BIT it is the destination's own row.
 */
struct gnn_edge_batch {
	uint64_t        group_count; /* with a counter: no more than these */
	uint64_t        entry_count;
	const uint64_t *vertex; /* (group_count) destination, from the range's first */
	const uint64_t *slot;   /* (group_count) its row in the state; may equal `vertex` */
	const uint64_t *carry;  /* (group_count) its carry row, or GNN_NO_CARRY; NULL: none */
	const uint64_t *first;  /* (group_count + 1) into src and weight */
	const uint32_t *src;    /* (entry_count) */
	const float    *weight; /* (entry_count) or NULL */
	const uint64_t *group_counter; /* NULL, or where the backend keeps the true count */
};

/*
 * The same edges before they are grouped: a range of a store's out-lists within one chunk. Row r
 * of the chunk is vertex first_vertex + r; its list is [offsets[r], offsets[r + 1]). Edges
 * [edge_begin, edge_end) are to be taken, and with `own` the own rows of [row_begin, row_end),
 * each in front of its list. Of several ranks' chunks row r is row source[r] of those at hand,
 * which is vertex first_vertex + source[r] of this rank when below own_rows, else another rank's.
 */
struct gnn_edge_list {
	gnn_vid         first_vertex;
	uint64_t        rows;
	uint64_t        row_begin, row_end;
	gnn_eid         edge_begin, edge_end;
	const uint64_t *offsets;   /* (rows + 1) */
	const void     *neighbors; /* of edge_begin; u32 or u64 */
	const float    *weights;   /* of edge_begin, when weighted */
	enum gnn_dtype  dtype;
	const uint32_t *source;    /* (rows) or NULL: r itself */
	uint64_t        own_rows;  /* where there are sources */
	bool            own, drop_loops, weighted; /* with sources no loops are dropped */
	bool            drawn;     /* the edges are those of the sample already */
	const float    *own_weights; /* (V) of own entries when weighted; NULL: 1 */
	struct gnn_draw sample;
	uint64_t        copies; /* of the first neighbour in its list in front of edge_begin */
	struct gnn_range to;
};

/* What a backend must know of the graph to group edges by itself. */
struct gnn_graph_info {
	uint64_t        vertices;
	const uint64_t *hub_bits; /* (vertices / 64 + 1) backend buffers; infer/degrees.h */
	const uint64_t *hub_rank;
	uint64_t        chunk_rows_max, entries_max;
	bool            weighted;  /* some lists will be, or their samples scaled */
};

#endif
