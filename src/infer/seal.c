/* infer/seal.c - states that are complete become rows of the next layer and of the result. */
#include "infer/run.h"

#include "base/stop.h"
#include "base/trace.h"

enum { LATE_AHEAD = 2 /* blocks of rows that come late */ };

/* Rows of the layer after this one, from finished rows of this one. */
static int keep_for_next(struct gnn_run *r, uint32_t l, gnn_vid first, uint64_t rows)
{
	const struct gnn_layer_plan *next = &r->plan.layer[l + 1];
	const struct gnn_conv *c = gnn_model_conv(r->o->model, l + 1);
	float *to = r->converted;
	int rc = GNN_OK;

	if (!next->input_message)
		return gnn_kept_put(r->next, first, rows, r->finished, next->input_width);
	if (r->next->memory != NULL) /* where they stay */
		to = r->next->memory + first * next->input_width;
	GNN_TRY(gnn_layer_run_messages(r->o->backend, c, r->degrees, r->layer.vec, first, rows,
		r->finished, GNN_F32, to));
	if (to == r->converted)
		GNN_TRY(gnn_kept_put(r->next, first, rows, to, next->input_width));
out:
	return rc;
}

/* Finished rows where the host can read them. */
static int to_host(struct gnn_run *r, uint64_t rows, uint64_t row_bytes)
{
	struct gnn_backend *b = r->o->backend;
	uint64_t ticket;
	int rc = GNN_OK;

	if (!b->ops->unified)
		GNN_TRY(b->ops->copy(b, r->host, row_bytes, r->finished, row_bytes, row_bytes,
			rows));
	GNN_TRY(b->ops->mark(b, &ticket));
	GNN_TRY(b->ops->wait(b, ticket));
out:
	return rc;
}

/* Rows of the result at once, or into scratch until all parts of the run are sealed. */
static int put_out(struct gnn_run *r, uint32_t l, gnn_vid first, uint64_t rows)
{
	uint64_t width = gnn_model_width(r->o->model, l);
	bool last = l + 1 == r->plan.layer_count;
	int rc = GNN_OK;

	if (r->output[l] != NULL)
		return gnn_kept_put(r->output[l], first, rows, r->finished, width);
	if (!last && !r->o->save_layers)
		return GNN_OK;
	GNN_TRY(to_host(r, rows, width * sizeof(float)));
	GNN_TRY(gnn_result_rows(r->result, l, rows, r->host));
	if (last && r->score != NULL)
		GNN_TRY(gnn_score_rows(r->score, first, rows, r->host));
out:
	return rc;
}

/* Rows of a layer join those of the others; behind the last layer the model's take their place. */
static int jump(struct gnn_run *r, uint32_t l, gnn_vid first, uint64_t rows, bool joined)
{
	int rc = GNN_OK;

	if (r->jump.jump == NULL)
		return GNN_OK;
	if (!joined)
		GNN_TRY(gnn_jump_add(&r->jump, r->layer.o.conv, first, rows, r->finished));
	if (l + 1 == r->plan.layer_count)
		GNN_TRY(gnn_jump_finish(&r->jump, first, rows, r->finished));
out:
	return rc;
}

/* --- rows that come late --- */

/* The layer's input once more, in blocks, from row `first` of the range on. */
static int open_late(struct gnn_run *r, gnn_vid first, gnn_vid end, uint64_t block,
	struct gnn_rows *rows, struct gnn_rows_reader **reader)
{
	*reader = NULL;
	if (r->layer.o.conv->late.dim_out == 0)
		return GNN_OK;
	*rows = gnn_run_input(r);
	rows->first = first;
	rows->count = end - first;
	return gnn_rows_open(reader, rows, &(struct gnn_rows_opts){.chunk_rows = block,
		.ahead = LATE_AHEAD, .lent = 1, .verify = r->o->verify_reads});
}

/* Finished rows of a block, with its late rows where there are any. */
static int finish(struct gnn_run *r, gnn_vid first, uint64_t count, const struct gnn_rows *rows,
	struct gnn_rows_reader *reader)
{
	struct gnn_backend *b = r->o->backend;
	struct gnn_rows_part part;
	uint64_t ticket;
	int rc;

	if (reader == NULL)
		return gnn_layer_run_finish(&r->layer, first, count, r->finished);
	GNN_TRY(gnn_rows_next(reader, &part));
	GNN_TRY(gnn_layer_run_finish_late(&r->layer, first, count, rows, part.data, r->finished));
	GNN_TRY(b->ops->mark(b, &ticket));
	GNN_TRY(b->ops->wait(b, ticket)); /* the buffer goes back */
	gnn_rows_put(reader, &part);
out:
	return rc;
}

/* Ranks open what they write at once together, also one without rows. */
static int begin_out(struct gnn_run *r, uint32_t l)
{
	bool written = l + 1 == r->plan.layer_count || r->o->save_layers;

	if (r->o->share == NULL || r->output[l] != NULL || !written)
		return GNN_OK;
	return gnn_result_rows(r->result, l, 0, NULL);
}

int gnn_run_seal(struct gnn_run *r, uint32_t l)
{
	gnn_vid first = r->layer.to.first, end = first + r->layer.to.count, sealed = r->at.row;
	bool direct = l + 1 == r->plan.layer_count && r->output[l] == NULL;
	bool late = r->layer.o.conv->late.dim_out > 0;
	uint64_t block = late ? gnn_min_u64(r->plan.finish_rows, r->layer.o.chunk_rows) :
		r->plan.finish_rows;
	struct gnn_rows_reader *reader = NULL;
	struct gnn_rows from;
	int rc;

	GNN_TRY(open_late(r, direct ? first : r->at.row, end, block, &from, &reader));
	GNN_TRY(gnn_layer_run_settle(&r->layer, r->plan.finish_rows));
	GNN_TRY(begin_out(r, l));
	/* Rows that went into the result at once are gone with the process that wrote them. */
	for (gnn_vid v = direct ? first : r->at.row; v < end; v += block) {
		uint64_t rows = gnn_min_u64(block, end - v);
		uint64_t span = gnn_trace_begin();

		r->at.row = gnn_max_u64(sealed, v);
		if (gnn_stop_wanted() && r->o->share == NULL) { /* ranks stop in a pass */
			rc = GNN_STOPPED;
			goto out;
		}
		GNN_TRY(finish(r, v, rows, &from, reader));
		if (r->next != NULL)
			GNN_TRY(keep_for_next(r, l, v, rows));
		GNN_TRY(jump(r, l, v, rows, v < sealed));
		GNN_TRY(put_out(r, l, v, rows));
		gnn_trace_end(span, "finish");
		gnn_progress_add(r->progress, rows, 0);
	}
out:
	if (reader != NULL)
		r->report->layer[l].read_bytes += gnn_rows_read_bytes(reader);
	gnn_rows_close(reader);
	return rc;
}
