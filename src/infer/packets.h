/*
 * infer/packets.h - of one round: which rows of this rank's chunk each rank needs, and whose edges.
 *
 * Flow     feed (out-lists of the chunk) -> [packets] -> the same of all other ranks' chunks
 * Owns     a packet to and a packet from each rank, which grow to the largest
 * Lends    packets, until the next round
 * Thread   one caller, the control thread; add by one thread a lane
 * Fails    GNN_EDATA neighbours outside the graph or out of order; GNN_EOS memory; as comm
 *
 * A packet lists rows of the sender's chunk, ascending, and of each its neighbours among the
 * receiver's rows, by their number there. What no sample takes is left out, so that a row goes to
 * a rank only if an edge does. The rows themselves are the executor's (infer/exchange.h).
 * Several threads may add, each to a lane of its own, whose rows are behind those of the lane
 * before; join puts the lanes one behind the other.
 */
#ifndef GNN_INFER_PACKETS_H
#define GNN_INFER_PACKETS_H

#include "infer/share.h"
#include "op/draw.h"

struct gnn_packet {
	uint64_t  rows, edges;
	uint32_t *row;       /* (rows) of the chunk */
	uint64_t *count;     /* (rows) edges of each */
	void     *neighbors; /* (edges) u32 or u64, as the store has them */
	float    *weights;   /* (edges) or NULL */
	uint64_t  room;      /* edges that there is memory for */
};

struct gnn_packets_lane {
	struct gnn_packet *out;      /* (size) */
	gnn_vid            source, last; /* whose edges came last, where the last leads */
	uint64_t           copy;     /* of that edge */
	bool               used;     /* since the last join */
	struct gnn_err_state failure; /* of add, by the lane's thread */
};

struct gnn_packets_opts {
	const struct gnn_share *share;
	uint32_t       shards;     /* of the destinations of each rank, in whole panels */
	uint32_t       shard;      /* which of them is asked for */
	uint32_t       panel_rows;
	uint64_t       chunk_rows;
	uint32_t       lanes;      /* at least 1 */
	enum gnn_dtype dtype;
	bool           weighted, drop_loops;
	struct gnn_draw sample;
};

struct gnn_packets {
	struct gnn_packets_opts o;
	gnn_vid           *first, *end; /* (size) destinations of each rank that are asked for */
	struct gnn_packet *out, *in;    /* (size) */
	uint64_t          *head, *heads; /* (size, HEAD_WORDS) to and from each rank */
	struct gnn_comm_request **request; /* (size, REQUESTS) */
	struct gnn_packets_lane *lane;   /* (lanes); the only one has `out` itself */
	uint64_t           rounds;       /* so far */
};

GNN_BEGIN_DECLS

int  gnn_packets_init (struct gnn_packets *p, const struct gnn_packets_opts *o);
void gnn_packets_fini (struct gnn_packets *p); /* all zero is fine */
void gnn_packets_begin(struct gnn_packets *p);
/* Edges of vertex v, row `row` of the chunk; rows ascend, and lists go on where they were cut. */
int  gnn_packets_add  (struct gnn_packets *p, uint32_t lane, gnn_vid v, uint32_t row,
	const void *neighbors, const float *weights, uint64_t count);
/* What the lanes have is taken over; a list may go on in the first lane. The first failure. */
int  gnn_packets_join (struct gnn_packets *p);
/* All ranks at once. *stop: in, this rank wants to stop; out, any does. */
int  gnn_packets_swap (struct gnn_packets *p, bool *stop);

uint64_t gnn_packets_bytes(const struct gnn_packets_opts *o, uint64_t edges); /* for a chunk's */

GNN_END_DECLS

/* Destinations of a shard of a range of rows. */
static inline gnn_vid gnn_packets_shard(uint64_t rows, uint32_t panel_rows, uint32_t shards,
	uint32_t shard)
{
	uint64_t panels = gnn_ceil_div(gnn_max_u64(rows, 1), panel_rows);

	return gnn_min_u64(panels * shard / shards * panel_rows, rows);
}

#endif
