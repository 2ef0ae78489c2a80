/*
 * infer/tier_seal.c - the stores of a tiered layer in a checkpoint; see tiered.h.
 *
 * Two files: messages to come of every vertex, and the rows in use, each behind its vertex (a carry
 * is a row of the same vertex behind it). Slots and pages do not matter: the rows come back by way
 * of the spill, into stores of whatever size.
 */
#include "infer/tiered.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_ROWS = 1 << 14, RECORDS_MIN = 1 << 16, TOP_ROWS = 1 << 10 };

static void set_label(char label[GNN_LABEL_BYTES], const struct gnn_run *r, const char *what)
{
	snprintf(label, GNN_LABEL_BYTES, "layer%u-%s", r->at.layer + 1, what);
}

static uint64_t record_bytes(const struct gnn_run *r)
{
	return sizeof(gnn_vid) + (uint64_t)r->tiered->tier->o.width * sizeof(float);
}

/* --- writing --- */

static int seal_left(struct gnn_run *r, struct gnn_manifest *m)
{
	uint64_t vertices = r->degrees->vertices, block = gnn_min_u64(BLOCK_ROWS, vertices);
	struct gnn_rowfile *f = NULL;
	char label[GNN_LABEL_BYTES];
	uint32_t *left = NULL;
	int rc;

	set_label(label, r, "left");
	GNN_NEW_ARRAY(left, block, GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_run_create_copy(r, &f, label, vertices, sizeof(*left)));
	for (gnn_vid v = 0; v < vertices; v += block) {
		uint64_t count = gnn_min_u64(block, vertices - v);

		gnn_control_left(r->tiered->control, v, count, left);
		GNN_TRY(gnn_rowfile_push(f, left, count));
	}
	GNN_TRY(gnn_run_seal_copy(r, f, m));
out:
	gnn_rowfile_close(f);
	gnn_mem_free(left);
	return rc;
}

/* Where the rows go; `record` is room for one behind its vertex, `top` for some of the top. */
struct rows_writer {
	struct gnn_rowfile *file;
	struct gnn_tier    *tier;
	struct gnn_control *control;
	char               *record;
	float              *top;     /* (TOP_ROWS, width) */
	struct gnn_move    *moves;   /* (TOP_ROWS) their slots and vertices */
	uint64_t            waiting;
};

static int put_row(struct rows_writer *w, gnn_vid v, enum gnn_control_store store, uint32_t at)
{
	const struct gnn_tier *t = w->tier;
	int rc = GNN_OK;

	memcpy(w->record, &v, sizeof(v));
	if (store == GNN_STORE_HOST)
		memcpy(w->record + sizeof(v), t->host + (uint64_t)at * t->o.width,
			t->o.width * sizeof(float));
	else
		GNN_TRY(gnn_spill_take(t->spill, at, w->record + sizeof(v)));
	GNN_TRY(gnn_rowfile_push(w->file, w->record, 1));
out:
	return rc;
}

/* The row of v, and its carry, when they stand in that store, which is not the top. */
static int put_vertex(struct rows_writer *w, gnn_vid v, enum gnn_control_store store)
{
	struct gnn_control_place p = gnn_control_place(w->control, v);
	int rc = GNN_OK;

	if (p.store != store)
		return GNN_OK;
	GNN_TRY(put_row(w, v, store, p.at));
	if (p.mate != GNN_SLOT_NONE)
		GNN_TRY(put_row(w, v, store, p.mate));
out:
	return rc;
}

static int put_waiting(struct rows_writer *w)
{
	uint64_t width = w->tier->o.width;
	int rc;

	GNN_TRY(gnn_tier_read(w->tier, w->moves, w->waiting, w->top));
	for (uint64_t i = 0; i < w->waiting; i++) {
		gnn_vid v = w->moves[i].to;

		memcpy(w->record, &v, sizeof(v));
		memcpy(w->record + sizeof(v), w->top + i * width, width * sizeof(float));
		GNN_TRY(gnn_rowfile_push(w->file, w->record, 1));
	}
	w->waiting = 0;
out:
	return rc;
}

static int put_top(struct rows_writer *w, gnn_vid vertices)
{
	int rc = GNN_OK;

	for (gnn_vid v = 0; v < vertices; v++) {
		struct gnn_control_place p = gnn_control_place(w->control, v);

		if (p.store != GNN_STORE_TOP)
			continue;
		if (w->waiting + 2 > TOP_ROWS)
			GNN_TRY(put_waiting(w));
		w->moves[w->waiting++] = (struct gnn_move){.from = p.at, .to = (uint32_t)v};
		if (p.mate != GNN_SLOT_NONE)
			w->moves[w->waiting++] = (struct gnn_move){.from = p.mate,
				.to = (uint32_t)v};
	}
	rc = put_waiting(w);
out:
	return rc;
}

/* Rows of the spill whose records are in [first, first + count), page by page. */
static int put_records(struct rows_writer *w, uint64_t vertices, uint32_t *vertex, uint64_t first,
	uint64_t count)
{
	int rc = GNN_OK;

	memset(vertex, 0xff, count * sizeof(*vertex));
	for (gnn_vid v = 0; v < vertices; v++) {
		struct gnn_control_place p = gnn_control_place(w->control, v);

		if (p.store == GNN_STORE_SPILL && p.at >= first && p.at - first < count)
			vertex[p.at - first] = (uint32_t)v;
	}
	for (uint64_t i = 0; i < count; i++)
		if (vertex[i] != UINT32_MAX)
			GNN_TRY(put_vertex(w, vertex[i], GNN_STORE_SPILL));
	gnn_spill_rest(w->tier->spill);
out:
	return rc;
}

static int put_spill(struct gnn_run *r, struct rows_writer *w, uint64_t pages)
{
	const struct gnn_tier_opts *o = &w->tier->o;
	uint64_t in_page = gnn_spill_records(o->spill.row_bytes, o->spill.page_bytes);
	uint64_t window = gnn_max_u64(r->plan.read_bytes / sizeof(uint32_t), RECORDS_MIN);
	uint32_t *vertex = NULL;
	int rc = GNN_OK;

	window = gnn_min_u64(gnn_align_up(window, in_page), pages * in_page);
	if (window == 0)
		return GNN_OK;
	GNN_NEW_ARRAY(vertex, window, GNN_MEM_TOPOLOGY);
	for (uint64_t i = 0; i < pages * in_page; i += window)
		GNN_TRY(put_records(w, r->degrees->vertices, vertex, i,
			gnn_min_u64(window, pages * in_page - i)));
out:
	gnn_mem_free(vertex);
	return rc;
}

static int seal_rows(struct gnn_run *r, struct gnn_manifest *m)
{
	struct rows_writer w = {.tier = r->tiered->tier, .control = r->tiered->control};
	struct gnn_control_stats s;
	char label[GNN_LABEL_BYTES];
	void *record = NULL;
	int rc;

	set_label(label, r, "stores");
	gnn_control_stats(w.control, &s);
	GNN_TRY(gnn_mem_new(&record, record_bytes(r), 1, GNN_MEM_STATE));
	w.record = record;
	GNN_TRY(gnn_run_create_copy(r, &w.file, label, s.top_rows + s.host_rows + s.spill_rows,
		record_bytes(r)));
	GNN_NEW_ARRAY(w.top, TOP_ROWS * w.tier->o.width, GNN_MEM_STATE);
	GNN_NEW_ARRAY(w.moves, TOP_ROWS, GNN_MEM_STATE);
	GNN_TRY(put_top(&w, r->degrees->vertices));
	for (gnn_vid v = 0; v < r->degrees->vertices; v++)
		GNN_TRY(put_vertex(&w, v, GNN_STORE_HOST));
	GNN_TRY(put_spill(r, &w, s.pages));
	GNN_ASSERT(w.file->pushed_rows == w.file->rows);
	GNN_TRY(gnn_run_seal_copy(r, w.file, m));
out:
	gnn_rowfile_close(w.file);
	gnn_mem_free(record);
	gnn_mem_free(w.top);
	gnn_mem_free(w.moves);
	return rc;
}

int gnn_tiered_seal(struct gnn_run *r, struct gnn_manifest *m)
{
	int rc;

	GNN_TRY(seal_left(r, m));
	GNN_TRY(seal_rows(r, m));
out:
	return rc;
}

/* --- reading --- */

/* Where the rows of a vertex go, while they come. */
struct rows_reader {
	struct gnn_run *run;
	gnn_vid  vertex;
	uint64_t record;
	uint32_t left;   /* rows of it to come */
};

static int take_row(struct rows_reader *d, const char *record)
{
	struct gnn_tiered *t = d->run->tiered;
	uint32_t full = GNN_PAGE_NONE;
	gnn_vid v;
	int rc = GNN_OK;

	memcpy(&v, record, sizeof(v));
	if (d->left == 0) {
		GNN_TRY(gnn_control_restore(t->control, d->run->at.row, v, t->next != NULL ?
			gnn_nextuse_now(t->next) : NULL, &d->record, &d->left, &full));
		d->vertex = v;
	}
	if (v != d->vertex)
		GNN_FAIL(GNN_EDATA, "a checkpoint has no carry of vertex %llu",
			(unsigned long long)d->vertex);
	if (full != GNN_PAGE_NONE)
		GNN_TRY(gnn_spill_full(t->tier->spill, full));
	GNN_TRY(gnn_spill_put(t->tier->spill, d->record++, record + sizeof(v)));
	d->left--;
out:
	return rc;
}

/* A piece of the rows, or, without a reader, of the messages to come. */
static int take_piece(struct gnn_run *r, struct rows_reader *d, const struct gnn_piece *piece,
	uint64_t row_bytes)
{
	int rc = GNN_OK;

	if (d == NULL)
		gnn_control_put_left(r->tiered->control, piece->first_byte / row_bytes,
			piece->bytes / row_bytes, piece->data);
	for (uint64_t i = 0; d != NULL && i < piece->bytes; i += row_bytes)
		GNN_TRY(take_row(d, (const char *)piece->data + i));
out:
	return rc;
}

static int read_file(struct gnn_run *r, const char *what, uint64_t row_bytes,
	struct rows_reader *d)
{
	uint64_t piece_rows = gnn_max_u64(r->plan.slot_bytes / row_bytes, 1);
	struct gnn_stream *stream = NULL;
	struct gnn_rowfile *f = NULL;
	char label[GNN_LABEL_BYTES];
	struct gnn_piece *piece;
	int rc;

	set_label(label, r, what);
	GNN_TRY(gnn_run_open_copy(r, &f, label, row_bytes));
	if (d == NULL && f->rows != r->degrees->vertices)
		GNN_FAIL(GNN_EDATA, "%s: %llu vertices, the store has %llu", f->path,
			(unsigned long long)f->rows, (unsigned long long)r->degrees->vertices);
	GNN_TRY(gnn_rowfile_read(&stream, f, 0, f->rows, piece_rows, 2, 1));
	while ((rc = gnn_stream_next(stream, &piece)) == GNN_OK) {
		rc = take_piece(r, d, piece, row_bytes);
		gnn_stream_put(stream, piece);
		if (rc < 0)
			goto out;
	}
	r->report->read_bytes += gnn_stream_read_bytes(stream);
	rc = rc == GNN_EOF ? GNN_OK : rc;
out:
	gnn_stream_close(stream);
	gnn_rowfile_close(f);
	return rc;
}

int gnn_tiered_restore(struct gnn_run *r)
{
	struct rows_reader d = {.run = r};
	int rc;

	GNN_TRY(read_file(r, "left", sizeof(uint32_t), NULL));
	GNN_TRY(read_file(r, "stores", record_bytes(r), &d));
	if (d.left > 0)
		GNN_FAIL(GNN_EDATA, "a checkpoint has no carry of vertex %llu",
			(unsigned long long)d.vertex);
	GNN_TRY(gnn_control_restored(r->tiered->control, r->at.row));
out:
	return rc;
}
