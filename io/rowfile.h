/*
 * io/rowfile.h - rows of one width in a scratch file: written in order, read in order, any times.
 *
 * Flow     executor, sinks -> [rowfile] -> stream -> feed
 * Owns     the writer while it writes, the checksum of each block; not the file's life
 * Lends    nothing
 * Thread   one writer; readers of sealed rows beside it, each with one caller
 * Fails    GNN_ECREAT, GNN_EIO (disk full: bytes needed and free); reading: GNN_EDATA damaged, cut
 *
 * The file is nothing but its rows, first_row first; what it holds is known by who made it: the
 * sums here in memory, or a manifest. Rows pushed and sealed are on the disk whatever comes. An
 * opened file goes on where its sealed rows end.
 */
#ifndef GNN_IO_ROWFILE_H
#define GNN_IO_ROWFILE_H

#include "io/stream.h"

struct gnn_rowfile {
	char    *path, *name;
	enum gnn_dio_engine engine;
	gnn_vid  first_row;
	uint64_t rows;        /* in the end */
	uint64_t row_bytes;
	uint64_t sealed_rows; /* on the disk, with their sums */
	uint64_t pushed_rows;
	uint64_t *sums;       /* of each block; the last one's may be of a part */
	struct gnn_extent_writer *writer; /* NULL: nothing more is written */
};

struct gnn_rowfile_opts {
	const char *path, *name; /* copied; the name is for messages */
	enum gnn_dio_engine engine;
	gnn_vid  first_row;
	uint64_t rows, row_bytes;
	uint64_t slot_bytes;     /* as of an extent's writer */
};

GNN_BEGIN_DECLS

/* A new file, its whole size reserved: a full disk shows now. */
int  gnn_rowfile_create(struct gnn_rowfile **out, const struct gnn_rowfile_opts *o);
/* One that another process left, with `sealed_rows` of which `sums` are the sums. */
int  gnn_rowfile_reopen(struct gnn_rowfile **out, const struct gnn_rowfile_opts *o,
	uint64_t sealed_rows, const uint64_t *sums);
int  gnn_rowfile_push  (struct gnn_rowfile *f, const void *from, uint64_t rows);
int  gnn_rowfile_seal  (struct gnn_rowfile *f); /* waits, fsyncs; pushing may go on */
int  gnn_rowfile_finish(struct gnn_rowfile *f); /* waits, frees the writer: all rows are there */
void gnn_rowfile_close (struct gnn_rowfile *f); /* the file stays; NULL is fine */
void gnn_rowfile_remove(struct gnn_rowfile *f); /* the file goes; NULL is fine */

/* Rows [first, first + rows), in pieces of `piece_rows`. */
int  gnn_rowfile_read  (struct gnn_stream **out, const struct gnn_rowfile *f, gnn_vid first,
	uint64_t rows, uint64_t piece_rows, uint32_t ahead, uint32_t lent);
uint64_t gnn_rowfile_blocks(uint64_t rows, uint64_t row_bytes);
uint64_t gnn_rowfile_bytes (uint64_t rows, uint64_t row_bytes); /* on the disk */

GNN_END_DECLS

#endif
