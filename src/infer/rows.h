/*
 * infer/rows.h - the rows of a pass, chunk by chunk; who reads them does not know where they lie.
 *
 * Flow     store | memory | scratch | runs -> [rows] -> feed -> executor
 * Owns     a stream, unless the rows lie in memory
 * Lends    the rows of a chunk, until put
 * Thread   next by one thread; put and cancel by any
 * Fails    as the stream
 */
#ifndef GNN_INFER_ROWS_H
#define GNN_INFER_ROWS_H

#include "io/rowfile.h"
#include "io/runs.h"

enum gnn_rows_kind {
	GNN_ROWS_NONE,
	GNN_ROWS_STORE,
	GNN_ROWS_MEMORY,
	GNN_ROWS_FILE,
	GNN_ROWS_RUNS, /* in ranges of a chunk, from the start of one */
};

/* Rows [first, first + count), by absolute number. */
struct gnn_rows {
	enum gnn_rows_kind       kind;
	enum gnn_dtype           dtype;
	uint32_t                 width;     /* items of a row */
	gnn_vid                  first;
	uint64_t                 count;
	gnn_vid                  base;      /* STORE: of row 0, in the array */
	struct gnn_container    *container;
	const struct gnn_array  *array;
	const float             *memory;    /* MEMORY: a backend buffer, from row 0 on */
	const struct gnn_rowfile *file;     /* FILE */
	struct gnn_runs          *runs;     /* RUNS */
};

struct gnn_rows_part {
	const void *data;  /* the chunk's first row; NULL: no rows here */
	bool        there; /* in backend memory; else the host's */
	struct gnn_piece *piece_; /* internal */
};

struct gnn_rows_opts {
	uint64_t chunk_rows;
	uint32_t ahead, lent; /* chunks read ahead, and held by the executor */
	bool     verify;
};

struct gnn_rows_reader;

GNN_BEGIN_DECLS

/* NONE gives a reader whose chunks have no rows. */
int  gnn_rows_open  (struct gnn_rows_reader **out, const struct gnn_rows *r,
	const struct gnn_rows_opts *o);
int  gnn_rows_next  (struct gnn_rows_reader *r, struct gnn_rows_part *part);
void gnn_rows_put   (struct gnn_rows_reader *r, struct gnn_rows_part *part); /* empty is fine */
void gnn_rows_cancel(struct gnn_rows_reader *r);
void gnn_rows_close (struct gnn_rows_reader *r); /* NULL is fine */
uint64_t gnn_rows_read_bytes(const struct gnn_rows_reader *r);

/* Leaves out the rows in front of `first`, a chunk's. */
void gnn_rows_skip(struct gnn_rows *r, gnn_vid first);
uint64_t gnn_rows_row_bytes(const struct gnn_rows *r);
uint64_t gnn_rows_bytes(const struct gnn_rows *r, const struct gnn_rows_opts *o); /* memory */

GNN_END_DECLS

#endif
