/*
 * io/container_h5_read.c - HDF5 metadata of a file from somebody else, trusting nothing; see
 * container_h5.h.
 */
#include "base/mem.h"
#include "io/container_h5.h"
#include "io/store_schema.h"

#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_MAX_ALL = GNN_ARRAY_NAME_MAX + 16, DEPTH_MAX = 4, VISITS_MAX = 4 * GNN_ARRAYS_MAX };

struct walk {
	const char *path;
	hid_t file;
	struct gnn_layout *layout;
	uint32_t visits; /* links seen: a group may hold itself, and the walk must end */
};

/* --- attributes --- */

static int read_text(struct walk *w, hid_t attr, hid_t type, struct gnn_layout_attr *to)
{
	int rc = GNN_OK;

	to->text_bytes = H5Tget_size(type);
	GNN_NEW_ARRAY(to->text, to->text_bytes + 1, GNN_MEM_MISC);
	if (H5Aread(attr, type, to->text) < 0)
		rc = gnn_h5_err(GNN_EDATA, w->path, "attribute %s cannot be read", to->name);
out:
	return rc;
}

static bool is_one_number(hid_t type)
{
	return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) <= sizeof(uint64_t);
}

static bool is_one_text(hid_t type)
{
	return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
	       H5Tget_size(type) <= GNN_PROVENANCE_MAX;
}

/* Attributes of kinds that no container has are somebody's own notes, and passed over. */
static int read_attr(struct walk *w, hid_t attr, const char *prefix)
{
	struct gnn_layout *l = w->layout;
	struct gnn_layout_attr *to = &l->attr[l->attr_count];
	char name[GNN_ARRAY_NAME_MAX];
	hid_t space = H5Aget_space(attr), type = H5Aget_type(attr);
	ssize_t length = H5Aget_name(attr, sizeof(name), name);
	int rc = GNN_OK;

	if (length < 0 || space < 0 || type < 0)
		GNN_FAIL(GNN_EDATA, "%s: an attribute of /%s is damaged", w->path, prefix);
	if (length >= (ssize_t)sizeof(name) || H5Sget_simple_extent_npoints(space) != 1 ||
		strlen(prefix) + strlen(name) >= sizeof(to->name) ||
		(!is_one_number(type) && !is_one_text(type)))
		goto out;
	if (l->attr_count == GNN_ATTRS_MAX)
		GNN_FAIL(GNN_EDATA, "%s: more than %d attributes", w->path, GNN_ATTRS_MAX);
	snprintf(to->name, sizeof(to->name), "%s%s", prefix, name);
	l->attr_count++;
	if (is_one_text(type))
		GNN_TRY(read_text(w, attr, type, to));
	else if (H5Aread(attr, H5T_NATIVE_UINT64, &to->number) < 0)
		rc = gnn_h5_err(GNN_EDATA, w->path, "attribute %s cannot be read", to->name);
out:
	gnn_h5_drop(type);
	gnn_h5_drop(space);
	return rc;
}

/* `prefix` is or ends in a slash. */
static int read_attrs(struct walk *w, hid_t group, const char *prefix)
{
	H5O_info_t info;
	hid_t attr;
	int rc = GNN_OK;

	if (H5Oget_info2(group, &info, H5O_INFO_NUM_ATTRS) < 0)
		return gnn_h5_err(GNN_EDATA, w->path, "group /%s is damaged", prefix);
	for (hsize_t i = 0; i < info.num_attrs && rc >= 0; i++) {
		attr = H5Aopen_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT,
			H5P_DEFAULT);
		if (attr < 0)
			return gnn_h5_err(GNN_EDATA, w->path, "an attribute of /%s is damaged",
				prefix);
		rc = read_attr(w, attr, prefix);
		gnn_h5_drop(attr);
	}
	return rc;
}

static int check_identity(const struct walk *w, const char *format)
{
	const struct gnn_layout_attr *found = gnn_layout_attr(w->layout, GNN_ATTR_FORMAT);
	const struct gnn_layout_attr *version = gnn_layout_attr(w->layout, GNN_ATTR_VERSION);

	if (found == NULL || found->text == NULL)
		return gnn_err(GNN_EDATA,
			"%s: an HDF5 file, but none of gnnrun: it has no attribute format; gnnrun "
			"import makes a store",
			w->path);
	if (strcmp(found->text, GNN_FORMAT_STORE) != 0 &&
		strcmp(found->text, GNN_FORMAT_RESULT) != 0)
		return gnn_err(GNN_EDATA, "%s: its format is \"%.64s\"; known are %s and %s",
			w->path, found->text, GNN_FORMAT_STORE, GNN_FORMAT_RESULT);
	if (format != NULL && strcmp(found->text, format) != 0)
		return gnn_err(GNN_EDATA, "%s: it is a %s, a %s is wanted", w->path, found->text,
			format);
	if (version == NULL || version->text != NULL)
		return gnn_err(GNN_EDATA, "%s: the attribute version is missing", w->path);
	if (version->number != GNN_CONTAINER_VERSION)
		return gnn_err(GNN_EDATA,
			"%s: version %" PRIu64 " of %s; this program reads version %d", w->path,
			version->number, found->text, GNN_CONTAINER_VERSION);
	return GNN_OK;
}

static int check_length(const struct walk *w)
{
	haddr_t end;
	uint64_t found;
	struct stat st;

	if (H5Fget_eoa(w->file, &end) < 0)
		return gnn_h5_err(GNN_EDATA, w->path, "its end is unknown");
	if (stat(w->path, &st) < 0)
		return gnn_err_sys(GNN_ENOENT, errno, "%s", w->path);
	w->layout->file_bytes = end;
	found = (uint64_t)st.st_size;
	if (found != end)
		return gnn_err(GNN_EDATA,
			"%s: %" PRIu64 " bytes long, recorded are %" PRIu64
			": it was %s after it was written",
			w->path, found, end, found < end ? "cut short" : "made longer");
	return GNN_OK;
}

/* --- datasets --- */

static int check_plain(struct walk *w, hid_t set, const char *name)
{
	static const char *const kinds[] = {
		[H5D_COMPACT] = "compact",
		[H5D_CHUNKED] = "chunked",
		[H5D_VIRTUAL] = "virtual",
	};
	hid_t list = H5Dget_create_plist(set);
	H5D_layout_t layout = H5Pget_layout(list);
	int rc = GNN_OK;

	if (layout < 0)
		rc = gnn_h5_err(GNN_EDATA, w->path, "dataset %s is damaged", name);
	else if (H5Pget_nfilters(list) != 0)
		rc = gnn_err(GNN_EDATA,
			"%s: dataset %s is compressed or filtered; arrays must be contiguous and "
			"unfiltered: import the data again",
			w->path, name);
	else if (layout != H5D_CONTIGUOUS)
		rc = gnn_err(GNN_EDATA,
			"%s: dataset %s is %s; arrays must be contiguous and unfiltered: import "
			"the data again",
			w->path, name, kinds[layout]);
	else if (H5Pget_external_count(list) != 0)
		rc = gnn_err(GNN_EDATA,
			"%s: dataset %s keeps its data in another file, which is not allowed: "
			"import the data again",
			w->path, name);
	gnn_h5_drop(list);
	return rc;
}

static int read_type(struct walk *w, hid_t set, struct gnn_array *a)
{
	hid_t found = H5Dget_type(set), known;
	bool equal = false;
	int t;

	for (t = 0; t < GNN_DTYPE_COUNT && !equal; t++) {
		known = gnn_h5_type((enum gnn_dtype)t);
		equal = H5Tequal(found, known) > 0;
		gnn_h5_drop(known);
	}
	gnn_h5_drop(found);
	if (!equal)
		return gnn_err(GNN_EDATA,
			"%s: dataset %s is of an unknown type; known are little-endian "
			"f32 f16 bf16 u8 u32 u64 i64",
			w->path, a->name);
	a->dtype = (enum gnn_dtype)(t - 1);
	return GNN_OK;
}

static int read_shape(struct walk *w, hid_t set, struct gnn_array *a)
{
	hid_t space = H5Dget_space(set);
	int rank = H5Sget_simple_extent_ndims(space);
	hsize_t dims[2] = {0, 1};
	int rc = GNN_OK;

	if (rank < 1 || rank > 2 || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
		GNN_FAIL(GNN_EDATA, "%s: dataset %s has %d dimensions, 1 or 2 are wanted", w->path,
			a->name, rank);
	a->rank = (uint32_t)rank;
	a->rows = dims[0];
	a->cols = dims[1];
	if (!gnn_array_measure(a))
		GNN_FAIL(GNN_EDATA,
			"%s: dataset %s claims %" PRIu64 " x %" PRIu64
			" items, which no file holds",
			w->path, a->name, a->rows, a->cols);
out:
	gnn_h5_drop(space);
	return rc;
}

static int read_place(struct walk *w, hid_t set, struct gnn_array *a)
{
	uint64_t stored = H5Dget_storage_size(set);
	haddr_t at = H5Dget_offset(set);

	if (stored != a->bytes)
		return gnn_err(GNN_EDATA,
			"%s: dataset %s has %" PRIu64
			" bytes in the file, its shape needs %" PRIu64,
			w->path, a->name, stored, a->bytes);
	if (a->bytes == 0)
		return GNN_OK;
	if (at == HADDR_UNDEF || at % GNN_PAGE_BYTES != 0)
		return gnn_err(GNN_EDATA,
			"%s: dataset %s does not begin at a multiple of %d: import the data again",
			w->path, a->name, GNN_PAGE_BYTES);
	if (a->bytes > w->layout->file_bytes || at > w->layout->file_bytes - a->bytes)
		return gnn_err(GNN_EDATA,
			"%s: dataset %s claims bytes %" PRIu64 " to %" PRIu64
			" of a file of %" PRIu64,
			w->path, a->name, at, at + a->bytes, w->layout->file_bytes);
	a->offset = at;
	return GNN_OK;
}

static int describe(struct walk *w, hid_t set, struct gnn_array *a)
{
	int rc = GNN_OK;

	GNN_TRY(check_plain(w, set, a->name));
	GNN_TRY(read_type(w, set, a));
	GNN_TRY(read_shape(w, set, a));
	GNN_TRY(read_place(w, set, a));
out:
	return rc;
}

static int add_array(struct walk *w, hid_t set, const char *name)
{
	struct gnn_layout *l = w->layout;

	if (strlen(name) >= GNN_ARRAY_NAME_MAX)
		return gnn_err(GNN_EDATA, "%s: the name of dataset %s is too long", w->path, name);
	if (l->array_count == GNN_ARRAYS_MAX)
		return gnn_err(GNN_EDATA, "%s: more than %d datasets", w->path, GNN_ARRAYS_MAX);
	memcpy(l->array[l->array_count].name, name, strlen(name));
	return describe(w, set, &l->array[l->array_count++]);
}

/* --- the tree --- */

static int walk_group(struct walk *w, hid_t group, const char *prefix, int depth);

static int visit_group(struct walk *w, hid_t group, const char *name, int depth)
{
	char prefix[NAME_MAX_ALL + 1];
	int rc = GNN_OK;

	if (depth == DEPTH_MAX)
		return gnn_err(GNN_EDATA, "%s: group %s lies too deep", w->path, name);
	snprintf(prefix, sizeof(prefix), "%s/", name);
	GNN_TRY(read_attrs(w, group, prefix));
	GNN_TRY(walk_group(w, group, prefix, depth + 1));
out:
	return rc;
}

static int visit_object(struct walk *w, hid_t object, const char *name, int depth)
{
	switch (H5Iget_type(object)) {
	case H5I_DATASET:
		return add_array(w, object, name);
	case H5I_GROUP:
		return visit_group(w, object, name, depth);
	default:
		return gnn_err(GNN_EDATA, "%s: %s is neither a group nor a dataset", w->path, name);
	}
}

static int visit_link(struct walk *w, hid_t group, const char *prefix, hsize_t i, int depth)
{
	char name[NAME_MAX_ALL];
	size_t used = strlen(prefix);
	H5L_info_t info;
	ssize_t length;
	hid_t object;
	int rc;

	snprintf(name, sizeof(name), "%s", prefix);
	length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name + used,
		sizeof(name) - used, H5P_DEFAULT);
	if (length < 0 || (size_t)length >= sizeof(name) - used ||
		H5Lget_info(group, name + used, &info, H5P_DEFAULT) < 0)
		return gnn_h5_err(GNN_EDATA, w->path, "a name in group /%s is damaged or too long",
			prefix);
	if (++w->visits > VISITS_MAX)
		return gnn_err(GNN_EDATA, "%s: more than %d names", w->path, VISITS_MAX);
	if (info.type != H5L_TYPE_HARD)
		return gnn_err(GNN_EDATA, "%s: %s is a link to another place, which is not allowed",
			w->path, name);
	if (strcmp(name, "checksum") == 0)
		return GNN_OK; /* read beside the arrays that its datasets belong to */
	object = H5Oopen(group, name + used, H5P_DEFAULT);
	if (object < 0)
		return gnn_h5_err(GNN_EDATA, w->path, "%s is damaged", name);
	rc = visit_object(w, object, name, depth);
	gnn_h5_drop(object);
	return rc;
}

static int walk_group(struct walk *w, hid_t group, const char *prefix, int depth)
{
	H5G_info_t info;
	int rc = GNN_OK;

	if (H5Gget_info(group, &info) < 0)
		return gnn_h5_err(GNN_EDATA, w->path, "group /%s is damaged", prefix);
	for (hsize_t i = 0; i < info.nlinks; i++)
		GNN_TRY(visit_link(w, group, prefix, i, depth));
out:
	return rc;
}

/* --- what only the whole shows --- */

static int check_overlaps(const struct walk *w)
{
	const struct gnn_layout *l = w->layout;

	for (uint32_t i = 0; i < l->array_count; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct gnn_array *a = &l->array[i], *b = &l->array[k];

			if (a->bytes != 0 && b->bytes != 0 && a->offset < b->offset + b->bytes &&
				b->offset < a->offset + a->bytes)
				return gnn_err(GNN_EDATA,
					"%s: datasets %s and %s share bytes of the file", w->path,
					b->name, a->name);
		}
	return GNN_OK;
}

static int read_sums(struct walk *w, uint32_t i)
{
	const struct gnn_array *a = &w->layout->array[i];
	uint64_t blocks = gnn_array_blocks(a);
	struct gnn_array sums = {.rank = 0};
	char name[NAME_MAX_ALL];
	hid_t set = H5I_INVALID_HID;
	int rc = GNN_OK;

	if (blocks == 0)
		return GNN_OK;
	snprintf(name, sizeof(name), "checksum/%s", a->name);
	set = H5Dopen2(w->file, name, H5P_DEFAULT);
	if (set < 0)
		GNN_FAIL(GNN_EDATA, "%s: %s is missing", w->path, name);
	snprintf(sums.name, sizeof(sums.name), "%.*s", GNN_ARRAY_NAME_MAX - 1, name);
	GNN_TRY(describe(w, set, &sums));
	if (sums.dtype != GNN_U64 || sums.rank != 1 || sums.rows != blocks)
		GNN_FAIL(GNN_EDATA, "%s: %s must be u64 [%" PRIu64 "], found %s [%" PRIu64 "]",
			w->path, name, blocks, gnn_dtype_name(sums.dtype), sums.rows);
	GNN_NEW_ARRAY(w->layout->sums[i], blocks, GNN_MEM_IO);
	if (H5Dread(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, w->layout->sums[i]) < 0)
		rc = gnn_h5_err(GNN_EDATA, w->path, "%s cannot be read", name);
out:
	gnn_h5_drop(set);
	return rc;
}

int gnn_layout_read(const char *path, const char *format, struct gnn_layout *l)
{
	struct walk w = {.path = path, .file = H5I_INVALID_HID, .layout = l};
	hid_t access = H5I_INVALID_HID;
	int rc = GNN_OK;

	GNN_TRY(gnn_h5_begin());
	access = gnn_h5_access();
	w.file = H5Fopen(path, H5F_ACC_RDONLY, access);
	if (w.file < 0) {
		rc = gnn_h5_err(GNN_EDATA, path, "no HDF5 file, or a damaged one");
		goto out;
	}
	GNN_TRY(read_attrs(&w, w.file, ""));
	GNN_TRY(check_identity(&w, format));
	GNN_TRY(check_length(&w));
	GNN_TRY(walk_group(&w, w.file, "", 0));
	GNN_TRY(check_overlaps(&w));
	for (uint32_t i = 0; i < l->array_count; i++)
		GNN_TRY(read_sums(&w, i));
out:
	gnn_h5_drop(w.file);
	gnn_h5_drop(access);
	return rc;
}
