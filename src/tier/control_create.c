/* tier/control_create.c - the state machine before and after its steps; see control.h. */
#include "tier/control_parts.h"

#include "base/mem.h"

#include <string.h>

uint32_t gnn_control_slots_min(const struct gnn_control_opts *o)
{
	return o->carry ? 2 : 1;
}

static uint64_t epochs_of(const struct gnn_control_opts *o)
{
	return gnn_ceil_div(gnn_max_u64(o->vertices, o->source_rows), o->epoch_rows) + 1;
}

static uint64_t pending_max(const struct gnn_control_opts *o)
{
	uint64_t most = 0;

	for (gnn_vid v = 0; v < o->vertices; v++)
		most = gnn_max_u64(most, o->in[v]);
	return most + 1;
}

static struct gnn_evict_opts evict_opts(const struct gnn_control_opts *o, uint32_t slots)
{
	return (struct gnn_evict_opts){.slots = slots, .epochs = epochs_of(o),
		.pending_max = o->policy == GNN_EVICT_PENDING ? pending_max(o) : 0,
		.seed = o->seed};
}

uint64_t gnn_control_bytes(const struct gnn_control_opts *o)
{
	struct gnn_evict_opts top = evict_opts(o, o->top_slots);
	struct gnn_evict_opts host = evict_opts(o, o->host_slots);

	return o->vertices * (sizeof(struct gnn_vertex_state) + (o->count_reloads ? 1 : 0)) +
		((uint64_t)o->top_slots + o->host_slots) * 29 +
		gnn_evict_bytes(o->policy, &top) + gnn_evict_bytes(o->policy, &host) +
		(uint64_t)o->streams_max * 8;
}

static int init_slots(struct gnn_slots *s, const struct gnn_control_opts *o, uint32_t base,
	uint32_t count)
{
	struct gnn_evict_opts evict = evict_opts(o, count);
	int rc;

	s->base = base;
	s->count = count;
	GNN_NEW_ARRAY(s->free, count, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(s->owner, count, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(s->mate, count, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(s->since, count, GNN_MEM_TOPOLOGY);
	if (o->inlists == NULL)
		GNN_NEW_ARRAY(s->next, count, GNN_MEM_TOPOLOGY);
	for (uint32_t i = count; i-- > 0;) /* low slots are given out first */
		s->free[s->free_count++] = i;
	GNN_TRY(gnn_evict_init(&s->evict, o->policy, &evict));
out:
	return rc;
}

static void fini_slots(struct gnn_slots *s)
{
	gnn_mem_free(s->free);
	gnn_mem_free(s->owner);
	gnn_mem_free(s->mate);
	gnn_mem_free(s->since);
	gnn_mem_free(s->next);
	gnn_evict_fini(&s->evict);
}

/* Rows of the vertices with `degree` in-edges or more. */
static uint64_t rows_from(const struct gnn_control *c, uint64_t degree)
{
	uint64_t rows = 0;

	for (gnn_vid v = 0; v < c->o.vertices; v++)
		if (c->o.in[v] >= degree)
			rows += gnn_control_rows(c, v);
	return rows;
}

static void pin(struct gnn_control *c, gnn_vid v)
{
	struct gnn_slots *s = &c->top;
	uint32_t slot = s->free[--s->free_count];

	c->state[v].place = slot;
	s->owner[slot] = v;
	s->mate[slot] = GNN_SLOT_NONE;
	if (gnn_control_rows(c, v) == 2)
		s->mate[slot] = s->free[--s->free_count];
	c->pinned_slots = s->count - s->free_count;
	c->pinned[slot] = 1;
	c->stats.pinned++;
	c->stats.admitted++;
	c->stats.pinned_messages += gnn_control_messages(c, v);
}

/* The vertices of highest in-degree, lower ids first among equals, as far as they fit. */
static void pin_hubs(struct gnn_control *c)
{
	uint64_t least = gnn_max_u64(c->o.pin_degree, 1), low = least, high = UINT32_MAX;

	if (c->o.pin_slots == 0)
		return;
	while (low < high) { /* the lowest degree from which all fit */
		uint64_t middle = low + (high - low) / 2;

		if (rows_from(c, middle) <= c->o.pin_slots)
			high = middle;
		else
			low = middle + 1;
	}
	for (gnn_vid v = 0; v < c->o.vertices; v++)
		if (c->o.in[v] >= low)
			pin(c, v);
	for (gnn_vid v = 0; v < c->o.vertices && low > least; v++)
		if (c->o.in[v] == low - 1 &&
			c->pinned_slots + gnn_control_rows(c, v) <= c->o.pin_slots)
			pin(c, v);
}

static int check_sizes(const struct gnn_control_opts *o)
{
	uint64_t places = (uint64_t)o->top_slots + o->host_slots;

	if (o->top_slots < o->pin_slots + gnn_control_slots_min(o) ||
		(o->host_slots > 0 && o->host_slots < gnn_control_slots_min(o)))
		return gnn_err(GNN_EOS, "a store of %u rows, %u of them pinned, is below the "
			"smallest legal size of %u more than the pinned", o->top_slots,
			o->pin_slots, gnn_control_slots_min(o));
	if (places >= UINT32_MAX / 2)
		return gnn_err(GNN_EOS, "stores of %llu rows, at most 2^31 - 1 can be counted",
			(unsigned long long)places);
	return GNN_OK;
}

int gnn_control_create(struct gnn_control **out, const struct gnn_control_opts *o)
{
	struct gnn_control *c = NULL;
	uint64_t epochs = epochs_of(o);
	uint32_t streams = 1;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->epoch_rows > 0 && o->streams_max > 0);
	GNN_TRY(check_sizes(o));
	GNN_NEW(c, GNN_MEM_MISC);
	c->o = *o;
	GNN_NEW_ARRAY(c->state, o->vertices, GNN_MEM_TOPOLOGY);
	for (gnn_vid v = 0; v < o->vertices; v++)
		c->state[v] = (struct gnn_vertex_state){.place = GNN_PLACE_NOT_STARTED,
			.left = (uint32_t)gnn_control_messages(c, v)};
	GNN_TRY(init_slots(&c->top, o, 0, o->top_slots));
	if (o->host_slots > 0)
		GNN_TRY(init_slots(&c->host, o, o->top_slots, o->host_slots));
	if (o->count_reloads)
		GNN_NEW_ARRAY(c->times, o->vertices, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(c->pinned, o->top_slots, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(c->leaving, o->top_slots, GNN_MEM_TOPOLOGY);
	c->spill_base = o->top_slots + o->host_slots;
	c->epochs_each = (uint32_t)gnn_ceil_div(epochs, o->streams_max);
	if (gnn_evict_ops_of(o->policy)->next_use)
		streams = (uint32_t)gnn_ceil_div(epochs, c->epochs_each);
	GNN_TRY(gnn_pages_init(&c->pages, o->page_records, streams));
	pin_hubs(c);
	*out = c;
	c = NULL;
out:
	gnn_control_destroy(c);
	return rc;
}

void gnn_control_destroy(struct gnn_control *c)
{
	if (c == NULL)
		return;
	fini_slots(&c->top);
	fini_slots(&c->host);
	gnn_pages_fini(&c->pages);
	gnn_mem_free(c->state);
	gnn_mem_free(c->miss);
	gnn_mem_free(c->hit);
	gnn_mem_free(c->times);
	gnn_mem_free(c->pinned);
	gnn_mem_free(c->leaving);
	gnn_mem_free(c);
}

void gnn_control_stats(const struct gnn_control *c, struct gnn_control_stats *out)
{
	*out = c->stats;
	out->top_rows = c->top.count - c->top.free_count;
	out->host_rows = c->host.count - c->host.free_count;
	out->spill_rows = c->pages.live_records;
	out->pages = c->pages.pages;
}

int gnn_control_end(const struct gnn_control *c)
{
	GNN_ASSERT(c->top.free_count == c->top.count && c->host.free_count == c->host.count);
	GNN_ASSERT(c->pages.live_records == 0);
	GNN_ASSERT(c->stats.graduated == c->o.vertices && c->stats.admitted == c->o.vertices);
	return GNN_OK;
}
