/*
 * cmd/bench.h - the measurements of `gnnrun bench`, one file each.
 *
 * Flow     cmd_bench -> [bench] -> infer, io, op, train
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

enum { GNN_BENCH_LIST_MAX = 16 };

struct gnn_bench_list {
	uint64_t value[GNN_BENCH_LIST_MAX];
	uint32_t count;
};

GNN_BEGIN_DECLS

/* Sizes with commas between, "64K,1M,8", none of them 0. GNN_EUSAGE names the option. */
int gnn_bench_list(struct gnn_bench_list *out, const char *option, const char *text);

int gnn_bench_aggregate(const struct gnn_config *c);
int gnn_bench_collective(const struct gnn_config *c);
int gnn_bench_gather(const struct gnn_config *c);
int gnn_bench_io   (const struct gnn_config *c);
int gnn_bench_infer(const struct gnn_config *c);
int gnn_bench_train(const struct gnn_config *c);

GNN_END_DECLS

#endif
