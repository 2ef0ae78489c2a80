/*
 * io/ndarray.h - an array in a npy file, in a npz archive, or headerless, read in file order.
 *
 * Flow     input, npy, npz -> [ndarray] -> edges_array, matrix, labels, splits
 * Owns     the input
 * Lends    itself, with the input, until close
 * Thread   one caller
 * Fails    GNN_EDATA header, size, type: names file, found, wanted; as input
 */
#ifndef GNN_IO_NDARRAY_H
#define GNN_IO_NDARRAY_H

#include "io/input.h"
#include "io/npy.h"

struct gnn_ndarray_opts {
	const char *path;
	const char *member;              /* of an npz; NULL: its one array */
	struct gnn_input_record *record;
	/* Headerless: the shape and type that the user or the data set states. */
	bool         raw;
	uint32_t     rank;
	uint64_t     shape[2];
	enum gnn_num type;               /* with a header: GNN_NUM_BF16 says that u2, V2 are bf16 */
};

struct gnn_ndarray {
	struct gnn_npy    head;
	struct gnn_input *input;         /* at the first element */
	uint64_t          data_at;       /* of the first element in the input */
	const char       *name;          /* for messages */
};

GNN_BEGIN_DECLS

int gnn_ndarray_open(struct gnn_ndarray **out, const struct gnn_ndarray_opts *o);
/* The next `items` in file order, in native byte order. */
int gnn_ndarray_read(struct gnn_ndarray *a, void *to, uint64_t items);
/* `items` from the item `first`; for inputs that are seekable. */
int gnn_ndarray_pread(struct gnn_ndarray *a, void *to, uint64_t items, uint64_t first);
int gnn_ndarray_skip(struct gnn_ndarray *a, uint64_t items);
/* All items were read: nothing may follow. Completes the record. */
int gnn_ndarray_finish(struct gnn_ndarray *a);
void gnn_ndarray_close(struct gnn_ndarray *a); /* NULL is fine */

/* GNN_EDATA that names the type found and `accepts`, unless `ok`. */
int gnn_ndarray_check_type(const struct gnn_ndarray *a, bool ok, const char *accepts);
/* "(3, 2)" */
void gnn_ndarray_shape_text(const struct gnn_ndarray *a, char *to, uint64_t to_bytes);

GNN_END_DECLS

#endif
