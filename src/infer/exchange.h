/*
 * infer/exchange.h - message rows between ranks: each goes once to each rank that needs it.
 *
 * Flow     message rows of the chunk -> [exchange] -> rows of all ranks' chunks, for absorb
 * Owns     the rows at hand, rows on their way to other ranks
 * Lends    the rows at hand, until the next round
 * Thread   one caller, the executor
 * Fails    GNN_EOS memory; as comm
 *
 * start sends the rows of a round on their way, finish brings those of the other ranks to hand: in
 * between the caller absorbs the round before, and makes the rows of the next. One round is under
 * way at a time.
 *
 * The rows at hand are those of this rank's chunk, in their places, and behind chunk_rows of them
 * those that other ranks sent, by rank, in the order of their packets. They have two buffers, one
 * to absorb from while the other fills. Where the own columns of a message row are not the message
 * itself, they stand beside. Rows of a device go from device to device over the share's link,
 * beside its operations and without waiting for them; where there is no link through host memory.
 */
#ifndef GNN_INFER_EXCHANGE_H
#define GNN_INFER_EXCHANGE_H

#include "infer/feed.h"
#include "layer/conv.h"

enum { GNN_EXCHANGE_TURNS = 2 };

/* What goes of a chunk of `count` rows; nothing is read before it is wanted. */
struct gnn_exchange_chunk {
	bool         wants_rows, wants_scores; /* the same on all ranks */
	const float *rows, *own; /* message rows; own columns, NULL: not of this chunk */
	uint64_t     pitch, own_pitch;
	const float *scores;     /* (3 heads) wide; they stay until the round is finished */
	uint64_t     count;
};

struct gnn_exchange {
	const struct gnn_share *share; /* NULL: this rank is alone, there is nothing else here */
	struct gnn_backend *backend;
	uint64_t  chunk_rows;
	uint32_t  width, own_width; /* of message rows; of own columns, 0: they are the message */
	uint32_t  heads;         /* of scores, 0: there are none */
	/* Of the backend: */
	float    *rows[GNN_EXCHANGE_TURNS]; /* (ranks chunk_rows, width) */
	float    *own[GNN_EXCHANGE_TURNS];  /* (chunk_rows, own_width), or NULL */
	float    *scores;        /* (ranks chunk_rows, 3 heads): s, and room that goes unused */
	float    *taken;         /* ((ranks - 1) chunk_rows, heads) as they came */
	float    *out;           /* ((ranks - 1) chunk_rows, width + heads) */
	/* Where there is no link, what comes in is behind what goes out: */
	float    *bounce;        /* (2 (ranks - 1) chunk_rows, width + heads) */
	struct gnn_comm_request **sent, **coming; /* (2 ranks) */
	struct gnn_link_message *message; /* (4 ranks) */
	/* The round under way, or at hand: */
	bool      under_way;
	uint32_t  turn;
	const struct gnn_round *round; /* the caller's, until it is finished */
	struct gnn_exchange_chunk chunk;
	uint64_t  span;          /* of the trace */
	uint64_t  sent_rows, wait_ns; /* so far; of the host, for other ranks */
};

GNN_BEGIN_DECLS

int  gnn_exchange_init(struct gnn_exchange *x, const struct gnn_share *share,
	struct gnn_backend *b, const struct gnn_conv *c, uint64_t chunk_rows);
void gnn_exchange_fini(struct gnn_exchange *x); /* all zero is fine */
/* All ranks start and finish the same rounds. */
int  gnn_exchange_start (struct gnn_exchange *x, const struct gnn_round *round,
	const struct gnn_exchange_chunk *chunk);
int  gnn_exchange_finish(struct gnn_exchange *x); /* nothing under way is fine */
/* After a failure that the other ranks know of: nothing is on its way any more. */
void gnn_exchange_abandon(struct gnn_exchange *x);
/* Memory of the host, or of the backend's device. */
uint64_t gnn_exchange_bytes(const struct gnn_share *share, const struct gnn_backend *b,
	const struct gnn_conv *c, uint64_t chunk_rows, bool device);

/* The same where the backend has a memory of its own: exchange_device.c. */
int  gnn_exchange_device_init  (struct gnn_exchange *x);
void gnn_exchange_device_fini  (struct gnn_exchange *x);
int  gnn_exchange_device_start (struct gnn_exchange *x);
int  gnn_exchange_device_finish(struct gnn_exchange *x);
int  gnn_exchange_wait(struct gnn_exchange *x, struct gnn_comm_request **r); /* (2 ranks) */

GNN_END_DECLS

/* Chunks whose rows are at hand or on their way at once. */
static inline uint32_t gnn_exchange_turns(const struct gnn_share *share)
{
	return share != NULL ? GNN_EXCHANGE_TURNS : 1;
}

#endif
