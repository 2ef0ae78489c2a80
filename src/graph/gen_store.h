/*
 * graph/gen_store.h - a generated graph, written as a store in bounded memory.
 *
 * Flow     gen -> [gen_store] -> builder
 * Owns     one batch of edges, the builder
 * Lends    nothing
 * Thread   one caller; drawing and sorting use all threads inside
 * Fails    as io/builder.h
 */
#ifndef GNN_GRAPH_GEN_STORE_H
#define GNN_GRAPH_GEN_STORE_H

#include "graph/gen.h"
#include "io/builder.h"

GNN_BEGIN_DECLS

/* memory_bytes of the options is for all of it, the batch included. */
int gnn_gen_store(const struct gnn_gen *g, const struct gnn_builder_opts *o,
	const char *provenance, struct gnn_build_report *report);

GNN_END_DECLS

#endif
