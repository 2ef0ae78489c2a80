/*
 * io/part.h - what a file of a data set is, by what it begins with.
 *
 * Flow     path -> [part] -> edges, matrix, labels, splits
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread
 * Fails    GNN_EDATA a name that says npy or npz over bytes that are none, or binary data without
 *          a header: with the remedy; as input
 */
#ifndef GNN_IO_PART_H
#define GNN_IO_PART_H

#include "base/err.h"

enum gnn_part_kind { GNN_PART_TEXT, GNN_PART_NPY, GNN_PART_NPZ };

GNN_BEGIN_DECLS

/* Through gzip. `remedy` ends the message about headerless data; NULL: none is known. */
int gnn_part_sniff(const char *path, const char *remedy, enum gnn_part_kind *kind);

/* Does it begin as npy does, or as npz? */
int gnn_part_has_header(const char *path, bool *has);

/* ".npy" of "edges.npy" and of "edges.npy.gz": does the name, without .gz, end so? */
bool gnn_part_named(const char *path, const char *suffix);

GNN_END_DECLS

#endif
