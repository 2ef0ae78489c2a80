/* infer/layer_absorb.c - the edges of a chunk into states and scores; see layer_run.h. */
#include "infer/layer_run.h"

/* The item's edges by destination: as the control thread did it, or by the backend now. */
static int group(struct gnn_layer_run *r, const struct gnn_work *w, struct gnn_edge_batch *out)
{
	struct gnn_backend *b = r->o.backend;
	struct gnn_edge_list list = w->list;
	const void *there;
	int rc = GNN_OK;

	if (b->ops->group == NULL) {
		*out = w->program.batch;
		return GNN_OK;
	}
	if (w->first) {
		GNN_TRY(b->ops->stage(b, GNN_STAGE_OFFSETS, list.offsets,
			(list.rows + 1) * sizeof(*list.offsets), &there));
		r->offsets_there = there;
		r->sources_there = NULL;
		if (list.source != NULL)
			GNN_TRY(b->ops->stage(b, GNN_STAGE_SOURCES, list.source,
				list.rows * sizeof(*list.source), &r->sources_there));
	}
	list.offsets = r->offsets_there;
	list.source = r->sources_there;
	GNN_TRY(b->ops->stage(b, GNN_STAGE_EDGES, list.neighbors,
		(list.edge_end - list.edge_begin) * gnn_dtype_bytes(list.dtype), &there));
	list.neighbors = there;
	if (list.weighted)
		GNN_TRY(b->ops->stage(b, GNN_STAGE_WEIGHTS, list.weights,
			(list.edge_end - list.edge_begin) * sizeof(*list.weights), &there));
	if (list.weighted)
		list.weights = there;
	list.own_weights = r->o.degrees->loop_weights_there;
	list.sample = r->o.sample_there;
	GNN_TRY(b->ops->group(b, &list, out));
out:
	return rc;
}

/* Scores of the rows that batches name, of a chunk that begins at `first_row`. */
static float *source_scores(const struct gnn_layer_run *r, gnn_vid first_row)
{
	return r->exchange.scores != NULL ? r->exchange.scores :
		r->scores + first_row * 3 * r->o.conv->heads;
}

/* The maximum of s over the messages of each destination. */
static int absorb_scores(struct gnn_layer_run *r, const struct gnn_work *w,
	const struct gnn_edge_batch *batch)
{
	const struct gnn_conv *c = r->o.conv;
	uint64_t pitch = 3 * (uint64_t)c->heads;
	struct gnn_aggregate_args a = {.combine = GNN_COMBINE_MAX, .batch = *batch,
		.width = c->heads, .message = source_scores(r, w->first_row),
		.message_pitch = pitch, .own = r->scores + w->first_row * pitch,
		.own_pitch = pitch, .own_factor = 1.0f, .state = r->scores + 2 * c->heads,
		.state_pitch = pitch};
	int rc = GNN_OK;

	a.batch.carry = NULL;
	GNN_TRY(r->o.backend->ops->aggregate(r->o.backend, &a));
	if (r->least == NULL)
		goto out;
	a.combine = GNN_COMBINE_MIN;
	a.state = r->least;
	a.state_pitch = c->heads;
	GNN_TRY(r->o.backend->ops->aggregate(r->o.backend, &a));
out:
	return rc;
}

/* Columns of a message row where the row of a target begins: its own, or the message itself. */
static uint32_t target_column(const struct gnn_conv *c)
{
	return c->message.dim_out > c->width ? c->width : 0;
}

/* Rows of targets where later passes find them; nothing to do where all message rows stay. */
static int absorb_rows(struct gnn_layer_run *r, const struct gnn_work *w)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_backend *b = r->o.backend;
	uint64_t row_bytes = c->width * sizeof(float);

	if (!w->first || r->targets == NULL || w->rows == 0)
		return GNN_OK;
	return b->ops->copy(b, r->targets + w->first_row * c->width, row_bytes,
		r->rows + target_column(c), r->rows_pitch * sizeof(float), row_bytes, w->rows);
}

/* What the scores of pairs are taken from. */
static void set_pairs(const struct gnn_layer_run *r, const struct gnn_pass *pass,
	struct gnn_aggregate_args *a)
{
	const struct gnn_conv *c = r->o.conv;

	a->heads = c->heads;
	a->slope = c->slope;
	a->att = c->att;
	a->target_pitch = r->targets != NULL ? c->width : pass->rows.width;
	a->target = r->targets != NULL ? r->targets : pass->rows.memory + target_column(c);
	a->target += pass->to.first * a->target_pitch;
	a->score_max = r->scores + pass->to.first * c->heads;
	a->score_pitch = c->heads;
}

/* The maximum of the scores over the messages of each destination. */
static int absorb_pair_scores(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_edge_batch *batch)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_aggregate_args a = {.combine = GNN_COMBINE_PAIR_MAX, .batch = *batch,
		.width = c->width, .message = r->source, .message_pitch = r->source_pitch,
		.own = r->own, .own_pitch = r->own_pitch, .own_factor = 1.0f,
		.state = r->scores, .state_pitch = c->heads};

	set_pairs(r, pass, &a);
	a.batch.carry = NULL;
	return r->o.backend->ops->aggregate(r->o.backend, &a);
}

int gnn_layer_run_combine(struct gnn_layer_run *r, const struct gnn_pass *pass,
	gnn_vid first_row, const struct gnn_edge_batch *batch, float *state, float *carry)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_aggregate_args a = {.combine = c->combine, .batch = *batch, .width = c->width,
		.message = r->source, .message_pitch = r->source_pitch, .own = r->own,
		.own_pitch = r->own_pitch,
		.own_factor = c->own == GNN_OWN_MESSAGE ? c->own_factor : 1.0f, .state = state,
		.state_pitch = c->state_width, .carry = carry, .carry_pitch = c->state_width};

	if (c->combine == GNN_COMBINE_SOFTMAX) {
		float *first;

		a.heads = c->heads;
		a.slope = c->slope;
		a.score_pitch = 3 * (uint64_t)c->heads;
		a.score_src = source_scores(r, first_row);
		first = r->scores + r->to.first * a.score_pitch;
		a.score_dst = first + c->heads;
		a.score_max = first + 2 * c->heads;
		if (r->least != NULL)
			a.score_min = r->least + r->to.first * c->heads;
	}
	if (c->combine == GNN_COMBINE_PAIR_SOFTMAX)
		set_pairs(r, pass, &a);
	if (carry == NULL)
		a.batch.carry = NULL;
	r->messages += batch->entry_count;
	return r->o.backend->ops->aggregate(r->o.backend, &a);
}

int gnn_layer_run_absorb(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	bool pairs = r->o.conv->combine == GNN_COMBINE_PAIR_SOFTMAX;
	struct gnn_edge_batch batch;
	int rc = GNN_OK;

	if (pass->kind == GNN_PASS_ROWS)
		return absorb_rows(r, w);
	GNN_TRY(group(r, w, &batch));
	GNN_TRY(pass->kind == GNN_PASS_COMBINE ?
		gnn_layer_run_combine(r, pass, w->first_row, &batch, r->state, r->carry) :
		pairs ? absorb_pair_scores(r, pass, &batch) : absorb_scores(r, w, &batch));
out:
	return rc;
}
