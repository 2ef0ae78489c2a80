/*
 * io/extent.h - bytes of a file, written in sequence by direct I/O, with a checksum every block.
 *
 * Flow     array_writer, rowfile -> [extent] -> dio;  read back by stream
 * Owns     a few slots: one fills while the others are on their way to the disk
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EIO, GNN_EBUG more than its bytes; the text names file and extent
 *
 * A block counts as written when all of it is on the disk; then `done` hears its number and its
 * XXH3-64. The last block may be short: settle brings what was pushed so far to the disk, tells of
 * the block at hand as it is, and pushing may go on.
 */
#ifndef GNN_IO_EXTENT_H
#define GNN_IO_EXTENT_H

#include "io/dio.h"

struct gnn_extent {
	const char         *path;   /* of the file, which exists */
	const char         *name;   /* for messages: "array features", "rows of layer 2" */
	enum gnn_dio_engine engine;
	uint32_t            depth;  /* requests in flight; 0: default */
	uint64_t            offset; /* in the file, a multiple of GNN_PAGE_BYTES */
	uint64_t            bytes;
};

typedef void (*gnn_block_fn)(void *owner, uint64_t block, uint64_t sum);

struct gnn_extent_writer;

struct gnn_extent_writer_opts {
	struct gnn_extent extent;
	uint64_t     first_byte; /* to write, a multiple of GNN_BLOCK_BYTES */
	uint64_t     slot_bytes; /* a power of two of GNN_PAGE_BYTES to GNN_BLOCK_BYTES */
	gnn_block_fn done;
	void        *owner;
};

enum { GNN_EXTENT_SLOTS = 4, GNN_EXTENT_SLOT_BYTES = 1 << 20 };

GNN_BEGIN_DECLS

int  gnn_extent_writer_open  (struct gnn_extent_writer **out,
	const struct gnn_extent_writer_opts *o);
int  gnn_extent_writer_push  (struct gnn_extent_writer *w, const void *from, uint64_t bytes);
int  gnn_extent_writer_settle(struct gnn_extent_writer *w);
uint64_t gnn_extent_writer_at(const struct gnn_extent_writer *w); /* bytes pushed, from offset */
int  gnn_extent_writer_close (struct gnn_extent_writer **w); /* settles; sets it to NULL */
void gnn_extent_writer_abort (struct gnn_extent_writer *w); /* NULL is fine */

GNN_END_DECLS

#endif
