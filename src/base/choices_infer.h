/*
 * base/choices_infer.h - the names of what options of infer and bench infer can be.
 *
 * Flow     [choices_infer] -> options
 * Owns     nothing; constants only
 * Lends    the tables, each up to a row without a name
 * Thread   constant
 * Fails    never
 */
#ifndef GNN_BASE_CHOICES_INFER_H
#define GNN_BASE_CHOICES_INFER_H

#include "base/choices.h"

extern const struct gnn_choice gnn_choices_evict[],
	gnn_choices_plan[],
	gnn_choices_order[],
	gnn_choices_design[],
	gnn_choices_baseline[];

#endif
