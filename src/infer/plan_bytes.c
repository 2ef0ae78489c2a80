/* infer/plan_bytes.c - see plan_bytes.h. */
#include "infer/plan_bytes.h"

#include "base/mem.h"
#include "infer/jump.h"
#include "infer/permute.h"

enum {
	PROBE_ROWS = 512,         /* beside a panel, when a device checks the shape of a product */
	PACK_COLUMNS = 16,        /* of a packed weight, in multiples of which it is held */
	INLIST_BYTES = 10 << 20,  /* while weights are summed, or samples drawn */
	SLACK_BYTES = 2 << 20,    /* queues, rings, threads' objects, HDF5's own */
	GROUP_ENTRY_BYTES = 64,   /* what a device takes to group one edge */
	PERMUTE_BYTES = 1 << 30,  /* of rows sorted at a time, where there is no budget */
	DEVICE_SLACK_BYTES = 64 << 20, /* weights, fragments */
};

/* What the degrees and thresholds that the layers take will hold. */
static uint64_t degree_bytes(const struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	uint64_t bytes = gnn_degrees_bytes(o->store), vector = o->store->vertices * sizeof(float);
	uint64_t sampling = o->store->whole_vertices * sizeof(uint64_t) *
		(o->store->original_id != NULL ? 2 : 1);
	bool out = false, weighted = false, sampled = false;

	for (uint32_t l = 0; l < p->layer_count; l++) {
		const struct gnn_conv *c = gnn_model_conv(o->model, l);

		out |= gnn_conv_needs_out_degrees(c);
		weighted |= o->store->out.weights != NULL && c->weighted_degrees;
		sampled |= c->fanout != 0;
	}
	return bytes + (out ? vector : 0) + (weighted ? 2 * vector : 0) +
		(sampled ? sampling : 0) + (weighted || sampled ? INLIST_BYTES : 0);
}

void gnn_plan_budgets(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	const struct gnn_backend_ops *ops = o->backend->ops;
	uint64_t later = d == NULL ? degree_bytes(p, o) : 0;
	struct gnn_mem_stats s;

	gnn_mem_stats(&s);
	p->host_taken = s.held_bytes + later;
	p->host_budget = s.limit_bytes == 0 ? UINT64_MAX :
		s.limit_bytes - gnn_min_u64(s.limit_bytes, p->host_taken);
	p->device_budget = UINT64_MAX;
	if (ops->unified)
		return;
	p->device_budget = ops->room_bytes(o->backend);
	p->device_taken = later;
	if (o->gpu_memory > p->device_budget)
		p->device_taken += o->gpu_memory - p->device_budget;
	p->device_budget -= gnn_min_u64(p->device_budget, later);
}

static uint64_t widest_of(const struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	uint64_t widest = 0;

	for (uint32_t l = 0; l < p->layer_count; l++)
		widest = gnn_max_u64(widest, gnn_max_u64(gnn_model_width(o->model, l),
			gnn_model_conv(o->model, l)->dim_out));
	return widest;
}

/* --- host memory --- */

static struct gnn_rows rows_of(const struct gnn_plan *p, uint32_t l)
{
	const struct gnn_layer_plan *lp = &p->layer[l];

	return (struct gnn_rows){.kind = lp->input, .width = lp->input_width - lp->input_own,
		.dtype = lp->input_dtype};
}

/* The heavier of a pass over the input and one over kept message rows, own rows beside either. */
static uint64_t feed_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	const struct gnn_layer_plan *lp = &p->layer[l];
	struct gnn_feed_opts first = gnn_plan_feed(p, l, o, NULL), later;
	uint64_t bytes;

	if (p->kind == GNN_PLAN_TIERED) /* whose rows are combined as this side groups them */
		first.lists = false;
	later = first;

	first.rows = rows_of(p, l);
	if (lp->input_own > 0)
		first.own = (struct gnn_rows){.kind = lp->input, .width = lp->input_own};
	bytes = gnn_feed_bytes(&first);
	if (lp->messages != GNN_ROWS_FILE)
		return bytes;
	later.rows = (struct gnn_rows){.kind = GNN_ROWS_FILE, .width = c->width};
	if (c->keep.dim_out > 0)
		later.own = rows_of(p, l);
	else if (c->own == GNN_OWN_ROW)
		later.own = (struct gnn_rows){.kind = GNN_ROWS_FILE,
			.width = c->message.dim_out - c->width};
	return gnn_max_u64(bytes, gnn_feed_bytes(&later));
}

/* Buffers of what is written: message rows, the next input, rows for the result. */
static uint64_t writer_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	struct gnn_kept_opts k = gnn_plan_messages(p, l, o);
	uint64_t bytes = gnn_kept_buffer_bytes(&k);
	bool last = l + 1 == p->layer_count;

	if (!last) {
		k = gnn_plan_input(p, l + 1, o);
		bytes += gnn_kept_buffer_bytes(&k);
	}
	k = gnn_plan_output(p, l, o);
	bytes += gnn_kept_buffer_bytes(&k);
	if (!gnn_plan_keeps_output(p, l, o) && (last || o->save_layers))
		bytes += GNN_ARRAY_WRITER_BYTES;
	if (last && o->predict && p->kind == GNN_PLAN_RESIDENT)
		bytes += GNN_ARRAY_WRITER_BYTES + p->finish_rows * sizeof(int64_t);
	return bytes;
}

/* Floats of what the executor works on: message rows, factors, finished rows, the next message. */
static uint64_t work_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	const struct gnn_layer_plan *lp = &p->layer[l];
	uint64_t floats = lp->chunk_rows * c->message.dim_out +
		gnn_max_u64(lp->chunk_rows, p->finish_rows) * GNN_ROW_VECTORS;

	floats += p->finish_rows * widest_of(p, o);
	if (l + 1 < p->layer_count)
		floats += p->finish_rows * (uint64_t)p->layer[l + 1].input_width;
	if (c->after.count > 0)
		floats += gnn_max_u64(lp->chunk_rows, p->finish_rows) * c->finish.dim_out;
	if (c->late.dim_out > 0)
		floats += lp->chunk_rows * c->finish.dim_in;
	if (gnn_model_jump(o->model) != NULL)
		floats += p->finish_rows * gnn_model_jump(o->model)->width;
	return floats * sizeof(float);
}

/* Floats of the packed weights of a row program. */
static uint64_t packed_floats(const struct gnn_rowprog *prog)
{
	uint64_t floats = 0;

	for (uint32_t i = 0; i < prog->count; i++)
		if (prog->op[i].kind == GNN_ROW_DENSE)
			floats += gnn_align_up(prog->op[i].dim_out, PACK_COLUMNS) *
				prog->op[i].dim_in;
	return floats;
}

/* Panels on their way through row programs, and weights packed for them, while they grow too. */
static uint64_t program_bytes(const struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	const bool unified = o->backend->ops->unified;
	uint64_t widest = 0, weight = 0, panels = unified ? o->threads : 2;

	for (uint32_t l = 0; l < p->layer_count; l++) {
		const struct gnn_conv *c = gnn_model_conv(o->model, l);
		const struct gnn_rowprog *programs[] = {&c->message, &c->keep, &c->late, &c->finish,
			&c->after, &c->jump};

		for (uint32_t k = 0; k < GNN_COUNT_OF(programs); k++) {
			widest = gnn_max_u64(widest, gnn_rowprog_width(programs[k]));
			weight = gnn_max_u64(weight, packed_floats(programs[k]));
		}
	}
	return (gnn_max_u64(panels, 1) * o->backend->ops->panel_rows *
		(2 * widest + (unified ? 0 : PROBE_ROWS)) + 2 * weight) * sizeof(float);
}

/* Ranges staged twice, and what groups the edges of the largest. */
static uint64_t staged_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	const struct gnn_layer_plan *lp = &p->layer[l];
	struct gnn_rows rows = rows_of(p, l);
	uint64_t row = gnn_max_u64(gnn_rows_row_bytes(&rows), c->message.dim_out * sizeof(float));
	uint64_t at_hand = lp->chunk_rows * gnn_share_size(o->share);
	uint64_t entries = at_hand + p->list_bytes / sizeof(uint32_t);

	return 2 * (2 * lp->chunk_rows * row + (at_hand + 1) * 8 + p->list_bytes +
		(o->share != NULL ? at_hand * sizeof(uint32_t) : 0)) + entries * GROUP_ENTRY_BYTES;
}

void gnn_plan_add_bytes(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	struct gnn_layer_plan *lp = &p->layer[l];
	struct gnn_kept_opts input = gnn_plan_input(p, l, o), messages = gnn_plan_messages(p, l, o);

	lp->state_bytes = lp->state_rows * c->state_width * sizeof(float);
	lp->carry_bytes = lp->carry_rows * c->state_width * sizeof(float);
	lp->score_bytes = o->store->vertices * sizeof(float) *
		(gnn_conv_score_width(c) + (lp->targets ? (uint64_t)c->width : 0)) +
		gnn_jump_bytes(o->model, o->store->vertices);
	lp->message_bytes = gnn_kept_memory_bytes(&messages);
	lp->input_bytes = gnn_kept_memory_bytes(&input);
	lp->buffer_bytes = feed_bytes(p, l, o) + writer_bytes(p, l, o) + SLACK_BYTES +
		gnn_kept_reader_bytes(&input) +
		gnn_exchange_bytes(o->share, o->backend, c, lp->chunk_rows, false);
	if (p->kind == GNN_PLAN_TIERED)
		lp->buffer_bytes += gnn_plan_tier_bytes(p, l, o);
	if (o->backend->ops->unified)
		lp->buffer_bytes += work_bytes(p, l, o) + program_bytes(p, o);
	else
		lp->buffer_bytes += p->finish_rows * widest_of(p, o) * sizeof(float);
	lp->device_buffer_bytes = o->backend->ops->unified ? 0 : work_bytes(p, l, o) +
		staged_bytes(p, l, o) + DEVICE_SLACK_BYTES + program_bytes(p, o) +
		gnn_exchange_bytes(o->share, o->backend, c, lp->chunk_rows, true) +
		2 * lp->chunk_rows * gnn_rowprog_width(&c->message) * sizeof(float) +
		2 * p->finish_rows * gnn_rowprog_width(&c->finish) * sizeof(float);
	if (p->kind == GNN_PLAN_TIERED && !o->backend->ops->unified)
		lp->device_buffer_bytes += gnn_plan_tier_device_bytes(p, l, o);
}

/* --- peaks --- */

/* What is alive at once: input and states while absorbing, states and next input after it. */
static uint64_t dense_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	const struct gnn_layer_plan *lp = &p->layer[l];
	uint64_t next = l + 1 < p->layer_count ? p->layer[l + 1].input_bytes : 0;

	if (gnn_model_conv(o->model, l)->late.dim_out > 0) /* the input is read behind the sums */
		next += lp->input_bytes;
	return gnn_max_u64(lp->input_bytes + lp->message_bytes, next) + lp->score_bytes +
		lp->state_bytes + lp->carry_bytes;
}

/* Features and where they go, in pieces, what is made of them, and what sorts that into runs. */
static uint64_t permute_bytes(const struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, 0);
	struct gnn_kept_opts input = gnn_plan_input(p, 0, o);

	if (p->permute_rows == 0)
		return 0;
	return gnn_permute_bytes(o->store, c, p->permute_rows) + gnn_kept_buffer_bytes(&input) +
		program_bytes(p, o) + SLACK_BYTES;
}

/* Nothing else is alive meanwhile; half of the budget is enough for few runs. */
void gnn_plan_permute_buffers(struct gnn_plan *p, const struct gnn_infer_opts *o, uint64_t rows)
{
	struct gnn_kept_opts input = gnn_plan_input(p, 0, o);
	uint64_t piece = gnn_runs_arena_bytes(gnn_kept_row_bytes(&input), rows);
	uint64_t all = gnn_ceil_div(gnn_max_u64(o->store->vertices, 1), rows), count;

	count = (p->host_budget == UINT64_MAX ? PERMUTE_BYTES : p->host_budget / 2) / piece;
	count = gnn_max_u64(gnn_min_u64(count, all), 1);
	p->permute_rows = rows;
	p->permute_arena_bytes = count * piece;
	while (count > 1 && permute_bytes(p, o) > p->host_budget) {
		count /= 2;
		p->permute_arena_bytes = count * piece;
	}
}

static uint64_t publish_bytes(const struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	struct gnn_kept_opts out = gnn_plan_output(p, p->layer_count - 1, o);
	uint64_t width = widest_of(p, o);

	if (p->kind == GNN_PLAN_RESIDENT)
		return 0;
	return SLACK_BYTES + gnn_kept_reader_bytes(&out) +
		2 * GNN_ARRAY_WRITER_BYTES + p->finish_rows * sizeof(int64_t) +
		3 * (p->finish_rows * width * sizeof(float) + 2 * GNN_PAGE_BYTES);
}

void gnn_plan_sum(struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	bool unified = o->backend->ops->unified;

	p->host_bytes = gnn_max_u64(publish_bytes(p, o), permute_bytes(p, o));
	p->device_bytes = 0;
	for (uint32_t l = 0; l < p->layer_count; l++) {
		const struct gnn_layer_plan *lp = &p->layer[l];
		uint64_t dense = dense_bytes(p, l, o);
		uint64_t host = lp->buffer_bytes + (unified ? dense : lp->store_bytes);

		if (unified ? host > p->host_bytes : dense > p->device_bytes)
			p->peak_layer = l;
		p->host_bytes = gnn_max_u64(p->host_bytes, host);
		if (!unified)
			p->device_bytes = gnn_max_u64(p->device_bytes,
				dense + lp->device_buffer_bytes);
	}
}

bool gnn_plan_fits(const struct gnn_plan *p)
{
	return p->host_bytes <= p->host_budget && p->device_bytes <= p->device_budget;
}

/* The pool that the states stand in, and what of it is not states. */
static uint64_t pool_of(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	uint64_t *buffers)
{
	const struct gnn_layer_plan *lp = &p->layer[l];
	bool unified = o->backend->ops->unified;

	*buffers = (unified ? lp->buffer_bytes : lp->device_buffer_bytes) + lp->score_bytes;
	return unified ? p->host_budget : p->device_budget;
}

bool gnn_plan_layer_fits(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	uint64_t buffers, pool = pool_of(p, l, o, &buffers);

	return buffers <= pool && dense_bytes(p, l, o) - p->layer[l].score_bytes <= pool - buffers;
}

bool gnn_plan_buffers_are_small(const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o)
{
	uint64_t buffers, pool = pool_of(p, l, o, &buffers);

	return buffers <= pool / 2 && p->layer[l].buffer_bytes <= p->host_budget / 2;
}

uint64_t gnn_plan_wanted_shards(const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o)
{
	const struct gnn_layer_plan *lp = &p->layer[l];
	uint64_t buffers, pool = pool_of(p, l, o, &buffers);

	if (buffers >= pool)
		return UINT32_MAX;
	return gnn_ceil_div(lp->state_bytes * lp->shards, pool - buffers);
}

int gnn_plan_refuse(const struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	const struct gnn_layer_plan *lp = &p->layer[p->peak_layer];
	bool host = p->host_bytes > p->host_budget;
	uint64_t need = host ? p->host_bytes : p->device_bytes;
	uint64_t budget = host ? p->host_budget : p->device_budget;
	const double mib = 1048576.0;
	struct gnn_mem_stats s;
	uint64_t limit, taken = host ? p->host_taken : p->device_taken;

	gnn_mem_stats(&s);
	limit = host ? s.limit_bytes : o->gpu_memory != 0 ? o->gpu_memory : budget;
	return gnn_err(GNN_EOS, "%s memory: the %s plan needs %.1f MiB (layer %u: states %.1f, "
		"scores %.1f, input %.1f, buffers %.1f), the budget of %.1f MiB leaves %.1f; "
		"%s %lluM would suffice", host ? "host" : "device", gnn_plan_name(p->kind),
		(double)need / mib, p->peak_layer + 1,
		(double)(lp->state_bytes + lp->carry_bytes + lp->message_bytes) / mib,
		(double)lp->score_bytes / mib, (double)lp->input_bytes / mib,
		(double)(host ? lp->buffer_bytes : lp->device_buffer_bytes) / mib,
		(double)limit / mib, (double)budget / mib,
		host ? "--host-memory" : "--gpu-memory",
		(unsigned long long)gnn_ceil_div(taken + need, 1u << 20));
}
