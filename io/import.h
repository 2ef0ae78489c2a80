/*
 * io/import.h - from a user's files to a store.
 *
 * Flow     dataset, edges, matrix, labels, splits -> [import] -> builder -> store
 * Owns     what it opens, for the call
 * Lends    nothing
 * Thread   one caller; reading, conversion and sorting use threads inside
 * Fails    GNN_EUSAGE options that contradict each other or the files; GNN_EDATA, GNN_ENOENT the
 *          files; GNN_ECREAT, GNN_EIO the store
 */
#ifndef GNN_IO_IMPORT_H
#define GNN_IO_IMPORT_H

#include "io/import_report.h"

GNN_BEGIN_DECLS

/* `report` is large: not for a stack. Warnings are for the caller to show. */
int gnn_import_run(const struct gnn_import_opts *o, struct gnn_import_report *report);

GNN_END_DECLS

#endif
