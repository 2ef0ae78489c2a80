/*
 * io/import_check.h - what an import refuses before it reads.
 *
 * Flow     options, dataset -> [import_check] -> import
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EUSAGE options that contradict each other or the files; GNN_ECREAT the output is
 *          an input; GNN_EDATA too few rows
 */
#ifndef GNN_IO_IMPORT_CHECK_H
#define GNN_IO_IMPORT_CHECK_H

#include "io/dataset.h"
#include "io/import_report.h"

GNN_BEGIN_DECLS

/* Puts the options' files in place of the data set's, then checks all against each other. */
int gnn_import_check(const struct gnn_import_opts *o, struct gnn_dataset *d);

int gnn_import_check_rows(const char *name, uint64_t rows, uint64_t vertices);

GNN_END_DECLS

#endif
