/*
 * base/progress.h - how far a phase is: in place on a terminal, a plain line now and then else.
 *
 * Flow     stages add -> [progress] -> status line, log lines, metrics
 * Owns     one watching thread a phase
 * Lends    nothing
 * Thread   begin and end by one thread; add and gauge from any, atomics
 * Fails    never: without a thread or memory there are no lines, and the handle is NULL
 *
 * Off a terminal a line comes every 30 s, or at each 5 % but not within 2 s. No colours, so that
 * NO_COLOR changes nothing.
 */
#ifndef GNN_BASE_PROGRESS_H
#define GNN_BASE_PROGRESS_H

#include "base/decl.h"

struct gnn_progress;

/* Counts that stand beside the rates, where a phase has them: states in memory and spilled. */
enum gnn_gauge { GNN_GAUGE_HOT_ROWS, GNN_GAUGE_COLD_ROWS, GNN_GAUGE_EVICTIONS, GNN_GAUGE_COUNT };

GNN_BEGIN_DECLS

void gnn_progress_enable(bool on); /* --progress; off until called */

/* `what` (copied) is done in `total` items of `unit`, a literal ("rows"). total 0: unknown. */
struct gnn_progress *gnn_progress_begin(const char *what, const char *unit, uint64_t total);
void gnn_progress_add(struct gnn_progress *p, uint64_t items, uint64_t bytes); /* NULL is fine */
void gnn_progress_gauge(struct gnn_progress *p, enum gnn_gauge gauge, uint64_t value);
void gnn_progress_end(struct gnn_progress *p);                                 /* NULL is fine */

GNN_END_DECLS

#endif
