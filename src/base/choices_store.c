/* base/choices_store.c - see choices_store.h. */
#include "base/choices_store.h"

#include "base/decl.h"

#include <stddef.h>

const struct gnn_choice gnn_choices_layout[] = {
	{"auto", GNN_OPT_LAYOUT_AUTO, "by the shape; [2,2] reads as 2xE"},
	{"2xE", GNN_OPT_LAYOUT_2XE, "a row of sources, a row of destinations"},
	{"Ex2", GNN_OPT_LAYOUT_EX2, "a pair a row"},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_normalize[] = {
	{"none", GNN_OPT_NORMALIZE_NONE, NULL},
	{"row", GNN_OPT_NORMALIZE_ROW, "rows scaled to sum 1; all-zero rows stay"},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_stored[] = {
	{"auto", GNN_DTYPE_COUNT, "without loss, as narrow as the input"},
	{"f32", GNN_F32, NULL},
	{"f16", GNN_F16, NULL},
	{"bf16", GNN_BF16, NULL},
	{"u8", GNN_U8, NULL},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_vertex_order[] = {
	{"taurus", 0, "vertices move to the centres of their out-neighbours, again and again"},
	{"rcm", 0, "reverse Cuthill-McKee on A + A^T"},
	{"atlas", 0, "greedy: next comes the source that completes most destinations"},
	{"random", 0, "by --seed"},
	{"original", 0, "that of the import"},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_bootstrap[] = {
	{"rcm", 0, NULL},
	{"original", 0, NULL},
	{NULL, 0, NULL},
};

const struct gnn_choice gnn_choices_order_features[] = {
	{"relabel", 0, "sorted into the order: read twice and written twice"},
	{"keep", 0, "left in STORE.h5, which must stay: infer sorts narrow rows made of them"},
	{NULL, 0, NULL},
};
