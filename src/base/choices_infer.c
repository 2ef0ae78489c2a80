/* base/choices_infer.c - see choices_infer.h. */
#include "base/choices_infer.h"

#include <stddef.h>

const struct gnn_choice gnn_choices_evict[] = {
	{"belady", GNN_OPT_EVICT_BELADY, "whose next use, known from the in-lists, is farthest"},
	{"pending", GNN_OPT_EVICT_PENDING, "with the fewest messages to come"},
	{"lru", GNN_OPT_EVICT_LRU, "not used for the longest time"},
	{"fifo", GNN_OPT_EVICT_FIFO, "that came first"},
	{"random", GNN_OPT_EVICT_RANDOM, "any, by --seed"},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_plan[] = {
	{"auto", GNN_OPT_PLAN_AUTO, "the cheapest that fits the budgets"},
	{"resident", GNN_OPT_PLAN_RESIDENT, "states in memory; features are read once"},
	{"partitioned", GNN_OPT_PLAN_PARTITIONED, "states of one shard of the vertices at a time; "
		"message rows are kept in scratch"},
	{"tiered", GNN_OPT_PLAN_TIERED, "states in stores, evicted to scratch and reloaded; for "
		"orders with locality and rows that do not shrink"},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_order[] = {
	{"auto", GNN_OPT_ORDER_AUTO, "by architecture and widths"},
	{"transform-first", GNN_OPT_ORDER_TRANSFORM, "messages as wide as the layer's output"},
	{"aggregate-first", GNN_OPT_ORDER_AGGREGATE, "messages as wide as the layer's input"},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_design[] = {
	{"own", GNN_OPT_DESIGN_OWN, "as few bytes of states as the layer allows"},
	{"published", GNN_OPT_DESIGN_PUBLISHED, "sums first; SAGE in two passes, GAT in three"},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_baseline[] = {
	{"gather", GNN_OPT_BASELINE_GATHER, "layer by layer, rows gathered for each batch"},
	{"vertex-wise", GNN_OPT_BASELINE_VERTEX_WISE, "each batch with its whole neighbourhood"},
	{NULL, 0, NULL},
};
