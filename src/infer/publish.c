/* infer/publish.c - the end of a run: rows that waited in scratch, scores, the result's name. */
#include "infer/run.h"

#include "base/fault.h"
#include "base/machine.h"

static int take_rows(struct gnn_run *r, uint32_t l, gnn_vid first, uint64_t rows, const float *h)
{
	int rc;

	GNN_TRY(gnn_result_rows(r->result, l, rows, h));
	if (l + 1 == r->plan.layer_count && r->score != NULL)
		GNN_TRY(gnn_score_rows(r->score, first, rows, h));
out:
	return rc;
}

/* The next block, or none where other ranks have more rows than this one. */
static int copy_block(struct gnn_run *r, uint32_t l, struct gnn_rows_reader *reader, gnn_vid first)
{
	uint64_t vertices = r->o->store->vertices;
	struct gnn_rows_part part;
	int rc;

	if (first >= vertices)
		return gnn_result_rows(r->result, l, 0, NULL);
	GNN_TRY(gnn_rows_next(reader, &part));
	rc = take_rows(r, l, first, gnn_min_u64(r->plan.finish_rows, vertices - first), part.data);
	gnn_rows_put(reader, &part);
out:
	return rc;
}

static int copy_layer(struct gnn_run *r, uint32_t l)
{
	struct gnn_rows rows = gnn_kept_rows(r->output[l]);
	uint64_t most = r->o->share != NULL ? r->o->share->rows_max : r->o->store->vertices;
	struct gnn_rows_reader *reader = NULL;
	int rc;

	GNN_TRY(gnn_rows_open(&reader, &rows, &(struct gnn_rows_opts){
		.chunk_rows = r->plan.finish_rows, .ahead = 2, .lent = 1}));
	for (gnn_vid v = 0; v < most; v += r->plan.finish_rows)
		GNN_TRY(copy_block(r, l, reader, v));
	r->report->layer[l].read_bytes += gnn_rows_read_bytes(reader);
	r->report->read_bytes += gnn_rows_read_bytes(reader);
out:
	gnn_rows_close(reader);
	return rc;
}

/* What all ranks do together, so many figures of each layer. */
enum { LAYER_SUMS = 14 + GNN_RELOADED_BINS };

static uint32_t list_sums(struct gnn_infer_report *report, uint64_t **at)
{
	uint32_t n = 0;

	at[n++] = &report->read_bytes;
	at[n++] = &report->written_bytes;
	for (uint32_t l = 0; l < report->layer_count; l++) {
		struct gnn_layer_report *lr = &report->layer[l];

		at[n++] = &lr->read_bytes;
		at[n++] = &lr->written_bytes;
		at[n++] = &lr->messages;
		at[n++] = &lr->exchanged_rows;
		at[n++] = &lr->evictions;
		at[n++] = &lr->reloads;
		at[n++] = &lr->cold_written_bytes;
		at[n++] = &lr->cold_read_bytes;
		at[n++] = &lr->hot_rows;
		at[n++] = &lr->cold_rows;
		at[n++] = &lr->pinned_vertices;
		at[n++] = &lr->pinned_messages;
		at[n++] = &lr->pairs;
		at[n++] = &lr->pinned_pairs;
		for (uint32_t i = 0; i < GNN_RELOADED_BINS; i++)
			at[n++] = &lr->reloaded_vertices[i];
	}
	return n;
}

/* What this rank read and wrote becomes what all did; the peak is that of the largest. */
static int join_report(struct gnn_infer_report *report, const struct gnn_share *s)
{
	uint64_t sum[2 + LAYER_SUMS * GNN_LAYERS_MAX], *at[2 + LAYER_SUMS * GNN_LAYERS_MAX];
	uint32_t n = list_sums(report, at);
	int rc;

	report->peak_host_bytes = gnn_machine_peak();
	for (uint32_t i = 0; i < n; i++)
		sum[i] = *at[i];
	GNN_TRY(gnn_comm_reduce_u64(s->comm, GNN_REDUCE_SUM, sum, n));
	for (uint32_t i = 0; i < n; i++)
		*at[i] = sum[i];
	rc = gnn_comm_reduce_u64(s->comm, GNN_REDUCE_MAX, &report->peak_host_bytes, 1);
out:
	return rc;
}

int gnn_run_publish(struct gnn_run *r)
{
	uint64_t result_bytes;
	int rc = GNN_OK;

	for (uint32_t l = 0; l < r->plan.layer_count; l++)
		if (r->output[l] != NULL)
			GNN_TRY(copy_layer(r, l));
	gnn_crash_point("infer.rows_copied");
	if (r->score != NULL) {
		r->report->metric = gnn_score_name(r->score);
		GNN_TRY(gnn_score_end(r->score, r->o->share, r->report->score));
	}
	GNN_TRY(gnn_result_end(r->result, r->o->store, &result_bytes));
	r->report->written_bytes += result_bytes;
	if (r->o->share != NULL) /* all that can still fail is in front of the name */
		GNN_TRY(join_report(r->report, r->o->share));
	GNN_TRY(gnn_result_commit(&r->result));
	gnn_crash_point("infer.published");
out:
	return rc;
}
