/* infer/plan.c - see plan.h. What follows from a plan; what makes one is planner.c. */
#include "infer/plan.h"

#include "base/metrics.h"
#include "tier/spill.h"

enum {
	LANES_MAX = 8,
	STAY_SHARE = 16, /* of the budget, at most, for finished rows that stay in memory */
};

const char *gnn_plan_name(enum gnn_plan_kind kind)
{
	static const char *const names[GNN_PLAN_KINDS] = {"auto", "resident", "partitioned",
		"tiered"};

	return names[kind];
}

uint64_t gnn_plan_panels(const struct gnn_infer_opts *o)
{
	return gnn_ceil_div(gnn_max_u64(o->store->vertices, 1), o->backend->ops->panel_rows);
}

uint64_t gnn_plan_most_panels(const struct gnn_infer_opts *o)
{
	return o->share == NULL ? gnn_plan_panels(o) : gnn_ceil_div(
		gnn_max_u64(o->share->rows_max, 1), o->backend->ops->panel_rows);
}

/* Shards are whole panels, as equal as can be. */
static gnn_vid shard_first(uint64_t panels, uint32_t shards, uint32_t shard, uint32_t panel_rows)
{
	return panels * shard / shards * panel_rows;
}

struct gnn_range gnn_plan_range(const struct gnn_plan *p, uint32_t layer, uint32_t shard,
	uint32_t panel_rows, const struct gnn_degrees *d)
{
	uint64_t panels = gnn_ceil_div(gnn_max_u64(d->vertices, 1), panel_rows);
	uint32_t shards = p->layer[layer].shards;
	gnn_vid first = shard_first(panels, shards, shard, panel_rows);
	gnn_vid end = gnn_min_u64(shard_first(panels, shards, shard + 1, panel_rows),
		d->vertices);

	return (struct gnn_range){.first = first, .count = end - first,
		.carry_first = gnn_degrees_hubs_before(d, first)};
}

uint64_t gnn_plan_touched_rows(const struct gnn_plan *p, uint32_t layer, uint32_t shard,
	const struct gnn_infer_opts *o)
{
	uint32_t height = o->backend->ops->panel_rows, shards = p->layer[layer].shards;
	uint64_t chunk = p->layer[layer].chunk_rows, panels = gnn_plan_panels(o);
	gnn_vid first = shard_first(panels, shards, shard, height) / chunk * chunk;
	gnn_vid end = gnn_ceil_div(shard_first(panels, shards, shard + 1, height), chunk) * chunk;

	return gnn_min_u64(end, o->store->vertices) - first;
}

uint32_t gnn_plan_passes(const struct gnn_plan *p, uint32_t layer, const struct gnn_conv *c)
{
	const struct gnn_layer_plan *lp = &p->layer[layer];
	bool rows = (c->combine == GNN_COMBINE_PAIR_SOFTMAX && !lp->input_message) ||
		c->three_steps;

	return lp->shards + (gnn_combine_is_softmax(c->combine) ? 1 : 0) + (rows ? 1 : 0);
}

enum gnn_pass_kind gnn_plan_pass(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_conv *c, uint32_t index, uint32_t *shard)
{
	uint32_t before = gnn_plan_passes(p, layer, c) - p->layer[layer].shards;

	*shard = index < before ? 0 : index - before;
	if (index >= before)
		return GNN_PASS_COMBINE;
	return index + 1 == before ? GNN_PASS_SCORES : GNN_PASS_ROWS;
}

bool gnn_plan_keeps_output(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o)
{
	/* Where rows go to other ranks to be written, all ranks do so at once. */
	bool waits = p->kind != GNN_PLAN_RESIDENT ||
		(o->share != NULL && o->store->original_id != NULL);

	if (layer + 1 == p->layer_count)
		return waits;
	return o->save_layers;
}

static struct gnn_kept_opts kept(const struct gnn_plan *p, const struct gnn_infer_opts *o,
	enum gnn_rows_kind kind, uint32_t width, uint32_t own_width)
{
	return (struct gnn_kept_opts){.backend = o->backend, .kind = kind,
		.vertices = o->store->vertices, .width = width, .own_width = own_width,
		.engine = o->engine, .slot_bytes = p->slot_bytes, .arena_bytes = p->arena_bytes};
}

/* Finished rows of the tiered plan that are read from memory: a small part of it holds them all. */
static bool stays(const struct gnn_plan *p, const struct gnn_kept_opts *k)
{
	uint64_t all = gnn_runs_arena_bytes(gnn_kept_row_bytes(k), k->vertices);

	return p->kind == GNN_PLAN_TIERED && all <= k->arena_bytes &&
		all <= p->host_budget / STAY_SHARE;
}

struct gnn_kept_opts gnn_plan_input(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o)
{
	const struct gnn_layer_plan *lp = &p->layer[layer];
	struct gnn_kept_opts k = kept(p, o, lp->input, lp->input_width - lp->input_own,
		lp->input_own);

	k.dtype = lp->input_dtype;
	k.block_rows = layer == 0 ? p->permute_rows : p->finish_rows;
	k.range_rows = lp->chunk_rows;
	k.scattered = layer == 0;
	if (layer == 0)
		k.arena_bytes = p->permute_arena_bytes;
	else
		k.stay = stays(p, &k);
	return k;
}

struct gnn_kept_opts gnn_plan_messages(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, layer);
	const struct gnn_layer_plan *lp = &p->layer[layer];
	struct gnn_kept_opts k = kept(p, o, lp->messages, c->width, c->message.dim_out - c->width);
	uint32_t height = o->backend->ops->panel_rows;

	k.block_rows = lp->chunk_rows;
	/* The first shard is combined with the own rows at hand: later ones read theirs. */
	if (lp->messages == GNN_ROWS_FILE)
		k.own_first = shard_first(gnn_plan_panels(o), lp->shards, 1, height) /
			lp->chunk_rows * lp->chunk_rows;
	return k;
}

struct gnn_kept_opts gnn_plan_output(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o)
{
	enum gnn_rows_kind kind = !gnn_plan_keeps_output(p, layer, o) ? GNN_ROWS_NONE :
		p->kind == GNN_PLAN_TIERED ? GNN_ROWS_RUNS : GNN_ROWS_FILE;
	struct gnn_kept_opts k = kept(p, o, kind, gnn_model_width(o->model, layer), 0);

	k.block_rows = p->finish_rows;
	k.range_rows = p->finish_rows;
	if (layer + 1 == p->layer_count) /* those of other layers would lie there all the while */
		k.stay = stays(p, &k);
	return k;
}

struct gnn_control_opts gnn_plan_control(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, layer);
	const struct gnn_layer_plan *lp = &p->layer[layer];

	return (struct gnn_control_opts){.vertices = d->vertices, .in = d->in, .loops = d->loops,
		.drop_loops = c->drop_loops, .fanout = c->fanout,
		.carry = c->combine != GNN_COMBINE_MAX && d->hub_count > 0,
		.strip_own = c->own == GNN_OWN_NONE, .keep_own = c->keep.dim_out > 0,
		.epoch_rows = lp->chunk_rows,
		.source_rows = o->share != NULL ? o->share->rows_max : d->vertices,
		.top_slots = lp->top_slots,
		.host_slots = lp->host_slots,
		.pin_slots = lp->pin_slots, .pin_degree = lp->pin_degree,
		.policy = (enum gnn_evict_policy)o->evict, .seed = o->seed,
		.count_reloads = gnn_metrics_enabled(),
		.streams_max = lp->streams,
		.page_records = gnn_spill_records(c->state_width * sizeof(float), lp->page_bytes)};
}

uint64_t gnn_plan_ferry_rows(const struct gnn_plan *p, const struct gnn_conv *c)
{
	return gnn_max_u64(p->ferry_bytes / (c->state_width * sizeof(float)), 1);
}

struct gnn_feed_opts gnn_plan_feed(const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, layer);

	return (struct gnn_feed_opts){.store = o->store, .degrees = d, .share = o->share,
		/* Cores of a rank whose rows are elsewhere have little else to do. */
		.lanes = o->backend->ops->unified ? 1 :
			(uint32_t)gnn_min_u64(o->threads / 2, LANES_MAX),
		.shards = 1, .panel_rows = o->backend->ops->panel_rows,
		.own_entries = c->own == GNN_OWN_MESSAGE || c->own == GNN_OWN_ROW,
		.drop_loops = c->drop_loops,
		.weighted = o->store->out.weights != NULL && c->edge_weights,
		.own_weights = c->weighted_degrees && d != NULL ? d->loop_weights : NULL,
		.sample = {.fanout = c->fanout, .scaled = c->scales_sums},
		.lists = o->backend->ops->group != NULL,
		.moves = o->share != NULL && !o->backend->ops->unified,
		.chunk_rows = p->layer[layer].chunk_rows, .list_bytes = p->list_bytes,
		.read_bytes = p->read_bytes,
		.entries = p->entries, .ahead = p->ahead, .verify = o->verify_reads};
}
