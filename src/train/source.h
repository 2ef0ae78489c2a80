/*
 * train/source.h - what training reads of a store: in-lists, features, labels, the split.
 *
 * Flow     store -> [source] -> batch, evaluate
 * Owns     in-lists, the feature table or the aggregates in its place, labels, training rows
 * Lends    all of it, until close
 * Thread   constant once open
 * Fails    GNN_ECONFIG nothing to train on: no features, labels, training rows, or one class;
 *          GNN_EDATA labels or rows out of range; GNN_EIO; GNN_EOS
 *
 * Features that would take more than half of the memory still free stay in the store: batches
 * fetch their rows (train/fetch.h), and an inference from disk evaluates.
 */
#ifndef GNN_TRAIN_SOURCE_H
#define GNN_TRAIN_SOURCE_H

#include "mpi/window.h"
#include "train/bottom.h"
#include "train/lists.h"

struct gnn_train_source {
	struct gnn_store *store;     /* borrowed */
	struct gnn_lists *lists;
	void             *table;     /* (V, dim) features as stored; NULL: past the memory, or */
	struct gnn_bottom *bottom;   /* what the bottom layer takes instead; NULL: features */
	enum gnn_dtype    dtype;
	uint32_t          dim;
	uint32_t          parts;     /* rows that the bottom layer takes of a vertex: 1, but for */
	                             /* aggregates and own rows apart (gnn_net_parts) */
	uint32_t          classes;   /* columns of the scores */
	int64_t          *label;     /* (V), or NULL: */
	uint8_t          *labels;    /* (V, classes) */
	gnn_vid          *train;     /* ascending, distinct */
	uint64_t          train_count;
	uint64_t          identity;  /* of the graph: its sizes and checksums, mixed */

	struct gnn_comm  *comm;      /* from here on internal; borrowed while it is opened */
	struct gnn_window *rows, *labelling; /* whose memory table and labels are */
};

GNN_BEGIN_DECLS

/* Whether there is something to train on, as far as the names in the store say. */
int  gnn_source_check(const struct gnn_store *s);
/*
 * Takes `bottom`, which may be NULL, also when it fails. Of all ranks that share a host arrays are
 * there once; `comm` is NULL for one alone. Collective. `weighted`: with the weights of edges,
 * where there are any.
 */
int  gnn_source_open (struct gnn_train_source **out, struct gnn_store *s,
	struct gnn_bottom *bottom, struct gnn_comm *comm, bool weighted);
/* Whether all rows that batches take are in memory. */
bool gnn_source_in_memory(const struct gnn_train_source *s);
/* Bytes of the rows that are gathered for one vertex. */
uint64_t gnn_source_row_bytes(const struct gnn_train_source *s);
void gnn_source_close(struct gnn_train_source *s); /* NULL is fine */

GNN_END_DECLS

#endif
