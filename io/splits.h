/*
 * io/splits.h - the rows of train, valid and test, from ids or boolean masks.
 *
 * Flow     ndarray, lines -> [splits] -> builder, labels
 * Owns     rows and bits of every split
 * Lends    both, until fini
 * Thread   one caller
 * Fails    GNN_EDATA an id out of range, twice in a split, in two splits; as input
 *
 * Ids are the user's: with --remap they are mapped. A mask follows the rows of the store.
 */
#ifndef GNN_IO_SPLITS_H
#define GNN_IO_SPLITS_H

#include "io/idrows.h"
#include "io/input.h"
#include "io/numtype.h"
#include "io/store.h"

struct gnn_splits {
	uint64_t *rows[GNN_SPLIT_COUNT]; /* NULL: no such split */
	uint64_t  count[GNN_SPLIT_COUNT];
	uint64_t *bits[GNN_SPLIT_COUNT]; /* one a vertex */
};

struct gnn_split_file {
	const char *path; /* NULL: a range, or no such split */
	const char *member;
	struct gnn_input_record *record;
	bool         raw; /* headerless, `rows` ids of `type` */
	uint64_t     rows;
	enum gnn_num type;
	uint64_t     range_first, range_count; /* these rows, without a file */
};

GNN_BEGIN_DECLS

/* On failure nothing is held. */
int  gnn_splits_load(struct gnn_splits *s, const struct gnn_split_file files[GNN_SPLIT_COUNT],
	const struct gnn_idrows *ids);
void gnn_splits_fini(struct gnn_splits *s);

GNN_END_DECLS

#endif
