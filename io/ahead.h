/*
 * io/ahead.h - blocks of an input, read and decompressed by a thread ahead of their consumer.
 *
 * Flow     input -> [ahead] -> edges_text, edges_array
 * Owns     the reading thread and `depth` blocks
 * Lends    blocks, each until put
 * Thread   one consumer; the input belongs to the reading thread from open to close
 * Fails    as the input; GNN_EDATA a line longer than a quarter of a block; GNN_EOS
 */
#ifndef GNN_IO_AHEAD_H
#define GNN_IO_AHEAD_H

#include "io/input.h"

struct gnn_ahead;

struct gnn_block {
	char    *data;  /* GNN_SCAN_SLACK zero bytes follow */
	uint64_t bytes; /* at least 1 */
};

struct gnn_ahead_opts {
	struct gnn_input *input;       /* borrowed, at the first byte to read */
	uint64_t          block_bytes; /* of every block but the last */
	uint64_t          bytes;       /* to read in all; GNN_INPUT_UNKNOWN: to the end */
	uint32_t          depth;       /* blocks, at least 2 */
	bool              lines;       /* blocks end behind a newline; one is added at the end */
};

GNN_BEGIN_DECLS

int  gnn_ahead_open (struct gnn_ahead **out, const struct gnn_ahead_opts *o);
int  gnn_ahead_next (struct gnn_ahead *a, struct gnn_block **block); /* GNN_EOF at the end */
void gnn_ahead_put  (struct gnn_ahead *a, struct gnn_block *block);
void gnn_ahead_close(struct gnn_ahead *a); /* at any time; NULL is fine */
uint64_t gnn_ahead_buffer_bytes(const struct gnn_ahead_opts *o);

GNN_END_DECLS

#endif
