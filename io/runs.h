/*
 * io/runs.h - rows that come in any order of their ids, handed back in the order of ids.
 *
 * Flow     finished rows -> [runs] -> rows of the next layer, result
 * Owns     an arena of rows, the file of the runs, its write buffers
 * Lends    nothing
 * Thread   one caller while writing; after end any number of readers, each with one caller
 * Fails    GNN_EOS memory; GNN_ECREAT, GNN_EIO the file cannot be made or written, disk full
 *
 * A full arena is sorted and becomes a run: a header page and a table, both with a checksum, then
 * one piece for each fixed range of ids, rows first and ids behind them, padded to a page, under a
 * checksum of its own. Runs are not merged: a reader reads the pieces of a range, one aligned
 * direct read a run, and puts each row at its place. What fits one arena never leaves memory, and
 * the file has no name: nothing stays on the disk, whatever ends the process. A named file stays:
 * all of its rows go there, and what was sealed another process can go on with. Rows that `stay`
 * are read from the arena where it holds them all, and go to the file when they are sealed.
 * docs/formats.md.
 */
#ifndef GNN_IO_RUNS_H
#define GNN_IO_RUNS_H

#include "io/dio.h"

struct gnn_runs;
struct gnn_runs_reader;

struct gnn_runs_opts {
	const char *path;        /* of the file to be, a suffix is added unless named; copied */
	enum gnn_dio_engine engine;
	uint64_t ids;            /* every id below comes once */
	uint64_t row_bytes;
	uint64_t range_rows;     /* ids that are read back at once */
	uint64_t memory_bytes;   /* of the arena */
	bool     named;
	bool     stay;           /* named: where one arena holds every row, behind end too */
	uint64_t sealed_bytes;   /* named: by another process; 0: a new file */
	bool     scattered;      /* ids come in no order, which gnn_runs_bytes counts with */
};

struct gnn_runs_range {
	const void *data; /* (rows, row_bytes) */
	uint64_t    first, rows;
};

GNN_BEGIN_DECLS

int  gnn_runs_create(struct gnn_runs **out, const struct gnn_runs_opts *o);
/* Sets ids, row_bytes and range_rows to those that the file at o->path was written with. */
int  gnn_runs_look  (struct gnn_runs_opts *o);
/* Rows with these ids, or with `first` and the following when ids is NULL. */
int  gnn_runs_push  (struct gnn_runs *r, const uint64_t *ids, uint64_t first, const void *rows,
	uint64_t count);
int  gnn_runs_seal  (struct gnn_runs *r); /* named: what came is on the disk; more may come */
int  gnn_runs_sync (struct gnn_runs *r); /* named: what is on the file is on the disk */
int  gnn_runs_end   (struct gnn_runs *r); /* every id has come */
bool gnn_runs_ended (const struct gnn_runs *r); /* also when an earlier process did it */
bool gnn_runs_held  (const struct gnn_runs *r); /* all rows are in memory, ended */
uint64_t gnn_runs_written_bytes(const struct gnn_runs *r); /* to the file, by this process */
uint64_t gnn_runs_file_bytes   (const struct gnn_runs *r);
uint64_t gnn_runs_file_rows    (const struct gnn_runs *r);
void gnn_runs_destroy(struct gnn_runs *r); /* a named file stays; NULL is fine */
void gnn_runs_remove (struct gnn_runs *r); /* it goes; NULL is fine */
uint64_t gnn_runs_memory_bytes(const struct gnn_runs_opts *o); /* while writing */
uint64_t gnn_runs_bytes(const struct gnn_runs_opts *o); /* of the file, about: rows in near order */
uint64_t gnn_runs_arena_bytes(uint64_t row_bytes, uint64_t rows); /* that holds so many */
bool     gnn_runs_stay(const struct gnn_runs_opts *o); /* rows are not read from the file */
uint64_t gnn_runs_memory_min(const struct gnn_runs_opts *o); /* smallest legal arena */

/* Ranges in order; one range ahead is being read. `lent` ranges may be held at once. */
int  gnn_runs_reader_open(struct gnn_runs_reader **out, struct gnn_runs *r, uint32_t lent);
void gnn_runs_reader_skip(struct gnn_runs_reader *d, uint64_t ranges); /* before the first next */
/* GNN_EOF behind the last; GNN_EDATA a damaged piece. What was lent longest is taken back. */
int  gnn_runs_reader_next(struct gnn_runs_reader *d, struct gnn_runs_range *range);
uint64_t gnn_runs_reader_read_bytes(const struct gnn_runs_reader *d);
void gnn_runs_reader_close(struct gnn_runs_reader *d); /* NULL is fine */
uint64_t gnn_runs_reader_bytes(const struct gnn_runs_opts *o, uint32_t lent); /* memory */

GNN_END_DECLS

#endif
