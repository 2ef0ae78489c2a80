/*
 * order/moved.h - the rows of an array in another order, in bounded memory.
 *
 * Flow     container, ranks -> [moved] -> runs -> builder
 * Owns     the runs and their reader
 * Lends    itself as a source of rows, until close
 * Thread   one caller
 * Fails    GNN_EDATA, GNN_EIO of the array and of the runs; GNN_EOS memory
 *
 * The array is read once, in sequence. Rows that the memory does not hold go to a file once, sorted
 * by ranges of where they will be, and are read back once, range by range: two reads and two
 * writes of each row with those of the store, or one of each. Runs that a journal has are gone on
 * with: each that is written is sealed.
 */
#ifndef GNN_ORDER_MOVED_H
#define GNN_ORDER_MOVED_H

#include "io/builder.h"
#include "order/journal.h"

struct gnn_moved_opts {
	struct gnn_container   *container;
	const struct gnn_array *array; /* (V, cols); NULL: the numbers 0, 1, ... as u64 */
	const uint64_t *rank;          /* (V) where each row goes; borrowed while rows come in */
	uint64_t        vertices;
	const char     *path;          /* of the file of runs, a suffix is added */
	enum gnn_dio_engine engine;
	struct gnn_journal *journal;   /* NULL, or where runs stay, if there are any */
	uint64_t        memory_bytes;  /* for rows; reading back takes a quarter of it at most */
};

GNN_BEGIN_DECLS

/* Takes all rows in. *out is closed as every source is. */
int gnn_moved_create(struct gnn_rows_source **out, const struct gnn_moved_opts *o);
uint64_t gnn_moved_scratch_bytes(const struct gnn_rows_source *s); /* written to the file */

GNN_END_DECLS

#endif
