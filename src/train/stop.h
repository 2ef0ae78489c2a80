/*
 * train/stop.h - SIGTERM and SIGUSR1 ask a training to end behind the step at work.
 *
 * Flow     signal -> [stop] -> train asks between steps
 * Owns     the handlers between begin and end
 * Lends    nothing
 * Thread   begin and end by one thread; asked by any
 * Fails    never
 */
#ifndef GNN_TRAIN_STOP_H
#define GNN_TRAIN_STOP_H

#include "base/decl.h"

GNN_BEGIN_DECLS

void gnn_stop_begin(void);
int  gnn_stop_asked(void); /* the signal, or 0 */
void gnn_stop_end  (void); /* the handlers of before */

GNN_END_DECLS

#endif
