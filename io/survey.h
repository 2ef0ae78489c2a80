/*
 * io/survey.h - one reading of a store: counts for info, and all that the format promises checked.
 *
 * Flow     store -> [survey] -> info
 * Owns     its streams while it runs
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EDATA a checksum, or a value that the format forbids: names array, row, entry
 */
#ifndef GNN_IO_SURVEY_H
#define GNN_IO_SURVEY_H

#include "io/store.h"

struct gnn_store_counts {
	uint64_t max_in_degree, max_out_degree;
	uint64_t isolated;   /* vertices without any edge */
	uint64_t self_loops; /* edges */
	uint64_t duplicates; /* edges with an equal one before them */
	uint64_t classes;    /* largest label + 1, or columns of several labels; 0: no labels */
};

GNN_BEGIN_DECLS

/* The recorded counts, or, where one is missing, those of a pass over the out-lists and labels. */
int gnn_store_count(struct gnn_store *s, struct gnn_store_counts *out);

/* Reads every array once, checks each block and each value that has a range, and counts. */
int gnn_store_verify(struct gnn_store *s, struct gnn_store_counts *out);

/* Reads every array of any container once and checks each block. */
int gnn_container_verify(struct gnn_container *c);

GNN_END_DECLS

#endif
