/* tier/control_keep.c - the state machine read out, and set as another one stood; see control.h. */
#include "tier/control_parts.h"

void gnn_control_left(const struct gnn_control *c, gnn_vid first, uint64_t count, uint32_t *left)
{
	for (uint64_t i = 0; i < count; i++)
		left[i] = c->state[first + i].left;
}

void gnn_control_received(const struct gnn_control *c, uint32_t *received)
{
	for (gnn_vid v = 0; v < c->o.vertices; v++)
		received[v] = (uint32_t)gnn_control_messages(c, v) - c->state[v].left;
}

static struct gnn_control_place slot_place(const struct gnn_slots *s, enum gnn_control_store store,
	uint32_t slot)
{
	return (struct gnn_control_place){.store = store, .at = slot, .mate = s->mate[slot]};
}

struct gnn_control_place gnn_control_place(const struct gnn_control *c, gnn_vid v)
{
	uint32_t place = c->state[v].place;

	if (place == GNN_PLACE_NOT_STARTED || place == GNN_PLACE_COMPLETED)
		return (struct gnn_control_place){.store = GNN_STORE_NONE};
	if (place < c->top.count)
		return slot_place(&c->top, GNN_STORE_TOP, place);
	if (place < c->spill_base)
		return slot_place(&c->host, GNN_STORE_HOST, place - c->host.base);
	place -= c->spill_base;
	return (struct gnn_control_place){.store = GNN_STORE_SPILL, .at = place,
		.mate = gnn_control_rows(c, v) == 2 ? place + 1 : GNN_SLOT_NONE};
}

void gnn_control_put_left(struct gnn_control *c, gnn_vid first, uint64_t count,
	const uint32_t *left)
{
	GNN_ASSERT(!c->begun && c->stats.admitted == 0);
	for (uint64_t i = 0; i < count; i++)
		c->state[first + i].left = left[i];
}

static bool has_begun(const struct gnn_control *c, gnn_vid v)
{
	return v < c->own_end || c->state[v].left < gnn_control_messages(c, v);
}

static bool is_complete(const struct gnn_control *c, gnn_vid v)
{
	return v < c->own_end && c->state[v].left == 0;
}

int gnn_control_restore(struct gnn_control *c, gnn_vid first_row, gnn_vid v,
	const uint32_t *next, uint64_t *record, uint32_t *rows, uint32_t *full)
{
	uint32_t stream = 0;
	int rc;

	c->own_end = first_row;
	if (v >= c->o.vertices || !has_begun(c, v) || is_complete(c, v) ||
		c->state[v].left > gnn_control_messages(c, v) ||
		c->state[v].place != GNN_PLACE_NOT_STARTED)
		return gnn_err(GNN_EDATA, "a checkpoint has a state of vertex %llu, which needs "
			"none", (unsigned long long)v);
	*rows = gnn_control_rows(c, v);
	if (c->pages.streams > 1)
		stream = (uint32_t)((next != NULL ? gnn_control_epoch_of(c, v, next[v]) :
			gnn_control_next_epoch(c, v)) / c->epochs_each);
	GNN_TRY(gnn_pages_take(&c->pages, stream, *rows, record, full));
	if (c->spill_base + *record + *rows >= GNN_PLACE_COMPLETED)
		GNN_FAIL(GNN_EOS, "the stores and the spill would hold more than 2^32 rows");
	c->state[v].place = (uint32_t)(c->spill_base + *record);
	c->stats.admitted++;
	c->stats.spilled_rows += *rows;
out:
	return rc;
}

int gnn_control_restored(struct gnn_control *c, gnn_vid first_row)
{
	c->own_end = first_row;
	c->begun = true;
	for (gnn_vid v = 0; v < c->o.vertices; v++) {
		if (!has_begun(c, v) || c->state[v].place != GNN_PLACE_NOT_STARTED)
			continue;
		if (!is_complete(c, v))
			return gnn_err(GNN_EDATA, "a checkpoint has no state of vertex %llu, "
				"which needs one", (unsigned long long)v);
		c->state[v].place = GNN_PLACE_COMPLETED;
		c->stats.admitted++;
		c->stats.graduated++;
	}
	c->stats.spill_rows_max = c->pages.live_records;
	return GNN_OK;
}
