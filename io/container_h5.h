/*
 * io/container_h5.h - all that the HDF5 metadata of a container says, written and read.
 *
 * Flow     container -> [container_h5] -> HDF5
 * Owns     struct gnn_layout; no file stays open between calls
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EDATA damaged or not ours; GNN_EIO while writing; GNN_EUNAVAIL another HDF5 library
 */
#ifndef GNN_IO_CONTAINER_H5_H
#define GNN_IO_CONTAINER_H5_H

#include "base/err.h"
#include "io/array.h"

enum { GNN_ATTRS_MAX = 64, GNN_CONTAINER_VERSION = 1 };

struct gnn_layout_attr {
	char     name[GNN_ARRAY_NAME_MAX];
	char    *text;       /* text_bytes and a NUL behind them; NULL: a number */
	uint64_t text_bytes; /* length in the file, padded with zeros */
	uint64_t number;
	double   real;
	bool     is_real;
};

struct gnn_layout {
	uint64_t               file_bytes; /* the length HDF5 knows, and the file must have */
	uint32_t               array_count;
	uint32_t               attr_count;
	struct gnn_array       array[GNN_ARRAYS_MAX];
	uint64_t              *sums[GNN_ARRAYS_MAX]; /* (blocks of the array) */
	struct gnn_layout_attr attr[GNN_ATTRS_MAX];
};

GNN_BEGIN_DECLS

struct gnn_layout_attr *gnn_layout_attr(struct gnn_layout *l, const char *name); /* or NULL */
void gnn_layout_fini(struct gnn_layout *l);

/* Makes datasets and attributes in an existing file; sets offsets and file_bytes. */
int gnn_layout_create(const char *path, struct gnn_layout *l);
/* Writes the sums and the values of all attributes in place. */
int gnn_layout_seal(const char *path, const struct gnn_layout *l);
/* Fills an empty layout, trusting nothing. format NULL: any of ours. */
int gnn_layout_read(const char *path, const char *format, struct gnn_layout *l);

const char *gnn_h5_version(char *to, size_t bytes); /* "1.10.8": the library as it is loaded */

/* --- between container_h5.c and container_h5_read.c; an id is HDF5's hid_t --- */

int     gnn_h5_begin (void); /* checks the library's version, silences its printing */
int64_t gnn_h5_access(void); /* a new file access list */
int64_t gnn_h5_type  (enum gnn_dtype t); /* a new copy of the type on disk */
void    gnn_h5_drop  (int64_t id); /* any kind of id; negative is fine */
/* "path: text: HDF5's innermost reason" */
int     gnn_h5_err   (int status, const char *path, const char *fmt, ...) GNN_PRINTF(3, 4);

GNN_END_DECLS

#endif
