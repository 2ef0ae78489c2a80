/* order/moved.c - see moved.h. */
#include "order/moved.h"

#include "base/mem.h"
#include "base/progress.h"
#include "io/runs.h"
#include "io/stream.h"

#include <string.h>

enum {
	PIECE_BYTES = 4 << 20,      /* of the array, read at a time; less with little memory */
	AHEAD = 2,
	RUN_PIECE_BYTES = 256 << 10, /* of a run in a range, wanted at least */
	RANGE_BYTES_MIN = 1 << 20,
	IDS = 4096,
};

struct moved {
	struct gnn_rows_source  source; /* comes first */
	struct gnn_runs        *runs;   /* NULL: no row has a byte */
	struct gnn_runs_reader *reader;
	struct gnn_runs_range   range;
	uint64_t                row_bytes, range_rows;
	bool                    stays;  /* runs are named, and sealed */
	uint64_t                used;   /* rows of the range */
};

static void close_moved(struct gnn_rows_source *s)
{
	struct moved *m = (struct moved *)s;

	if (m == NULL)
		return;
	gnn_runs_reader_close(m->reader);
	gnn_runs_destroy(m->runs);
	gnn_mem_free(m);
}

static int read_moved(struct gnn_rows_source *s, uint64_t rows, void *to)
{
	struct moved *m = (struct moved *)s;
	char *at = to;
	int rc = GNN_OK;

	while (rows > 0 && m->row_bytes > 0) {
		uint64_t n;

		if (m->used == m->range.rows) {
			GNN_TRY(gnn_runs_reader_next(m->reader, &m->range));
			GNN_ASSERT(rc == GNN_OK);
			m->used = 0;
		}
		n = gnn_min_u64(rows, m->range.rows - m->used);
		memcpy(at, (const char *)m->range.data + m->used * m->row_bytes, n * m->row_bytes);
		m->used += n;
		at += n * m->row_bytes;
		rows -= n;
	}
out:
	return rc;
}

/* Ranges so large that every run has a piece worth a read in each. */
static uint64_t range_rows(const struct gnn_moved_opts *o, uint64_t row_bytes)
{
	uint64_t runs = gnn_ceil_div(o->vertices * row_bytes, gnn_max_u64(o->memory_bytes, 1));
	uint64_t bytes = gnn_max_u64(runs * RUN_PIECE_BYTES, RANGE_BYTES_MIN);

	bytes = gnn_min_u64(bytes, o->memory_bytes / 8);
	return gnn_max_u64(1, bytes / row_bytes);
}

/* Runs come whole to the file: the rows of it are the first that were pushed. */
static int seal(struct moved *m, const struct gnn_moved_opts *o)
{
	const struct gnn_journal_rows rows = {gnn_runs_file_bytes(m->runs), m->range_rows};
	int rc = GNN_OK;

	if (!m->stays || rows.bytes == gnn_journal_rows(o->journal).bytes)
		return GNN_OK;
	GNN_TRY(gnn_runs_sync(m->runs));
	GNN_TRY(gnn_journal_seal(o->journal, rows));
out:
	return rc;
}

static int push_array(struct moved *m, const struct gnn_moved_opts *o)
{
	uint64_t bytes = gnn_min_u64(PIECE_BYTES, o->memory_bytes / 8);
	uint64_t rows = gnn_max_u64(1, bytes / m->row_bytes), row = gnn_runs_file_rows(m->runs);
	struct gnn_progress *progress = gnn_progress_begin(o->array->name, "rows", o->vertices);
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	int rc;

	gnn_progress_add(progress, row, 0);
	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){.container = o->container,
		.array = o->array, .first_byte = row * m->row_bytes,
		.bytes = (o->vertices - row) * m->row_bytes, .piece_bytes = rows * m->row_bytes,
		.ahead = AHEAD, .lent = 1, .verify = true}));
	while ((rc = gnn_stream_next(stream, &piece)) == GNN_OK) {
		uint64_t n = piece->bytes / m->row_bytes;

		GNN_TRY(gnn_runs_push(m->runs, o->rank + row, 0, piece->data, n));
		GNN_TRY(seal(m, o));
		gnn_progress_add(progress, n, piece->bytes);
		gnn_stream_put(stream, piece);
		row += n;
	}
out:
	gnn_progress_end(progress);
	gnn_stream_close(stream);
	return rc < 0 ? rc : GNN_OK;
}

static int push_numbers(struct moved *m, const struct gnn_moved_opts *o)
{
	uint64_t number[IDS];
	int rc = GNN_OK;

	for (uint64_t row = 0; row < o->vertices; row += IDS) {
		uint64_t n = gnn_min_u64(IDS, o->vertices - row);

		for (uint64_t i = 0; i < n; i++)
			number[i] = row + i;
		GNN_TRY(gnn_runs_push(m->runs, o->rank + row, 0, number, n));
	}
out:
	return rc;
}

static int create_runs(struct moved *m, const struct gnn_moved_opts *o)
{
	struct gnn_runs_opts runs = {.path = o->path, .engine = o->engine, .ids = o->vertices,
		.row_bytes = m->row_bytes, .range_rows = range_rows(o, m->row_bytes),
		.memory_bytes = o->memory_bytes};

	if (o->journal != NULL && (gnn_journal_rows(o->journal).bytes > 0 ||
		o->vertices * m->row_bytes > o->memory_bytes)) {
		m->stays = runs.named = true;
		runs.path = gnn_journal_rows_path(o->journal);
		runs.sealed_bytes = gnn_journal_rows(o->journal).bytes;
		if (runs.sealed_bytes > 0)
			runs.range_rows = gnn_journal_rows(o->journal).range_rows;
	}
	m->range_rows = runs.range_rows;
	return gnn_runs_create(&m->runs, &runs);
}

static int take_in(struct moved *m, const struct gnn_moved_opts *o)
{
	int rc;

	GNN_TRY(create_runs(m, o));
	if (!gnn_runs_ended(m->runs)) {
		GNN_TRY(o->array != NULL ? push_array(m, o) : push_numbers(m, o));
		GNN_TRY(gnn_runs_end(m->runs));
		GNN_TRY(seal(m, o));
	}
	GNN_TRY(gnn_runs_reader_open(&m->reader, m->runs, 1));
out:
	return rc;
}

int gnn_moved_create(struct gnn_rows_source **out, const struct gnn_moved_opts *o)
{
	struct moved *m = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(m, GNN_MEM_MISC);
	m->source = (struct gnn_rows_source){.rows = o->vertices, .cols = 1, .dtype = GNN_U64,
		.read = read_moved, .close = close_moved};
	if (o->array != NULL) {
		m->source.cols = o->array->cols;
		m->source.dtype = o->array->dtype;
	}
	m->row_bytes = m->source.cols * gnn_dtype_bytes(m->source.dtype);
	if (m->row_bytes > 0 && o->vertices > 0)
		GNN_TRY(take_in(m, o));
	*out = &m->source;
	m = NULL;
out:
	close_moved((struct gnn_rows_source *)m);
	return rc;
}

uint64_t gnn_moved_scratch_bytes(const struct gnn_rows_source *s)
{
	const struct moved *m = (const struct moved *)s;

	return m == NULL || m->runs == NULL ? 0 : gnn_runs_written_bytes(m->runs);
}
