/* tier/control_step.c - one work item through the state machine; see control.h. */
#include "tier/control_parts.h"

#include "base/mem.h"

enum { LOOK_AHEAD = 16 }; /* groups whose states are asked for before their turn */

/* --- what is known of a vertex --- */

static gnn_vid next_source(const struct gnn_control *c, gnn_vid v)
{
	uint64_t loops = c->o.drop_loops && c->o.loops != NULL ? c->o.loops[v] : 0;
	uint64_t received = gnn_control_messages(c, v) - c->state[v].left;
	uint32_t place = c->state[v].place;

	if (c->o.inlists != NULL)
		return gnn_inlists_next(c->o.inlists, v, received, loops);
	return place < c->top.count ? c->top.next[place] : c->host.next[place - c->host.base];
}

uint64_t gnn_control_epoch_of(const struct gnn_control *c, gnn_vid v, gnn_vid next)
{
	if (c->state[v].left == 0)
		next = UINT64_MAX;
	if (v >= c->own_end)
		next = gnn_min_u64(next, v);
	return gnn_min_u64(next, gnn_max_u64(c->o.vertices, c->o.source_rows) - 1) /
		c->o.epoch_rows;
}

uint64_t gnn_control_next_epoch(const struct gnn_control *c, gnn_vid v)
{
	return gnn_control_epoch_of(c, v, c->state[v].left > 0 ? next_source(c, v) : UINT64_MAX);
}

void gnn_control_foresee(struct gnn_control *c, const uint32_t *next)
{
	c->next = next;
}

static struct gnn_evict_row row_of(const struct gnn_control *c, gnn_vid v)
{
	return (struct gnn_evict_row){.pending = c->state[v].left,
		.next = c->top.evict.ops->next_use ? gnn_control_next_epoch(c, v) : 0};
}

static bool is_complete(const struct gnn_control *c, gnn_vid v)
{
	return c->state[v].left == 0 && v < c->own_end;
}

/* --- slots --- */

/* A slot for v, and one for its carry. There must be room. */
static uint32_t take_slot(struct gnn_slots *s, gnn_vid v, uint32_t rows, uint32_t step)
{
	uint32_t slot;

	GNN_ASSERT(s->free_count >= rows);
	slot = s->free[--s->free_count];
	s->owner[slot] = v;
	s->since[slot] = step;
	s->mate[slot] = rows == 2 ? s->free[--s->free_count] : GNN_SLOT_NONE;
	return slot;
}

static void give_slot(struct gnn_slots *s, uint32_t slot)
{
	if (s->mate[slot] != GNN_SLOT_NONE)
		s->free[s->free_count++] = s->mate[slot];
	s->free[s->free_count++] = slot;
}

/* A row, and its carry behind it, from slots to slots or records. */
static int move_rows(struct gnn_tier_program *p, enum gnn_move_kind kind, uint64_t from,
	uint64_t from_mate, uint64_t to, uint64_t to_mate, uint32_t rows)
{
	int rc;

	GNN_TRY(gnn_tier_program_move(p, kind, from, to));
	if (rows == 2)
		GNN_TRY(gnn_tier_program_move(p, kind, from_mate, to_mate));
out:
	return rc;
}

/* --- down: rows that leave a store --- */

static int spill(struct gnn_control *c, struct gnn_tier_program *p, enum gnn_move_kind kind,
	const struct gnn_slots *s, uint32_t slot)
{
	gnn_vid v = s->owner[slot];
	uint32_t rows = gnn_control_rows(c, v), stream = 0, full;
	uint64_t record;
	int rc;

	if (c->pages.streams > 1)
		stream = (uint32_t)(gnn_control_next_epoch(c, v) / c->epochs_each);
	GNN_TRY(gnn_pages_take(&c->pages, stream, rows, &record, &full));
	if (full != GNN_PAGE_NONE)
		GNN_TRY(gnn_tier_program_full(p, full));
	if (c->spill_base + record + rows >= GNN_PLACE_COMPLETED)
		GNN_FAIL(GNN_EOS, "the stores and the spill would hold more than 2^32 rows");
	GNN_TRY(move_rows(p, kind, slot, s->mate[slot], record, record + 1, rows));
	c->state[v].place = (uint32_t)(c->spill_base + record);
	c->stats.spilled_rows += rows;
out:
	return rc;
}

/* Whether a row that leaves the top is given up rather than the host's victim. */
static bool goes_first(const struct gnn_control *c, const struct gnn_evict_row *row,
	uint32_t victim)
{
	uint64_t other = c->host.evict.buckets.key[victim];

	if (c->host.evict.ops->order > 0)
		return row->next >= other;
	return row->pending <= other;
}

/*
 * Room for `rows` in the host store; *down is false when the row itself shall be spilled. What
 * came in this step stays: the moves of a step are done kind by kind.
 */
static int make_host_room(struct gnn_control *c, struct gnn_tier_program *p, uint32_t rows,
	const struct gnn_evict_row *row, bool *down)
{
	struct gnn_slots *h = &c->host;
	int rc = GNN_OK;

	*down = h->count > 0;
	while (*down && h->free_count < rows) {
		uint32_t victim = h->evict.ops->victim(&h->evict);

		if (victim == GNN_SLOT_NONE || h->since[victim] == c->step ||
			(h->evict.ops->order != 0 && goes_first(c, row, victim))) {
			*down = false;
			break;
		}
		h->evict.ops->remove(&h->evict, victim);
		GNN_TRY(spill(c, p, GNN_MOVE_SPILL_HOST, h, victim));
		give_slot(h, victim);
	}
out:
	return rc;
}

/* The row of a slot that the policy gave up leaves the top. */
static int evict(struct gnn_control *c, struct gnn_tier_program *p, uint32_t slot)
{
	struct gnn_slots *t = &c->top, *h = &c->host;
	gnn_vid v = t->owner[slot];
	uint32_t rows = gnn_control_rows(c, v), to;
	struct gnn_evict_row row = {0};
	bool down;
	int rc;

	if (h->count > 0)
		row = row_of(c, v);
	GNN_TRY(make_host_room(c, p, rows, &row, &down));
	if (down) {
		to = take_slot(h, v, rows, c->step);
		GNN_TRY(move_rows(p, GNN_MOVE_DEMOTE, slot, t->mate[slot], to, h->mate[to], rows));
		h->evict.ops->insert(&h->evict, to, &row);
		if (h->next != NULL)
			h->next[to] = t->next[slot];
		c->state[v].place = h->base + to;
	} else {
		GNN_TRY(spill(c, p, GNN_MOVE_SPILL_TOP, t, slot));
	}
	give_slot(t, slot);
	c->stats.evictions++;
out:
	return rc;
}

/*
 * The policy's victims leave until `needed` slots are free or nobody is left to go. The last one
 * named, which is worth most, goes first: it takes the place of a worse one in the host store.
 */
static int evict_until(struct gnn_control *c, struct gnn_tier_program *p, uint64_t needed)
{
	struct gnn_slots *t = &c->top;
	uint64_t count = 0, freed = t->free_count;
	int rc = GNN_OK;

	while (freed < needed) {
		uint32_t slot = t->evict.ops->victim(&t->evict);

		if (slot == GNN_SLOT_NONE)
			break;
		t->evict.ops->remove(&t->evict, slot);
		freed += gnn_control_rows(c, t->owner[slot]);
		c->leaving[count++] = slot;
	}
	while (count > 0)
		GNN_TRY(evict(c, p, c->leaving[--count]));
out:
	return rc;
}

/* --- up: rows that enter the top --- */

/* The vertex has come back once more. */
static void count_reload(struct gnn_control *c, gnn_vid v)
{
	c->stats.reloads++;
	if (c->times == NULL || c->times[v] == GNN_RELOADED_MAX)
		return;
	if (c->times[v] > 0)
		c->stats.reloaded[c->times[v] - 1]--;
	c->stats.reloaded[c->times[v]++]++;
}

static int admit(struct gnn_control *c, struct gnn_tier_program *p, gnn_vid v)
{
	uint32_t rows = gnn_control_rows(c, v), place = c->state[v].place, slot, from;
	struct gnn_slots *t = &c->top, *h = &c->host;
	int rc;

	GNN_ASSERT(place != GNN_PLACE_COMPLETED && place >= c->top.count);
	slot = take_slot(t, v, rows, c->step);
	c->state[v].place = slot;
	if (place == GNN_PLACE_NOT_STARTED) {
		c->stats.admitted++;
		return move_rows(p, GNN_MOVE_INIT, 0, 1, slot, t->mate[slot], rows);
	}
	count_reload(c, v);
	if (place < c->spill_base) {
		from = place - h->base;
		GNN_TRY(move_rows(p, GNN_MOVE_PROMOTE, from, h->mate[from], slot, t->mate[slot],
			rows));
		h->evict.ops->remove(&h->evict, from);
		give_slot(h, from);
	} else {
		from = place - c->spill_base;
		GNN_TRY(move_rows(p, GNN_MOVE_RELOAD, from, from + 1, slot, t->mate[slot], rows));
		GNN_TRY(gnn_pages_give(&c->pages, from, rows));
		c->stats.reloaded_rows += rows;
	}
out:
	return rc;
}

/* --- one step --- */

/* Group i, whose row is in the top, into the step. */
static int add_group(struct gnn_control *c, struct gnn_tier_program *p,
	const struct gnn_edge_batch *b, uint64_t i, gnn_vid first_row, uint64_t rows)
{
	gnn_vid v = b->vertex[i];
	uint32_t slot = c->state[v].place, own = 0;
	uint64_t count = b->first[i + 1] - b->first[i];
	int rc = GNN_OK;

	if (v - first_row < rows)
		for (uint64_t e = b->first[i]; e < b->first[i + 1]; e++)
			own += (b->src[e] & GNN_OWN_BIT) != 0;
	GNN_ASSERT(own <= 1 && count - own <= c->state[v].left);
	c->state[v].left -= (uint32_t)(count - own);
	if (c->top.next != NULL && c->next != NULL)
		c->top.next[slot] = c->next[i];
	c->stats.messages += count - own;
	gnn_tier_program_group(p, b, i, slot, c->top.mate[slot], own > 0 && c->o.strip_own);
	if (own > 0 && c->o.keep_own)
		GNN_TRY(gnn_tier_program_move(p, GNN_MOVE_OWN, v - first_row, slot));
out:
	return rc;
}

/* As row_of, after the messages of group i. */
static struct gnn_evict_row row_after(const struct gnn_control *c, gnn_vid v, uint64_t i)
{
	if (c->next == NULL || !c->top.evict.ops->next_use)
		return row_of(c, v);
	return (struct gnn_evict_row){.pending = c->state[v].left,
		.next = gnn_control_epoch_of(c, v, c->next[i])};
}

/* After the messages of group i, which are v's: it is done, or stays and is known to the policy. */
static int settle(struct gnn_control *c, struct gnn_tier_program *p, gnn_vid v, uint64_t i,
	bool is_new)
{
	struct gnn_slots *t = &c->top;
	uint32_t slot = c->state[v].place;
	bool pinned = c->pinned[slot] != 0;
	struct gnn_evict_row row;
	int rc = GNN_OK;

	c->stats.pinned_pairs += pinned;
	if (is_complete(c, v)) {
		if (!is_new && !pinned)
			t->evict.ops->remove(&t->evict, slot);
		GNN_TRY(gnn_tier_program_done(p, v, slot));
		give_slot(t, slot);
		if (pinned)
			c->pinned_slots -= gnn_control_rows(c, v);
		c->pinned[slot] = 0;
		c->state[v].place = GNN_PLACE_COMPLETED;
		c->stats.graduated++;
		return GNN_OK;
	}
	if (pinned)
		return GNN_OK;
	row = row_after(c, v, i);
	if (is_new)
		t->evict.ops->insert(&t->evict, slot, &row);
	else
		t->evict.ops->touch(&t->evict, slot, &row);
out:
	return rc;
}

static int settle_all(struct gnn_control *c, struct gnn_tier_program *p,
	const struct gnn_edge_batch *b, const uint32_t *group, uint64_t count, bool are_new)
{
	int rc = GNN_OK;

	for (uint64_t i = 0; i < count; i++)
		GNN_TRY(settle(c, p, b->vertex[group[i]], group[i], are_new));
out:
	return rc;
}

/* Misses from *next on that fit into the free slots. */
static int admit_some(struct gnn_control *c, struct gnn_tier_program *p,
	const struct gnn_edge_batch *b, uint64_t *next, gnn_vid first_row, uint64_t rows)
{
	int rc = GNN_OK;

	for (; *next < c->miss_count; (*next)++) {
		gnn_vid v = b->vertex[c->miss[*next]];

		if (c->top.free_count < gnn_control_rows(c, v))
			return GNN_OK;
		GNN_TRY(admit(c, p, v));
		GNN_TRY(add_group(c, p, b, c->miss[*next], first_row, rows));
	}
out:
	return rc;
}

/* Victims until the misses from `next` on fit, or nobody is left to go. */
static int make_room(struct gnn_control *c, struct gnn_tier_program *p,
	const struct gnn_edge_batch *b, uint64_t next)
{
	uint64_t needed = 0, most = c->top.count - c->pinned_slots;
	int rc;

	for (uint64_t i = next; i < c->miss_count && needed < most; i++)
		needed += gnn_control_rows(c, b->vertex[c->miss[i]]);
	GNN_TRY(evict_until(c, p, needed));
out:
	return rc;
}

/* Sorts the item's groups into those whose row is in the top and those whose is not. */
static int look_up(struct gnn_control *c, const struct gnn_edge_batch *b)
{
	int rc = GNN_OK;

	if (b->group_count > c->list_capacity) {
		gnn_mem_free(c->miss);
		gnn_mem_free(c->hit);
		c->miss = c->hit = NULL;
		c->list_capacity = 0;
		GNN_NEW_ARRAY(c->miss, b->group_count, GNN_MEM_TOPOLOGY);
		GNN_NEW_ARRAY(c->hit, b->group_count, GNN_MEM_TOPOLOGY);
		c->list_capacity = b->group_count;
	}
	c->miss_count = c->hit_count = 0;
	for (uint64_t i = 0; i < b->group_count; i++) {
		if (i + LOOK_AHEAD < b->group_count)
			__builtin_prefetch(&c->state[b->vertex[i + LOOK_AHEAD]]);
		if (c->state[b->vertex[i]].place < c->top.count)
			c->hit[c->hit_count++] = (uint32_t)i;
		else
			c->miss[c->miss_count++] = (uint32_t)i;
	}
out:
	return rc;
}

/* Own rows come in order: the last of the item says which have come. */
static void note_own(struct gnn_control *c, gnn_vid first_row, uint64_t rows,
	const struct gnn_edge_batch *b)
{
	for (uint64_t i = 0; i < b->group_count; i++) {
		gnn_vid v = b->vertex[i];

		if (v - first_row >= rows || v < c->own_end)
			continue;
		for (uint64_t e = b->first[i]; e < b->first[i + 1]; e++)
			if ((b->src[e] & GNN_OWN_BIT) != 0)
				c->own_end = v + 1;
	}
}

static int pin_program(struct gnn_control *c, struct gnn_tier_program *p)
{
	int rc = GNN_OK;

	for (uint32_t s = 0; s < c->top.count && !c->begun; s++)
		if (c->pinned[s] != 0)
			GNN_TRY(move_rows(p, GNN_MOVE_INIT, 0, 1, s, c->top.mate[s],
				gnn_control_rows(c, c->top.owner[s])));
	c->begun = true;
out:
	return rc;
}

/* Rows over all stores are those of the vertices admitted and not yet done. */
static void check_rows(struct gnn_control *c)
{
	uint64_t in_use = c->top.count - c->top.free_count + c->host.count -
		c->host.free_count + c->pages.live_records;
	uint64_t vertices = c->stats.admitted - c->stats.graduated;

	c->stats.spill_rows_max = gnn_max_u64(c->stats.spill_rows_max,
		c->pages.live_records);
	GNN_ASSERT(in_use >= vertices && in_use <= vertices * (c->o.carry ? 2 : 1));
}

int gnn_control_step(struct gnn_control *c, gnn_vid first_row, uint64_t rows,
	const struct gnn_edge_batch *b, struct gnn_tier_program *p)
{
	uint64_t next = 0, begin = 0;
	int rc;

	gnn_tier_program_clear(p, first_row / c->o.epoch_rows);
	GNN_TRY(gnn_pages_step(&c->pages));
	GNN_TRY(look_up(c, b));
	note_own(c, first_row, rows, b);
	c->stats.pairs += b->group_count;
	for (bool first = true; first || next < c->miss_count; first = false) {
		GNN_TRY(gnn_tier_program_reserve(p, b->group_count, b->entry_count,
			b->weight != NULL));
		gnn_tier_program_begin(p);
		c->step++;
		begin = next;
		if (first) {
			GNN_TRY(pin_program(c, p));
			for (uint64_t i = 0; i < c->hit_count; i++)
				GNN_TRY(add_group(c, p, b, c->hit[i], first_row, rows));
		} else {
			GNN_TRY(make_room(c, p, b, next));
		}
		GNN_TRY(admit_some(c, p, b, &next, first_row, rows));
		GNN_ASSERT(first || next > begin);
		if (first)
			GNN_TRY(settle_all(c, p, b, c->hit, c->hit_count, false));
		GNN_TRY(settle_all(c, p, b, c->miss + begin, next - begin, true));
		gnn_tier_program_end(p);
		check_rows(c);
	}
	gnn_tier_program_seal(p);
out:
	return rc;
}
