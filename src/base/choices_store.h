/*
 * base/choices_store.h - the names of what options of import, generate and reorder can be.
 *
 * Flow     [choices_store] -> options
 * Owns     nothing; constants only
 * Lends    the tables, each up to a row without a name
 * Thread   constant
 * Fails    never
 */
#ifndef GNN_BASE_CHOICES_STORE_H
#define GNN_BASE_CHOICES_STORE_H

#include "base/choices.h"

extern const struct gnn_choice gnn_choices_layout[],
	gnn_choices_normalize[],
	gnn_choices_stored[],
	gnn_choices_vertex_order[],
	gnn_choices_bootstrap[],
	gnn_choices_order_features[];

#endif
