/* infer/planner.c - see planner.h. */
#include "infer/planner.h"
#include "infer/model_store.h"

#include "infer/permute.h"
#include "infer/plan_bytes.h"

enum {
	ENTRIES_MIN = 1 << 12,
	ENTRIES_LOW = 1 << 16, /* with room */
	ENTRIES_MAX = 1 << 20,
	READ_BYTES  = 16 << 20,
	LIST_BYTES  = 4 << 20,
	LIST_MIN    = 64 << 10,
	SLOT_MIN    = 16 << 10,
	FINISH_ROWS = 1 << 13,
	LEVELS      = 12,      /* times that buffers can halve */
	DEPTH_LEVEL = 1,       /* from here on only two work items circulate: chunks stay larger */
};

/* --- sizes --- */

/* Rows of `row_bytes` in whole panels under the ceiling, at least one panel, never past V. */
static uint64_t chunk_rows_of(const struct gnn_plan *p, const struct gnn_infer_opts *o,
	uint64_t row_bytes)
{
	uint64_t height = o->backend->ops->panel_rows;
	uint64_t panels = p->chunk_bytes / (gnn_max_u64(row_bytes, 1) * height);
	uint64_t needed = gnn_plan_most_panels(o);

	return gnn_max_u64(gnn_min_u64(panels, needed), 1) * height;
}

/* Edges and own rows of an average chunk, twice, between bounds. */
static uint64_t entries_of(const struct gnn_store *s, uint64_t chunk_rows, uint32_t level)
{
	double average = (double)s->edges / (double)gnn_max_u64(s->vertices, 1) + 1.0;
	double wanted = 2.0 * average * (double)chunk_rows;
	uint64_t low = gnn_max_u64(ENTRIES_LOW >> level, ENTRIES_MIN);
	uint64_t high = gnn_max_u64(ENTRIES_MAX >> level, ENTRIES_MIN);

	if (wanted >= (double)high)
		return high;
	return wanted <= (double)low ? low : (uint64_t)wanted;
}

/* Without degrees, as before they are loaded, every vertex that can be a hub counts as one. */
static uint64_t carry_rows_of(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	uint32_t panel_rows = o->backend->ops->panel_rows, shards = p->layer[l].shards;
	uint64_t most = 0;

	if (!gnn_combine_is_sum(gnn_model_conv(o->model, l)->combine))
		return 0;
	if (d == NULL)
		return gnn_min_u64(p->layer[l].state_rows, o->store->in_edges / GNN_HUB_DEGREE);
	for (uint32_t s = 0; s < shards; s++) {
		struct gnn_range r = gnn_plan_range(p, l, s, panel_rows, d);

		most = gnn_max_u64(most, gnn_degrees_hubs_before(d, r.first + r.count) -
			r.carry_first);
	}
	return most;
}

/* --- one layer --- */

/* Bytes a row that later passes cost when message rows are kept in scratch, or made again. */
static bool is_worth_keeping(const struct gnn_layer_plan *lp, const struct gnn_conv *c,
	uint64_t input_bytes)
{
	uint64_t later = c->combine == GNN_COMBINE_SOFTMAX ? lp->shards : lp->shards - 1;
	uint64_t message = c->width * sizeof(float);
	uint64_t own = (c->message.dim_out - c->width) * sizeof(float);
	uint64_t kept = message + 2 * own + later * message +
		(c->keep.dim_out > 0 ? input_bytes : 0);

	return kept < later * input_bytes;
}

static enum gnn_rows_kind messages_of(const struct gnn_plan *p, const struct gnn_layer_plan *lp,
	const struct gnn_conv *c, uint64_t input_bytes)
{
	if (lp->input_message || lp->targets)
		return GNN_ROWS_NONE;
	if (p->kind == GNN_PLAN_RESIDENT)
		return gnn_combine_is_softmax(c->combine) ? GNN_ROWS_MEMORY : GNN_ROWS_NONE;
	if (p->kind == GNN_PLAN_TIERED && c->keep.dim_out > 0)
		return GNN_ROWS_NONE; /* h is wanted where rows are combined */
	return c->three_steps || is_worth_keeping(lp, c, input_bytes) ?
		GNN_ROWS_FILE : GNN_ROWS_NONE;
}

/* Whether a layer can be given message rows: nothing asks for h itself. */
static bool takes_messages(const struct gnn_layer_plan *lp, const struct gnn_conv *c)
{
	return c->keep.dim_out == 0 && !lp->targets && c->late.dim_out == 0 && !c->three_steps;
}

/* What the first layer reads: features in the order of the vertices, or what is sorted of them. */
static void lay_out_features(struct gnn_layer_plan *lp, const struct gnn_conv *c,
	const struct gnn_store *s)
{
	const struct gnn_array *a = s->features;
	uint64_t row_bytes = a->cols * gnn_dtype_bytes(a->dtype);

	lp->input = s->feature_rank != NULL ? GNN_ROWS_RUNS : GNN_ROWS_STORE;
	/* The resident plan has the rows of all targets among its own messages. */
	lp->input_message = s->feature_rank != NULL && takes_messages(lp, c) &&
		c->combine != GNN_COMBINE_PAIR_SOFTMAX &&
		c->message.dim_out * sizeof(float) < row_bytes;
	lp->input_dtype = lp->input_message ? GNN_F32 : a->dtype;
	lp->input_width = lp->input_message ? c->message.dim_out : (uint32_t)a->cols;
}

/* Everything but memory of states, for a number of shards. */
static void lay_out(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	uint32_t shards)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	struct gnn_layer_plan *lp = &p->layer[l];
	uint64_t row_bytes;

	*lp = (struct gnn_layer_plan){.shards = shards,
		.targets = c->combine == GNN_COMBINE_PAIR_SOFTMAX &&
			p->kind != GNN_PLAN_RESIDENT};
	if (l == 0) {
		lay_out_features(lp, c, o->store);
	} else {
		lp->input = p->kind == GNN_PLAN_RESIDENT ? GNN_ROWS_MEMORY :
			p->kind == GNN_PLAN_TIERED ? GNN_ROWS_RUNS : GNN_ROWS_FILE;
		lp->input_message = takes_messages(lp, c) &&
			(gnn_combine_is_softmax(c->combine) || c->message.dim_out < c->dim_in);
		lp->input_width = lp->input_message ? c->message.dim_out : c->dim_in;
	}
	lp->input_own = lp->input_message ? c->message.dim_out - c->width : 0;
	row_bytes = (uint64_t)lp->input_width * gnn_dtype_bytes(lp->input_dtype);
	lp->messages = messages_of(p, lp, c, row_bytes);
	/* With several ranks a chunk brings as many message rows from each of the others. */
	lp->chunk_rows = chunk_rows_of(p, o, gnn_max_u64(row_bytes,
		c->message.dim_out * sizeof(float) * gnn_share_size(o->share)));
}

static void add_states(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	struct gnn_layer_plan *lp = &p->layer[l];
	uint32_t height = o->backend->ops->panel_rows;

	lp->state_rows = gnn_ceil_div(gnn_plan_panels(o), lp->shards) * height;
	lp->carry_rows = carry_rows_of(p, l, o, d);
	gnn_plan_add_bytes(p, l, o);
}

/* --- all layers --- */

/* Sizes of what circulates, halved `level` times. */
static void set_buffers(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, uint32_t level)
{
	uint64_t depth = level < DEPTH_LEVEL ? gnn_max_u64(o->queue_depth, 2) : 2;
	const struct gnn_array *features = o->store->features;
	uint32_t height = o->backend->ops->panel_rows;
	uint64_t widest = 0;

	p->level = level;
	/* A unified backend has done an operation when it returns; else two chunks overlap. */
	p->in_flight = o->backend->ops->unified ? 1 : 3;
	p->ahead = (uint32_t)depth + p->in_flight - 1;
	if (o->share != NULL && p->kind != GNN_PLAN_TIERED)
		p->ahead++; /* the executor looks one item ahead */
	p->chunk_bytes = gnn_max_u64(o->chunk_bytes >> level, 1);
	p->read_bytes = READ_BYTES >> level;
	p->list_bytes = gnn_max_u64(LIST_BYTES >> level, LIST_MIN);
	p->slot_bytes = gnn_max_u64(GNN_EXTENT_SLOT_BYTES >> level, SLOT_MIN);
	p->finish_rows = gnn_min_u64(gnn_align_up(gnn_max_u64(FINISH_ROWS >> level, 1), height),
		gnn_plan_most_panels(o) * height);
	if (p->kind == GNN_PLAN_TIERED)
		gnn_plan_tier_buffers(p, o, d, level);
	for (uint32_t l = 0; l < p->layer_count; l++) {
		lay_out(p, l, o, 1);
		widest = gnn_max_u64(widest, p->layer[l].chunk_rows);
	}
	if (o->store->feature_rank != NULL)
		gnn_plan_permute_buffers(p, o, chunk_rows_of(p, o, features->cols *
			gnn_dtype_bytes(features->dtype)));
	p->entries = entries_of(o->store, widest, level);
}

/* A norm over all rows takes the states of all vertices at once. */
static bool needs_whole(const struct gnn_conv *c)
{
	return c->after.count > 0;
}

/* The fewest shards whose states fit beside the rest; false: not even one panel does. */
static bool choose_shards(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	uint64_t panels = gnn_plan_panels(o), k = gnn_max_u64(o->shards, 1);
	bool whole = needs_whole(gnn_model_conv(o->model, l));

	if (d == NULL && !whole)
		k = panels;
	for (;;) {
		k = gnn_min_u64(gnn_min_u64(k, panels), UINT32_MAX);
		lay_out(p, l, o, (uint32_t)k);
		add_states(p, l, o, d);
		if (gnn_plan_layer_fits(p, l, o))
			return true;
		if (k == panels || o->shards != 0 || whole)
			return false;
		k = gnn_max_u64(k + 1, gnn_min_u64(gnn_plan_wanted_shards(p, l, o), panels));
	}
}

static bool fit_level(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, uint32_t level)
{
	bool fits = true;

	set_buffers(p, o, d, level);
	for (uint32_t l = 0; l < p->layer_count; l++) {
		if (p->kind == GNN_PLAN_RESIDENT) {
			add_states(p, l, o, d);
			continue;
		}
		if (p->kind == GNN_PLAN_TIERED)
			fits = gnn_plan_tier_layer(p, l, o, d) && fits;
		else
			fits = choose_shards(p, l, o, d) && fits;
		if (level < LEVELS && !gnn_plan_buffers_are_small(p, l, o))
			fits = false;
	}
	gnn_plan_sum(p, o);
	return fits && gnn_plan_fits(p);
}

static bool fit(struct gnn_plan *p, const struct gnn_infer_opts *o, const struct gnn_degrees *d,
	enum gnn_plan_kind kind)
{
	p->kind = kind;
	for (uint32_t level = 0; level <= LEVELS; level++)
		if (fit_level(p, o, d, level))
			return true;
	return false;
}

int gnn_planner_check(const struct gnn_infer_opts *o)
{
	struct gnn_degrees unknown = {.vertices = o->store->vertices, .hub_count =
		o->store->edges / GNN_HUB_DEGREE};
	struct gnn_infer_opts smallest = *o;
	struct gnn_plan p = {.layer_count = gnn_model_layers(o->model)};
	int rc = gnn_model_fits(o->model, o->store);

	if (rc == GNN_OK)
		rc = gnn_permute_check(o);
	if (rc < 0)
		return rc;
	smallest.shards = 0;
	gnn_plan_budgets(&p, o, NULL);
	p.kind = o->plan == GNN_PLAN_TIERED ? GNN_PLAN_TIERED : GNN_PLAN_PARTITIONED;
	if (p.kind == GNN_PLAN_TIERED && smallest.hot_store == 0)
		smallest.hot_store = GNN_STORE_MIN;
	if (p.kind == GNN_PLAN_TIERED && smallest.gpu_store == 0 && !o->backend->ops->unified)
		smallest.gpu_store = GNN_STORE_MIN;
	fit_level(&p, &smallest, p.kind == GNN_PLAN_TIERED ? &unknown : NULL, LEVELS);
	return gnn_plan_fits(&p) ? GNN_OK : gnn_plan_refuse(&p, o);
}

static int check_shards(const struct gnn_infer_opts *o)
{
	for (uint32_t l = 0; l < gnn_model_layers(o->model); l++)
		if (o->shards > 1 && needs_whole(gnn_model_conv(o->model, l)))
			return gnn_err(GNN_ECONFIG, "--shards %u: the norm behind layer %u is over "
				"all vertices, which takes their states at once", o->shards, l);
	return GNN_OK;
}

/* What fits this rank's budgets. */
static int make_alone(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	enum gnn_plan_kind wanted = o->plan;
	int rc = gnn_model_fits(o->model, o->store);

	if (rc == GNN_OK)
		rc = gnn_permute_check(o);
	if (rc < 0)
		return rc;
	*p = (struct gnn_plan){.layer_count = gnn_model_layers(o->model)};
	gnn_plan_budgets(p, o, d);
	if (o->shards != 0 && (wanted == GNN_PLAN_RESIDENT || wanted == GNN_PLAN_TIERED))
		return gnn_err(GNN_ECONFIG, "--shards %u: the %s plan has none; give --plan "
			"partitioned", o->shards, gnn_plan_name(wanted));
	if (wanted == GNN_PLAN_TIERED) {
		rc = gnn_plan_tier_check(o, d);
		if (rc < 0 || fit(p, o, d, wanted))
			return rc;
		return gnn_plan_tier_refuse(p, o, d);
	}
	rc = check_shards(o);
	if (rc < 0)
		return rc;
	if (wanted == GNN_PLAN_AUTO && o->shards != 0)
		wanted = GNN_PLAN_PARTITIONED;
	if (wanted != GNN_PLAN_PARTITIONED && fit(p, o, d, GNN_PLAN_RESIDENT))
		return GNN_OK;
	if (wanted != GNN_PLAN_RESIDENT && fit(p, o, d, GNN_PLAN_PARTITIONED))
		return GNN_OK;
	return gnn_plan_refuse(p, o);
}

/* Where the in-lists of one rank do not fit, all find out together who is used next. */
static int agree_next_uses(struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	uint64_t any = p->kind == GNN_PLAN_TIERED && p->next_scratch;
	int rc = GNN_OK;

	if (o->share != NULL)
		GNN_TRY(gnn_comm_reduce_u64(o->share->comm, GNN_REDUCE_MAX, &any, 1));
	p->next_scratch = any != 0;
out:
	return rc;
}

int gnn_planner_again(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, const struct gnn_plan_choice *c)
{
	struct gnn_infer_opts then = *o;
	bool fits = true;
	int rc;

	GNN_TRY(gnn_model_fits(o->model, o->store));
	then.chunk_bytes = c->chunk_bytes;
	*p = (struct gnn_plan){.layer_count = gnn_model_layers(o->model), .kind = c->kind};
	gnn_plan_budgets(p, o, d);
	set_buffers(p, &then, d, c->level);
	GNN_TRY(agree_next_uses(p, o));
	for (uint32_t l = 0; l < p->layer_count; l++) {
		lay_out(p, l, &then, c->shards[l]);
		if (c->kind == GNN_PLAN_TIERED)
			fits = gnn_plan_tier_layer(p, l, &then, d) && fits;
		else
			add_states(p, l, &then, d);
	}
	gnn_plan_sum(p, o);
	if (fits && gnn_plan_fits(p))
		return GNN_OK;
	return c->kind == GNN_PLAN_TIERED ? gnn_plan_tier_refuse(p, o, d) : gnn_plan_refuse(p, o);
out:
	return rc;
}

/* Ranks cut chunks and shards alike: as the one with the least memory wants it. */
static int agree(struct gnn_plan *p, const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	uint64_t wish[2 + GNN_LAYERS_MAX] = {(uint64_t)p->kind, p->level};
	uint32_t shards[GNN_LAYERS_MAX];
	int rc;

	_Static_assert(GNN_PLAN_RESIDENT < GNN_PLAN_PARTITIONED, "the larger needs less memory");
	for (uint32_t l = 0; l < p->layer_count; l++)
		wish[2 + l] = p->layer[l].shards;
	GNN_TRY(gnn_comm_reduce_u64(o->share->comm, GNN_REDUCE_MAX, wish, 2 + p->layer_count));
	for (uint32_t l = 0; l < p->layer_count; l++)
		shards[l] = (uint32_t)wish[2 + l];
	rc = gnn_planner_again(p, o, d, &(struct gnn_plan_choice){
		.kind = (enum gnn_plan_kind)wish[0], .level = (uint32_t)wish[1],
		.chunk_bytes = o->chunk_bytes, .shards = shards});
out:
	return rc;
}

int gnn_planner_make(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	int rc = make_alone(p, o, d);

	return rc < 0 || o->share == NULL ? rc : agree(p, o, d);
}

int gnn_planner_try(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, bool *legal)
{
	int rc = make_alone(p, o, d);

	GNN_TRY(gnn_planner_legal(o, rc, legal));
	if (!*legal || o->share == NULL)
		goto out;
	GNN_TRY(gnn_planner_legal(o, agree(p, o, d), legal));
out:
	return rc;
}

int gnn_planner_legal(const struct gnn_infer_opts *o, int status, bool *legal)
{
	uint64_t refused = status == GNN_ECONFIG || status == GNN_EOS;
	int rc = GNN_OK;

	if (status < 0 && !refused)
		return status;
	if (o->share != NULL)
		GNN_TRY(gnn_comm_reduce_u64(o->share->comm, GNN_REDUCE_MAX, &refused, 1));
	*legal = refused == 0;
out:
	return rc;
}
