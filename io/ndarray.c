/* io/ndarray.c - see ndarray.h. */
#include "io/ndarray.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/npz.h"
#include "io/part.h"

#include <stdio.h>
#include <string.h>

/* The name of the only array of an archive. */
static int only_member(const char *path, char *name)
{
	struct gnn_file *f = NULL;
	struct gnn_npz *z = NULL;
	char names[512];
	int rc = GNN_OK;

	GNN_TRY(gnn_file_open(&f, path));
	GNN_TRY(gnn_npz_open(&z, f));
	gnn_npz_names(z, names, sizeof(names));
	if (z->count != 1)
		GNN_FAIL(GNN_EDATA,
			"%s: the npz holds %llu arrays (%s); wanted one, or a CSR matrix of scipy",
			path, (unsigned long long)z->count, names);
	memcpy(name, z->member[0].name, GNN_NPZ_NAME_MAX);
out:
	gnn_npz_close(z);
	gnn_file_close(f);
	return rc;
}

static int read_header(struct gnn_ndarray *a)
{
	uint8_t start[GNN_NPY_START_BYTES];
	uint64_t got, text_at = 0, text_bytes = 0, ahead;
	char *text = NULL;
	int rc = GNN_OK;

	GNN_TRY(gnn_input_read(a->input, start, sizeof(start), &got));
	GNN_TRY(gnn_npy_start(start, got, a->name, &text_at, &text_bytes));
	ahead = gnn_min_u64(got - gnn_min_u64(got, text_at), text_bytes);
	GNN_NEW_ARRAY(text, text_bytes + 1, GNN_MEM_IO);
	memcpy(text, start + text_at, ahead);
	GNN_TRY(gnn_input_read(a->input, text + ahead, text_bytes - ahead, &got));
	if (got < text_bytes - ahead)
		GNN_FAIL(GNN_EDATA, "%s: the npy header is said to take %llu bytes, the file ends "
			"after %llu of them", a->name, (unsigned long long)text_bytes,
			(unsigned long long)(ahead + got));
	GNN_TRY(gnn_npy_parse(text, text_bytes, a->name, &a->head));
	a->data_at = text_at + text_bytes;
out:
	gnn_mem_free(text);
	return rc;
}

/* What was read must be what is there, as far as its size is known beforehand. */
static int check_size(const struct gnn_ndarray *a)
{
	uint64_t have = gnn_input_bytes(a->input), want;
	char shape[128];

	if (a->head.type == GNN_NUM_OTHER || have == GNN_INPUT_UNKNOWN)
		return GNN_OK;
	want = a->data_at + a->head.count * gnn_num_bytes(a->head.type);
	if (have == want)
		return GNN_OK;
	gnn_ndarray_shape_text(a, shape, sizeof(shape));
	return gnn_err(GNN_EDATA, "%s: %llu bytes found, %llu wanted for the shape %s of %s%s%s",
		a->name, (unsigned long long)have, (unsigned long long)want, shape, a->head.descr,
		a->data_at > 0 ? " in its header" : "",
		have < want ? "; the file is cut short" : "");
}

static int describe(struct gnn_ndarray *a, const struct gnn_ndarray_opts *o)
{
	int rc = GNN_OK;

	if (!o->raw) {
		GNN_TRY(read_header(a));
		if (o->type == GNN_NUM_BF16 && a->head.type == GNN_NUM_U2)
			a->head.type = GNN_NUM_BF16;
		else if (o->type != GNN_NUM_BF16 && a->head.type == GNN_NUM_BF16)
			a->head.type = GNN_NUM_OTHER;
		goto out;
	}
	a->head = (struct gnn_npy){.type = o->type, .rank = o->rank, .count = 1};
	snprintf(a->head.descr, sizeof(a->head.descr), "%s", gnn_num_name(o->type));
	for (uint32_t i = 0; i < o->rank; i++) {
		a->head.shape[i] = o->shape[i];
		if (__builtin_mul_overflow(a->head.count, o->shape[i], &a->head.count) ||
			a->head.count > UINT64_MAX / 16)
			GNN_FAIL(GNN_EDATA, "%s: a shape of over 2^60 elements", a->name);
	}
out:
	return rc;
}

/* The member to read of what lies at the path; NULL: the file itself. */
static int choose_member(const struct gnn_ndarray_opts *o, char *buffer, const char **member)
{
	enum gnn_part_kind kind;
	int rc = GNN_OK;

	*member = o->member;
	if (o->member != NULL || o->raw)
		goto out;
	GNN_TRY(gnn_part_sniff(o->path, NULL, &kind));
	if (kind == GNN_PART_NPZ) {
		GNN_TRY(only_member(o->path, buffer));
		*member = buffer;
	}
out:
	return rc;
}

int gnn_ndarray_open(struct gnn_ndarray **out, const struct gnn_ndarray_opts *o)
{
	struct gnn_ndarray *a = NULL;
	char buffer[GNN_NPZ_NAME_MAX];
	const char *member;
	int rc = GNN_OK;

	*out = NULL;
	GNN_TRY(choose_member(o, buffer, &member));
	GNN_NEW(a, GNN_MEM_IO);
	GNN_TRY(gnn_input_open(&a->input, &(struct gnn_input_opts){
		.path = o->path, .member = member, .record = o->record}));
	a->name = gnn_input_name(a->input);
	GNN_TRY(describe(a, o));
	GNN_TRY(check_size(a));
	*out = a;
	a = NULL;
out:
	gnn_ndarray_close(a);
	return rc;
}

static void to_native(const struct gnn_ndarray *a, void *data, uint64_t items)
{
	if (a->head.swapped)
		gnn_num_swap(data, items, gnn_num_bytes(a->head.type));
}

int gnn_ndarray_read(struct gnn_ndarray *a, void *to, uint64_t items)
{
	uint64_t bytes = items * gnn_num_bytes(a->head.type), got;
	int rc = GNN_OK;

	GNN_TRY(gnn_input_read(a->input, to, bytes, &got));
	if (got < bytes)
		GNN_FAIL(GNN_EDATA, "%s: the data ends %llu bytes early", a->name,
			(unsigned long long)(bytes - got));
	to_native(a, to, items);
out:
	return rc;
}

int gnn_ndarray_pread(struct gnn_ndarray *a, void *to, uint64_t items, uint64_t first)
{
	uint64_t size = gnn_num_bytes(a->head.type);
	int rc = gnn_input_pread(a->input, to, items * size, a->data_at + first * size);

	if (rc == GNN_OK)
		to_native(a, to, items);
	return rc;
}

int gnn_ndarray_skip(struct gnn_ndarray *a, uint64_t items)
{
	return gnn_input_skip(a->input, items * gnn_num_bytes(a->head.type));
}

int gnn_ndarray_finish(struct gnn_ndarray *a)
{
	uint8_t more;
	uint64_t got = 0;
	int rc = GNN_OK;

	if (!gnn_input_seekable(a->input))
		GNN_TRY(gnn_input_read(a->input, &more, 1, &got));
	if (got > 0)
		GNN_FAIL(GNN_EDATA, "%s: bytes follow the %llu elements that the header states",
			a->name, (unsigned long long)a->head.count);
	GNN_TRY(gnn_input_finish(a->input));
out:
	return rc;
}

void gnn_ndarray_close(struct gnn_ndarray *a)
{
	if (a == NULL)
		return;
	gnn_input_close(a->input);
	gnn_mem_free(a);
}

int gnn_ndarray_check_type(const struct gnn_ndarray *a, bool ok, const char *accepts)
{
	if (ok && a->head.type != GNN_NUM_OTHER)
		return GNN_OK;
	return gnn_err(GNN_EDATA, "%s: found the element type %s; accepted are %s", a->name,
		a->head.descr, accepts);
}

void gnn_ndarray_shape_text(const struct gnn_ndarray *a, char *to, uint64_t to_bytes)
{
	uint64_t at = 0;

	snprintf(to, to_bytes, "()");
	for (uint32_t i = 0; i < a->head.rank && at < to_bytes; i++) {
		int wrote = snprintf(to + at, to_bytes - at, "%s%llu%s", i == 0 ? "(" : ", ",
			(unsigned long long)a->head.shape[i], i + 1 == a->head.rank ? ")" : "");

		at += (uint64_t)wrote;
	}
}
