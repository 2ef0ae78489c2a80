/*
 * base/gate.h - a number that only grows, and those who wait for it to be large enough.
 *
 * Flow     who makes things in order -> raise -> [gate] -> wait -> who needs the n-th
 * Owns     the number
 * Lends    nothing
 * Thread   any number of callers of each
 * Fails    GNN_EOS memory; GNN_ESTOP from wait after a cancel
 *
 * What was written before a raise is seen behind the wait that it ended.
 */
#ifndef GNN_BASE_GATE_H
#define GNN_BASE_GATE_H

#include "base/err.h"

struct gnn_gate;

GNN_BEGIN_DECLS

int  gnn_gate_create (struct gnn_gate **out, uint64_t value);
void gnn_gate_raise  (struct gnn_gate *g, uint64_t value); /* not below what it is */
int  gnn_gate_wait   (struct gnn_gate *g, uint64_t value); /* until it is at least that */
uint64_t gnn_gate_value(struct gnn_gate *g);
void gnn_gate_cancel (struct gnn_gate *g);  /* wakes everybody; NULL is fine */
void gnn_gate_destroy(struct gnn_gate *g);  /* NULL is fine */

GNN_END_DECLS

#endif
