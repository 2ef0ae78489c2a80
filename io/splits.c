/* io/splits.c - see splits.h. */
#include "io/splits.h"

#include "base/mem.h"
#include "io/columns.h"
#include "io/lines.h"
#include "io/ndarray.h"
#include "io/part.h"
#include "io/quote.h"
#include "io/scan.h"

enum { STAGE_ROWS = 64 << 10 };

/* What is being loaded. */
struct loader {
	struct gnn_splits *splits;
	const struct gnn_idrows *ids;
	const struct gnn_split_file *file;
	const char *name;
	enum gnn_split split;
	uint64_t capacity;
};

static bool has(const uint64_t *bits, uint64_t row)
{
	return bits != NULL && (bits[row / 64] >> (row % 64) & 1) != 0;
}

static int add_row(struct loader *l, uint64_t row, uint64_t id)
{
	struct gnn_splits *s = l->splits;
	uint64_t *count = &s->count[l->split];
	int rc = GNN_OK;

	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		if (!has(s->bits[k], row))
			continue;
		if (k == (int)l->split)
			GNN_FAIL(GNN_EDATA, "%s: vertex %llu stands there twice", l->name,
				(unsigned long long)id);
		GNN_FAIL(GNN_EDATA, "%s: vertex %llu is in %s too; a vertex belongs to one split",
			l->name, (unsigned long long)id, gnn_split_name((enum gnn_split)k));
	}
	if (*count == l->capacity) {
		uint64_t more = gnn_max_u64(2 * l->capacity, 4096);

		GNN_TRY(gnn_mem_resize((void **)&s->rows[l->split], more, sizeof(uint64_t),
			GNN_MEM_IO));
		l->capacity = more;
	}
	s->bits[l->split][row / 64] |= UINT64_C(1) << (row % 64);
	s->rows[l->split][(*count)++] = row;
out:
	return rc;
}

/* `place` is the line or element, for the message. */
static int add_id(struct loader *l, uint64_t id, const char *what, uint64_t place)
{
	uint64_t row = 0;
	int rc = GNN_OK;

	GNN_TRY(gnn_idrows_find(l->ids, id, &row));
	if (rc == GNN_EOF && l->ids->row_of != NULL)
		GNN_FAIL(GNN_EDATA,
			"%s: %s %llu: no edge has the vertex id %llu; remove it from the split",
			l->name, what, (unsigned long long)place, (unsigned long long)id);
	if (rc == GNN_EOF)
		GNN_FAIL(GNN_EDATA,
			"%s: %s %llu: vertex id %llu is out of range; the graph has %llu vertices",
			l->name, what, (unsigned long long)place, (unsigned long long)id,
			(unsigned long long)l->ids->vertices);
	GNN_TRY(add_row(l, row, id));
out:
	return rc;
}

static int load_text(struct loader *l)
{
	struct gnn_lines lines;
	char text[GNN_QUOTE_MAX];
	int rc = gnn_lines_open(&lines, l->file->path, l->file->record);

	if (rc < 0)
		return rc;
	for (;;) {
		struct gnn_columns c;
		uint64_t id;

		GNN_TRY(gnn_lines_next(&lines));
		if (rc == GNN_EOF)
			break;
		c = gnn_columns_of(lines.text, lines.end);
		gnn_columns_next(&c);
		if (c.more || c.begin == c.end || gnn_scan_u64(c.begin, &id) != c.end) {
			gnn_quote(lines.text, (uint64_t)(lines.end - lines.text), text);
			GNN_FAIL(GNN_EDATA,
				"%s:%llu: found %s; wanted one vertex id a line, a plain decimal "
				"integer from 0",
				l->name, (unsigned long long)lines.number, text);
		}
		GNN_TRY(add_id(l, id, "line", lines.number));
	}
	rc = GNN_OK;
out:
	gnn_lines_close(&lines);
	return rc;
}

static int take_ids(struct loader *l, const struct gnn_ndarray *a, const void *stage, uint64_t n,
	uint64_t first, uint64_t *id)
{
	uint64_t bad = gnn_num_to_u64(a->head.type, stage, n, id);
	char text[32];
	int rc = GNN_OK;

	for (uint64_t i = 0; i < bad; i++)
		GNN_TRY(add_id(l, id[i], "element", first + i));
	if (bad < n) {
		gnn_num_print(a->head.type, stage, bad, text, sizeof(text));
		GNN_FAIL(GNN_EDATA, "%s: element %llu is %s; wanted a vertex id from 0", l->name,
			(unsigned long long)(first + bad), text);
	}
out:
	return rc;
}

static int take_mask(struct loader *l, const uint8_t *mask, uint64_t n, uint64_t first)
{
	int rc = GNN_OK;

	for (uint64_t i = 0; i < n; i++) {
		if (mask[i] != 0)
			GNN_TRY(add_row(l, first + i, first + i));
	}
out:
	return rc;
}

static int check_array(const struct loader *l, const struct gnn_ndarray *a)
{
	const struct gnn_npy *head = &a->head;
	bool mask = head->type == GNN_NUM_B1;
	char shape[128];
	int rc = GNN_OK;

	GNN_TRY(gnn_ndarray_check_type(a, mask || gnn_num_is_int(head->type),
		"ids of i1 to i8, u1 to u8, or a mask of b1"));
	gnn_ndarray_shape_text(a, shape, sizeof(shape));
	if (head->rank != 1 && (head->rank != 2 || head->shape[1] != 1))
		GNN_FAIL(GNN_EDATA, "%s: a split of the shape %s; wanted one dimension", a->name,
			shape);
	if (mask && head->count != l->ids->vertices)
		GNN_FAIL(GNN_EDATA, "%s: a mask of %llu rows, the graph has %llu vertices", a->name,
			(unsigned long long)head->count, (unsigned long long)l->ids->vertices);
out:
	return rc;
}

static int load_array(struct loader *l)
{
	struct gnn_ndarray *a = NULL;
	uint64_t *stage = NULL, *id = NULL;
	int rc = GNN_OK;

	GNN_TRY(gnn_ndarray_open(&a, &(struct gnn_ndarray_opts){.path = l->file->path,
		.member = l->file->member, .record = l->file->record, .raw = l->file->raw,
		.rank = 1, .shape = {l->file->rows}, .type = l->file->type}));
	GNN_TRY(check_array(l, a));
	l->name = a->name;
	GNN_NEW_ARRAY(stage, STAGE_ROWS, GNN_MEM_IO);
	GNN_NEW_ARRAY(id, STAGE_ROWS, GNN_MEM_IO);
	for (uint64_t first = 0, n; first < a->head.count; first += n) {
		n = gnn_min_u64(STAGE_ROWS, a->head.count - first);
		GNN_TRY(gnn_ndarray_read(a, stage, n));
		if (a->head.type == GNN_NUM_B1)
			GNN_TRY(take_mask(l, (const uint8_t *)stage, n, first));
		else
			GNN_TRY(take_ids(l, a, stage, n, first, id));
	}
	GNN_TRY(gnn_ndarray_finish(a));
out:
	l->name = l->file->path;
	gnn_mem_free(id);
	gnn_mem_free(stage);
	gnn_ndarray_close(a);
	return rc;
}

static int load_range(struct loader *l)
{
	uint64_t first = l->file->range_first, count = l->file->range_count;
	int rc = GNN_OK;

	if (first > l->ids->vertices || count > l->ids->vertices - first)
		GNN_FAIL(GNN_EDATA,
			"%s: the rows %llu to %llu are out of range; the graph has %llu vertices",
			l->name, (unsigned long long)first, (unsigned long long)(first + count - 1),
			(unsigned long long)l->ids->vertices);
	for (uint64_t row = first; row < first + count; row++)
		GNN_TRY(add_row(l, row, row));
out:
	return rc;
}

static int load_one(struct loader *l)
{
	enum gnn_part_kind kind = GNN_PART_NPZ;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(l->splits->bits[l->split], gnn_ceil_div(l->ids->vertices, 64), GNN_MEM_IO);
	GNN_NEW_ARRAY(l->splits->rows[l->split], 0, GNN_MEM_IO);
	if (l->file->path == NULL) {
		GNN_TRY(load_range(l));
		goto out;
	}
	if (l->file->member == NULL && !l->file->raw)
		GNN_TRY(gnn_part_sniff(l->file->path, NULL, &kind));
	GNN_TRY(kind == GNN_PART_TEXT ? load_text(l) : load_array(l));
out:
	return rc;
}

int gnn_splits_load(struct gnn_splits *s, const struct gnn_split_file files[GNN_SPLIT_COUNT],
	const struct gnn_idrows *ids)
{
	int rc = GNN_OK;

	*s = (struct gnn_splits){0};
	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		struct loader l = {.splits = s, .ids = ids, .file = &files[k],
			.name = files[k].path != NULL ? files[k].path : "the data set",
			.split = (enum gnn_split)k};

		if (files[k].path != NULL || files[k].range_count > 0)
			GNN_TRY(load_one(&l));
	}
out:
	if (rc < 0)
		gnn_splits_fini(s);
	return rc;
}

void gnn_splits_fini(struct gnn_splits *s)
{
	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		gnn_mem_free(s->rows[k]);
		gnn_mem_free(s->bits[k]);
	}
	*s = (struct gnn_splits){0};
}
