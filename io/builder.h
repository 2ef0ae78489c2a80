/*
 * io/builder.h - edges in any order in, a store with both directions sorted out, bounded memory.
 *
 * Flow     importers, generators -> [builder] -> container
 * Owns     sort memory, run files in the scratch folder, the container being written
 * Lends    nothing
 * Thread   one caller; sorting and merging use all threads inside
 * Fails    GNN_EDATA an id out of range; GNN_EIO scratch or disk full; GNN_EOS memory
 *
 * Edges that fit the memory are sorted there (io/buckets.h). Else external sort: batches that fit
 * the budget are radix-sorted by (source, destination) and by (destination, source), kept as coded
 * runs in memory, or in a scratch file when that is full, and merged straight into the arrays. The
 * peak of memory does not depend on the number of edges (40 bytes are kept for every piece of a
 * run, a thousandth of it or less). Edges keep input order among equals. An error of a call is
 * final: only destroy may follow.
 */
#ifndef GNN_IO_BUILDER_H
#define GNN_IO_BUILDER_H

#include "io/builder_parts.h"
#include "io/edge_batch.h"

struct gnn_builder;

struct gnn_builder_opts {
	const char *out_path;
	const char *scratch;      /* folder for runs; NULL: beside the output */
	uint64_t    memory_bytes; /* all that the builder takes, from create to finish; with large
	                             arrays at least 64 MiB, 96 with weights */
	uint32_t    threads;
	bool        weighted;
	bool        undirected;   /* adds the reverse of every listed edge but self-loops */
	bool        dedup;        /* of equal (source, destination) the first listed stays; after
	                             undirected */
	bool        remap;        /* compacts the ids, ascending; keeps external_id */
	enum gnn_dio_engine engine;
};

struct gnn_build_report {
	uint64_t edges_read;    /* as they were added */
	uint64_t edges_stored;
	uint64_t self_loops;    /* edges stored; at so many vertices: */
	uint64_t loop_vertices;
	uint64_t duplicates;    /* edges with an equal one before them, stored or dropped */
	uint64_t isolated;      /* vertices without any edge */
	uint64_t vertices;
	uint64_t max_in_degree, max_out_degree;
	uint64_t run_count;     /* batches that were sorted */
	uint64_t scratch_bytes; /* written to the disk; 0: everything fitted the memory */
};

GNN_BEGIN_DECLS

int  gnn_builder_create (struct gnn_builder **out, const struct gnn_builder_opts *o);
int  gnn_builder_add    (struct gnn_builder *b, const struct gnn_edges *e);
int  gnn_builder_add_batch(struct gnn_builder *b, const struct gnn_edge_batch *e);
/* Ends the edges. Known from here on: the number of vertices, and with remap external ids. */
int  gnn_builder_seal   (struct gnn_builder *b, uint64_t vertices_min, uint64_t *vertices);
/* Remap: row of an external id, GNN_EOF if the id occurs in no edge; ids may come in any order. */
int  gnn_builder_row_of (struct gnn_builder *b, uint64_t external, uint64_t *row);
/* Writes and publishes the store. */
int  gnn_builder_finish (struct gnn_builder *b, const struct gnn_builder_parts *parts,
	struct gnn_build_report *report);
void gnn_builder_destroy(struct gnn_builder *b); /* removes scratch files; NULL is fine */

GNN_END_DECLS

#endif
