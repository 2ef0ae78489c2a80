/*
 * order/spread.h - passes over the lists of a store for the places of its vertices.
 *
 * Flow     lists, places -> [spread] -> how good an order is; centres -> taurus
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    as the lists and the places
 *
 * What is measured stands in op/places.h.
 */
#ifndef GNN_ORDER_SPREAD_H
#define GNN_ORDER_SPREAD_H

#include "op/places.h"
#include "order/lists.h"

GNN_BEGIN_DECLS

int gnn_spread_measure(struct gnn_spread *out, struct gnn_lists *l, struct gnn_places *r);
int gnn_spread_pull(struct gnn_lists *l, struct gnn_places *r); /* a pass over the out-lists */

GNN_END_DECLS

#endif
