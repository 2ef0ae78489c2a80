/*
 * infer/kept.h - rows of all vertices that a later pass needs again: in memory, or in scratch.
 *
 * Flow     executor (put, in order) -> [kept] -> rows of a later pass
 * Owns     the array, or the files and a few blocks on their way to them
 * Lends    its rows, once finished
 * Thread   one caller
 * Fails    GNN_EOS memory; GNN_ECREAT, GNN_EIO scratch
 *
 * A row is [ main | own ]. In memory both stand together; in scratch the main columns have a file,
 * and the own columns, which only a vertex's own shard reads, one from row own_first on. Rows that
 * do not lie in host memory are copied out behind the operations that make them, and written when
 * the copy is done: nobody waits for it here.
 * Rows that come in any order go to runs, both parts together, in a file of that suffix.
 */
#ifndef GNN_INFER_KEPT_H
#define GNN_INFER_KEPT_H

#include "infer/rows.h"
#include "op/backend.h"

/* Suffixes of the two files. */
#define GNN_KEPT_ROWS "rows"
#define GNN_KEPT_OWN  "own"
#define GNN_KEPT_RUNS "runs"

enum { GNN_KEPT_BLOCKS = 3 }; /* on their way out of a device */
enum { GNN_KEPT_LABEL_BYTES = 40 };

struct gnn_kept_opts {
	struct gnn_backend *backend;
	enum gnn_rows_kind  kind;       /* MEMORY, FILE or RUNS */
	uint64_t            vertices;
	uint32_t            width, own_width;
	enum gnn_dtype      dtype;      /* RUNS: of an item; MEMORY and FILE have floats */
	gnn_vid             own_first;  /* FILE: rows in front of it leave their own columns out */
	uint64_t            block_rows; /* put at once, at most */
	const char         *folder, *label; /* FILE: "layer2-in" becomes layer2-in.rows, .own */
	enum gnn_dio_engine engine;
	uint64_t            slot_bytes; /* FILE: of each of the writers' four */
	uint64_t            range_rows, arena_bytes; /* RUNS: read at once; sorted at once */
	bool                scattered;  /* RUNS: rows come in no order at all */
	bool                stay;       /* RUNS: as in io/runs.h */
	/* FILE that an earlier process left: rows that it sealed, with their sums. */
	bool                reopen;
	uint64_t            sealed_rows, sealed_own;
	const uint64_t     *row_sums, *own_sums;
	uint64_t            sealed_bytes; /* RUNS of an earlier process; 0: there are none */
};

struct gnn_kept_block {
	float   *host; /* (block_rows, width + own_width) */
	gnn_vid *vertex; /* (block_rows) RUNS: whose rows they are */
	gnn_vid  first;
	uint64_t rows, ticket;
};

struct gnn_kept {
	struct gnn_kept_opts  o;
	float                *memory; /* (V, width + own_width), padded to whole panels */
	struct gnn_rowfile   *rows, *own;
	struct gnn_runs      *runs;
	char                  label[GNN_KEPT_LABEL_BYTES];
	struct gnn_kept_block block[GNN_KEPT_BLOCKS];
	uint32_t              first, count; /* blocks on their way */
	uint64_t              put_rows;     /* so far */
	bool                  finished;
};

GNN_BEGIN_DECLS

int  gnn_kept_open  (struct gnn_kept **out, const struct gnn_kept_opts *o);
/*
 * Rows [first, first + rows), of which `pitch` floats stand apart, in backend memory; to a file
 * without own columns, from host memory, they come close together.
 */
int  gnn_kept_put   (struct gnn_kept *k, gnn_vid first, uint64_t rows, const float *from,
	uint64_t pitch);
/* RUNS: the rows of these vertices, in any order; backend memory, contiguous. */
int  gnn_kept_put_any(struct gnn_kept *k, const uint64_t *vertices, uint64_t rows,
	const void *from);
int  gnn_kept_drain (struct gnn_kept *k); /* what was put is in memory, or handed to the files */
int  gnn_kept_seal  (struct gnn_kept *k); /* and on the disk, in files */
int  gnn_kept_finish(struct gnn_kept *k); /* every row was put: from here on it lends them */
bool gnn_kept_held  (const struct gnn_kept *k); /* RUNS: finished, and read from memory */
bool gnn_kept_stays (const struct gnn_kept_opts *o); /* RUNS: it will be, unless sealed before */
struct gnn_rows gnn_kept_rows(const struct gnn_kept *k);
/* Own columns of the chunks that [first, end) touches; NONE where they stand beside the rows. */
struct gnn_rows gnn_kept_own (const struct gnn_kept *k, gnn_vid first, gnn_vid end,
	uint64_t chunk_rows);
uint64_t gnn_kept_written_bytes(const struct gnn_kept *k); /* to scratch, so far; NULL is fine */
void gnn_kept_drop  (struct gnn_kept *k); /* memory freed, files removed; NULL is fine */
void gnn_kept_leave (struct gnn_kept *k); /* memory freed, files left; NULL is fine */

uint64_t gnn_kept_row_bytes    (const struct gnn_kept_opts *o); /* both parts */
uint64_t gnn_kept_memory_bytes (const struct gnn_kept_opts *o); /* in backend memory */
uint64_t gnn_kept_buffer_bytes (const struct gnn_kept_opts *o); /* in host memory beside it */
uint64_t gnn_kept_reader_bytes (const struct gnn_kept_opts *o); /* RUNS: beside the ranges lent */
uint64_t gnn_kept_scratch_bytes(const struct gnn_kept_opts *o);

GNN_END_DECLS

#endif
