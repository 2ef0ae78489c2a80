/* infer/seal.c - states that are complete become rows of the next layer and of the result. */
#include "infer/run.h"

#include "base/stop.h"
#include "base/trace.h"

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
		r->finished, to));
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

int gnn_run_seal(struct gnn_run *r, uint32_t l)
{
	gnn_vid first = r->layer.to.first, end = first + r->layer.to.count, sealed = r->at.row;
	bool direct = l + 1 == r->plan.layer_count && r->output[l] == NULL;
	int rc;

	GNN_TRY(gnn_layer_run_settle(&r->layer, r->plan.finish_rows));
	/* Rows that went into the result at once are gone with the process that wrote them. */
	for (gnn_vid v = direct ? first : r->at.row; v < end; v += r->plan.finish_rows) {
		uint64_t rows = gnn_min_u64(r->plan.finish_rows, end - v);
		uint64_t span = gnn_trace_begin();

		r->at.row = gnn_max_u64(sealed, v);
		if (gnn_stop_wanted())
			return GNN_STOPPED;
		GNN_TRY(gnn_layer_run_finish(&r->layer, v, rows, r->finished));
		if (r->next != NULL)
			GNN_TRY(keep_for_next(r, l, v, rows));
		GNN_TRY(jump(r, l, v, rows, v < sealed));
		GNN_TRY(put_out(r, l, v, rows));
		gnn_trace_end(span, "finish");
		gnn_progress_add(r->progress, rows, 0);
	}
out:
	return rc;
}
