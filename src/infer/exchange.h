/*
 * infer/exchange.h - message rows between ranks: each goes once to each rank that needs it.
 *
 * Flow     message rows of the chunk -> [exchange] -> rows of all ranks' chunks, for absorb
 * Owns     the rows at hand, rows on their way to other ranks
 * Lends    the rows at hand, until the next round
 * Thread   one caller, the executor
 * Fails    GNN_EOS memory; as comm
 *
 * The rows at hand are those of this rank's chunk, in their places, and behind chunk_rows of them
 * those that other ranks sent, by rank, in the order of their packets. Rows on their way out have
 * two buffers in host memory: a round waits only for what the round before the last sent. Rows of
 * a device go from device to device over the share's link, in the order of its operations and
 * without waiting for them; where there is no link through host memory, round by round.
 */
#ifndef GNN_INFER_EXCHANGE_H
#define GNN_INFER_EXCHANGE_H

#include "infer/feed.h"
#include "layer/conv.h"

enum { GNN_EXCHANGE_TURNS = 2 };

struct gnn_exchange {
	const struct gnn_share *share; /* NULL: this rank is alone, there is nothing else here */
	struct gnn_backend *backend;
	uint64_t  chunk_rows;
	uint32_t  width, heads;  /* of message rows; of their scores, 0: they have none */
	/* Of the backend: */
	float    *rows;          /* (ranks chunk_rows, width) at hand */
	float    *scores;        /* (ranks chunk_rows, 3 heads): s, and room that goes unused */
	float    *taken;         /* ((ranks - 1) chunk_rows, heads) as they came */
	float    *out[GNN_EXCHANGE_TURNS]; /* ((ranks - 1) chunk_rows, width + heads); one there */
	/* Where there is no link, what comes in is behind what goes out: */
	float    *bounce;        /* (2 (ranks - 1) chunk_rows, width + heads) */
	struct gnn_comm_request **sent[GNN_EXCHANGE_TURNS]; /* (2 ranks) */
	struct gnn_comm_request **coming; /* (2 ranks) */
	struct gnn_link_message *message; /* (4 ranks) */
	uint32_t  turn;
	uint64_t  sent_rows; /* so far */
};

/* What goes of a chunk: its `count` message rows, (3 heads) wide scores; NULL: not wanted now. */
struct gnn_exchange_chunk {
	const float *rows;
	uint64_t     pitch;
	const float *scores;
	uint64_t     count;
};

GNN_BEGIN_DECLS

int  gnn_exchange_init(struct gnn_exchange *x, const struct gnn_share *share,
	struct gnn_backend *b, const struct gnn_conv *c, uint64_t chunk_rows);
void gnn_exchange_fini(struct gnn_exchange *x); /* all zero is fine */
/* The rows of a round at hand. All ranks ask for the same. */
int  gnn_exchange_round(struct gnn_exchange *x, const struct gnn_round *round,
	const struct gnn_exchange_chunk *chunk);
/* Memory of the host, or of the backend's device. */
uint64_t gnn_exchange_bytes(const struct gnn_share *share, const struct gnn_backend *b,
	const struct gnn_conv *c, uint64_t chunk_rows, bool device);

/* The same where the backend has a memory of its own: exchange_device.c. */
int  gnn_exchange_device_init (struct gnn_exchange *x);
void gnn_exchange_device_fini (struct gnn_exchange *x);
int  gnn_exchange_device_round(struct gnn_exchange *x, const struct gnn_round *round,
	const struct gnn_exchange_chunk *chunk);

GNN_END_DECLS

#endif
