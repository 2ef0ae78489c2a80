/* infer/planner_tiered.c - how a budget is divided for the tiered plan; see plan_bytes.h. */
#include "infer/plan_bytes.h"

#include "base/metrics.h"
#include "infer/nextuse.h"
#include "tier/ferry.h"
#include "tier/image.h"
#include "tier/spill.h"

#include <math.h>

enum {
	IN_LISTS_SHARE = 4,     /* of the budget, at most */
	PIECE_BYTES = 1 << 20,  /* of next uses */
	SHARE = 16,             /* of the budget, for an arena and for the spill, each */
	ARENA_BYTES = 64 << 20, /* at least, with room */
	SPILL_BYTES = 16 << 20,
	FLOOR_BYTES = 64 << 10,
	PAGE_BYTES = 64 << 10,  /* of the spill, with room for one of every epoch */
	BESIDE_PAGES = 2 * GNN_PLAN_PAGES_AHEAD + 32, /* read, being read, being written */
	SLOT_BYTES = 48,        /* what control keeps for a slot */
	ENTRY_BYTES = 12,       /* of an edge in a tier program */
	GROUP_BYTES = 96,       /* of a destination, its moves included */
	PIN_SHARE = 8,          /* of the store, for hubs that nearly every chunk has edges to */
	FERRY_BYTES = 8 << 20,  /* enough for the full rate of a bus */
	VALUES = 4,             /* of a vertex: degrees, loops, sums of weights */
};

static bool knows_next_use(const struct gnn_infer_opts *o)
{
	return gnn_evict_ops_of((enum gnn_evict_policy)o->evict)->next_use;
}

int gnn_plan_tier_check(const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	if (o->backend->ops->unified && o->gpu_store != GNN_STORE_MIN && o->hot_store != 0 &&
		o->gpu_store >= o->hot_store)
		return gnn_err(GNN_ECONFIG, "--gpu-store %llu is part of --hot-store, which must "
			"be larger", (unsigned long long)o->gpu_store);
	for (uint32_t l = 0; l < gnn_model_layers(o->model); l++) {
		const struct gnn_conv *c = gnn_model_conv(o->model, l);

		if (c->late.dim_out > 0)
			return gnn_err(GNN_ECONFIG, "--plan tiered: --design published takes a "
				"second pass over all sums of layer %u; --plan partitioned does it",
				l + 1);
		if (c->after.count > 0)
			return gnn_err(GNN_ECONFIG, "--plan tiered: the norm behind layer %u is "
				"over all vertices, which takes their states at once", l + 1);
	}
	if (gnn_model_jump(o->model) != NULL)
		return gnn_err(GNN_ECONFIG, "--plan tiered: jumping knowledge adds up rows of all "
			"vertices; --plan partitioned does it");
	if (d->vertices >= UINT32_MAX)
		return gnn_err(GNN_ECONFIG, "--plan tiered takes less than 2^32 vertices, the "
			"store has %llu; --plan partitioned takes more",
			(unsigned long long)d->vertices);
	return GNN_OK;
}

int gnn_plan_tier_refuse(const struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	bool unified = o->backend->ops->unified;

	for (uint32_t l = 0; l < p->layer_count; l++) {
		struct gnn_control_opts c = gnn_plan_control(p, l, o, d);
		uint64_t least = gnn_control_slots_min(&c) * sizeof(float) *
			gnn_model_conv(o->model, l)->state_width;
		bool hot = o->hot_store != 0 && o->hot_store < least;

		if (hot || (!unified && o->gpu_store != 0 && o->gpu_store < least))
			return gnn_err(GNN_EOS, "--%s %llu is below the smallest legal store of "
				"layer %u, %llu bytes (--%s min)", hot ? "hot-store" : "gpu-store",
				(unsigned long long)(hot ? o->hot_store : o->gpu_store), l + 1,
				(unsigned long long)least, hot ? "hot-store" : "gpu-store");
	}
	return gnn_plan_refuse(p, o);
}

static uint64_t share(const struct gnn_plan *p, uint64_t least, uint32_t level)
{
	uint64_t bytes = least;

	if (p->host_budget != UINT64_MAX)
		bytes = gnn_max_u64(bytes, p->host_budget / SHARE);
	return gnn_max_u64(bytes >> level, FLOOR_BYTES);
}

/* A reader has a page for each run: below this, smaller arenas take more memory in all. */
static uint64_t arena_least(const struct gnn_infer_opts *o, uint64_t width)
{
	double bytes = (double)o->store->vertices * (double)width * sizeof(float);

	return (uint64_t)sqrt(bytes * GNN_PAGE_BYTES);
}

/*
 * In-lists with how far each vertex is in its own, and of several ranks the longest of them twice:
 * they are sorted as messages come.
 */
static uint64_t in_list_bytes(const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	uint64_t bytes = gnn_inlists_bytes(o->store) + o->store->vertices * sizeof(uint32_t);
	uint64_t longest = 0;

	if (o->share == NULL)
		return bytes;
	for (gnn_vid v = 0; d != NULL && d->in != NULL && v < d->vertices; v++)
		longest = gnn_max_u64(longest, d->in[v]);
	return bytes + gnn_inlists_sort_bytes(longest, o->share->size);
}

void gnn_plan_tier_buffers(struct gnn_plan *p, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, uint32_t level)
{
	uint32_t height = o->backend->ops->panel_rows;
	uint64_t widest = 1;

	p->ahead++; /* the executor looks one item ahead */
	p->spill_bytes = share(p, SPILL_BYTES, level);
	if (knows_next_use(o) && p->in_list_bytes == 0) /* the same at each level */
		p->in_list_bytes = in_list_bytes(o, d);
	p->next_scratch = p->host_budget != UINT64_MAX &&
		p->in_list_bytes > p->host_budget / IN_LISTS_SHARE;
	p->next_piece_bytes = gnn_max_u64(PIECE_BYTES >> level, FLOOR_BYTES);
	p->ferry_bytes = gnn_max_u64(FERRY_BYTES >> level, FLOOR_BYTES);
	for (uint32_t l = 0; l < p->layer_count; l++)
		widest = gnn_max_u64(widest, gnn_model_conv(o->model, l)->state_width);
	p->arena_bytes = gnn_max_u64(share(p, ARENA_BYTES, level), arena_least(o, widest));
	if (o->graduation_bytes != 0)
		p->finish_rows = gnn_min_u64(gnn_plan_most_panels(o), gnn_max_u64(1,
			o->graduation_bytes / (widest * sizeof(float) * height))) * height;
}

/* In-lists in memory, or next uses read along, with one of each group of the programs. */
static uint64_t next_use_bytes(const struct gnn_plan *p, const struct gnn_infer_opts *o)
{
	if (!p->next_scratch)
		return p->in_list_bytes;
	return gnn_nextuse_bytes(o->store, p->next_piece_bytes);
}

/* Of the program of an item, as a device takes it. */
static uint64_t image_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	return gnn_tier_image_bytes(gnn_min_u64(p->entries, o->store->vertices), p->entries,
		p->layer[l].pin_slots);
}

/* The panel of done rows with the values of its vertices, and own rows of the chunk. */
static uint64_t panel_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);

	return p->finish_rows * (c->state_width + VALUES) * sizeof(float) +
		gnn_exchange_turns(o->share) * p->layer[l].chunk_rows * c->keep.dim_out *
			sizeof(float);
}

uint64_t gnn_plan_tier_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	const struct gnn_layer_plan *lp = &p->layer[l];
	uint64_t vertices = o->store->vertices, groups = gnn_min_u64(p->entries, vertices);
	uint64_t lists = p->finish_rows * (sizeof(gnn_vid) + 2 * sizeof(struct gnn_move));
	uint64_t programs = p->ahead * (p->entries * ENTRY_BYTES + groups * GROUP_BYTES);
	uint64_t states = vertices * (sizeof(uint64_t) + (gnn_metrics_enabled() ? 1 : 0));
	uint64_t cross = panel_bytes(p, l, o);

	if (!o->backend->ops->unified)
		cross = p->ahead * image_bytes(p, l, o) +
			gnn_ferry_host_bytes(c->state_width, gnn_plan_ferry_rows(p, c));
	return states + lists + cross + programs + p->spill_bytes +
		BESIDE_PAGES * lp->page_bytes + next_use_bytes(p, o);
}

uint64_t gnn_plan_tier_device_bytes(const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);

	return panel_bytes(p, l, o) + 2 * p->finish_rows * sizeof(struct gnn_move) +
		2 * image_bytes(p, l, o) +
		gnn_ferry_device_bytes(c->state_width, gnn_plan_ferry_rows(p, c));
}

/* Pages as large as one of every epoch can be in memory, where the next use is known. */
static void choose_pages(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	struct gnn_layer_plan *lp = &p->layer[l];
	uint64_t row_bytes = gnn_model_conv(o->model, l)->state_width * sizeof(float);
	uint64_t epochs = o->store->vertices / lp->chunk_rows + 2;
	bool known = knows_next_use(o);
	uint64_t wanted = known ? PAGE_BYTES : GNN_PAGE_BYTES;

	while (wanted > GNN_PAGE_BYTES && wanted * epochs > p->spill_bytes)
		wanted /= 2;
	lp->page_bytes = gnn_spill_page_bytes(row_bytes, wanted);
	lp->streams = (uint32_t)gnn_min_u64(epochs, gnn_max_u64(1,
		p->spill_bytes / lp->page_bytes));
}

/* Hubs that nearly every chunk has edges to, as a part of `slots`. */
static void pin_hubs(struct gnn_layer_plan *lp, const struct gnn_degrees *d, uint64_t slots)
{
	lp->pin_slots = (uint32_t)(slots / PIN_SHARE);
	lp->pin_degree = (uint32_t)gnn_min_u64(gnn_max_u64(GNN_HUB_DEGREE,
		d->vertices / lp->chunk_rows), UINT32_MAX);
}

/* A store of so many rows as asked for, or as there is room. */
static uint64_t slots_of(uint64_t asked, uint64_t row_bytes, uint64_t least, uint64_t room)
{
	if (asked == GNN_STORE_MIN)
		return least;
	return asked != 0 ? asked / row_bytes : room;
}

/* The store and its pinned part, as asked for or as the pool has room. */
static void choose_slots(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, uint64_t pool)
{
	struct gnn_layer_plan *lp = &p->layer[l];
	struct gnn_control_opts c = gnn_plan_control(p, l, o, d);
	uint64_t row_bytes = gnn_model_conv(o->model, l)->state_width * sizeof(float);
	uint64_t all = d->vertices + (c.carry ? d->hub_count : 0);
	uint64_t least = gnn_control_slots_min(&c);
	uint64_t slots = slots_of(o->hot_store, row_bytes, least, pool / (row_bytes + SLOT_BYTES));

	slots = gnn_min_u64(gnn_min_u64(slots, gnn_max_u64(all, least)), UINT32_MAX / 4);
	lp->pin_degree = 0;
	lp->pin_slots = 0;
	if (o->gpu_store != 0 && o->gpu_store != GNN_STORE_MIN)
		lp->pin_slots = (uint32_t)gnn_min_u64(o->gpu_store / row_bytes,
			slots - gnn_min_u64(slots, least));
	if (o->gpu_store == 0)
		pin_hubs(lp, d, slots);
	lp->top_slots = (uint32_t)slots;
}

/* The store on the device and the one in host memory below it. */
static void choose_stores(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, uint64_t device_pool, uint64_t host_pool)
{
	struct gnn_layer_plan *lp = &p->layer[l];
	struct gnn_control_opts c = gnn_plan_control(p, l, o, d);
	uint64_t row_bytes = gnn_model_conv(o->model, l)->state_width * sizeof(float);
	uint64_t least = gnn_control_slots_min(&c), top, host, control;
	uint64_t all = gnn_max_u64(d->vertices + (c.carry ? d->hub_count : 0), least);

	top = slots_of(o->gpu_store, row_bytes, least, device_pool / row_bytes);
	top = gnn_min_u64(gnn_min_u64(top, all), UINT32_MAX / 8);
	control = top * SLOT_BYTES;
	host = slots_of(o->hot_store, row_bytes, least, control >= host_pool ? 0 :
		(host_pool - control) / (row_bytes + SLOT_BYTES));
	host = gnn_min_u64(gnn_min_u64(host, all - top), UINT32_MAX / 8);
	lp->host_slots = host < least ? 0 : (uint32_t)host;
	lp->top_slots = (uint32_t)top;
	pin_hubs(lp, d, top);
	lp->store_bytes = control + lp->host_slots * (row_bytes + SLOT_BYTES);
}

static bool fit_stores(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	struct gnn_layer_plan *lp = &p->layer[l];
	uint64_t row_bytes = gnn_model_conv(o->model, l)->state_width * sizeof(float);
	uint64_t taken = lp->device_buffer_bytes + lp->score_bytes;
	uint64_t device = p->device_budget - gnn_min_u64(p->device_budget, taken);
	uint64_t host = p->host_budget - gnn_min_u64(p->host_budget, lp->buffer_bytes);
	struct gnn_control_opts c;

	choose_stores(p, l, o, d, device, host);
	c = gnn_plan_control(p, l, o, d);
	lp->state_bytes = gnn_max_u64(lp->top_slots, gnn_control_slots_min(&c)) * row_bytes;
	return lp->top_slots >= gnn_control_slots_min(&c) && lp->state_bytes <= device &&
		lp->store_bytes <= host;
}

bool gnn_plan_tier_layer(struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d)
{
	struct gnn_layer_plan *lp = &p->layer[l];
	const struct gnn_conv *conv = gnn_model_conv(o->model, l);
	uint64_t row_bytes = conv->state_width * sizeof(float), taken, least, pool = 0;
	struct gnn_control_opts c;

	choose_pages(p, l, o);
	gnn_plan_add_bytes(p, l, o);
	if (!o->backend->ops->unified)
		return fit_stores(p, l, o, d);
	taken = lp->buffer_bytes + lp->score_bytes;
	if (taken < p->host_budget)
		pool = p->host_budget - taken;
	choose_slots(p, l, o, d, pool);
	c = gnn_plan_control(p, l, o, d);
	least = gnn_control_slots_min(&c);
	lp->state_bytes = gnn_max_u64(lp->top_slots, least) * (row_bytes + SLOT_BYTES);
	return lp->top_slots >= least && lp->state_bytes <= pool;
}
