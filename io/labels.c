/* io/labels.c - see labels.h. */
#include "io/labels.h"

#include "base/mem.h"
#include "io/columns.h"
#include "io/lines.h"
#include "io/ndarray.h"
#include "io/part.h"
#include "io/quote.h"
#include "io/rows.h"
#include "io/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STAGE_ROWS = 64 << 10, PAIR_ROWS = 1024, LABEL_MAX = 1 << 30 };

struct labels {
	struct gnn_labels pub;
	struct gnn_ndarray *array;    /* one column of an array */
	struct gnn_rows_source *rows; /* many columns */
	void *stage;                  /* (STAGE_ROWS) values of the file's type */
	/* Text: all of it, `count` labels; with by_id their ids, until they are put into rows. */
	int64_t *label;
	uint64_t *id;
	uint64_t count, capacity;
	uint64_t done;                /* rows handed out */
	char name[GNN_INPUT_NAME_MAX];
};

static int check_label(const struct labels *l, int64_t v, uint64_t row)
{
	if (v >= -1 && v <= LABEL_MAX)
		return GNN_OK;
	return gnn_err(GNN_EDATA,
		"%s: row %llu has the label %lld; wanted a class from 0, or -1 for unlabelled",
		l->pub.name, (unsigned long long)row, (long long)v);
}

static bool in_train(const struct labels *l, uint64_t row)
{
	return l->pub.train != NULL && (l->pub.train[row / 64] >> (row % 64) & 1) != 0;
}

static int count_labels(struct labels *l, const int64_t *v, uint64_t rows)
{
	struct gnn_labels_counts *c = &l->pub.counts;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < rows; i++, l->done++) {
		GNN_TRY(check_label(l, v[i], l->done));
		c->zero_tail = v[i] == 0 ? c->zero_tail + 1 : 0;
		if (v[i] < 0) {
			c->unlabelled++;
			c->unlabelled_train += in_train(l, l->done);
			continue;
		}
		c->labelled++;
		c->classes = gnn_max_u64(c->classes, (uint64_t)v[i] + 1);
		if (v[i] < GNN_LABELS_CLASSES_COUNTED)
			c->rows_of[v[i]]++;
	}
out:
	return rc;
}

static int read_array(struct labels *l, uint64_t rows, int64_t *to)
{
	enum gnn_num type = l->array->head.type;
	char text[32];
	int rc = GNN_OK;

	for (uint64_t n, first = l->done; rows > 0; rows -= n, first += n, to += n) {
		uint64_t bad;

		n = gnn_min_u64(rows, STAGE_ROWS);
		GNN_TRY(gnn_ndarray_read(l->array, l->stage, n));
		bad = gnn_num_to_i64(type, l->stage, n, to);
		if (bad < n) {
			gnn_num_print(type, l->stage, bad, text, sizeof(text));
			GNN_FAIL(GNN_EDATA,
				"%s: row %llu has the label %s; wanted an integer, or NaN for "
				"unlabelled",
				l->pub.name, (unsigned long long)(first + bad), text);
		}
	}
out:
	return rc;
}

static int read_column(struct gnn_rows_source *base, uint64_t rows, void *to)
{
	struct labels *l = (struct labels *)base;
	int rc = GNN_OK;

	if (l->array != NULL)
		GNN_TRY(read_array(l, rows, to));
	else
		memcpy(to, l->label + l->done, rows * sizeof(int64_t));
	GNN_TRY(count_labels(l, to, rows));
	if (l->array != NULL && rows > 0 && l->done == base->rows)
		GNN_TRY(gnn_ndarray_finish(l->array));
out:
	return rc;
}

/* 0 and 1 of whatever type the file has. */
static int read_multi(struct gnn_rows_source *base, uint64_t rows, void *to)
{
	struct labels *l = (struct labels *)base;
	enum gnn_dtype dtype = l->rows->dtype;
	enum gnn_num type = dtype == GNN_U8    ? GNN_NUM_U1
			    : dtype == GNN_F16 ? GNN_NUM_F2
					       : GNN_NUM_F4;
	uint64_t cols = base->cols;
	uint8_t *out_row = to;
	float value;
	int rc = GNN_OK;

	for (uint64_t r = 0; r < rows; r++, l->done++, out_row += cols) {
		GNN_TRY(l->rows->read(l->rows, 1, l->stage));
		for (uint64_t c = 0; c < cols; c++) {
			gnn_num_to_f32(type, (char *)l->stage + c * gnn_num_bytes(type), 1, false,
				&value);
			if (value != 0.0f && value != 1.0f)
				GNN_FAIL(GNN_EDATA,
					"%s: row %llu, column %llu is %g; labels in %llu columns "
					"are 0 or 1",
					l->pub.name, (unsigned long long)l->done,
					(unsigned long long)c, (double)value,
					(unsigned long long)cols);
			out_row[c] = value != 0.0f;
		}
	}
	l->pub.counts.labelled += rows;
out:
	return rc;
}

static void close_labels(struct gnn_rows_source *base)
{
	struct labels *l = (struct labels *)base;

	gnn_ndarray_close(l->array);
	if (l->rows != NULL)
		l->rows->close(l->rows);
	gnn_mem_free(l->stage);
	gnn_mem_free(l->label);
	gnn_mem_free(l->id);
	gnn_mem_free(l);
}

static int append(struct labels *l, uint64_t id, int64_t label)
{
	int rc = GNN_OK;

	if (l->count == l->capacity) {
		uint64_t more = gnn_max_u64(2 * l->capacity, 4096);

		GNN_TRY(gnn_mem_resize((void **)&l->label, more, sizeof(*l->label), GNN_MEM_IO));
		if (l->pub.by_id)
			GNN_TRY(gnn_mem_resize((void **)&l->id, more, sizeof(*l->id), GNN_MEM_IO));
		l->capacity = more;
	}
	l->label[l->count] = label;
	if (l->pub.by_id) {
		l->id[l->count] = id;
		l->pub.id_max = gnn_max_u64(l->pub.id_max, id);
	}
	l->count++;
out:
	return rc;
}

static int bad_text(const struct gnn_lines *lines, const struct gnn_columns *c, const char *wanted)
{
	char text[GNN_QUOTE_MAX];

	gnn_quote(c->begin, (uint64_t)(c->end - c->begin), text);
	return gnn_err(GNN_EDATA, "%s:%llu: found %s; wanted %s", lines->name,
		(unsigned long long)lines->number, text, wanted);
}

static int read_line(struct labels *l, const struct gnn_lines *lines)
{
	struct gnn_columns c = gnn_columns_of(lines->text, lines->end);
	uint64_t id = 0;
	double value = 0.0;

	gnn_columns_next(&c);
	if (l->pub.by_id) {
		if (c.begin == c.end || gnn_scan_u64(c.begin, &id) != c.end || id == UINT64_MAX)
			return bad_text(lines, &c, "a vertex id, a plain decimal integer from 0");
		if (!gnn_columns_next(&c))
			return bad_text(lines, &c, "two columns, `id label`, as in the first line");
	}
	if (c.begin == c.end || gnn_scan_f64(c.begin, c.end, &value) != c.end ||
		(!isnan(value) && (value != floor(value) || value < -1.0 || value > LABEL_MAX)))
		return bad_text(lines, &c, "a class from 0, or -1 for unlabelled");
	if (gnn_columns_next(&c))
		return bad_text(lines, &c, l->pub.by_id ? "two columns, `id label`" :
			"one column, as in the first line");
	return append(l, id, isnan(value) ? -1 : (int64_t)value);
}

static int open_text(struct labels *l, const struct gnn_labels_opts *o)
{
	struct gnn_lines lines;
	struct gnn_columns c;
	int rc = gnn_lines_open(&lines, o->path, o->record);

	if (rc < 0)
		return rc;
	GNN_TRY(gnn_lines_next(&lines));
	if (rc == GNN_EOF)
		GNN_FAIL(GNN_EDATA, "%s: no labels in it", o->path);
	c = gnn_columns_of(lines.text, lines.end);
	gnn_columns_next(&c);
	l->pub.by_id = c.more;
	while (rc == GNN_OK) {
		GNN_TRY(read_line(l, &lines));
		GNN_TRY(gnn_lines_next(&lines));
	}
	rc = GNN_OK;
	l->pub.source.rows = l->pub.by_id ? 0 : l->count;
out:
	gnn_lines_close(&lines);
	return rc;
}

static int open_multi(struct labels *l, const struct gnn_labels_opts *o,
	int (*open)(struct gnn_rows_source **, const struct gnn_rows_opts *))
{
	int rc = GNN_OK;

	GNN_TRY(open(&l->rows, &(struct gnn_rows_opts){.path = o->path, .member = o->member,
		.record = o->record, .type = GNN_NUM_COUNT, .target = GNN_DTYPE_COUNT}));
	l->pub.multi = true;
	l->pub.source = (struct gnn_rows_source){.rows = l->rows->rows, .cols = l->rows->cols,
		.dtype = GNN_U8, .read = read_multi, .close = close_labels};
	l->pub.counts.classes = l->rows->cols;
	GNN_TRY(gnn_mem_new(&l->stage, l->rows->cols, sizeof(float), GNN_MEM_IO));
out:
	return rc;
}

static int open_array(struct labels *l, const struct gnn_labels_opts *o)
{
	const struct gnn_npy *head;
	char shape[128];
	int rc = GNN_OK;

	GNN_TRY(gnn_ndarray_open(&l->array, &(struct gnn_ndarray_opts){.path = o->path,
		.member = o->member, .record = o->record, .raw = o->raw, .rank = 1,
		.shape = {o->rows}, .type = o->type}));
	head = &l->array->head;
	GNN_TRY(gnn_ndarray_check_type(l->array, head->type != GNN_NUM_OTHER,
		"i1 to i8, u1 to u8, b1, and f2 f4 f8 that hold integers or NaN"));
	if (head->rank == 2 && head->shape[1] > 1) {
		gnn_ndarray_close(l->array);
		l->array = NULL;
		return open_multi(l, o, gnn_rows_dense_open);
	}
	if (head->rank != 1 && (head->rank != 2 || head->shape[1] != 1)) {
		gnn_ndarray_shape_text(l->array, shape, sizeof(shape));
		GNN_FAIL(GNN_EDATA,
			"%s: labels of the shape %s; wanted (V,), (V, 1) or (V, classes)",
			l->pub.name, shape);
	}
	l->pub.source.rows = head->shape[0];
	l->pub.bytes = head->type == GNN_NUM_U1;
	GNN_TRY(gnn_mem_new(&l->stage, STAGE_ROWS, sizeof(uint64_t), GNN_MEM_IO));
out:
	return rc;
}

/* Some ids and labels, side by side. */
static int append_pairs(struct labels *l, struct gnn_ndarray *ids, struct gnn_ndarray *labels,
	uint64_t rows, uint64_t first)
{
	uint64_t raw[PAIR_ROWS], id[PAIR_ROWS];
	int64_t label[PAIR_ROWS];
	int rc = GNN_OK;

	GNN_TRY(gnn_ndarray_read(ids, raw, rows));
	if (gnn_num_to_u64(ids->head.type, raw, rows, id) < rows)
		GNN_FAIL(GNN_EDATA, "%s: a negative vertex id", ids->name);
	GNN_TRY(gnn_ndarray_read(labels, raw, rows));
	if (gnn_num_to_i64(labels->head.type, raw, rows, label) < rows)
		GNN_FAIL(GNN_EDATA, "%s: a label that is no integer", labels->name);
	for (uint64_t i = 0; i < rows; i++) {
		if (label[i] < -1 || label[i] > LABEL_MAX)
			GNN_FAIL(GNN_EDATA, "%s: row %llu has the label %lld", labels->name,
				(unsigned long long)(first + i), (long long)label[i]);
		GNN_TRY(append(l, id[i], label[i]));
	}
out:
	return rc;
}

static int read_pair(struct labels *l, const struct gnn_label_pair *p)
{
	struct gnn_ndarray *ids = NULL, *labels = NULL;
	int rc = GNN_OK;

	GNN_TRY(gnn_ndarray_open(&ids, &(struct gnn_ndarray_opts){.path = p->ids}));
	GNN_TRY(gnn_ndarray_open(&labels, &(struct gnn_ndarray_opts){
		.path = p->labels, .record = p->record}));
	GNN_TRY(gnn_ndarray_check_type(ids, gnn_num_is_int(ids->head.type), "i1 to i8, u1 to u8"));
	GNN_TRY(gnn_ndarray_check_type(labels, true, "i1 to i8, u1 to u8, f2 f4 f8"));
	if (ids->head.count != labels->head.count)
		GNN_FAIL(GNN_EDATA, "%s: %llu labels for the %llu vertices of %s", p->labels,
			(unsigned long long)labels->head.count, (unsigned long long)ids->head.count,
			p->ids);
	for (uint64_t first = 0, n; first < ids->head.count; first += n) {
		n = gnn_min_u64(PAIR_ROWS, ids->head.count - first);
		GNN_TRY(append_pairs(l, ids, labels, n, first));
	}
	GNN_TRY(gnn_ndarray_finish(labels));
out:
	gnn_ndarray_close(labels);
	gnn_ndarray_close(ids);
	return rc;
}

static int open_pairs(struct labels *l, const struct gnn_labels_opts *o)
{
	int rc = GNN_OK;

	l->pub.by_id = true;
	for (uint32_t i = 0; i < o->pairs; i++)
		GNN_TRY(read_pair(l, &o->pair[i]));
out:
	return rc;
}

/* Text of several columns that are labels, not `id label`. */
static int is_text_matrix(const struct gnn_labels_opts *o, bool *is)
{
	struct gnn_lines lines;
	int rc = GNN_OK;

	*is = false;
	if (!o->text_matrix)
		return GNN_OK;
	GNN_TRY(gnn_lines_open(&lines, o->path, NULL));
	rc = gnn_lines_next(&lines);
	if (rc == GNN_OK) {
		struct gnn_columns c = gnn_columns_of(lines.text, lines.end);

		gnn_columns_next(&c);
		*is = c.more;
	}
	gnn_lines_close(&lines);
out:
	return rc < 0 ? rc : GNN_OK;
}

static int open_kind(struct labels *l, const struct gnn_labels_opts *o)
{
	enum gnn_part_kind kind = GNN_PART_NPY;
	bool matrix = false;
	int rc = GNN_OK;

	if (o->pairs > 0)
		return open_pairs(l, o);
	if (!o->raw && o->member == NULL)
		GNN_TRY(gnn_part_sniff(o->path, NULL, &kind));
	if (kind == GNN_PART_TEXT)
		GNN_TRY(is_text_matrix(o, &matrix));
	if (matrix)
		GNN_TRY(open_multi(l, o, gnn_rows_text_open));
	else if (kind == GNN_PART_TEXT)
		GNN_TRY(open_text(l, o));
	else if (kind == GNN_PART_NPZ && gnn_rows_csr_is(o->path))
		GNN_TRY(open_multi(l, o, gnn_rows_csr_open));
	else
		GNN_TRY(open_array(l, o));
out:
	return rc;
}

int gnn_labels_open(struct gnn_labels **out, const struct gnn_labels_opts *o)
{
	struct labels *l = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(l, GNN_MEM_IO);
	snprintf(l->name, sizeof(l->name), "%s", o->pairs > 0 ? o->pair[0].labels : o->path);
	l->pub.name = l->name;
	l->pub.source = (struct gnn_rows_source){
		.cols = 1, .dtype = GNN_I64, .read = read_column, .close = close_labels};
	GNN_TRY(open_kind(l, o));
	*out = &l->pub;
	l = NULL;
out:
	if (l != NULL)
		close_labels(&l->pub.source);
	return rc;
}

int gnn_labels_settle(struct gnn_labels *pub, const struct gnn_idrows *ids)
{
	struct labels *l = (struct labels *)pub;
	int64_t *row_label = NULL;
	uint64_t row;
	int rc = GNN_OK;

	if (!pub->by_id)
		return GNN_OK;
	GNN_NEW_ARRAY(row_label, ids->vertices, GNN_MEM_IO);
	for (uint64_t v = 0; v < ids->vertices; v++)
		row_label[v] = INT64_MIN; /* not seen yet */
	for (uint64_t i = 0; i < l->count; i++) {
		GNN_TRY(gnn_idrows_find(ids, l->id[i], &row));
		if (rc == GNN_EOF) {
			pub->counts.ids_unknown++;
			continue;
		}
		if (row_label[row] != INT64_MIN)
			GNN_FAIL(GNN_EDATA, "%s: vertex %llu is labelled twice", pub->name,
				(unsigned long long)l->id[i]);
		row_label[row] = l->label[i];
	}
	for (uint64_t v = 0; v < ids->vertices; v++)
		row_label[v] = row_label[v] == INT64_MIN ? -1 : row_label[v];
	gnn_mem_free(l->label);
	l->label = row_label;
	row_label = NULL;
	pub->source.rows = ids->vertices;
	rc = GNN_OK;
out:
	gnn_mem_free(row_label);
	return rc;
}

void gnn_labels_close(struct gnn_labels *l)
{
	if (l != NULL)
		l->source.close(&l->source);
}
