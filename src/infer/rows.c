/* infer/rows.c - see rows.h. */
#include "infer/rows.h"

#include "base/mem.h"

struct gnn_rows_reader {
	struct gnn_rows      rows;
	uint64_t             chunk_rows;
	gnn_vid              at;     /* MEMORY: of the next chunk */
	struct gnn_stream   *stream; /* STORE, FILE */
	struct gnn_runs_reader *runs; /* RUNS */
};

uint64_t gnn_rows_row_bytes(const struct gnn_rows *r)
{
	return (uint64_t)r->width * gnn_dtype_bytes(r->dtype);
}

void gnn_rows_skip(struct gnn_rows *r, gnn_vid first)
{
	gnn_vid end = r->first + r->count;

	if (r->kind == GNN_ROWS_NONE || r->first >= first)
		return;
	r->first = gnn_min_u64(first, end);
	r->count = end - r->first;
}

static bool is_streamed(const struct gnn_rows *r)
{
	return r->kind == GNN_ROWS_STORE || r->kind == GNN_ROWS_FILE;
}

uint64_t gnn_rows_bytes(const struct gnn_rows *r, const struct gnn_rows_opts *o)
{
	uint64_t piece = o->chunk_rows * gnn_rows_row_bytes(r) + 2 * GNN_PAGE_BYTES;

	if (r->kind == GNN_ROWS_RUNS) /* and one range as it lies in the file */
		return piece * (o->lent + 2);
	return is_streamed(r) ? piece * (o->ahead + o->lent) : 0;
}

static int open_stream(struct gnn_rows_reader *r, const struct gnn_rows_opts *o)
{
	const struct gnn_rows *rows = &r->rows;
	uint64_t row_bytes = gnn_rows_row_bytes(rows);

	if (rows->kind == GNN_ROWS_FILE)
		return gnn_rowfile_read(&r->stream, rows->file, rows->first, rows->count,
			o->chunk_rows, o->ahead, o->lent);
	return gnn_stream_open(&r->stream, &(struct gnn_stream_opts){
		.container = rows->container, .array = rows->array,
		.first_byte = (rows->base + rows->first) * row_bytes,
		.bytes = rows->count * row_bytes,
		.piece_bytes = o->chunk_rows * row_bytes, .ahead = o->ahead, .lent = o->lent,
		.verify = o->verify});
}

int gnn_rows_open(struct gnn_rows_reader **out, const struct gnn_rows *rows,
	const struct gnn_rows_opts *o)
{
	struct gnn_rows_reader *r = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(r, GNN_MEM_MISC);
	r->rows = *rows;
	r->chunk_rows = o->chunk_rows;
	r->at = rows->first;
	if (is_streamed(rows))
		GNN_TRY(open_stream(r, o));
	if (rows->kind == GNN_ROWS_RUNS) {
		GNN_TRY(gnn_runs_reader_open(&r->runs, rows->runs, o->lent + 1));
		gnn_runs_reader_skip(r->runs, rows->first / o->chunk_rows);
	}
	*out = r;
	r = NULL;
out:
	gnn_rows_close(r);
	return rc;
}

int gnn_rows_next(struct gnn_rows_reader *r, struct gnn_rows_part *part)
{
	int rc = GNN_OK;

	*part = (struct gnn_rows_part){.there = r->rows.kind == GNN_ROWS_MEMORY};
	if (r->rows.kind == GNN_ROWS_MEMORY)
		part->data = r->rows.memory + r->at * r->rows.width;
	if (r->runs != NULL) {
		struct gnn_runs_range range;

		GNN_TRY(gnn_runs_reader_next(r->runs, &range));
		GNN_ASSERT(rc == GNN_OK && range.first == r->at &&
			(range.rows == r->chunk_rows || range.first + range.rows ==
				r->rows.first + r->rows.count));
		part->data = range.data;
	}
	if (r->stream != NULL) {
		GNN_TRY(gnn_stream_next(r->stream, &part->piece_));
		if (rc == GNN_EOF)
			return gnn_err(GNN_EDATA, "the rows end before the graph does");
		part->data = part->piece_->data;
	}
	r->at += r->chunk_rows;
out:
	return rc;
}

void gnn_rows_put(struct gnn_rows_reader *r, struct gnn_rows_part *part)
{
	if (part->piece_ != NULL)
		gnn_stream_put(r->stream, part->piece_);
	*part = (struct gnn_rows_part){0};
}

void gnn_rows_cancel(struct gnn_rows_reader *r)
{
	if (r->stream != NULL)
		gnn_stream_cancel(r->stream);
}

uint64_t gnn_rows_read_bytes(const struct gnn_rows_reader *r)
{
	if (r->runs != NULL)
		return gnn_runs_reader_read_bytes(r->runs);
	return r->stream != NULL ? gnn_stream_read_bytes(r->stream) : 0;
}

void gnn_rows_close(struct gnn_rows_reader *r)
{
	if (r == NULL)
		return;
	gnn_stream_close(r->stream);
	gnn_runs_reader_close(r->runs);
	gnn_mem_free(r);
}
