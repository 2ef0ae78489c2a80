/* io/container_h5.c - HDF5 metadata of a container being written; see container_h5.h. */
#include "io/container_h5.h"

#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(_Generic((hid_t)0, int64_t : 1, default : 0), "HDF5 1.10: an id is 64 bits");

/* Sets rc and the text, with HDF5's reason, and goes to out: when HDF5 returns a negative value. */
#define TRY_H5(expr, path, ...)                                                                    \
	do {                                                                                       \
		if ((expr) < 0) {                                                                  \
			rc = gnn_h5_err(GNN_EIO, path, __VA_ARGS__);                               \
			goto out;                                                                  \
		}                                                                                  \
	} while (0)

struct maker {
	const char *path;
	hid_t file;
	hid_t group_list;   /* creation properties of groups */
	hid_t dataset_list; /* and of datasets */
};

/* --- shared with the reading side --- */

int gnn_h5_begin(void)
{
	unsigned major, minor, release;

	/* HDF5's own check prints pages of text and aborts, so ours comes first. */
	if (H5get_libversion(&major, &minor, &release) < 0 || major != H5_VERS_MAJOR ||
		minor != H5_VERS_MINOR || release != H5_VERS_RELEASE)
		return gnn_err(GNN_EUNAVAIL,
			"HDF5 %u.%u.%u is loaded, but this program was built with %d.%d.%d; "
			"build it again, or run it with that library",
			major, minor, release, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	return GNN_OK;
}

const char *gnn_h5_version(char *to, size_t bytes)
{
	unsigned major = 0, minor = 0, release = 0;

	H5get_libversion(&major, &minor, &release);
	snprintf(to, bytes, "%u.%u.%u", major, minor, release);
	return to;
}

/* The walk begins at the deepest entry of the stack: its text is the cause. */
static herr_t keep_innermost(unsigned n, const H5E_error2_t *entry, void *to)
{
	if (n == 0)
		*(const char **)to = entry->desc;
	return 0;
}

int gnn_h5_err(int status, const char *path, const char *fmt, ...)
{
	const char *reason = NULL;
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
	return gnn_err(status, "%s: %s: %s", path, text,
		reason != NULL ? reason : "HDF5 gives no reason");
}

/*
 * Alignment with threshold 1 keeps small objects out of the tail page of a dataset, which a padded
 * direct write overwrites. It is not kept in the file: every opening for writing sets it. HDF5
 * takes no locks: not all file systems have them, and the publication holds its own.
 */
int64_t gnn_h5_access(void)
{
	hid_t list = H5Pcreate(H5P_FILE_ACCESS);

	if (list < 0 || H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0 ||
		H5Pset_alignment(list, 1, GNN_PAGE_BYTES) < 0 ||
		H5Pset_meta_block_size(list, 0) < 0 || H5Pset_small_data_block_size(list, 0) < 0 ||
		H5Pset_file_locking(list, 0, 1) < 0 ||
		H5Pset_fclose_degree(list, H5F_CLOSE_STRONG) < 0) {
		gnn_h5_drop(list);
		return H5I_INVALID_HID;
	}
	return list;
}

/* 16 bits: sign, exponent, fraction. HDF5 1.10 has no names for such types; h5py reads them. */
static hid_t small_float(size_t exponent_bits, size_t bias)
{
	size_t fraction = 15 - exponent_bits;
	hid_t type = H5Tcopy(H5T_IEEE_F32LE);

	if (type < 0 || H5Tset_fields(type, 15, fraction, exponent_bits, 0, fraction) < 0 ||
		H5Tset_precision(type, 16) < 0 || H5Tset_size(type, 2) < 0 ||
		H5Tset_ebias(type, bias) < 0) {
		gnn_h5_drop(type);
		return H5I_INVALID_HID;
	}
	return type;
}

int64_t gnn_h5_type(enum gnn_dtype t)
{
	switch (t) {
	case GNN_F32:
		return H5Tcopy(H5T_IEEE_F32LE);
	case GNN_F16:
		return small_float(5, 15);
	case GNN_BF16:
		return small_float(8, 127);
	case GNN_U8:
		return H5Tcopy(H5T_STD_U8LE);
	case GNN_U32:
		return H5Tcopy(H5T_STD_U32LE);
	case GNN_U64:
		return H5Tcopy(H5T_STD_U64LE);
	case GNN_I64:
		return H5Tcopy(H5T_STD_I64LE);
	case GNN_DTYPE_COUNT:
		break;
	}
	GNN_ASSERT(!"a type without a form on disk");
	return H5I_INVALID_HID;
}

void gnn_h5_drop(int64_t id)
{
	if (id >= 0)
		H5Idec_ref(id);
}

/* --- create --- */

/* Same input, same bytes: no times. Links and attributes stay in the checksummed object header. */
static bool set_group_properties(hid_t list)
{
	return H5Pset_obj_track_times(list, 0) >= 0 &&
		H5Pset_link_phase_change(list, GNN_ARRAYS_MAX, 0) >= 0 &&
		H5Pset_attr_phase_change(list, GNN_ATTRS_MAX, 0) >= 0;
}

static bool set_dataset_properties(hid_t list)
{
	return H5Pset_obj_track_times(list, 0) >= 0 && H5Pset_layout(list, H5D_CONTIGUOUS) >= 0 &&
		H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0 &&
		H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0;
}

/* Makes those groups in front of the last part of `name` that are not there yet. */
static int make_groups(struct maker *m, const char *name)
{
	char part[GNN_ARRAY_NAME_MAX + 16];
	hid_t group;
	htri_t there;

	for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
		there = H5Lexists(m->file, part, H5P_DEFAULT);
		if (there > 0)
			continue;
		group = H5Gcreate2(m->file, part, H5P_DEFAULT, m->group_list, H5P_DEFAULT);
		if (there < 0 || group < 0)
			return gnn_h5_err(GNN_EIO, m->path, "group %s cannot be made", part);
		gnn_h5_drop(group);
	}
	return GNN_OK;
}

/* `offset` is where the data lies, 0 for an array without bytes. */
static int make_dataset(struct maker *m, const char *name, const struct gnn_array *a,
	uint64_t *offset)
{
	hsize_t dims[2] = {a->rows, a->cols};
	hid_t type = gnn_h5_type(a->dtype);
	hid_t space = H5Screate_simple((int)a->rank, dims, NULL);
	hid_t set = H5I_INVALID_HID;
	int rc = GNN_OK;

	*offset = 0;
	GNN_TRY(make_groups(m, name));
	set = H5Dcreate2(m->file, name, type, space, H5P_DEFAULT, m->dataset_list, H5P_DEFAULT);
	TRY_H5(set, m->path, "dataset %s cannot be made", name);
	if (a->bytes == 0)
		goto out;
	*offset = H5Dget_offset(set);
	if (*offset == HADDR_UNDEF || *offset % GNN_PAGE_BYTES != 0)
		GNN_FAIL(GNN_EBUG, "%s: HDF5 put %s at %" PRIu64 ", which is no multiple of %d",
			m->path, name, *offset, GNN_PAGE_BYTES);
out:
	gnn_h5_drop(set);
	gnn_h5_drop(space);
	gnn_h5_drop(type);
	return rc;
}

/* A new text type of fixed length. */
static hid_t text_type(uint64_t bytes)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	if (type < 0 || H5Tset_size(type, bytes) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
		H5Tset_cset(type, H5T_CSET_UTF8) < 0) {
		gnn_h5_drop(type);
		return H5I_INVALID_HID;
	}
	return type;
}

/* "order/name" is the attribute "name" of the group "order"; without a slash, of the root. */
static const char *split_attr(const char *name, char *group)
{
	const char *slash = strrchr(name, '/');

	if (slash == NULL) {
		snprintf(group, GNN_ARRAY_NAME_MAX, ".");
		return name;
	}
	snprintf(group, GNN_ARRAY_NAME_MAX, "%.*s", (int)(slash - name), name);
	return slash + 1;
}

static int write_attr(hid_t attr, const struct gnn_layout_attr *a)
{
	hid_t type;
	herr_t failed;

	if (a->is_real)
		return H5Awrite(attr, H5T_NATIVE_DOUBLE, &a->real);
	if (a->text == NULL)
		return H5Awrite(attr, H5T_NATIVE_UINT64, &a->number);
	type = text_type(a->text_bytes);
	failed = H5Awrite(attr, type, a->text);
	gnn_h5_drop(type);
	return failed;
}

static int make_attr(struct maker *m, const struct gnn_layout_attr *a)
{
	char group[GNN_ARRAY_NAME_MAX];
	const char *name = split_attr(a->name, group);
	hid_t space = H5Screate(H5S_SCALAR);
	hid_t type = a->text != NULL ? text_type(a->text_bytes) :
		H5Tcopy(a->is_real ? H5T_IEEE_F64LE : H5T_STD_U64LE);
	hid_t owner = H5I_INVALID_HID, attr = H5I_INVALID_HID;
	int rc = GNN_OK;

	GNN_TRY(make_groups(m, a->name));
	owner = H5Oopen(m->file, group, H5P_DEFAULT);
	attr = H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	TRY_H5(attr, m->path, "attribute %s cannot be made", a->name);
	TRY_H5(write_attr(attr, a), m->path, "attribute %s cannot be written", a->name);
out:
	gnn_h5_drop(attr);
	gnn_h5_drop(owner);
	gnn_h5_drop(type);
	gnn_h5_drop(space);
	return rc;
}

static int make_all(struct maker *m, struct gnn_layout *l)
{
	char name[GNN_ARRAY_NAME_MAX + 16];
	struct gnn_array sums = {.dtype = GNN_U64, .rank = 1, .cols = 1};
	uint64_t unused;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < l->attr_count; i++)
		GNN_TRY(make_attr(m, &l->attr[i]));
	for (uint32_t i = 0; i < l->array_count; i++)
		GNN_TRY(make_dataset(m, l->array[i].name, &l->array[i], &l->array[i].offset));
	for (uint32_t i = 0; i < l->array_count; i++) {
		snprintf(name, sizeof(name), "checksum/%s", l->array[i].name);
		sums.rows = gnn_array_blocks(&l->array[i]);
		sums.bytes = sums.rows * sizeof(uint64_t);
		GNN_TRY(make_dataset(m, name, &sums, &unused));
	}
out:
	return rc;
}

int gnn_layout_create(const char *path, struct gnn_layout *l)
{
	struct maker m = {path, H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID};
	hid_t access = H5I_INVALID_HID, file_list = H5I_INVALID_HID;
	struct stat st;
	int rc = GNN_OK;

	GNN_TRY(gnn_h5_begin());
	access = gnn_h5_access();
	file_list = H5Pcreate(H5P_FILE_CREATE);
	m.group_list = H5Pcreate(H5P_GROUP_CREATE);
	m.dataset_list = H5Pcreate(H5P_DATASET_CREATE);
	if (access < 0 || !set_group_properties(file_list) || !set_group_properties(m.group_list) ||
		!set_dataset_properties(m.dataset_list)) {
		rc = gnn_h5_err(GNN_EOS, path, "HDF5 refuses its properties");
		goto out;
	}
	m.file = H5Fcreate(path, H5F_ACC_TRUNC, file_list, access);
	TRY_H5(m.file, path, "cannot be made");
	GNN_TRY(make_all(&m, l));
	TRY_H5(H5Fflush(m.file, H5F_SCOPE_LOCAL), path, "its metadata cannot be written");
	rc = H5Fclose(m.file);
	m.file = H5I_INVALID_HID;
	TRY_H5(rc, path, "its metadata cannot be written");
	if (stat(path, &st) < 0) {
		rc = gnn_err_sys(GNN_EIO, errno, "%s", path);
		goto out;
	}
	l->file_bytes = (uint64_t)st.st_size;
out:
	gnn_h5_drop(m.file);
	gnn_h5_drop(m.dataset_list);
	gnn_h5_drop(m.group_list);
	gnn_h5_drop(file_list);
	gnn_h5_drop(access);
	return rc;
}

/* --- seal --- */

static int seal_sums(const char *path, hid_t file, const struct gnn_layout *l, uint32_t i)
{
	char name[GNN_ARRAY_NAME_MAX + 16];
	hid_t set;
	herr_t failed;

	if (l->array[i].bytes == 0)
		return GNN_OK;
	snprintf(name, sizeof(name), "checksum/%s", l->array[i].name);
	set = H5Dopen2(file, name, H5P_DEFAULT);
	failed = H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, l->sums[i]);
	gnn_h5_drop(set);
	return failed < 0 ? gnn_h5_err(GNN_EIO, path, "%s cannot be written", name) : GNN_OK;
}

/* HDF5 1.10.8 cannot write an attribute that H5Aopen_by_name opened, so its owner is opened. */
static int seal_attr(const char *path, hid_t file, const struct gnn_layout_attr *a)
{
	char group[GNN_ARRAY_NAME_MAX];
	const char *name = split_attr(a->name, group);
	hid_t owner = H5Oopen(file, group, H5P_DEFAULT);
	hid_t attr = H5Aopen(owner, name, H5P_DEFAULT);
	herr_t failed = write_attr(attr, a);

	gnn_h5_drop(attr);
	gnn_h5_drop(owner);
	return failed < 0 ? gnn_h5_err(GNN_EIO, path, "attribute %s cannot be written", a->name)
			  : GNN_OK;
}

int gnn_layout_seal(const char *path, const struct gnn_layout *l)
{
	hid_t access = H5I_INVALID_HID, file = H5I_INVALID_HID;
	int rc = GNN_OK;

	GNN_TRY(gnn_h5_begin());
	access = gnn_h5_access();
	file = H5Fopen(path, H5F_ACC_RDWR, access);
	TRY_H5(file, path, "cannot be opened again");
	for (uint32_t i = 0; i < l->array_count; i++)
		GNN_TRY(seal_sums(path, file, l, i));
	for (uint32_t i = 0; i < l->attr_count; i++)
		GNN_TRY(seal_attr(path, file, &l->attr[i]));
	TRY_H5(H5Fflush(file, H5F_SCOPE_LOCAL), path, "its metadata cannot be written");
	rc = H5Fclose(file);
	file = H5I_INVALID_HID;
	TRY_H5(rc, path, "its metadata cannot be written");
out:
	gnn_h5_drop(file);
	gnn_h5_drop(access);
	return rc;
}
