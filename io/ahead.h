/*
 * io/ahead.h - blocks of an input, read and worked on by threads ahead of their consumer, in order.
 *
 * Flow     input -> [ahead: reading -> work] -> edges_text, edges_array
 * Owns     one reading thread, the workers, and `depth` blocks
 * Lends    blocks, each until put
 * Thread   one consumer; the input belongs to the reading thread until the end or close
 * Fails    as the input; GNN_EDATA a line longer than a quarter of a block; GNN_EOS
 */
#ifndef GNN_IO_AHEAD_H
#define GNN_IO_AHEAD_H

#include "io/input.h"

struct gnn_ahead;

struct gnn_block {
	char    *data;  /* GNN_SCAN_SLACK zero bytes follow */
	uint64_t bytes; /* at least 1 */
	void    *out;   /* (out_bytes) what the work made of it */
};

struct gnn_ahead_opts {
	struct gnn_input *input;       /* borrowed, at the first byte to read */
	uint64_t          block_bytes; /* of every block but the last */
	uint64_t          bytes;       /* to read in all; GNN_INPUT_UNKNOWN: to the end */
	bool              lines;       /* blocks end behind a newline; one is added at the end */
	/* One block each, by any worker, in any order; the consumer gets them in that of the file.
	 */
	void            (*work)(void *arg, struct gnn_block *b);
	void             *arg;
	uint64_t          out_bytes;
	uint32_t          workers;
};

GNN_BEGIN_DECLS

int  gnn_ahead_open (struct gnn_ahead **out, const struct gnn_ahead_opts *o);
int  gnn_ahead_next (struct gnn_ahead *a, struct gnn_block **block); /* GNN_EOF at the end */
void gnn_ahead_put  (struct gnn_ahead *a, struct gnn_block *block);
void gnn_ahead_close(struct gnn_ahead *a); /* at any time; NULL is fine */

/* Workers of so many threads: more than a few outrun the one that reads. */
uint32_t gnn_ahead_workers(uint32_t threads);
/* Blocks in flight: one a worker, one being read, one at the consumer. */
uint32_t gnn_ahead_depth(uint32_t workers);

GNN_END_DECLS

#endif
