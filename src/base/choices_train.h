/*
 * base/choices_train.h - the names of what options of training can be.
 *
 * Flow     [choices_train] -> options
 * Owns     nothing; constants only
 * Lends    the tables, each up to a row without a name
 * Thread   constant
 * Fails    never
 */
#ifndef GNN_BASE_CHOICES_TRAIN_H
#define GNN_BASE_CHOICES_TRAIN_H

#include "base/choices.h"

extern const struct gnn_choice gnn_choices_sampler[], gnn_choices_optimizer[],
	gnn_choices_schedule[], gnn_choices_orchestration[],
	gnn_choices_reuse[], gnn_choices_hybrid[], gnn_choices_late[],
	gnn_choices_backward[], gnn_choices_hot[], gnn_choices_cache[],
	gnn_choices_bottom[], gnn_choices_gather[];

#endif
