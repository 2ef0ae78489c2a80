/*
 * io/stream.h - reads a range of an array or an extent in equal pieces, ahead of its consumer.
 *
 * Flow     container, rowfile -> [stream] -> reader, export, verify
 * Owns     depth + lent piece buffers, an own dio handle
 * Lends    pieces, each until put
 * Thread   next by one thread; put and cancel by any thread
 * Fails    GNN_EIO, GNN_EDATA (checksum: names file, array, block, byte offset, found, wanted)
 *
 * A piece is read straight into its page-aligned buffer, without the page cache; with GNN_DIO_MAP
 * it points into the mapped file and takes no memory. With verify, whole blocks inside the range
 * are hashed as they pass, in order, and compared.
 */
#ifndef GNN_IO_STREAM_H
#define GNN_IO_STREAM_H

#include "io/container.h"
#include "io/extent.h"

struct gnn_stream;

struct gnn_piece {
	const void *data;       /* the first byte asked for; aligned to the item, not to a page */
	uint64_t    first_byte; /* from the array's start */
	uint64_t    bytes;      /* piece_bytes, less for the last */
};

struct gnn_stream_opts {
	struct gnn_container   *container; /* and one of its arrays, or */
	const struct gnn_array *array;
	const struct gnn_extent *extent;   /* copied but for its texts, with */
	const uint64_t          *sums;     /* the checksum of each of its blocks */
	uint64_t first_byte;  /* of the array or extent */
	uint64_t bytes;       /* of the whole range; 0 is legal: next gives GNN_EOF */
	uint64_t piece_bytes; /* a multiple of the item size */
	uint32_t ahead;       /* pieces read ahead, at least 1 */
	uint32_t lent;        /* pieces the consumer may hold at once, at least 1 */
	bool     verify;
};

GNN_BEGIN_DECLS

int  gnn_stream_open (struct gnn_stream **out, const struct gnn_stream_opts *o);
/* A whole array, verified, one piece lent at a time. */
int  gnn_stream_open_array(struct gnn_stream **out, struct gnn_container *c,
	const struct gnn_array *a, uint64_t piece_bytes, uint32_t ahead);
int  gnn_stream_next (struct gnn_stream *s, struct gnn_piece **piece); /* GNN_EOF at the end */
void gnn_stream_put  (struct gnn_stream *s, struct gnn_piece *piece);
/* From any thread: next, also one that waits for a put, returns GNN_ESTOP from now on. */
void gnn_stream_cancel(struct gnn_stream *s);
void gnn_stream_close(struct gnn_stream *s); /* NULL is fine */
uint64_t gnn_stream_read_bytes(const struct gnn_stream *s); /* from disk, padding included */
uint64_t gnn_stream_buffer_bytes(const struct gnn_stream_opts *o); /* memory that open takes */

/* The whole array (or `bytes` from `first_byte`) into `to`, verified. */
int gnn_array_load(struct gnn_container *c, const struct gnn_array *a, uint64_t first_byte,
	uint64_t bytes, void *to);

GNN_END_DECLS

#endif
