/*
 * io/rows_csr.c - rows of a sparse matrix as scipy.sparse.save_npz writes it, made dense one by
 * one.
 *
 * Members: format 'csr', shape [2], indptr [rows + 1], indices [nnz], data [nnz]. The three long
 * ones are read side by side, each by its own cursor. Entries of the same place are added up.
 */
#include "io/rows.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/ndarray.h"
#include "io/npz.h"

#include <string.h>

enum { ENTRIES = 64 << 10, INTEGERS = 64 << 10 };

enum member { INDPTR, INDICES, DATA, SHAPE, MEMBER_COUNT };

static const char *const member_names[MEMBER_COUNT] = {"indptr", "indices", "data", "shape"};

struct csr {
	struct gnn_rows_source base;
	struct gnn_rows_opts opts;
	struct gnn_ndarray *array[MEMBER_COUNT];
	enum gnn_num type;
	uint64_t nnz, done; /* rows handed out */
	int64_t end;        /* of the row before: its entry of indptr */
	/* What has been read ahead of each, from `at`. */
	int64_t *indptr, *column;
	float *value;
	void *raw;
	uint64_t ptr_at, ptr_count, ptr_left, entry_at, entry_count, entry_first;
};

bool gnn_rows_csr_is(const char *path)
{
	struct gnn_file *f = NULL;
	struct gnn_npz *z = NULL;
	bool is = gnn_file_open(&f, path) == GNN_OK && gnn_npz_open(&z, f) == GNN_OK;

	for (int i = 0; is && i < MEMBER_COUNT; i++)
		is = gnn_npz_find(z, member_names[i]) != NULL;
	gnn_npz_close(z);
	gnn_file_close(f);
	return is;
}

static int read_ints(struct csr *c, struct gnn_ndarray *a, uint64_t count, int64_t *to)
{
	int rc = GNN_OK;

	GNN_TRY(gnn_ndarray_read(a, c->raw, count));
	gnn_num_to_i64(a->head.type, c->raw, count, to);
out:
	return rc;
}

static int next_ptr(struct csr *c, int64_t *end)
{
	int rc = GNN_OK;

	if (c->ptr_at == c->ptr_count) {
		c->ptr_count = gnn_min_u64(INTEGERS, c->ptr_left);
		c->ptr_left -= c->ptr_count;
		c->ptr_at = 0;
		GNN_TRY(read_ints(c, c->array[INDPTR], c->ptr_count, c->indptr));
	}
	*end = c->indptr[c->ptr_at++];
out:
	return rc;
}

static int refill_entries(struct csr *c)
{
	uint64_t bad;
	int rc = GNN_OK;

	c->entry_first += c->entry_count;
	c->entry_count = gnn_min_u64(ENTRIES, c->nnz - c->entry_first);
	c->entry_at = 0;
	GNN_TRY(read_ints(c, c->array[INDICES], c->entry_count, c->column));
	GNN_TRY(gnn_ndarray_read(c->array[DATA], c->raw, c->entry_count));
	bad = gnn_num_to_f32(c->type, c->raw, c->entry_count, c->opts.target == GNN_DTYPE_COUNT,
		c->value);
	if (bad < c->entry_count)
		GNN_FAIL(GNN_EDATA,
			"%s: entry %llu (%s) is not exact in f32; --feature-dtype f32 rounds it",
			c->array[DATA]->name, (unsigned long long)(c->entry_first + bad),
			gnn_num_name(c->type));
out:
	return rc;
}

/* Adds an entry to its place of the dense row; u8 must stay u8. */
static int put_entry(struct csr *c, uint64_t row, int64_t column, float value, void *to)
{
	uint8_t *bytes = to;
	float *floats = to;

	if (column < 0 || (uint64_t)column >= c->base.cols)
		return gnn_err(GNN_EDATA, "%s: row %llu has the column %lld; wanted 0 to %llu",
			c->array[INDICES]->name, (unsigned long long)row, (long long)column,
			(unsigned long long)c->base.cols - 1);
	if (c->base.dtype == GNN_F32) {
		floats[column] += value;
		return GNN_OK;
	}
	if (c->type == GNN_NUM_B1) {
		bytes[column] |= value != 0.0f;
		return GNN_OK;
	}
	if ((float)bytes[column] + value > 255.0f)
		return gnn_err(GNN_EDATA,
			"%s: row %llu, column %lld: entries add up to more than 255, which u8 "
			"cannot hold; --feature-dtype f32 can",
			c->array[DATA]->name, (unsigned long long)row, (long long)column);
	bytes[column] = (uint8_t)((float)bytes[column] + value);
	return GNN_OK;
}

static int read_row(struct csr *c, uint64_t row, void *to)
{
	int64_t end;
	int rc = GNN_OK;

	GNN_TRY(next_ptr(c, &end));
	if (end < c->end || (uint64_t)end > c->nnz)
		GNN_FAIL(GNN_EDATA, "%s: row %llu ends at entry %lld; wanted %lld to %llu",
			c->array[INDPTR]->name, (unsigned long long)row, (long long)end,
			(long long)c->end, (unsigned long long)c->nnz);
	for (; c->end < end; c->end++) {
		if (c->entry_at == c->entry_count)
			GNN_TRY(refill_entries(c));
		GNN_TRY(put_entry(c, row, c->column[c->entry_at], c->value[c->entry_at], to));
		c->entry_at++;
	}
out:
	return rc;
}

static int finish(struct csr *c)
{
	int rc = GNN_OK;

	if ((uint64_t)c->end != c->nnz)
		GNN_FAIL(GNN_EDATA, "%s: the last row ends at entry %lld of %llu",
			c->array[INDPTR]->name, (long long)c->end, (unsigned long long)c->nnz);
	for (int i = 0; i < MEMBER_COUNT; i++)
		GNN_TRY(gnn_ndarray_finish(c->array[i]));
out:
	return rc;
}

static int read_csr(struct gnn_rows_source *base, uint64_t rows, void *to)
{
	struct csr *c = (struct csr *)base;
	uint64_t row_bytes = base->cols * gnn_dtype_bytes(base->dtype);
	char *row = to;
	int rc = GNN_OK;

	for (uint64_t r = 0; r < rows; r++, row += row_bytes) {
		memset(row, 0, row_bytes);
		GNN_TRY(read_row(c, c->done++, row));
	}
	if (rows > 0 && c->done == base->rows)
		GNN_TRY(finish(c));
out:
	return rc;
}

static void close_csr(struct gnn_rows_source *base)
{
	struct csr *c = (struct csr *)base;

	for (int i = 0; i < MEMBER_COUNT; i++)
		gnn_ndarray_close(c->array[i]);
	gnn_mem_free(c->indptr);
	gnn_mem_free(c->column);
	gnn_mem_free(c->value);
	gnn_mem_free(c->raw);
	gnn_mem_free(c);
}

/* The member that says "csr" is text, 'S3' or 'U3': its letters are looked for as they lie. */
static int check_format(const struct gnn_rows_opts *o)
{
	struct gnn_input *in = NULL;
	char text[1024];
	uint64_t got;
	int rc = GNN_OK;

	GNN_TRY(gnn_input_open(&in, &(struct gnn_input_opts){.path = o->path,
		.member = "format"}));
	GNN_TRY(gnn_input_read(in, text, sizeof(text), &got));
	if (memmem(text, got, "csr", 3) == NULL && memmem(text, got, "c\0\0\0s\0\0\0r", 9) == NULL)
		GNN_FAIL(GNN_EDATA, "%s: a sparse matrix that is not CSR; save matrix.tocsr()",
			o->path);
out:
	gnn_input_close(in);
	return rc;
}

static int check_member(const struct csr *c, int i, bool type_ok, uint64_t count)
{
	const struct gnn_ndarray *a = c->array[i];

	if (!type_ok)
		return gnn_ndarray_check_type(a, false, i == DATA ?
			"f2 f4 f8, i1 to i8, u1 to u8, b1" : "i4 and i8");
	if (a->head.rank != 1 || a->head.count != count)
		return gnn_err(GNN_EDATA, "%s: %llu elements; wanted %llu in one dimension",
			a->name, (unsigned long long)a->head.count, (unsigned long long)count);
	return GNN_OK;
}

static int check_members(struct csr *c)
{
	int64_t shape[2] = {0}, first;
	int rc = GNN_OK;

	for (int i = 0; i < MEMBER_COUNT; i++) {
		if (i != DATA)
			GNN_TRY(check_member(c, i, gnn_num_is_int(c->array[i]->head.type),
				c->array[i]->head.count));
	}
	c->type = c->array[DATA]->head.type;
	GNN_TRY(check_member(c, DATA, c->type != GNN_NUM_OTHER, c->array[DATA]->head.count));
	GNN_TRY(check_member(c, SHAPE, true, 2));
	GNN_TRY(read_ints(c, c->array[SHAPE], 2, shape));
	if (shape[0] < 0 || shape[1] < 1)
		GNN_FAIL(GNN_EDATA, "%s: the shape is (%lld, %lld)", c->array[SHAPE]->name,
			(long long)shape[0], (long long)shape[1]);
	c->base.rows = (uint64_t)shape[0];
	c->base.cols = (uint64_t)shape[1];
	c->nnz = c->array[DATA]->head.count;
	GNN_TRY(check_member(c, INDICES, true, c->nnz));
	GNN_TRY(check_member(c, INDPTR, true, c->base.rows + 1));
	c->ptr_left = c->base.rows + 1;
	GNN_TRY(next_ptr(c, &first));
	if (first != 0)
		GNN_FAIL(GNN_EDATA, "%s: begins with %lld; wanted 0", c->array[INDPTR]->name,
			(long long)first);
out:
	return rc;
}

int gnn_rows_csr_open(struct gnn_rows_source **out, const struct gnn_rows_opts *o)
{
	struct csr *c = NULL;
	bool as_is;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(c, GNN_MEM_IO);
	c->opts = *o;
	c->base.read = read_csr;
	c->base.close = close_csr;
	GNN_TRY(check_format(o));
	GNN_NEW_ARRAY(c->indptr, INTEGERS, GNN_MEM_IO);
	GNN_NEW_ARRAY(c->column, ENTRIES, GNN_MEM_IO);
	GNN_NEW_ARRAY(c->value, ENTRIES, GNN_MEM_IO);
	GNN_TRY(gnn_mem_new(&c->raw, ENTRIES, sizeof(uint64_t), GNN_MEM_IO));
	for (int i = 0; i < MEMBER_COUNT; i++)
		GNN_TRY(gnn_ndarray_open(&c->array[i], &(struct gnn_ndarray_opts){
			.path = o->path, .member = member_names[i], .type = o->type,
			.record = i == 0 ? o->record : NULL}));
	GNN_TRY(check_members(c));
	/* f16 and bf16 sums are not kept in 16 bits. */
	c->base.dtype = gnn_rows_dtype(c->type, o->target, &as_is);
	if (c->base.dtype != GNN_U8)
		c->base.dtype = GNN_F32;
	*out = &c->base;
	c = NULL;
out:
	if (c != NULL)
		close_csr(&c->base);
	return rc;
}
