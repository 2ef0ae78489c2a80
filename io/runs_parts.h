/*
 * io/runs_parts.h - runs from the inside: the layout of the file.
 *
 * Flow     runs_writer, runs_reader -> [runs_parts]
 * Owns     nothing
 * Lends    nothing
 * Thread   constant
 * Fails    never
 */
#ifndef GNN_IO_RUNS_PARTS_H
#define GNN_IO_RUNS_PARTS_H

#include "io/runs.h"

#define GNN_RUN_MAGIC   UINT64_C(0x0a0d6e7572676e89) /* 0x89 "gnrun" CR LF, as bytes */
#define GNN_RUN_VERSION 1

/* The first page of a run, zero behind it. */
struct gnn_run_header {
	uint64_t magic, version;
	uint64_t row_bytes, range_rows, ids;
	uint64_t rows;      /* of the run */
	uint64_t pieces;
	uint64_t bytes;     /* of the run, header included */
	uint64_t table_sum; /* XXH3-64 of the table */
	uint64_t sum;       /* XXH3-64 of what is in front */
};

/* One a range that the run has rows of, in order. */
struct gnn_run_piece {
	uint64_t range;
	uint64_t rows;
	uint64_t offset; /* from the run's first byte, a multiple of the page */
	uint64_t sum;    /* XXH3-64 of rows, ids and the zeros behind */
};

struct gnn_run {
	uint64_t offset; /* in the file */
	uint64_t pieces;
	uint64_t bytes;
};

struct gnn_runs {
	struct gnn_runs_opts o;
	char     *path;
	uint64_t  capacity; /* rows of the arena */
	uint64_t  count;
	uint64_t  pushed;   /* rows ever */
	uint32_t  place_bits;
	uint64_t *order;    /* (capacity) id above, place below */
	uint64_t *spare;
	char     *row;      /* (capacity, row_bytes) */
	struct gnn_dio *dio;      /* the file, to write; NULL: no run yet */
	struct gnn_dio *read_dio; /* to read */
	struct gnn_run *run;
	uint64_t  run_count, run_capacity;
	uint64_t  file_bytes;
	uint64_t  recalled_bytes; /* of them from an earlier process */
	uint64_t  rows_on_file;
	bool      ended;
};

static inline uint64_t gnn_runs_piece_bytes(const struct gnn_runs_opts *o, uint64_t rows)
{
	return gnn_align_up(rows * (o->row_bytes + sizeof(uint64_t)), GNN_PAGE_BYTES);
}

GNN_BEGIN_DECLS

int gnn_runs_open_file(struct gnn_runs *r);
/* The arena becomes a run, and is empty behind it unless all has ended. */
int gnn_runs_flush(struct gnn_runs *r);
int gnn_runs_note (struct gnn_runs *r, const struct gnn_run *run, uint64_t rows);
int gnn_runs_recall(struct gnn_runs *r); /* the runs that o.sealed_bytes hold */
/* Sorts what is in the arena by id. */
void gnn_runs_sort(struct gnn_runs *r);
/* Wraps the status of the file. */
int gnn_runs_failed(int rc);

GNN_END_DECLS

#endif
