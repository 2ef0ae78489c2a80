/* infer/tiered.c - what a tiered layer needs, made and let go; see tiered.h. */
#include "infer/tiered.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

enum { PATH_BYTES = 4096 };

static int alloc_floats(struct gnn_backend *b, float **out, uint64_t count)
{
	void *block;
	int rc = b->ops->alloc(b, &block, count * sizeof(float));

	*out = block;
	return rc;
}

/* Sources of every vertex, where the policy asks when it is used next. */
int gnn_tiered_prepare(struct gnn_run *r)
{
	enum gnn_evict_policy policy = (enum gnn_evict_policy)r->o->evict;
	int rc;

	if (r->plan.kind != GNN_PLAN_TIERED || r->plan.next_scratch ||
		!gnn_evict_ops_of(policy)->next_use)
		return GNN_OK;
	rc = gnn_inlists_load(&r->inlists, r->o->store);
	if (rc == GNN_EOS)
		return gnn_err_place(rc, "in-lists for --evict %s (--evict pending needs none)",
			gnn_evict_ops_of(policy)->name);
	r->report->read_bytes += r->inlists.read_bytes;
	return rc;
}

/* Sources of the vertices, as the layer takes them. */
static int draw_inlists(struct gnn_run *r, uint32_t l)
{
	const struct gnn_share *share = r->o->share;
	struct gnn_inlists_draw o = {.store = r->o->store,
		.draw = gnn_sampling_here(r->sampling), .drop_loops = r->layer.o.conv->drop_loops};
	uint64_t before = r->inlists.read_bytes;
	struct gnn_inlists_order order;
	int rc;

	if (share != NULL) {
		order = (struct gnn_inlists_order){.bound = share->part.bound,
			.ranks = share->size, .panel_rows = r->o->backend->ops->panel_rows};
		o.order = &order;
	}
	GNN_TRY(gnn_inlists_draw(&r->inlists, &o));
	r->report->layer[l].read_bytes += r->inlists.read_bytes - before;
out:
	return rc;
}

/* The file of next uses, from the row that the pass begins with. */
static int open_next_uses(struct gnn_run *r, uint32_t l)
{
	const struct gnn_conv *c = r->layer.o.conv;
	struct gnn_feed_opts feed = gnn_plan_feed(&r->plan, l, r->o, r->degrees);
	struct gnn_packets_opts packets;
	char path[PATH_BYTES];
	int rc;

	feed.sample = gnn_sampling_here(r->sampling);
	feed.weighted = false;
	packets = gnn_feed_packets(&feed);
	snprintf(path, sizeof(path), "%s/layer%u.next", gnn_folder_path(r->folder), l + 1);
	GNN_TRY(gnn_nextuse_create(&r->tiered->next, &(struct gnn_nextuse_opts){
		.store = r->o->store, .draw = gnn_sampling_here(r->sampling),
		.drop_loops = c->drop_loops, .path = path, .engine = r->o->engine,
		.packets = r->o->share != NULL ? &packets : NULL,
		.first_row = r->resuming && gnn_run_has_stores(r, &r->at) ? r->at.row : 0,
		.piece_bytes = r->plan.next_piece_bytes}));
out:
	return rc;
}

/* The threads that group edges look up next uses too. */
static int open_cursor(struct gnn_run *r)
{
	struct gnn_inlists_cursor *c = &r->tiered->cursor;
	int rc = GNN_OK;

	if (r->inlists.narrow == NULL)
		return GNN_OK;
	GNN_NEW_ARRAY(c->received, r->degrees->vertices, GNN_MEM_TOPOLOGY);
	c->lists = &r->inlists;
	c->loops = r->layer.o.conv->drop_loops ? r->degrees->loops : NULL;
out:
	return rc;
}

static int open_control(struct gnn_run *r, uint32_t l)
{
	struct gnn_control_opts o = gnn_plan_control(&r->plan, l, r->o, r->degrees);
	int rc = GNN_OK;

	if (r->resuming && gnn_run_has_stores(r, &r->at))
		o.pin_slots = 0; /* rows come from the checkpoint, by way of the spill */
	if (r->plan.next_scratch)
		GNN_TRY(open_next_uses(r, l));
	else
		o.inlists = &r->inlists;
	if (!r->plan.next_scratch && gnn_evict_ops_of(o.policy)->next_use)
		GNN_TRY(draw_inlists(r, l));
	GNN_TRY(gnn_control_create(&r->tiered->control, &o));
	if (o.inlists != NULL && gnn_evict_ops_of(o.policy)->next_use)
		GNN_TRY(open_cursor(r));
out:
	return rc;
}

static int open_tier(struct gnn_run *r, uint32_t l)
{
	const struct gnn_layer_plan *lp = &r->plan.layer[l];
	const struct gnn_conv *c = r->layer.o.conv;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/layer%u.spill", gnn_folder_path(r->folder), l + 1);
	return gnn_tier_create(&r->tiered->tier, &(struct gnn_tier_opts){
		.backend = r->o->backend, .width = c->state_width,
		.empty = c->combine == GNN_COMBINE_MAX ? -INFINITY : 0.0f,
		.top_slots = lp->top_slots, .host_slots = lp->host_slots,
		.block_rows = gnn_plan_ferry_rows(&r->plan, c),
		.spill = {.path = path, .engine = r->o->engine, .page_bytes = lp->page_bytes,
			.pages_ahead = GNN_PLAN_PAGES_AHEAD}});
}

/* Room for a value of each vertex of the panel, where the graph has such values. */
static int open_values(struct gnn_run *r, const void *from, const uint32_t **out)
{
	float *block = NULL;
	int rc = GNN_OK;

	if (from != NULL)
		rc = alloc_floats(r->o->backend, &block, r->plan.finish_rows);
	*out = (const uint32_t *)block;
	return rc;
}

static int open_panel(struct gnn_run *r)
{
	const struct gnn_conv *c = r->layer.o.conv;
	struct gnn_tiered *t = r->tiered;
	const struct gnn_degrees *d = r->degrees;
	const uint32_t *weighted;
	int rc;

	GNN_TRY(alloc_floats(r->o->backend, &t->panel, r->plan.finish_rows * c->state_width));
	GNN_NEW_ARRAY(t->vertex, r->plan.finish_rows, GNN_MEM_STATE);
	for (uint32_t i = 0; i < GNN_TIERED_LISTS; i++)
		GNN_NEW_ARRAY(t->list[i], r->plan.finish_rows, GNN_MEM_STATE);
	GNN_TRY(r->o->backend->ops->reserve(r->o->backend, GNN_STAGE_VERTICES,
		r->plan.finish_rows * sizeof(*t->list[0])));
	t->degrees.vertices = r->plan.finish_rows;
	GNN_TRY(open_values(r, d->in_there, &t->degrees.in_there));
	GNN_TRY(open_values(r, d->out_there, &t->degrees.out_there));
	GNN_TRY(open_values(r, d->loops_there, &t->degrees.loops_there));
	GNN_TRY(open_values(r, d->weighted_there, &weighted));
	t->degrees.weighted_there = (const float *)weighted;
	for (uint32_t i = 0; c->keep.dim_out > 0 && i < gnn_exchange_turns(r->o->share); i++)
		GNN_TRY(alloc_floats(r->o->backend, &t->own[i],
			r->layer.o.chunk_rows * c->keep.dim_out));
out:
	return rc;
}

int gnn_tiered_open(struct gnn_run *r, uint32_t l)
{
	int rc;

	GNN_ASSERT(r->tiered == NULL);
	GNN_NEW(r->tiered, GNN_MEM_MISC);
	GNN_TRY(open_control(r, l));
	GNN_TRY(open_tier(r, l));
	GNN_TRY(open_panel(r));
out:
	return rc;
}

static void free_buffer(struct gnn_backend *b, const void *buffer)
{
	b->ops->free(b, (void *)(uintptr_t)buffer);
}

void gnn_tiered_close(struct gnn_run *r)
{
	struct gnn_backend *b = r->o->backend;
	struct gnn_tiered *t = r->tiered;

	if (t == NULL)
		return;
	gnn_control_destroy(t->control);
	gnn_tier_destroy(t->tier);
	gnn_nextuse_destroy(t->next);
	gnn_mem_free(t->cursor.received);
	gnn_mem_free(t->vertex);
	for (uint32_t i = 0; i < GNN_TIERED_LISTS; i++)
		gnn_mem_free(t->list[i]);
	for (uint32_t i = 0; i < GNN_EXCHANGE_TURNS; i++)
		free_buffer(b, t->own[i]);
	free_buffer(b, t->panel);
	free_buffer(b, t->degrees.in_there);
	free_buffer(b, t->degrees.out_there);
	free_buffer(b, t->degrees.loops_there);
	free_buffer(b, t->degrees.weighted_there);
	gnn_mem_free(t);
	r->tiered = NULL;
}
