/*
 * io/scratch.h - pieces of sorted data, kept in memory while there is room, else in one file.
 *
 * Flow     keyrun -> [scratch] -> keymerge
 * Owns     the pieces, the scratch file and its open handles
 * Lends    pieces to fill, until stored; pieces to read, until put
 * Thread   any thread; each writer and reader has one caller
 * Fails    GNN_EOS memory; GNN_ECREAT, GNN_EIO the file cannot be made, written, read; disk full
 *
 * The file is made when the first piece does not fit the memory, opened once for every thread that
 * will need it, and unlinked at once: whatever ends the process, nothing stays on the disk. Space
 * in the file is not used again.
 */
#ifndef GNN_IO_SCRATCH_H
#define GNN_IO_SCRATCH_H

#include "io/dio.h"

enum { GNN_SCRATCH_AHEAD = 16 }; /* pieces asked for and not yet lent, of a reader, at most */

struct gnn_scratch;
struct gnn_scratch_writer;
struct gnn_scratch_reader;

struct gnn_scratch_opts {
	const char *path;           /* of the file to be, a suffix is added */
	enum gnn_dio_engine engine;
	uint64_t piece_bytes;       /* a multiple of GNN_PAGE_BYTES */
	uint64_t resident_bytes;    /* of pieces kept in memory, at most */
	uint32_t handles;           /* writers and readers with the file open at once */
};

/* Where a piece is. */
struct gnn_place {
	void    *memory; /* NULL: in the file */
	uint64_t offset; /* in the file */
};

GNN_BEGIN_DECLS

/* OUTPUT and suffix, or that under its own name in another folder; NULL: beside the output. */
int      gnn_scratch_path   (char **out, const char *output, const char *folder,
	const char *suffix);
int      gnn_scratch_create (struct gnn_scratch **out, const struct gnn_scratch_opts *o);
uint64_t gnn_scratch_piece_bytes  (const struct gnn_scratch *s);
uint64_t gnn_scratch_written_bytes(const struct gnn_scratch *s); /* to the file */
/* From now on so much of the memory in all is in other use; false, if more than that is taken. */
bool     gnn_scratch_lend   (struct gnn_scratch *s, uint64_t bytes);
void     gnn_scratch_drop   (struct gnn_scratch *s, const struct gnn_place *p); /* not needed */
void     gnn_scratch_destroy(struct gnn_scratch *s); /* NULL is fine */

uint64_t gnn_scratch_writer_bytes(const struct gnn_scratch *s); /* memory of one, at most */
int gnn_scratch_writer_open(struct gnn_scratch_writer **out, struct gnn_scratch *s);
/* Lends a piece to fill; waits for an earlier one to reach the disk when all are on their way. */
int gnn_scratch_writer_take(struct gnn_scratch_writer *w, uint8_t **piece);
/* Stores the piece lent last, of which `bytes` count. */
int gnn_scratch_writer_store(struct gnn_scratch_writer *w, uint64_t bytes, struct gnn_place *p);
int gnn_scratch_writer_close(struct gnn_scratch_writer **w); /* waits; sets it to NULL */

/* A reader with buffers for `buffers` pieces that are in the file. */
int  gnn_scratch_reader_open(struct gnn_scratch_reader **out, struct gnn_scratch *s,
	uint32_t buffers);
/* Whether one more piece can be asked for. */
bool gnn_scratch_reader_has_room(const struct gnn_scratch_reader *r);
int  gnn_scratch_reader_ask (struct gnn_scratch_reader *r, const struct gnn_place *p,
	uint64_t bytes);
/* Lends the piece asked for earliest; a piece is put back in any order. */
int  gnn_scratch_reader_next(struct gnn_scratch_reader *r, const uint8_t **piece);
void gnn_scratch_reader_put (struct gnn_scratch_reader *r, const uint8_t *piece);
void gnn_scratch_reader_close(struct gnn_scratch_reader *r); /* NULL is fine */

GNN_END_DECLS

#endif
