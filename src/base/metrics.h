/*
 * base/metrics.h - figures of a run as JSON lines, for plots and comparisons.
 *
 * Flow     main, progress, commands -> [metrics] -> F.jsonl
 * Owns     the file of --metrics
 * Lends    a line being built, from begin to end
 * Thread   open and close by main; lines from any thread, each its own
 * Fails    GNN_ECREAT from open; GNN_EIO or GNN_EOS from close when a line was lost
 *
 * Each line is one object: schema, run_id, event, time_s since the start, then what the event
 * adds. Units stand in the keys: read_bytes, wall_s.
 */
#ifndef GNN_BASE_METRICS_H
#define GNN_BASE_METRICS_H

#include "base/json.h"

GNN_BEGIN_DECLS

int  gnn_metrics_open (const char *path);
bool gnn_metrics_enabled(void);

/* A line of the event with what every line has; NULL when metrics are off or memory is short. */
struct gnn_json *gnn_metrics_begin(const char *event);
void gnn_metrics_end  (struct gnn_json *line); /* writes and takes it; NULL is fine */
int  gnn_metrics_close(void);

GNN_END_DECLS

#endif
