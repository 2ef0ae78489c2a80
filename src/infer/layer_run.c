/* infer/layer_run.c - see layer_run.h. */
#include "infer/layer_run.h"

#include "base/mem.h"
#include "base/trace.h"

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
	r->rows_own = c->own == GNN_OWN_ROW ? to + c->width : to;
	r->rows_own_pitch = r->rows_pitch;
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
	r->rows_own = r->rows;
	r->rows_own_pitch = r->rows_pitch;
	GNN_TRY(stage_rows(r, GNN_STAGE_OWN, &pass->own, w->own_data, w->rows, &there));
	if (pass->keeps_own)
		GNN_TRY(keep_own(r, w, &pass->own, there));
	if (c->own == GNN_OWN_ROW && pass->own.kind == GNN_ROWS_NONE) {
		r->rows_own = r->rows + c->width;
	} else if (c->own == GNN_OWN_ROW) {
		r->rows_own = there;
		r->rows_own_pitch = pass->own.width;
	}
out:
	return rc;
}

int gnn_layer_run_arrive(struct gnn_layer_run *r)
{
	struct gnn_exchange *x = &r->exchange;
	int rc;

	if (!x->under_way)
		return GNN_OK;
	GNN_TRY(gnn_exchange_finish(x));
	r->source = x->rows[x->turn];
	r->source_pitch = x->width;
	r->own = x->own_width > 0 ? x->own[x->turn] : r->source;
	r->own_pitch = x->own_width > 0 ? x->own_width : x->width;
out:
	return rc;
}

void gnn_layer_run_abandon(struct gnn_layer_run *r)
{
	struct gnn_err_state first; /* what the caller is about to report stays */

	gnn_err_save(&first, GNN_OK);
	gnn_exchange_abandon(&r->exchange);
	r->o.backend->ops->sync(r->o.backend);
	gnn_err_restore(&first);
}

/* What edges take of the chunk's rows goes to other ranks, once the chunk before is here. */
static int exchange(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	const struct gnn_conv *c = r->o.conv;
	bool scores = c->combine == GNN_COMBINE_SOFTMAX;
	int rc;

	GNN_TRY(gnn_layer_run_arrive(r));
	GNN_TRY(gnn_exchange_start(&r->exchange, &w->round, &(struct gnn_exchange_chunk){
		.wants_rows = !scores || pass->kind == GNN_PASS_COMBINE, .wants_scores = scores,
		.rows = r->rows, .pitch = r->rows_pitch, .own = r->rows_own,
		.own_pitch = r->rows_own_pitch, .count = w->rows,
		.scores = scores ? r->scores + w->first_row * 3 * c->heads : NULL}));
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

/* The rows of the chunk, and their scores. */
static int make_rows(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	const struct gnn_conv *c = r->o.conv;
	uint64_t span = gnn_trace_begin();
	int rc = GNN_OK;

	if (w->rows > 0)
		GNN_TRY(pass->transform ? transform(r, pass, w) : take_messages(r, pass, w));
	/* Where there is a pass of their own for scores of two scalars, or in the next. */
	if (c->combine == GNN_COMBINE_SOFTMAX &&
		pass->kind == (c->three_steps ? GNN_PASS_ROWS : GNN_PASS_SCORES))
		GNN_TRY(make_scores(r, w));
	gnn_trace_end(span, "take");
out:
	return rc;
}

int gnn_layer_run_take(struct gnn_layer_run *r, const struct gnn_pass *pass,
	const struct gnn_work *w)
{
	int rc;

	GNN_TRY(make_rows(r, pass, w));
	if (r->o.share != NULL && pass->kind != GNN_PASS_ROWS)
		return exchange(r, pass, w);
	r->source = r->rows;
	r->source_pitch = r->rows_pitch;
	r->own = r->rows_own;
	r->own_pitch = r->rows_own_pitch;
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
