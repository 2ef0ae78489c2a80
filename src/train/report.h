/*
 * train/report.h - what an epoch took and gave, for the reader, --json and the metrics.
 *
 * Flow     epoch report -> [report] -> log, json
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    never
 *
 *   max_staleness      updates between the weights that made the oldest row used, and its use
 *   max_weight_change  largest absolute change of a weight by one update
 *   epsilon            2 n max_weight_change: what a weight of a reused row can be off by
 *   cpu_hot_vertices   with --hybrid: hot vertices whose rows the CPU makes at the epoch's end
 *   staleness          rows used of embeddings' staleness 0, 1, 2-3, 4-7 ...; up to the last that
 *                      is not 0
 */
#ifndef GNN_TRAIN_REPORT_H
#define GNN_TRAIN_REPORT_H

#include "base/json.h"
#include "train/opts.h"

/* What an epoch's own numbers do not say. */
struct gnn_report_facts {
	const char *metric;      /* or NULL */
	uint64_t    row_bytes;   /* gathered for one vertex */
	uint64_t    stale_steps; /* as below */
};

GNN_BEGIN_DECLS

/* Super-batches of n steps; 0: nothing stale is used. */
void gnn_report_staleness(struct gnn_json *j, const struct gnn_epoch_report *e, uint64_t n);
/* A line on stderr, and one in the metrics. */
void gnn_report_epoch(const struct gnn_epoch_report *e, const struct gnn_report_facts *f);

GNN_END_DECLS

#endif
