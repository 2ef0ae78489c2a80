/* train/report.c - see report.h. */
#include "train/report.h"

#include "base/log.h"
#include "base/metrics.h"

#include <math.h>
#include <stdio.h>

void gnn_report_staleness(struct gnn_json *j, const struct gnn_epoch_report *e, uint64_t n)
{
	uint32_t bins = GNN_STALE_BINS;

	gnn_json_u64(j, "max_staleness", e->staleness.most);
	gnn_json_real(j, "max_weight_change", e->max_weight_change);
	gnn_json_u64(j, "cpu_hot_vertices", e->cpu_hot);
	gnn_json_u64(j, "late_vertices", e->staleness.late);
	gnn_json_real(j, "epsilon", 2.0 * (double)n * e->max_weight_change);
	while (bins > 0 && e->staleness.bin[bins - 1] == 0)
		bins--;
	gnn_json_open_array(j, "staleness");
	for (uint32_t i = 0; i < bins; i++)
		gnn_json_u64(j, NULL, e->staleness.bin[i]);
	gnn_json_shut(j);
}

void gnn_report_epoch(const struct gnn_epoch_report *e, const struct gnn_report_facts *f)
{
	struct gnn_json *line = gnn_metrics_begin("epoch");
	char figures[64] = "";

	if (!isnan(e->train) || !isnan(e->valid))
		snprintf(figures, sizeof(figures), ", train %.4f, valid %.4f", e->train, e->valid);
	gnn_log(GNN_LOG_INFO, "train", "epoch %llu: loss %.4f%s, %.2f s (sample %.2f, collect "
		"%.2f, transfer %.2f, compute %.2f, evaluate %.2f)", (unsigned long long)e->epoch,
		e->loss, figures, e->wall_s, e->sample_s, e->collect_s, e->transfer_s,
		e->compute_s, e->eval_s);
	if (line == NULL)
		return;
	gnn_json_u64(line, "epoch", e->epoch);
	gnn_json_real(line, "loss", e->loss);
	gnn_json_text(line, "metric", f->metric);
	gnn_json_real(line, "train", e->train);
	gnn_json_real(line, "valid", e->valid);
	gnn_json_real(line, "wall_s", e->wall_s);
	gnn_json_real(line, "sample_s", e->sample_s);
	gnn_json_real(line, "collect_s", e->collect_s);
	gnn_json_real(line, "transfer_s", e->transfer_s);
	gnn_json_real(line, "compute_s", e->compute_s);
	gnn_json_real(line, "eval_s", e->eval_s);
	gnn_json_u64(line, "input_vertices", e->input_vertices);
	gnn_json_u64(line, "gathered_bytes", e->input_vertices * f->row_bytes);
	gnn_json_u64(line, "h2d_bytes", e->h2d_bytes);
	gnn_json_u64(line, "cache_hits", e->cache_hits);
	gnn_json_real(line, "cpu_embed_s", e->cpu_embed_s);
	gnn_json_u64(line, "aggregated_vertices", e->aggregated);
	gnn_json_u64(line, "reused_vertices", e->reused);
	gnn_json_u64(line, "max_sample_age", e->max_sample_age);
	gnn_json_real(line, "gpu_idle_s", e->idle_s);
	gnn_report_staleness(line, e, f->stale_steps);
	gnn_metrics_end(line);
}
