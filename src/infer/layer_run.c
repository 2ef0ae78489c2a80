/* infer/layer_run.c - see layer_run.h. */
#include "infer/layer_run.h"

#include <math.h>

static int alloc_floats(struct gnn_backend *b, float **out, uint64_t count)
{
	void *block;
	int rc = b->ops->alloc(b, &block, count * sizeof(float));

	*out = block;
	return rc;
}

/* Factors of rows [first, first + rows) into the vectors that `norm` asks for. */
static int fill_factors(struct gnn_backend *b, const struct gnn_conv *c,
	const struct gnn_degrees *d, const enum gnn_norm *norm, gnn_vid first, uint64_t rows,
	float *const *vec)
{
	int rc = GNN_OK;

	for (int k = 0; k < GNN_ROW_VECTORS && rc == GNN_OK; k++)
		if (norm[k] != GNN_NORM_NONE)
			rc = b->ops->factors(b, &(struct gnn_factors_args){.norm = norm[k],
				.drop_loops = c->drop_loops, .own_counts = c->own_counts,
				.degree = (gnn_norm_is_out(norm[k]) ? d->out_there : d->in_there)
					+ first,
				.loops = d->loops_there != NULL ? d->loops_there + first : NULL,
				.weighted = c->weighted_degrees && d->weighted_there != NULL ?
					d->weighted_there + first : NULL,
				.rows = rows, .to = vec[k]});
	return rc;
}

static int allocate_states(struct gnn_layer_run *r)
{
	struct gnn_backend *b = r->backend;
	const struct gnn_conv *c = r->conv;
	uint64_t v = r->degrees->vertices, padded = gnn_align_up(v, b->ops->panel_rows);
	float empty = c->combine == GNN_COMBINE_MAX ? -INFINITY : 0.0f;
	int rc;

	GNN_TRY(alloc_floats(b, &r->state, padded * c->state_width));
	GNN_TRY(b->ops->fill(b, r->state, empty, v * c->state_width));
	if (r->plan->carry_bytes > 0) {
		uint64_t count = r->degrees->hub_count * c->state_width;

		GNN_TRY(alloc_floats(b, &r->carry, count));
		GNN_TRY(b->ops->fill(b, r->carry, 0.0f, count));
	}
	if (c->combine != GNN_COMBINE_SOFTMAX)
		goto out;
	GNN_TRY(alloc_floats(b, &r->scores, v * 3 * c->heads));
	GNN_TRY(b->ops->fill(b, r->scores, -INFINITY, v * 3 * c->heads));
	if (!r->plan->input_message)
		GNN_TRY(alloc_floats(b, &r->kept, padded * c->width));
out:
	return rc;
}

int gnn_layer_run_init(struct gnn_layer_run *r, struct gnn_backend *b, const struct gnn_conv *c,
	const struct gnn_layer_plan *plan, const struct gnn_degrees *d,
	enum gnn_dtype feature_dtype, float *input, uint64_t rows_max)
{
	int rc;

	*r = (struct gnn_layer_run){.backend = b, .conv = c, .plan = plan, .degrees = d,
		.feature_dtype = feature_dtype, .input = input};
	gnn_rowprog_init(&r->identity, c->dim_in);
	GNN_TRY(allocate_states(r));
	if (!plan->input_message && !plan->keep_messages)
		GNN_TRY(alloc_floats(b, &r->message, plan->chunk_rows * c->message.dim_out));
	for (int k = 0; k < GNN_ROW_VECTORS; k++)
		GNN_TRY(alloc_floats(b, &r->vec[k], rows_max));
out:
	if (rc < 0)
		gnn_layer_run_fini(r);
	return rc;
}

void gnn_layer_run_drop_input(struct gnn_layer_run *r)
{
	r->backend->ops->free(r->backend, r->input);
	r->backend->ops->free(r->backend, r->kept);
	r->input = NULL;
	r->kept = NULL;
}

void gnn_layer_run_fini(struct gnn_layer_run *r)
{
	struct gnn_backend *b = r->backend;

	if (b == NULL)
		return;
	gnn_layer_run_drop_input(r);
	b->ops->free(b, r->message);
	b->ops->free(b, r->state);
	b->ops->free(b, r->carry);
	b->ops->free(b, r->scores);
	for (int k = 0; k < GNN_ROW_VECTORS; k++)
		b->ops->free(b, r->vec[k]);
	*r = (struct gnn_layer_run){0};
}

bool gnn_layer_run_needs_scores(const struct gnn_layer_run *r)
{
	return r->conv->combine == GNN_COMBINE_SOFTMAX;
}

/* Where the chunk's message rows stand once they are there. */
static float *message_rows(struct gnn_layer_run *r, const struct gnn_work *w)
{
	if (r->plan->input_message)
		return r->input + w->first_row * r->plan->input_width;
	if (r->plan->keep_messages)
		return r->kept + w->first_row * r->conv->width;
	return r->message;
}

/* [ m | o ] = message(h) on the chunk's panels; h also beside the state where the conv keeps it. */
static int transform(struct gnn_layer_run *r, const struct gnn_work *w)
{
	struct gnn_backend *b = r->backend;
	const struct gnn_conv *c = r->conv;
	struct gnn_rows_args a = {.prog = &c->message, .from_dtype = GNN_F32,
		.from_pitch = c->dim_in, .to = message_rows(r, w),
		.to_pitch = c->message.dim_out, .rows = w->rows, .vec = {r->vec[0], r->vec[1]}};
	int rc;

	if (r->plan->input_message)
		return GNN_OK;
	if (r->plan->features) {
		a.from_dtype = r->feature_dtype;
		GNN_TRY(b->ops->stage(b, GNN_STAGE_ROWS, w->features,
			w->rows * c->dim_in * gnn_dtype_bytes(a.from_dtype), &a.from));
	} else {
		a.from = r->input + w->first_row * r->plan->input_width;
	}
	GNN_TRY(fill_factors(b, c, r->degrees, c->message_vec, w->first_row, w->rows, r->vec));
	GNN_TRY(b->ops->rows(b, &a));
	if (c->own == GNN_OWN_KEEP) {
		a.prog = &r->identity;
		a.to = r->state + w->first_row * c->state_width + c->width;
		a.to_pitch = c->state_width;
		GNN_TRY(b->ops->rows(b, &a));
	}
out:
	return rc;
}

/* The item's edges by destination: as the control thread did it, or by the backend now. */
static int group(struct gnn_layer_run *r, const struct gnn_work *w, struct gnn_edge_batch *out)
{
	struct gnn_backend *b = r->backend;
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
	}
	list.offsets = r->offsets_there;
	GNN_TRY(b->ops->stage(b, GNN_STAGE_EDGES, list.neighbors,
		(list.edge_end - list.edge_begin) * gnn_dtype_bytes(list.dtype), &there));
	list.neighbors = there;
	if (list.weighted)
		GNN_TRY(b->ops->stage(b, GNN_STAGE_WEIGHTS, list.weights,
			(list.edge_end - list.edge_begin) * sizeof(*list.weights), &there));
	if (list.weighted)
		list.weights = there;
	list.own_weights = r->degrees->loop_weights_there;
	GNN_TRY(b->ops->group(b, &list, out));
out:
	return rc;
}

/* s and t of the chunk's rows, then the maximum of s over the messages of each destination. */
static int absorb_scores(struct gnn_layer_run *r, const struct gnn_work *w,
	const struct gnn_edge_batch *batch)
{
	const struct gnn_conv *c = r->conv;
	uint64_t pitch = 3 * (uint64_t)c->heads;
	float *scores = r->scores + w->first_row * pitch;
	struct gnn_aggregate_args a = {.combine = GNN_COMBINE_MAX, .batch = *batch,
		.width = c->heads, .message = scores, .message_pitch = pitch, .own = scores,
		.own_pitch = pitch, .own_factor = 1.0f, .state = r->scores + 2 * c->heads,
		.state_pitch = pitch};
	int rc = GNN_OK;

	if (w->first) {
		struct gnn_rows_args rows = {.prog = &c->scores, .from = message_rows(r, w),
			.from_dtype = GNN_F32, .from_pitch = c->width, .to = scores,
			.to_pitch = pitch, .rows = w->rows};

		GNN_TRY(r->backend->ops->rows(r->backend, &rows));
	}
	a.batch.carry = NULL;
	GNN_TRY(r->backend->ops->aggregate(r->backend, &a));
out:
	return rc;
}

static int absorb_messages(struct gnn_layer_run *r, const struct gnn_work *w,
	const struct gnn_edge_batch *batch)
{
	const struct gnn_conv *c = r->conv;
	uint64_t pitch = c->message.dim_out;
	const float *message = message_rows(r, w);
	struct gnn_aggregate_args a = {.combine = c->combine, .batch = *batch, .width = c->width,
		.message = message, .message_pitch = pitch,
		.own = c->own == GNN_OWN_ROW ? message + c->width : message, .own_pitch = pitch,
		.own_factor = c->own == GNN_OWN_MESSAGE ? c->own_factor : 1.0f, .state = r->state,
		.state_pitch = c->state_width, .carry = r->carry, .carry_pitch = c->state_width};

	if (c->combine == GNN_COMBINE_SOFTMAX) {
		a.heads = c->heads;
		a.slope = c->slope;
		a.score_pitch = 3 * (uint64_t)c->heads;
		a.score_src = r->scores + w->first_row * a.score_pitch;
		a.score_dst = r->scores + c->heads;
		a.score_max = r->scores + 2 * c->heads;
	}
	if (r->carry == NULL)
		a.batch.carry = NULL;
	r->messages += batch->entry_count;
	return r->backend->ops->aggregate(r->backend, &a);
}

int gnn_layer_run_absorb(struct gnn_layer_run *r, enum gnn_pass pass, const struct gnn_work *w)
{
	bool again = pass == GNN_PASS_COMBINE && gnn_layer_run_needs_scores(r);
	struct gnn_edge_batch batch;
	int rc = GNN_OK;

	if (w->first && !again)
		GNN_TRY(transform(r, w));
	GNN_TRY(group(r, w, &batch));
	GNN_TRY(pass == GNN_PASS_SCORES ? absorb_scores(r, w, &batch) :
		absorb_messages(r, w, &batch));
out:
	return rc;
}

int gnn_layer_run_finish(struct gnn_layer_run *r, gnn_vid first, uint64_t rows, float *to)
{
	const struct gnn_conv *c = r->conv;
	struct gnn_backend *b = r->backend;
	int rc;

	GNN_ASSERT(first % b->ops->panel_rows == 0 && first + rows <= r->degrees->vertices);
	GNN_TRY(fill_factors(b, c, r->degrees, c->finish_vec, first, rows, r->vec));
	GNN_TRY(b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->finish,
		.from = r->state + first * c->state_width, .from_dtype = GNN_F32,
		.from_pitch = c->state_width, .to = to, .to_pitch = c->dim_out, .rows = rows,
		.vec = {r->vec[0], r->vec[1]}}));
out:
	return rc;
}

int gnn_layer_run_messages(struct gnn_backend *b, const struct gnn_conv *c,
	const struct gnn_degrees *d, float *const *vec, gnn_vid first, uint64_t rows,
	const float *h, float *to)
{
	int rc;

	GNN_TRY(fill_factors(b, c, d, c->message_vec, first, rows, vec));
	GNN_TRY(b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->message, .from = h,
		.from_dtype = GNN_F32, .from_pitch = c->dim_in, .to = to,
		.to_pitch = c->message.dim_out, .rows = rows, .vec = {vec[0], vec[1]}}));
out:
	return rc;
}
