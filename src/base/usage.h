/*
 * base/usage.h - what the process takes of the machine, each second, as lines of metrics.
 *
 * Flow     /proc, /sys, nvml -> [usage] -> metrics
 * Owns     one thread while metrics are written
 * Lends    nothing
 * Thread   start and stop by main; gpu from any thread
 * Fails    never: what cannot be found out is null, and without a thread there are no lines
 *
 * A line (event `usage`) holds rates since the line before: docs/metrics.md lists them.
 */
#ifndef GNN_BASE_USAGE_H
#define GNN_BASE_USAGE_H

#include "base/decl.h"

GNN_BEGIN_DECLS

/* Without metrics nothing starts. `path`: files or folders whose disks are watched, or NULL. */
void gnn_usage_start(const char *const *path, uint32_t count);
void gnn_usage_gpu  (const char *bus_id); /* which GPU the process uses: "0000:3b:00.0" */
void gnn_usage_stop (void);               /* writes the last line */

GNN_END_DECLS

#endif
