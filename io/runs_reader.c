/* io/runs_reader.c - runs in, ranges of rows out; see runs.h. */
#include "io/runs_parts.h"

#include "base/mem.h"
#include "io/hash.h"

#include <string.h>

/* Where a run stands in its table. */
struct cursor {
	struct gnn_run_piece *table; /* (pieces) */
	uint64_t              pieces, next;
	struct gnn_dio_request request;
	const struct gnn_run_piece *asked; /* the piece of the range being read, or NULL */
};

struct gnn_runs_reader {
	struct gnn_runs *runs;
	struct cursor   *cursor;   /* (runs) */
	uint32_t         lent;
	char            *range[GNN_PAGE_BYTES / 64]; /* (lent) rows of a range each */
	uint64_t         next_out; /* range handed out next */
	uint64_t         next_in;  /* range read next */
	uint64_t         arena_at; /* rows handed out of an arena in memory */
	char            *pieces;   /* of the range being read */
	uint64_t         pieces_bytes;
	uint64_t         read_bytes;
	uint64_t         ranges;
	bool             begun;
};

static uint64_t pieces_bytes(const struct gnn_runs_opts *o, uint64_t runs)
{
	uint64_t rows = gnn_min_u64(o->range_rows, gnn_max_u64(o->ids, 1));

	return gnn_runs_piece_bytes(o, rows) + runs * GNN_PAGE_BYTES;
}

uint64_t gnn_runs_reader_bytes(const struct gnn_runs_opts *o, uint32_t lent)
{
	uint64_t rows = gnn_min_u64(o->range_rows, gnn_max_u64(o->ids, 1));
	uint64_t arena = gnn_max_u64(o->memory_bytes / (o->row_bytes + 16), 1);
	uint64_t runs = gnn_ceil_div(o->ids, arena);

	if (gnn_runs_stay(o)) /* the arena itself */
		return rows * o->row_bytes * lent + gnn_runs_arena_bytes(o->row_bytes, o->ids);
	return rows * o->row_bytes * lent + pieces_bytes(o, runs) +
		runs * (sizeof(struct cursor) + gnn_ceil_div(o->ids, o->range_rows) *
			sizeof(struct gnn_run_piece));
}

static int damaged(const struct gnn_runs_reader *d, uint64_t offset, const char *what)
{
	return gnn_err(GNN_EDATA, "run file %s: %s at byte %llu is damaged", d->runs->path, what,
		(unsigned long long)offset);
}

/* Header and table of a run, as they were written. */
static int load_table(struct gnn_runs_reader *d, uint64_t run)
{
	const struct gnn_run *r = &d->runs->run[run];
	struct cursor *c = &d->cursor[run];
	uint64_t table_bytes = r->pieces * sizeof(*c->table);
	struct gnn_dio_request request = {.offset = r->offset, .bytes = GNN_PAGE_BYTES +
		gnn_align_up(table_bytes, GNN_PAGE_BYTES)};
	struct gnn_run_header h;
	void *head;
	int rc;

	GNN_TRY(gnn_mem_pages(&head, request.bytes, GNN_MEM_SORT));
	request.buffer = head;
	request.wanted = request.bytes;
	rc = gnn_dio_transfer(d->runs->read_dio, &request);
	d->read_bytes += request.bytes;
	if (rc < 0) {
		rc = gnn_runs_failed(rc);
		goto free_head;
	}
	memcpy(&h, head, sizeof(h));
	if (h.magic != GNN_RUN_MAGIC || h.version != GNN_RUN_VERSION || h.pieces != r->pieces ||
		h.bytes != r->bytes || h.row_bytes != d->runs->o.row_bytes ||
		h.sum != gnn_hash(&h, offsetof(struct gnn_run_header, sum)))
		rc = damaged(d, r->offset, "the header of a run");
	else if (h.table_sum != gnn_hash((char *)head + GNN_PAGE_BYTES, table_bytes))
		rc = damaged(d, r->offset + GNN_PAGE_BYTES, "the table of a run");
	else
		memcpy(c->table, (char *)head + GNN_PAGE_BYTES, table_bytes);
free_head:
	gnn_mem_free(head);
out:
	return rc;
}

static int open_runs(struct gnn_runs_reader *d)
{
	const struct gnn_runs *r = d->runs;
	void *block;
	int rc;

	GNN_NEW_ARRAY(d->cursor, r->run_count, GNN_MEM_SORT);
	for (uint64_t i = 0; i < r->run_count; i++) {
		d->cursor[i].pieces = r->run[i].pieces;
		GNN_NEW_ARRAY(d->cursor[i].table, r->run[i].pieces, GNN_MEM_SORT);
		GNN_TRY(load_table(d, i));
	}
	d->pieces_bytes = pieces_bytes(&r->o, r->run_count);
	GNN_TRY(gnn_mem_pages(&block, d->pieces_bytes, GNN_MEM_SORT));
	d->pieces = block;
out:
	return rc;
}

static uint64_t range_rows(const struct gnn_runs_reader *d, uint64_t range)
{
	const struct gnn_runs_opts *o = &d->runs->o;

	return gnn_min_u64(o->range_rows, o->ids - range * o->range_rows);
}

/* One aligned direct read for every run that has rows of the next range. */
static int ask(struct gnn_runs_reader *d)
{
	struct gnn_runs *r = d->runs;
	uint64_t fill = 0;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < r->run_count && d->next_in < d->ranges; i++) {
		struct cursor *c = &d->cursor[i];
		const struct gnn_run_piece *piece = &c->table[c->next];
		uint64_t bytes;

		c->asked = NULL;
		if (c->next == c->pieces || piece->range != d->next_in)
			continue;
		bytes = gnn_runs_piece_bytes(&r->o, piece->rows);
		if (fill + bytes > d->pieces_bytes)
			return damaged(d, r->run[i].offset, "the table of a run");
		c->request = (struct gnn_dio_request){.offset = r->run[i].offset + piece->offset,
			.bytes = bytes, .wanted = bytes, .buffer = d->pieces + fill};
		rc = gnn_dio_submit(r->read_dio, &c->request);
		if (rc < 0)
			return gnn_runs_failed(rc);
		c->asked = piece;
		c->next++;
		fill += bytes;
		d->read_bytes += bytes;
	}
	d->next_in++;
	return GNN_OK;
}

/* Waits for all, also after a failure: nothing is in flight then. */
static int reap_all(struct gnn_runs_reader *d)
{
	struct gnn_err_state first = {0};
	struct gnn_dio_request *done;
	int rc;

	while ((rc = gnn_dio_reap(d->runs->read_dio, &done)) != GNN_EOF)
		if (rc < 0 && first.status == GNN_OK)
			gnn_err_save(&first, gnn_runs_failed(rc));
	return first.status < 0 ? gnn_err_restore(&first) : GNN_OK;
}

/* The rows of a piece at their places. */
static int place_rows(struct gnn_runs_reader *d, const struct cursor *c, uint64_t range, char *to)
{
	const struct gnn_runs_opts *o = &d->runs->o;
	uint64_t rows = c->asked->rows, first = range * o->range_rows;
	const char *from = c->request.buffer;

	if (gnn_hash(from, c->request.bytes) != c->asked->sum)
		return damaged(d, c->request.offset, "a piece of a run");
	for (uint64_t i = 0; i < rows; i++) {
		uint64_t id;

		memcpy(&id, from + rows * o->row_bytes + i * sizeof(id), sizeof(id));
		if (id < first || id - first >= o->range_rows)
			return damaged(d, c->request.offset, "a piece of a run");
		memcpy(to + (id - first) * o->row_bytes, from + i * o->row_bytes, o->row_bytes);
	}
	return GNN_OK;
}

static int read_range(struct gnn_runs_reader *d, uint64_t range, char *to)
{
	uint64_t rows = 0;
	int rc;

	GNN_TRY(reap_all(d));
	for (uint64_t i = 0; i < d->runs->run_count; i++) {
		if (d->cursor[i].asked == NULL)
			continue;
		GNN_TRY(place_rows(d, &d->cursor[i], range, to));
		rows += d->cursor[i].asked->rows;
	}
	if (rows != range_rows(d, range))
		GNN_FAIL(GNN_EDATA, "run file %s: range %llu has %llu rows, wanted %llu",
			d->runs->path, (unsigned long long)range, (unsigned long long)rows,
			(unsigned long long)range_rows(d, range));
	GNN_TRY(ask(d));
out:
	return rc;
}

/* The same from an arena that never left memory. */
static void copy_range(struct gnn_runs_reader *d, uint64_t range, char *to)
{
	const struct gnn_runs *r = d->runs;
	uint64_t mask = (UINT64_C(1) << r->place_bits) - 1, row_bytes = r->o.row_bytes;

	for (uint64_t i = 0; i < range_rows(d, range); i++, d->arena_at++)
		memcpy(to + i * row_bytes, r->row + (r->order[d->arena_at] & mask) * row_bytes,
			row_bytes);
}

int gnn_runs_reader_open(struct gnn_runs_reader **out, struct gnn_runs *r, uint32_t lent)
{
	uint64_t rows = gnn_min_u64(r->o.range_rows, gnn_max_u64(r->o.ids, 1));
	struct gnn_runs_reader *d = NULL;
	void *block;
	int rc;

	*out = NULL;
	GNN_NEW(d, GNN_MEM_SORT);
	GNN_ASSERT(r->ended && lent >= 1 && lent <= GNN_COUNT_OF(d->range));
	d->runs = r;
	d->lent = lent;
	d->ranges = gnn_ceil_div(r->o.ids, r->o.range_rows);
	for (uint32_t i = 0; i < lent; i++) {
		GNN_TRY(gnn_mem_pages(&block, rows * r->o.row_bytes, GNN_MEM_SORT));
		d->range[i] = block;
	}
	if (!gnn_runs_held(r))
		GNN_TRY(open_runs(d));
	*out = d;
	d = NULL;
out:
	gnn_runs_reader_close(d);
	return rc;
}

void gnn_runs_reader_skip(struct gnn_runs_reader *d, uint64_t ranges)
{
	GNN_ASSERT(!d->begun && ranges <= d->ranges);
	d->next_in = d->next_out = ranges;
	for (uint64_t i = 0; d->cursor != NULL && i < d->runs->run_count; i++) {
		struct cursor *c = &d->cursor[i];

		while (c->next < c->pieces && c->table[c->next].range < ranges)
			c->next++;
	}
	for (uint64_t i = 0; i < ranges; i++)
		d->arena_at += range_rows(d, i);
}

int gnn_runs_reader_next(struct gnn_runs_reader *d, struct gnn_runs_range *range)
{
	char *to = d->range[d->next_out % d->lent];
	int rc = GNN_OK;

	*range = (struct gnn_runs_range){0};
	if (d->next_out == d->ranges)
		return GNN_EOF;
	if (!d->begun && !gnn_runs_held(d->runs))
		GNN_TRY(ask(d));
	d->begun = true;
	if (gnn_runs_held(d->runs))
		copy_range(d, d->next_out, to);
	else
		GNN_TRY(read_range(d, d->next_out, to));
	*range = (struct gnn_runs_range){.data = to, .first = d->next_out * d->runs->o.range_rows,
		.rows = range_rows(d, d->next_out)};
	d->next_out++;
out:
	return rc;
}

uint64_t gnn_runs_reader_read_bytes(const struct gnn_runs_reader *d)
{
	return d->read_bytes;
}

void gnn_runs_reader_close(struct gnn_runs_reader *d)
{
	struct gnn_err_state first;

	if (d == NULL)
		return;
	gnn_err_save(&first, GNN_OK);
	if (d->runs->read_dio != NULL) /* the buffers must outlive what is in flight */
		reap_all(d);
	gnn_err_restore(&first);
	for (uint64_t i = 0; d->cursor != NULL && i < d->runs->run_count; i++)
		gnn_mem_free(d->cursor[i].table);
	gnn_mem_free(d->cursor);
	gnn_mem_free(d->pieces);
	for (uint32_t i = 0; i < GNN_COUNT_OF(d->range); i++)
		gnn_mem_free(d->range[i]);
	gnn_mem_free(d);
}
