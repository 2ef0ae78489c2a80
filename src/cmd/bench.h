/*
 * cmd/bench.h - the measurements of `gnnrun bench`, one file each.
 *
 * Flow     cmd_bench -> [bench] -> infer, io, op
 * Owns     nothing
 * Lends    nothing
 * Thread   the main thread
 * Fails    every status
 *
 * A measurement prints a table, or with --json one object.
 */
#ifndef GNN_CMD_BENCH_H
#define GNN_CMD_BENCH_H

#include "base/config.h"

GNN_BEGIN_DECLS

int gnn_bench_infer(const struct gnn_config *c);

GNN_END_DECLS

#endif
