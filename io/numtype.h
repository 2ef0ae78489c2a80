/*
 * io/numtype.h - the element types of foreign arrays, and their conversions to ours.
 *
 * Flow     ndarray, matrix, labels, edges -> [numtype]
 * Owns     one table
 * Lends    names
 * Thread   any thread; no state
 * Fails    never: the first value that does not fit is shown by its index
 *
 * All conversions take native byte order; gnn_num_swap turns a foreign one around before.
 */
#ifndef GNN_IO_NUMTYPE_H
#define GNN_IO_NUMTYPE_H

#include "base/decl.h"

enum gnn_num {
	GNN_NUM_B1, /* numpy's bool: one byte, 0 is false */
	GNN_NUM_I1,
	GNN_NUM_I2,
	GNN_NUM_I4,
	GNN_NUM_I8,
	GNN_NUM_U1,
	GNN_NUM_U2,
	GNN_NUM_U4,
	GNN_NUM_U8,
	GNN_NUM_F2,
	GNN_NUM_F4,
	GNN_NUM_F8,
	GNN_NUM_BF16, /* numpy knows none: u2 or V2, declared with --dtype bf16 */
	GNN_NUM_COUNT,
	GNN_NUM_OTHER = GNN_NUM_COUNT, /* objects, text, structures, complex */
};

GNN_BEGIN_DECLS

uint32_t    gnn_num_bytes   (enum gnn_num t);
const char *gnn_num_name    (enum gnn_num t); /* "f32", "bool" ... */
bool        gnn_num_is_int  (enum gnn_num t); /* B1 is none */
bool        gnn_num_is_signed(enum gnn_num t);
bool        gnn_num_is_float(enum gnn_num t);
/* "f32" and "<f4", "bool", "u8" (8 bits) ...; GNN_NUM_COUNT when it is none of them. */
enum gnn_num gnn_num_parse(const char *name);
const char  *gnn_num_names(void); /* for messages: what gnn_num_parse takes */

void gnn_num_swap(void *data, uint64_t count, uint32_t bytes);

/*
 * Conversions of `count` values. What comes back is the index of the first value that cannot be
 * converted, `count` when all could.
 *   u64  integers; a negative one cannot
 *   i64  integers, bool, and floats of an integer value; NaN becomes -1
 *   f32  everything; with `exact` a value that f32 cannot hold cannot
 */
uint64_t gnn_num_to_u64(enum gnn_num t, const void *from, uint64_t count, uint64_t *to);
uint64_t gnn_num_to_i64(enum gnn_num t, const void *from, uint64_t count, int64_t *to);
uint64_t gnn_num_to_f32(enum gnn_num t, const void *from, uint64_t count, bool exact, float *to);

/*
 * To a type of a store, rounded to the nearest, ties to even. What comes back is the index of the
 * first value that has none near: a finite one beyond f16, any but 0 to 255 for u8.
 */
uint64_t gnn_num_from_f32(enum gnn_dtype t, const float *from, uint64_t count, void *to);

/* The i-th value as text, for messages. */
void gnn_num_print(enum gnn_num t, const void *from, uint64_t i, char *to, uint64_t to_bytes);

GNN_END_DECLS

#endif
