/*
 * io/store.h - a graph store: which arrays a container must hold, and what they mean.
 *
 * Flow     builder -> [store] -> infer, export, info
 * Owns     the container it opened, but not a view's
 * Lends    the container and array descriptions, until close
 * Thread   one caller
 * Fails    GNN_ENOENT no such file; GNN_EDATA not a store, an array missing or of a wrong shape
 */
#ifndef GNN_IO_STORE_H
#define GNN_IO_STORE_H

#include "io/container.h"

enum gnn_split { GNN_TRAIN, GNN_VALID, GNN_TEST, GNN_SPLIT_COUNT };

/* One direction of the topology: rows are sources (out) or destinations (in). */
struct gnn_topology {
	const struct gnn_array *offsets;   /* u64 [V+1] */
	const struct gnn_array *neighbors; /* u32 or u64 [E], ascending in a row */
	const struct gnn_array *weights;   /* f32 [E] or NULL */
};

struct gnn_store {
	struct gnn_container   *container;
	uint64_t                vertices;
	uint64_t                edges;
	struct gnn_topology     out, in;
	const struct gnn_array *self_loops;  /* u32 [V] or NULL */
	const struct gnn_array *features;    /* [V, F] or NULL */
	const struct gnn_array *labels;      /* i64 [V] or u8 [V, C], or NULL */
	const struct gnn_array *split[GNN_SPLIT_COUNT]; /* u64 rows, each optional */
	const struct gnn_array *original_id; /* u64 [V] or NULL */
	const struct gnn_array *external_id; /* u64 [V] or NULL */
	/* A view is a range of the rows: `vertices` of them, `edges` in their out-lists. */
	uint64_t whole_vertices, whole_edges; /* the lengths of the arrays */
	gnn_vid  first;                       /* row 0 of the view */
	gnn_eid  first_out, first_in;         /* where its lists begin */
	uint64_t in_edges;                    /* in its in-lists */
};

GNN_BEGIN_DECLS

int  gnn_store_open (struct gnn_store **out, const struct gnn_container_opts *o);
void gnn_store_close(struct gnn_store *s); /* NULL is fine */
/* Rows [first, first + count) of an open store, which must stay; not to be closed. */
int  gnn_store_view (struct gnn_store *view, const struct gnn_store *s, gnn_vid first,
	uint64_t count);
/* Where the list of row v begins, which may be one past the last. */
int  gnn_store_list_begin(const struct gnn_store *s, const struct gnn_topology *t, gnn_vid v,
	gnn_eid *edge);
/* The store's own checksums stand for its contents. */
int  gnn_store_hash(const struct gnn_store *s, uint64_t *hash);
const char *gnn_split_name(enum gnn_split s); /* "train" ... */

GNN_END_DECLS

#endif
