/*
 * io/rows.h - the kinds of files a matrix comes from, each as rows of a store's type.
 *
 * Flow     ndarray, lines -> [rows] -> matrix
 * Owns     its input and its buffers
 * Lends    itself, until close
 * Thread   one caller
 * Fails    GNN_EDATA a shape, a type, a value that f32 cannot hold (row, column); as input
 *
 * A kind is one function here and one row of the table in matrix.c. When the last row has been
 * read, a source has checked what must be at the end of its file and filled the record.
 */
#ifndef GNN_IO_ROWS_H
#define GNN_IO_ROWS_H

#include "io/builder.h"
#include "io/input.h"
#include "io/numtype.h"

struct gnn_rows_opts {
	const char *path;
	const char *member;              /* of an npz; NULL: its one array, or CSR */
	struct gnn_input_record *record;
	bool         raw;                /* headerless, of this shape and type */
	uint64_t     rows, cols;
	enum gnn_num type;               /* with a header: BF16 says that u2, V2 are bf16 */
	enum gnn_dtype target;           /* rounded to it; GNN_DTYPE_COUNT: without loss */
	uint64_t     memory_bytes;       /* for turning Fortran order around; 0: 64 MiB */
};

GNN_BEGIN_DECLS

int gnn_rows_dense_open(struct gnn_rows_source **out, const struct gnn_rows_opts *o);
int gnn_rows_csr_open  (struct gnn_rows_source **out, const struct gnn_rows_opts *o);
int gnn_rows_text_open (struct gnn_rows_source **out, const struct gnn_rows_opts *o);

bool gnn_rows_csr_is(const char *path); /* an archive with indptr, indices, data, shape */

/*
 * The type that a kind's rows have: that of the file, *as_is, where a store holds it and no other
 * one is wanted; else f32, which matrix turns into the wanted one.
 */
enum gnn_dtype gnn_rows_dtype(enum gnn_num t, enum gnn_dtype target, bool *as_is);

/* Where values stand, for messages. */
struct gnn_rows_place {
	const char *name;
	uint64_t    row, cols; /* the first value is column 0 of `row` */
};

/* `count` values to f32; the error of an inexact one names row and column. */
int gnn_rows_to_f32(enum gnn_num t, const void *from, uint64_t count, bool exact, float *to,
	const struct gnn_rows_place *place);

GNN_END_DECLS

#endif
