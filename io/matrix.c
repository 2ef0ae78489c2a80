/* io/matrix.c - see matrix.h. The kind of file, normalisation, and what is counted. */
#include "io/matrix.h"

#include "base/mem.h"
#include "io/part.h"

#include <stdio.h>

enum { STAGE_BYTES = 1 << 20 };

struct matrix {
	struct gnn_matrix pub;
	struct gnn_rows_source *rows; /* of the file */
	enum gnn_num type;            /* that of the file's rows, for widening */
	bool normalize, staged;
	uint64_t done;
	char *stage;                  /* staged: some rows of the file's type, */
	float *wide;                  /* and as f32 */
	uint64_t stage_rows;
	char name[GNN_INPUT_NAME_MAX];
};

/* Shown once, as the stored values pass: which bits of a value mean NaN and infinity. */
static void count_odd(struct gnn_matrix_counts *c, enum gnn_dtype t, const void *v, uint64_t count)
{
	uint64_t nan = 0, inf = 0;
	uint32_t infinity = t == GNN_F32 ? 0x7f800000 : t == GNN_F16 ? 0x7c00 : 0x7f80;

	if (t == GNN_F32) {
		const uint32_t *bits = v;

		for (uint64_t i = 0; i < count; i++) {
			uint32_t b = bits[i] & 0x7fffffff;

			nan += b > infinity;
			inf += b == infinity;
		}
	} else if (t == GNN_F16 || t == GNN_BF16) {
		const uint16_t *bits = v;

		for (uint64_t i = 0; i < count; i++) {
			uint32_t b = bits[i] & 0x7fff;

			nan += b > infinity;
			inf += b == infinity;
		}
	}
	c->nan += nan;
	c->inf += inf;
}

/* x / sum(x); a row of zeros stays, any other row that sums to zero cannot be scaled. */
static int scale_row(struct matrix *m, float *x, uint64_t row)
{
	uint64_t cols = m->pub.source.cols;
	double sum = 0.0;
	bool zero = true;

	for (uint64_t c = 0; c < cols; c++) {
		sum += (double)x[c];
		zero = zero && x[c] == 0.0f;
	}
	m->pub.counts.zero_rows += zero;
	if (zero)
		return GNN_OK;
	if (sum == 0.0)
		return gnn_err(GNN_EDATA,
			"%s: row %llu sums to 0 and is not all zero: --normalize row cannot scale "
			"it to 1",
			m->pub.name, (unsigned long long)row);
	for (uint64_t c = 0; c < cols; c++)
		x[c] = (float)((double)x[c] / sum);
	return GNN_OK;
}

/* The wanted type of some rows; the error names row and column. */
static int narrow(const struct matrix *m, uint64_t rows, void *to)
{
	const struct gnn_rows_source *s = &m->pub.source;
	uint64_t count = rows * s->cols;
	uint64_t bad = gnn_num_from_f32(s->dtype, m->wide, count, to);

	if (bad == count)
		return GNN_OK;
	return gnn_err(GNN_EDATA, "%s: row %llu, column %llu: %.9g has no value near it in %s",
		m->pub.name, (unsigned long long)(m->done + bad / s->cols),
		(unsigned long long)(bad % s->cols), (double)m->wide[bad],
		gnn_dtype_name(s->dtype));
}

/* File's type -> f32 -> scaled -> wanted type. */
static int read_staged(struct matrix *m, uint64_t rows, char *to)
{
	const struct gnn_rows_source *s = &m->pub.source;
	int rc = GNN_OK;

	for (uint64_t n; rows > 0; rows -= n, to += n * s->cols * gnn_dtype_bytes(s->dtype)) {
		n = gnn_min_u64(rows, m->stage_rows);
		GNN_TRY(m->rows->read(m->rows, n, m->stage));
		gnn_num_to_f32(m->type, m->stage, n * s->cols, false, m->wide);
		for (uint64_t r = 0; m->normalize && r < n; r++)
			GNN_TRY(scale_row(m, m->wide + r * s->cols, m->done + r));
		GNN_TRY(narrow(m, n, to));
		m->done += n;
	}
out:
	return rc;
}

static int read_matrix(struct gnn_rows_source *base, uint64_t rows, void *to)
{
	struct matrix *m = (struct matrix *)base;
	int rc = GNN_OK;

	GNN_TRY(m->staged ? read_staged(m, rows, to) : m->rows->read(m->rows, rows, to));
	count_odd(&m->pub.counts, base->dtype, to, rows * base->cols);
out:
	return rc;
}

static void close_matrix(struct gnn_rows_source *base)
{
	struct matrix *m = (struct matrix *)base;

	if (m->rows != NULL)
		m->rows->close(m->rows);
	gnn_mem_free(m->stage);
	gnn_mem_free(m->wide);
	gnn_mem_free(m);
}

static int open_rows(struct gnn_rows_source **out, const struct gnn_rows_opts *o)
{
	static int (*const kinds[])(struct gnn_rows_source **, const struct gnn_rows_opts *) = {
		[GNN_PART_TEXT] = gnn_rows_text_open,
		[GNN_PART_NPY] = gnn_rows_dense_open,
		[GNN_PART_NPZ] = gnn_rows_dense_open,
	};
	enum gnn_part_kind kind = GNN_PART_NPZ;
	int rc = GNN_OK;

	if (o->raw)
		return gnn_rows_dense_open(out, o);
	if (o->member == NULL)
		GNN_TRY(gnn_part_sniff(o->path,
			"; give --shape ROWSxCOLUMNS --dtype f32 (or another type) to read it raw",
			&kind));
	if (kind == GNN_PART_NPZ && o->member == NULL && gnn_rows_csr_is(o->path))
		GNN_TRY(gnn_rows_csr_open(out, o));
	else
		GNN_TRY(kinds[kind](out, o));
out:
	return rc;
}

static int take_stage(struct matrix *m)
{
	uint64_t row_bytes = m->rows->cols * gnn_num_bytes(m->type);
	int rc = GNN_OK;

	m->stage_rows = gnn_max_u64(STAGE_BYTES / row_bytes, 1);
	GNN_NEW_ARRAY(m->stage, m->stage_rows * row_bytes, GNN_MEM_IO);
	GNN_NEW_ARRAY(m->wide, m->stage_rows * m->rows->cols, GNN_MEM_IO);
out:
	return rc;
}

int gnn_matrix_open(struct gnn_matrix **out, const struct gnn_rows_opts *o, bool normalize_row)
{
	static const enum gnn_num type_of[GNN_DTYPE_COUNT] = {
		[GNN_F32] = GNN_NUM_F4, [GNN_F16] = GNN_NUM_F2, [GNN_BF16] = GNN_NUM_BF16,
		[GNN_U8] = GNN_NUM_U1,
	};
	enum gnn_dtype dtype;
	struct matrix *m = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(m, GNN_MEM_IO);
	GNN_TRY(open_rows(&m->rows, o));
	dtype = o->target != GNN_DTYPE_COUNT ? o->target : normalize_row ? GNN_F32 : m->rows->dtype;
	m->normalize = normalize_row;
	m->staged = normalize_row || dtype != m->rows->dtype;
	m->type = type_of[m->rows->dtype];
	snprintf(m->name, sizeof(m->name), "%s", o->path);
	m->pub.name = m->name;
	m->pub.source = (struct gnn_rows_source){.rows = m->rows->rows, .cols = m->rows->cols,
		.dtype = dtype, .read = read_matrix, .close = close_matrix};
	if (m->staged)
		GNN_TRY(take_stage(m));
	*out = &m->pub;
	m = NULL;
out:
	if (m != NULL)
		close_matrix(&m->pub.source);
	return rc;
}

void gnn_matrix_close(struct gnn_matrix *m)
{
	if (m != NULL)
		m->source.close(&m->source);
}
