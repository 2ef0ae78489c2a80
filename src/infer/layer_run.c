/* infer/layer_run.c - see layer_run.h. */
#include "infer/layer_run.h"

#include "base/mem.h"

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
				.fanout = c->sample_degrees ? c->fanout : 0,
				.weighted = c->weighted_degrees && d->weighted_there != NULL ?
					d->weighted_there + first : NULL,
				.rows = rows, .to = vec[k]});
	return rc;
}

static int alloc_filled(struct gnn_backend *b, float **out, uint64_t count, float value)
{
	int rc;

	GNN_TRY(alloc_floats(b, out, count));
	GNN_TRY(b->ops->fill(b, *out, value, count));
out:
	return rc;
}

/* Scores that fall with s somewhere have their maximum at one end or the other. */
static int alloc_scores(struct gnn_layer_run *r)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_backend *b = r->o.backend;
	uint64_t v = r->o.degrees->vertices;
	uint32_t width = gnn_conv_score_width(c);
	int rc;

	if (c->combine == GNN_COMBINE_SOFTMAX && c->slope < 0) {
		width -= c->heads;
		GNN_TRY(alloc_filled(b, &r->least, v * c->heads, INFINITY));
	}
	GNN_TRY(alloc_filled(b, &r->scores, v * width, -INFINITY));
	if (r->o.targets)
		GNN_TRY(alloc_floats(b, &r->targets, v * c->width));
out:
	return rc;
}

static int alloc_after(struct gnn_layer_run *r)
{
	struct gnn_backend *b = r->o.backend;
	uint64_t blocks = gnn_ceil_div(r->o.rows_max, GNN_MOMENT_ROWS);
	void *block;
	int rc;

	r->after = r->o.conv->after;
	GNN_TRY(alloc_floats(b, &r->finished, r->o.rows_max * r->o.conv->finish.dim_out));
	GNN_TRY(b->ops->alloc(b, &block, blocks * sizeof(*r->moments)));
	r->moments = block;
out:
	return rc;
}

int gnn_layer_run_init(struct gnn_layer_run *r, const struct gnn_layer_run_opts *o)
{
	const struct gnn_conv *c = o->conv;
	struct gnn_backend *b = o->backend;
	int rc;

	*r = (struct gnn_layer_run){.o = *o};
	GNN_TRY(alloc_floats(b, &r->state, o->state_rows * c->state_width));
	if (o->carry_rows > 0)
		GNN_TRY(alloc_floats(b, &r->carry, o->carry_rows * c->state_width));
	if (gnn_combine_is_softmax(c->combine))
		GNN_TRY(alloc_scores(r));
	GNN_TRY(alloc_floats(b, &r->message, o->chunk_rows * c->message.dim_out));
	if (c->late.dim_out > 0)
		GNN_TRY(alloc_floats(b, &r->joined, o->chunk_rows * c->finish.dim_in));
	if (c->after.count > 0)
		GNN_TRY(alloc_after(r));
	for (int k = 0; k < GNN_ROW_VECTORS; k++)
		GNN_TRY(alloc_floats(b, &r->vec[k], o->rows_max));
	GNN_TRY(gnn_exchange_init(&r->exchange, o->share, b, c, o->chunk_rows));
out:
	if (rc < 0)
		gnn_layer_run_fini(r);
	return rc;
}

void gnn_layer_run_fini(struct gnn_layer_run *r)
{
	struct gnn_backend *b = r->o.backend;

	if (b == NULL)
		return;
	gnn_exchange_fini(&r->exchange);
	b->ops->free(b, r->message);
	b->ops->free(b, r->state);
	b->ops->free(b, r->carry);
	b->ops->free(b, r->scores);
	b->ops->free(b, r->least);
	b->ops->free(b, r->targets);
	b->ops->free(b, r->joined);
	b->ops->free(b, r->finished);
	b->ops->free(b, r->moments);
	for (int k = 0; k < GNN_ROW_VECTORS; k++)
		b->ops->free(b, r->vec[k]);
	*r = (struct gnn_layer_run){0};
}

int gnn_layer_run_begin(struct gnn_layer_run *r, const struct gnn_range *to)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_backend *b = r->o.backend;
	float empty = c->combine == GNN_COMBINE_MAX ? -INFINITY : 0.0f;
	int rc;

	GNN_ASSERT(to->first % b->ops->panel_rows == 0 && to->count <= r->o.state_rows);
	r->to = *to;
	GNN_TRY(b->ops->fill(b, r->state, empty, to->count * c->state_width));
	if (r->carry != NULL)
		GNN_TRY(b->ops->fill(b, r->carry, 0.0f, r->o.carry_rows * c->state_width));
out:
	return rc;
}

/* Rows of a chunk where operations can read them. */
static int stage_rows(struct gnn_layer_run *r, enum gnn_stage_kind kind,
	const struct gnn_rows *rows, const void *data, uint64_t count, const void **out)
{
	if (rows->kind == GNN_ROWS_MEMORY || data == NULL) {
		*out = data;
		return GNN_OK;
	}
	return r->o.backend->ops->stage(r->o.backend, kind, data,
		count * gnn_rows_row_bytes(rows), out);
}

/* What is kept of h of the chunk's vertices that are in the range, beside their sums. */
static int keep_own(struct gnn_layer_run *r, const struct gnn_work *w, const struct gnn_rows *rows,
	const void *h)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_backend *b = r->o.backend;
	gnn_vid first = gnn_max_u64(w->first_row, r->to.first);
	gnn_vid end = gnn_min_u64(w->first_row + w->rows, r->to.first + r->to.count);

	if (h == NULL || first >= end)
		return GNN_OK;
	return b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->keep,
		.from = (const char *)h + (first - w->first_row) * gnn_rows_row_bytes(rows),
		.from_dtype = rows->dtype, .from_pitch = rows->width,
		.to = r->state + (first - r->to.first + 1) * c->state_width - c->keep.dim_out,
		.to_pitch = c->state_width, .rows = end - first});
}

/* [ m | o ] = message(h) on the chunk's panels, and what the conv keeps of h. */
static int transform(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_backend *b = r->o.backend;
	float *to = r->message;
	const void *h;
	int rc;

	if (pass->keep != NULL)
		to = pass->keep + w->first_row * c->message.dim_out;
	GNN_TRY(stage_rows(r, GNN_STAGE_ROWS, &pass->rows, w->row_data, w->rows, &h));
	GNN_TRY(fill_factors(b, c, r->o.degrees, c->message_vec, w->first_row, w->rows, r->vec));
	GNN_TRY(b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->message, .from = h,
		.from_dtype = pass->rows.dtype, .from_pitch = c->dim_in, .to = to,
		.to_pitch = c->message.dim_out, .rows = w->rows, .vec = {r->vec[0], r->vec[1]}}));
	if (pass->keeps_own)
		GNN_TRY(keep_own(r, w, &pass->rows, h));
	r->kept = h;
	r->kept_rows = &pass->rows;
	r->rows = to;
	r->rows_pitch = c->message.dim_out;
	r->own = c->own == GNN_OWN_ROW ? to + c->width : to;
	r->own_pitch = r->rows_pitch;
out:
	return rc;
}

/* Message rows as they come, with the own rows behind each or apart. */
static int take_messages(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	const struct gnn_conv *c = r->o.conv;
	const void *there;
	int rc;

	GNN_TRY(stage_rows(r, GNN_STAGE_ROWS, &pass->rows, w->row_data, w->rows, &there));
	r->rows = there;
	r->rows_pitch = pass->rows.width;
	r->own = r->rows;
	r->own_pitch = r->rows_pitch;
	GNN_TRY(stage_rows(r, GNN_STAGE_OWN, &pass->own, w->own_data, w->rows, &there));
	if (pass->keeps_own)
		GNN_TRY(keep_own(r, w, &pass->own, there));
	if (c->own == GNN_OWN_ROW && pass->own.kind == GNN_ROWS_NONE) {
		r->own = r->rows + c->width;
	} else if (c->own == GNN_OWN_ROW) {
		r->own = there;
		r->own_pitch = pass->own.width;
	}
out:
	return rc;
}

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

/* What the edges of the chunk take of its rows, from all ranks where there are several. */
static int exchange(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	const struct gnn_conv *c = r->o.conv;
	bool scores = c->combine == GNN_COMBINE_SOFTMAX;
	bool rows = !scores || pass->kind == GNN_PASS_COMBINE;
	int rc = GNN_OK;

	r->source = r->rows;
	r->source_pitch = r->rows_pitch;
	if (r->o.share == NULL || pass->kind == GNN_PASS_ROWS)
		return GNN_OK;
	GNN_TRY(gnn_exchange_round(&r->exchange, &w->round, &(struct gnn_exchange_chunk){
		.rows = rows ? r->rows : NULL, .pitch = r->rows_pitch, .count = w->rows,
		.scores = scores ? r->scores + w->first_row * 3 * c->heads : NULL}));
	r->source = r->exchange.rows;
	r->source_pitch = r->exchange.width;
out:
	return rc;
}

/* s and t of the chunk's rows. */
static int make_scores(struct gnn_layer_run *r, const struct gnn_work *w)
{
	const struct gnn_conv *c = r->o.conv;
	uint64_t pitch = 3 * (uint64_t)c->heads;

	return w->rows == 0 ? GNN_OK : r->o.backend->ops->rows(r->o.backend,
		&(struct gnn_rows_args){.prog = &c->scores, .from = r->rows,
			.from_dtype = GNN_F32, .from_pitch = r->rows_pitch,
			.to = r->scores + w->first_row * pitch, .to_pitch = pitch,
			.rows = w->rows});
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

int gnn_layer_run_take(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	const struct gnn_conv *c = r->o.conv;
	int rc;

	if (w->rows > 0)
		GNN_TRY(pass->transform ? transform(r, pass, w) : take_messages(r, pass, w));
	/* Where there is a pass of their own for scores of two scalars, or in the next. */
	if (c->combine == GNN_COMBINE_SOFTMAX &&
		pass->kind == (c->three_steps ? GNN_PASS_ROWS : GNN_PASS_SCORES))
		GNN_TRY(make_scores(r, w));
	rc = exchange(r, pass, w);
out:
	return rc;
}

int gnn_layer_run_absorb(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	bool pairs = r->o.conv->combine == GNN_COMBINE_PAIR_SOFTMAX;
	struct gnn_edge_batch batch;
	int rc = GNN_OK;

	if (w->first)
		GNN_TRY(gnn_layer_run_take(r, pass, w));
	if (pass->kind == GNN_PASS_ROWS)
		return absorb_rows(r, w);
	GNN_TRY(group(r, w, &batch));
	GNN_TRY(pass->kind == GNN_PASS_COMBINE ?
		gnn_layer_run_combine(r, pass, w->first_row, &batch, r->state, r->carry) :
		pairs ? absorb_pair_scores(r, pass, &batch) : absorb_scores(r, w, &batch));
out:
	return rc;
}

static int finish_states(struct gnn_layer_run *r, const struct gnn_degrees *d, gnn_vid first,
	const float *state, uint64_t rows, float *to)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_backend *b = r->o.backend;
	int rc;

	GNN_TRY(fill_factors(b, c, d, c->finish_vec, first, rows, r->vec));
	GNN_TRY(b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->finish, .from = state,
		.from_dtype = GNN_F32, .from_pitch = c->finish.dim_in, .to = to,
		.to_pitch = c->finish.dim_out, .rows = rows, .vec = {r->vec[0], r->vec[1]}}));
out:
	return rc;
}

int gnn_layer_run_finish_late(struct gnn_layer_run *r, gnn_vid first, uint64_t count,
	const struct gnn_rows *rows, const void *h, float *to)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_backend *b = r->o.backend;
	uint64_t row = c->state_width * sizeof(float);
	const void *there;
	int rc;

	GNN_ASSERT(count <= r->o.chunk_rows && c->late.dim_out > 0 && r->finished == NULL);
	GNN_TRY(b->ops->copy(b, r->joined, c->finish.dim_in * sizeof(float),
		r->state + (first - r->to.first) * c->state_width, row, row, count));
	GNN_TRY(stage_rows(r, GNN_STAGE_ROWS, rows, h, count, &there));
	GNN_TRY(b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->late, .from = there,
		.from_dtype = rows->dtype, .from_pitch = rows->width,
		.to = r->joined + c->state_width, .to_pitch = c->finish.dim_in, .rows = count}));
	GNN_TRY(finish_states(r, r->o.degrees, first, r->joined, count, to));
out:
	return rc;
}

int gnn_layer_run_finish_states(struct gnn_layer_run *r, const struct gnn_degrees *d,
	const float *state, uint64_t rows, float *to)
{
	return finish_states(r, d, 0, state, rows, to);
}

/* What the conv itself gives, (rows, width of finish). */
static int finish_rows(struct gnn_layer_run *r, gnn_vid first, uint64_t rows, float *to)
{
	GNN_ASSERT(first % r->o.backend->ops->panel_rows == 0 && first >= r->to.first &&
		first + rows <= r->to.first + r->to.count);
	return finish_states(r, r->o.degrees, first,
		r->state + (first - r->to.first) * r->o.conv->state_width, rows, to);
}

int gnn_layer_run_finish(struct gnn_layer_run *r, gnn_vid first, uint64_t rows, float *to)
{
	const struct gnn_conv *c = r->o.conv;
	int rc;

	if (r->finished == NULL)
		return finish_rows(r, first, rows, to);
	GNN_TRY(finish_rows(r, first, rows, r->finished));
	GNN_TRY(r->o.backend->ops->rows(r->o.backend, &(struct gnn_rows_args){.prog = &r->after,
		.from = r->finished, .from_dtype = GNN_F32, .from_pitch = c->finish.dim_out,
		.to = to, .to_pitch = c->dim_out, .rows = rows}));
out:
	return rc;
}

/* Moments of the blocks of `rows` finished rows join `all`, in order; `here` is room for them. */
static int join_moments(struct gnn_layer_run *r, uint64_t rows, struct gnn_moments *here,
	struct gnn_moments *all)
{
	const struct gnn_conv *c = r->o.conv;
	struct gnn_backend *b = r->o.backend;
	uint64_t blocks = gnn_ceil_div(rows, GNN_MOMENT_ROWS), bytes = blocks * sizeof(*here);
	uint64_t ticket;
	int rc;

	GNN_TRY(b->ops->moments(b, &(struct gnn_moments_args){.from = r->finished,
		.from_pitch = c->finish.dim_out, .rows = rows, .width = c->finish.dim_out,
		.to = r->moments}));
	GNN_TRY(b->ops->copy(b, here, bytes, r->moments, bytes, bytes, 1));
	GNN_TRY(b->ops->mark(b, &ticket));
	GNN_TRY(b->ops->wait(b, ticket));
	for (uint64_t i = 0; i < blocks; i++)
		gnn_moments_join(all, &here[i]);
out:
	return rc;
}

/* The moments of each rank's rows become those of all, joined in order of the ranks. */
static int join_ranks(const struct gnn_share *s, struct gnn_moments *all)
{
	struct gnn_moments *each = NULL;
	int rc;

	GNN_NEW_ARRAY(each, s->size, GNN_MEM_MISC);
	GNN_TRY(gnn_comm_gather(s->comm, all, sizeof(*all), each));
	*all = (struct gnn_moments){0};
	for (uint32_t q = 0; q < s->size; q++)
		gnn_moments_join(all, &each[q]);
out:
	gnn_comm_keep(s->comm, each);
	return rc;
}

int gnn_layer_run_settle(struct gnn_layer_run *r, uint64_t block)
{
	uint64_t vertices = r->o.degrees->vertices;
	struct gnn_rowop *op = &r->after.op[0];
	struct gnn_moments all = {0}, *here = NULL;
	int rc = GNN_OK;

	if (r->finished == NULL)
		return GNN_OK;
	GNN_ASSERT(op->kind == GNN_ROW_STANDARD && r->to.count == vertices);
	GNN_NEW_ARRAY(here, gnn_ceil_div(block, GNN_MOMENT_ROWS), GNN_MEM_MISC);
	for (gnn_vid v = 0; v < vertices; v += block) {
		uint64_t rows = gnn_min_u64(block, vertices - v);

		GNN_TRY(finish_rows(r, v, rows, r->finished));
		GNN_TRY(join_moments(r, rows, here, &all));
	}
	if (r->o.share != NULL)
		GNN_TRY(join_ranks(r->o.share, &all));
	op->center = (float)all.mean;
	op->factor = (float)(1.0 / (gnn_moments_deviation(&all) + (double)op->epsilon));
out:
	gnn_mem_free(here);
	return rc;
}

int gnn_layer_run_messages(struct gnn_backend *b, const struct gnn_conv *c,
	const struct gnn_degrees *d, float *const *vec, gnn_vid first, uint64_t rows,
	const void *h, enum gnn_dtype dtype, float *to)
{
	int rc;

	GNN_TRY(fill_factors(b, c, d, c->message_vec, first, rows, vec));
	GNN_TRY(b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->message, .from = h,
		.from_dtype = dtype, .from_pitch = c->dim_in, .to = to,
		.to_pitch = c->message.dim_out, .rows = rows, .vec = {vec[0], vec[1]}}));
out:
	return rc;
}
