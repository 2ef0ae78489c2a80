/*
 * io/edges.h - edges as an importer reads them, one batch after the other, in input order.
 *
 * Flow     input -> [edges] -> builder
 * Owns     what it opened and one batch
 * Lends    the batch, until the next call
 * Thread   one caller; reading runs ahead on its own thread, conversion on all, and what is left
 *          of the hash of the file goes on behind the last edge
 * Fails    GNN_EDATA with file, line or edge number and the offending text; as input
 */
#ifndef GNN_IO_EDGES_H
#define GNN_IO_EDGES_H

#include "io/builder.h"
#include "io/input.h"
#include "io/matrix.h"

enum gnn_edge_layout { GNN_EDGES_AUTO, GNN_EDGES_2XE, GNN_EDGES_EX2 };

/* What the report says of the reading. */
struct gnn_edge_counts {
	uint64_t edges;
	uint64_t lines, comments, blanks; /* of text */
	uint64_t skipped_columns;         /* further columns that were there and not read */
	bool     edges_stated;            /* by the comments of SNAP and KONECT */
	bool     nodes_stated;
	uint64_t stated_edges, stated_nodes;
	bool     from_one;                /* KONECT: ids begin at 1 */
	bool     each_once;               /* KONECT's sym: each edge stands in one direction */
};

struct gnn_edge_source {
	/* GNN_EOF at the end. A batch may be empty of weights, never of edges. */
	int  (*next) (struct gnn_edge_source *s, struct gnn_edge_batch *batch);
	/* After the end: waits for what goes on behind it. NULL: nothing does, close at once. */
	int  (*settle)(struct gnn_edge_source *s);
	void (*close)(struct gnn_edge_source *s);
	bool weighted;
	struct gnn_edge_counts counts;
};

struct gnn_edges_opts {
	const char *path;
	const char *member;              /* of an npz; NULL: its one array */
	struct gnn_input_record *record; /* for the provenance; NULL is fine */
	bool raw;                        /* headerless, `rows` pairs of `type` */
	uint64_t rows;
	enum gnn_num type;
	enum gnn_edge_layout layout;     /* of arrays */
	uint32_t weight_column;          /* of text, from 1; 0: none */
	uint64_t id_limit;               /* ids at and over it are refused; 0: none */
	uint32_t threads;
	uint64_t memory_bytes;           /* of the whole import; 0: enough */
};

GNN_BEGIN_DECLS

/* By what the file begins with: npy, npz, or text. */
int gnn_edges_open(struct gnn_edge_source **out, const struct gnn_edges_opts *o);

int gnn_edges_text_open (struct gnn_edge_source **out, const struct gnn_edges_opts *o);
int gnn_edges_array_open(struct gnn_edge_source **out, const struct gnn_edges_opts *o);

/*
 * Edges with the weights of another file, one row an edge. Takes both if it succeeds; *out may
 * be where `edges` was. More or fewer weights than edges are an error, at the latest at the end.
 */
int gnn_edges_weigh(struct gnn_edge_source **out, struct gnn_edge_source *edges,
	struct gnn_matrix *weights);

/* After the end: the record is complete from here on. NULL is fine. */
int  gnn_edges_settle(struct gnn_edge_source *s);
void gnn_edges_close(struct gnn_edge_source *s); /* NULL is fine */

GNN_END_DECLS

#endif
