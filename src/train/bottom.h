/*
 * train/bottom.h - exact aggregates of the bottom layer, of every vertex, in a file by the store.
 *
 * Flow     store -> infer -> STORE.bottom-<hash>.h5 -> [bottom] -> batch, evaluate
 * Owns     the open file; in memory, aggregates and, where the layer takes them, features
 * Lends    all of it, until close
 * Thread   constant once loaded
 * Fails    GNN_ECONFIG an architecture whose aggregate depends on weights, a file of something
 *          else; GNN_EDATA a damaged one (both named); GNN_ECREAT, GNN_EIO beside the store; as
 *          the inference
 *
 * The aggregate of a vertex depends on graph, features and architecture alone: one reading of the
 * features makes all. The hash is of those, of the version and of the backend; a file that cannot
 * be read is made anew and takes the name by a rename; a whole one of something else is refused.
 */
#ifndef GNN_TRAIN_BOTTOM_H
#define GNN_TRAIN_BOTTOM_H

#include "infer/opts.h"
#include "mpi/window.h"

struct gnn_bottom_opts {
	struct gnn_store   *store;
	struct gnn_backend *backend;
	enum gnn_arch       arch;
	uint32_t            threads;
	const char         *scratch; /* folder; NULL: beside the store */
};

struct gnn_bottom {
	struct gnn_container   *container;
	const struct gnn_array *array;  /* (V, dim) floats, rows of the store */
	uint32_t parts;   /* tables of rows that the layer takes: gnn_net_parts */
	float   *table;   /* (parts V, dim): aggregates, then features; NULL: past the memory */
	struct gnn_window *window; /* whose memory it is */
	bool     made;    /* now; else it was there */
	double   made_s;
	uint64_t read_bytes; /* of the store, to make it */
};

GNN_BEGIN_DECLS

int  gnn_bottom_open (struct gnn_bottom **out, const struct gnn_bottom_opts *o);
uint64_t gnn_bottom_table_bytes(const struct gnn_bottom *b);
/* The table, verified, once for the ranks of a host; comm NULL: one alone. Collective. */
int  gnn_bottom_load (struct gnn_bottom *b, const struct gnn_store *s, struct gnn_comm *comm);
void gnn_bottom_close(struct gnn_bottom *b); /* NULL is fine */

GNN_END_DECLS

#endif
