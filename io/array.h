/*
 * io/array.h - what an array of a container is: name, type, shape, place; and what an attribute is.
 *
 * Flow     included by container, writers, streams
 * Owns     nothing
 * Lends    nothing
 * Thread   plain data
 * Fails    never
 */
#ifndef GNN_IO_ARRAY_H
#define GNN_IO_ARRAY_H

#include "base/decl.h"

enum { GNN_ARRAY_NAME_MAX = 48, GNN_ARRAYS_MAX = 96, GNN_PROVENANCE_MAX = 8192 };

struct gnn_array {
	char           name[GNN_ARRAY_NAME_MAX]; /* "topology/out/offsets", no leading slash */
	enum gnn_dtype dtype;
	uint32_t       rank;   /* 1 or 2 */
	uint64_t       rows;
	uint64_t       cols;   /* 1 when rank is 1 */
	uint64_t       bytes;  /* rows x cols x size; set by the container */
	uint64_t       offset; /* of the first byte in the file; 0 when bytes is 0; set likewise */
};

/* An attribute: a u64, a text of fixed length, or a real number (which reading passes over). */
struct gnn_attr {
	const char *name;   /* "vertices" of the root; "order/name" of the group /order */
	const char *text;   /* NULL: a number */
	uint64_t    number;
	const double *real; /* NULL: not one */
};

GNN_BEGIN_DECLS

/* Blocks of GNN_BLOCK_BYTES, each under one checksum; the last may be smaller. */
static inline uint64_t gnn_array_blocks(const struct gnn_array *a)
{
	return gnn_ceil_div(a->bytes, GNN_BLOCK_BYTES);
}

/* Sets `bytes` from the shape; false when no file could hold it. */
static inline bool gnn_array_measure(struct gnn_array *a)
{
	return !__builtin_mul_overflow(a->rows, a->cols, &a->bytes) &&
		!__builtin_mul_overflow(a->bytes, gnn_dtype_bytes(a->dtype), &a->bytes) &&
		a->bytes <= INT64_MAX;
}

GNN_END_DECLS

#endif
