/* train/report.c - see report.h. */
#include "train/report.h"

void gnn_report_staleness(struct gnn_json *j, const struct gnn_epoch_report *e, uint64_t n)
{
	uint32_t bins = GNN_STALE_BINS;

	gnn_json_u64(j, "max_staleness", e->staleness.most);
	gnn_json_real(j, "max_weight_change", e->max_weight_change);
	gnn_json_real(j, "epsilon", 2.0 * (double)n * e->max_weight_change);
	while (bins > 0 && e->staleness.bin[bins - 1] == 0)
		bins--;
	gnn_json_open_array(j, "staleness");
	for (uint32_t i = 0; i < bins; i++)
		gnn_json_u64(j, NULL, e->staleness.bin[i]);
	gnn_json_shut(j);
}
