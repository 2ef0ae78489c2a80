/*
 * base/stop.h - SIGUSR1 and SIGTERM as a wish to stop at the next border, with what is done kept.
 *
 * Flow     signals -> [stop] <- asked by long loops at their borders
 * Owns     the handlers
 * Lends    nothing
 * Thread   listen by main; wanted from any thread
 * Fails    never
 *
 * The second signal ends the process at once.
 */
#ifndef GNN_BASE_STOP_H
#define GNN_BASE_STOP_H

#include "base/decl.h"

GNN_BEGIN_DECLS

void gnn_stop_listen(void); /* until it is called, the signals end the process */
bool gnn_stop_wanted(void);

GNN_END_DECLS

#endif
