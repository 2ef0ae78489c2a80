/*
 * io/matrix.h - a user's matrix as rows of a type that a store holds.
 *
 * Flow     ndarray, lines -> [matrix] -> builder
 * Owns     its input and its conversion buffers
 * Lends    itself, until close
 * Thread   one caller
 * Fails    GNN_EDATA a shape, a type, a value that f32 cannot hold (row, column); as input
 *
 * f32, f16, u8 stay what they are; bool becomes u8; u2 and V2 declared as bf16 stay bf16. Other
 * types become f32, value by value exact. A type the user asks for is rounded to. Kinds of files:
 * npy and npz in C and Fortran order, scipy's CSR in npz, headerless data, text with a row a line.
 */
#ifndef GNN_IO_MATRIX_H
#define GNN_IO_MATRIX_H

#include "io/rows.h"

/* Counted as the rows pass. */
struct gnn_matrix_counts {
	uint64_t nan, inf;
	uint64_t zero_rows; /* left as they were by normalize_row */
};

struct gnn_matrix {
	struct gnn_rows_source   source; /* the first member: what the builder reads */
	struct gnn_matrix_counts counts;
	const char              *name;   /* for messages */
};

GNN_BEGIN_DECLS

/* normalize_row scales rows to the sum 1; rows of zeros stay. The result is f32 or the target. */
int  gnn_matrix_open (struct gnn_matrix **out, const struct gnn_rows_opts *o, bool normalize_row);
void gnn_matrix_close(struct gnn_matrix *m); /* NULL is fine */

GNN_END_DECLS

#endif
