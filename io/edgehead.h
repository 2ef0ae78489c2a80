/*
 * io/edgehead.h - what the comments at the top of an edge list say of it.
 *
 * Flow     first comment lines -> [edgehead] -> edges_text, report
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    GNN_EDATA a graph that is no plain edge list: bipartite, dynamic, MatrixMarket
 *
 * SNAP     # Nodes: 7115 Edges: 103689
 * KONECT   % asym unweighted            sym, asym or bip, and the kind of weights
 *          % 103689 7115 7115           edges, and vertices on either side
 */
#ifndef GNN_IO_EDGEHEAD_H
#define GNN_IO_EDGEHEAD_H

#include "io/edges.h"

GNN_BEGIN_DECLS

/* One comment line without its newline; `number` from 1. Fills what it recognises. */
int gnn_edgehead_read(struct gnn_edge_counts *c, const char *p, const char *end,
	const char *path, uint64_t number);

GNN_END_DECLS

#endif
