/*
 * io/rows_dense.c - rows of a dense array: npy, npz, headerless.
 *
 * Fortran order lies column by column: a window of rows is gathered from all columns, as many rows
 * as the memory holds, so that each read is long. What cannot be read at any place, because it is
 * compressed, is held in memory whole.
 */
#include "io/rows.h"

#include "base/mem.h"
#include "io/ndarray.h"

#include <string.h>

enum { STAGE_BYTES = 1 << 20, WINDOW_BYTES = 64 << 20 };

struct dense {
	struct gnn_rows_source base;
	struct gnn_rows_opts opts;
	struct gnn_ndarray *array;
	enum gnn_num type;
	uint32_t size;         /* of a value */
	bool as_is, columnwise;
	uint64_t done;         /* rows handed out */

	char *stage;           /* rows that wait for their conversion, C order */
	char *whole;           /* all of the array, file order; NULL: seekable */
	char *column;          /* one column's share of the window */
	char *window;          /* rows [window_first, + window_rows) in C order */
	uint64_t window_first, window_rows, window_max;
};

static uint64_t row_bytes(const struct dense *d)
{
	return d->base.cols * d->size;
}

/* The rows from `first` of every column, put into C order. */
static int fill_window(struct dense *d, uint64_t first)
{
	uint64_t n = gnn_min_u64(d->window_max, d->base.rows - first), cols = d->base.cols;
	uint32_t size = d->size;
	int rc = GNN_OK;

	for (uint64_t c = 0; c < cols; c++) {
		uint64_t at = c * d->base.rows + first;
		const char *from = d->column;

		if (d->whole != NULL)
			from = d->whole + at * size;
		else
			GNN_TRY(gnn_ndarray_pread(d->array, d->column, n, at));
		for (uint64_t r = 0; r < n; r++)
			memcpy(d->window + (r * cols + c) * size, from + r * size, size);
	}
	d->window_first = first;
	d->window_rows = n;
out:
	return rc;
}

/* At the first row, not at open: until then the memory is of use to the sorting of edges. */
static int take_window(struct dense *d)
{
	uint64_t memory = d->opts.memory_bytes != 0 ? d->opts.memory_bytes : WINDOW_BYTES;
	int rc = GNN_OK;

	d->window_max = gnn_min_u64(gnn_max_u64(memory / row_bytes(d), 1), d->base.rows);
	GNN_TRY(gnn_mem_pages((void **)&d->window, d->window_max * row_bytes(d), GNN_MEM_IO));
	if (gnn_input_seekable(d->array->input)) {
		GNN_TRY(gnn_mem_pages((void **)&d->column, d->window_max * d->size, GNN_MEM_IO));
		goto out;
	}
	rc = gnn_mem_pages((void **)&d->whole, d->base.rows * row_bytes(d), GNN_MEM_IO);
	if (rc < 0) {
		gnn_err_place(rc,
			"%s: compressed and in Fortran order, so it is held in memory whole "
			"(decompressed it would not be)",
			d->array->name);
		goto out;
	}
	GNN_TRY(gnn_ndarray_read(d->array, d->whole, d->base.rows * d->base.cols));
out:
	return rc;
}

/* The next `rows` rows in C order, of the file's type. */
static int fetch(struct dense *d, uint64_t rows, char *to)
{
	int rc = GNN_OK;

	if (!d->columnwise) {
		GNN_TRY(gnn_ndarray_read(d->array, to, rows * d->base.cols));
		d->done += rows;
		goto out;
	}
	if (d->window == NULL)
		GNN_TRY(take_window(d));
	while (rows > 0) {
		uint64_t in = d->done - d->window_first, n;

		if (in >= d->window_rows) {
			GNN_TRY(fill_window(d, d->done));
			in = 0;
		}
		n = gnn_min_u64(rows, d->window_rows - in);
		memcpy(to, d->window + in * row_bytes(d), n * row_bytes(d));
		to += n * row_bytes(d);
		rows -= n;
		d->done += n;
	}
out:
	return rc;
}

static int read_converted(struct dense *d, uint64_t rows, float *to)
{
	uint64_t some = gnn_max_u64(STAGE_BYTES / row_bytes(d), 1);
	int rc = GNN_OK;

	for (uint64_t n; rows > 0; rows -= n, to += n * d->base.cols) {
		struct gnn_rows_place place = {d->array->name, d->done, d->base.cols};

		n = gnn_min_u64(rows, some);
		GNN_TRY(fetch(d, n, d->stage));
		GNN_TRY(gnn_rows_to_f32(d->type, d->stage, n * d->base.cols,
			d->opts.target == GNN_DTYPE_COUNT, to, &place));
	}
out:
	return rc;
}

static void bool_to_u8(uint8_t *v, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		v[i] = v[i] != 0;
}

static int read_dense(struct gnn_rows_source *base, uint64_t rows, void *to)
{
	struct dense *d = (struct dense *)base;
	int rc = GNN_OK;

	GNN_ASSERT(rows <= base->rows - d->done);
	if (rows == 0)
		goto out;
	GNN_TRY(d->as_is ? fetch(d, rows, to) : read_converted(d, rows, to));
	if (d->as_is && d->type == GNN_NUM_B1)
		bool_to_u8(to, rows * base->cols);
	if (d->done == base->rows)
		GNN_TRY(gnn_ndarray_finish(d->array));
out:
	return rc;
}

static void close_dense(struct gnn_rows_source *base)
{
	struct dense *d = (struct dense *)base;

	gnn_ndarray_close(d->array);
	gnn_mem_free(d->stage);
	gnn_mem_free(d->whole);
	gnn_mem_free(d->column);
	gnn_mem_free(d->window);
	gnn_mem_free(d);
}

static int take_shape(struct dense *d)
{
	const struct gnn_npy *head = &d->array->head;
	char shape[128];

	if (head->rank == 0 || head->rank > 2 || (head->rank == 2 && head->shape[1] == 0)) {
		gnn_ndarray_shape_text(d->array, shape, sizeof(shape));
		return gnn_err(GNN_EDATA, "%s: an array of the shape %s; wanted (rows, columns) or "
			"(rows,)", d->array->name, shape);
	}
	d->base.rows = head->shape[0];
	d->base.cols = head->rank == 2 ? head->shape[1] : 1;
	d->columnwise = head->fortran && d->base.rows > 1 && d->base.cols > 1;
	return GNN_OK;
}

int gnn_rows_dense_open(struct gnn_rows_source **out, const struct gnn_rows_opts *o)
{
	struct dense *d = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(d, GNN_MEM_IO);
	d->opts = *o;
	GNN_TRY(gnn_ndarray_open(&d->array, &(struct gnn_ndarray_opts){
		.path = o->path, .member = o->member, .record = o->record, .raw = o->raw, .rank = 2,
		.shape = {o->rows, o->cols}, .type = o->type}));
	d->type = d->array->head.type;
	GNN_TRY(gnn_ndarray_check_type(d->array, d->type != GNN_NUM_OTHER,
		"f2 f4 f8, i1 to i8, u1 to u8, b1, and with --dtype bf16 u2 and V2"));
	GNN_TRY(take_shape(d));
	d->size = gnn_num_bytes(d->type);
	d->base.dtype = gnn_rows_dtype(d->type, o->target, &d->as_is);
	d->base.read = read_dense;
	d->base.close = close_dense;
	if (!d->as_is)
		GNN_TRY(gnn_mem_new((void **)&d->stage, gnn_max_u64(STAGE_BYTES, row_bytes(d)), 1,
			GNN_MEM_IO));
	*out = &d->base;
	d = NULL;
out:
	if (d != NULL)
		close_dense(&d->base);
	return rc;
}
