/*
 * io/store.h - a graph store: which arrays a container must hold, and what they mean.
 *
 * Flow     builder -> [store] -> infer, export, info
 * Owns     the containers it opened, but not a view's
 * Lends    the container and array descriptions, until close
 * Thread   one caller
 * Fails    GNN_ENOENT no such file; GNN_EDATA not a store, an array missing or of a wrong shape
 */
#ifndef GNN_IO_STORE_H
#define GNN_IO_STORE_H

#include "io/container.h"

enum { GNN_STORE_PATH_BYTES = 4096 };

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
	struct gnn_container   *features_in; /* which has them; NULL: there are none */
	const struct gnn_array *labels;      /* i64 [V] or u8 [V, C], or NULL */
	const struct gnn_array *split[GNN_SPLIT_COUNT]; /* u64 rows, each optional */
	const struct gnn_array *original_id; /* u64 [V] or NULL */
	const struct gnn_array *external_id; /* u64 [V] or NULL */
	/*
	 * u64 [V]: the features stay in another store, in its order, and row i of them is row
	 * feature_rank[i] of this one. They are none of this store's until attached.
	 */
	const struct gnn_array *feature_rank;
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
/* --- features that another store has --- */

/* Opens them: `features` and `features_in` are the other store's. GNN_EDATA: not the same ones. */
int  gnn_store_attach(struct gnn_store *s);
/* GNN_ECONFIG, and what to do, when the features are another store's; else GNN_OK. */
int  gnn_store_check_own(const struct gnn_store *s);
/* Where the features lie, as found from here; GNN_STORE_PATH_BYTES. */
int  gnn_store_features_path(const struct gnn_store *s, char path[GNN_STORE_PATH_BYTES]);
/* The same as a store at `path` shall say it: by name where both lie in one folder. */
int  gnn_store_features_text(const struct gnn_store *s, const char *path,
	char text[GNN_STORE_PATH_BYTES]);
int  gnn_store_features_hash(const struct gnn_store *s, uint64_t *hash);

/* The store's own checksums stand for its contents. */
int  gnn_store_hash(const struct gnn_store *s, uint64_t *hash);
const char *gnn_split_name(enum gnn_split s); /* "train" ... */

GNN_END_DECLS

#endif
