/* io/rows.c - see rows.h. What the kinds of files share. */
#include "io/rows.h"

enum gnn_dtype gnn_rows_dtype(enum gnn_num t, enum gnn_dtype target, bool *as_is)
{
	static const struct {
		enum gnn_num from;
		enum gnn_dtype to;
	} kept[] = {
		{GNN_NUM_F4, GNN_F32}, {GNN_NUM_F2, GNN_F16}, {GNN_NUM_BF16, GNN_BF16},
		{GNN_NUM_U1, GNN_U8},  {GNN_NUM_B1, GNN_U8},
	};

	*as_is = false;
	for (size_t i = 0; i < GNN_COUNT_OF(kept); i++) {
		if (kept[i].from == t && (target == GNN_DTYPE_COUNT || target == kept[i].to)) {
			*as_is = true;
			return kept[i].to;
		}
	}
	return GNN_F32;
}

int gnn_rows_to_f32(enum gnn_num t, const void *from, uint64_t count, bool exact, float *to,
	const struct gnn_rows_place *place)
{
	uint64_t bad = gnn_num_to_f32(t, from, count, exact, to);
	char text[32];

	if (bad == count)
		return GNN_OK;
	gnn_num_print(t, from, bad, text, sizeof(text));
	return gnn_err(GNN_EDATA, "%s: row %llu, column %llu: %s (%s) is not exact in f32; "
		"--feature-dtype f32 rounds it", place->name,
		(unsigned long long)(place->row + bad / place->cols),
		(unsigned long long)(bad % place->cols), text, gnn_num_name(t));
}
