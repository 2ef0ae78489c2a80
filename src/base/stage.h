/*
 * base/stage.h - one thread of a pipeline, whose error is carried to who joins it.
 *
 * Flow     create -> body(arg) on its own thread -> join
 * Owns     the thread
 * Lends    nothing
 * Thread   created and joined by one thread
 * Fails    GNN_EOS no thread; join returns the status of the body, with its error text
 */
#ifndef GNN_BASE_STAGE_H
#define GNN_BASE_STAGE_H

#include "base/err.h"

struct gnn_stage;
typedef int (*gnn_stage_fn)(void *arg); /* returns a status */

GNN_BEGIN_DECLS

int gnn_stage_start(struct gnn_stage **out, const char *name, gnn_stage_fn body, void *arg);
int gnn_stage_join (struct gnn_stage **stage); /* NULL inside is fine; sets it to NULL */

GNN_END_DECLS

#endif
