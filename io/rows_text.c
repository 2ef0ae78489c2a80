/*
 * io/rows_text.c - rows of a text matrix: a row a line, columns as in an edge list.
 *
 * The rows are counted by a first reading, since a store must know its size beforehand.
 */
#include "io/rows.h"

#include "base/mem.h"
#include "io/columns.h"
#include "io/lines.h"
#include "io/quote.h"
#include "io/scan.h"

struct text_rows {
	struct gnn_rows_source base;
	struct gnn_lines lines;
	uint64_t done;
};

static int bad_column(const struct text_rows *t, const struct gnn_columns *c, uint64_t column)
{
	char text[GNN_QUOTE_MAX];

	gnn_quote(c->begin, (uint64_t)(c->end - c->begin), text);
	return gnn_err(GNN_EDATA, "%s:%llu: column %llu, %s, is no number", t->lines.name,
		(unsigned long long)t->lines.number, (unsigned long long)column, text);
}

static int read_row(struct text_rows *t, float *to)
{
	struct gnn_columns c = gnn_columns_of(t->lines.text, t->lines.end);
	uint64_t column = 0;
	double value;

	for (; column < t->base.cols && gnn_columns_next(&c); column++) {
		if (c.begin == c.end || gnn_scan_f64(c.begin, c.end, &value) != c.end)
			return bad_column(t, &c, column + 1);
		to[column] = (float)value;
	}
	if (column < t->base.cols || gnn_columns_next(&c))
		return gnn_err(GNN_EDATA, "%s:%llu: %s columns; wanted %llu, as in the first row",
			t->lines.name, (unsigned long long)t->lines.number,
			column < t->base.cols ? "fewer" : "more", (unsigned long long)t->base.cols);
	return GNN_OK;
}

static int read_text(struct gnn_rows_source *base, uint64_t rows, void *to)
{
	struct text_rows *t = (struct text_rows *)base;
	float *row = to;
	int rc = GNN_OK;

	for (uint64_t r = 0; r < rows; r++, row += base->cols) {
		GNN_TRY(gnn_lines_next(&t->lines));
		if (rc == GNN_EOF)
			GNN_FAIL(GNN_EDATA, "%s: became shorter while it was read", t->lines.name);
		GNN_TRY(read_row(t, row));
		t->done++;
	}
	if (rows > 0 && t->done == base->rows)
		GNN_TRY(gnn_lines_next(&t->lines));
	rc = GNN_OK;
out:
	return rc;
}

static void close_text(struct gnn_rows_source *base)
{
	struct text_rows *t = (struct text_rows *)base;

	gnn_lines_close(&t->lines);
	gnn_mem_free(t);
}

static int count_rows(struct gnn_rows_source *base, const char *path)
{
	struct gnn_lines lines;
	int rc = gnn_lines_open(&lines, path, NULL);

	if (rc < 0)
		return rc;
	while ((rc = gnn_lines_next(&lines)) == GNN_OK) {
		struct gnn_columns c = gnn_columns_of(lines.text, lines.end);

		while (base->rows == 0 && gnn_columns_next(&c))
			base->cols++;
		base->rows++;
	}
	gnn_lines_close(&lines);
	if (rc == GNN_EOF && base->rows == 0)
		return gnn_err(GNN_EDATA, "%s: no rows of numbers in it", path);
	return rc < 0 ? rc : GNN_OK;
}

int gnn_rows_text_open(struct gnn_rows_source **out, const struct gnn_rows_opts *o)
{
	struct text_rows *t = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(t, GNN_MEM_IO);
	t->base =
		(struct gnn_rows_source){.dtype = GNN_F32, .read = read_text, .close = close_text};
	GNN_TRY(count_rows(&t->base, o->path));
	GNN_TRY(gnn_lines_open(&t->lines, o->path, o->record));
	*out = &t->base;
	t = NULL;
out:
	if (t != NULL)
		close_text(&t->base);
	return rc;
}
