/* tier/tier.c - see tier.h. */
#include "tier/tier.h"

#include "base/mem.h"

#include <string.h>

static int alloc_rows(struct gnn_backend *b, float **out, uint64_t rows, uint32_t width)
{
	void *block;
	int rc = b->ops->alloc(b, &block, rows * width * sizeof(float));

	*out = block;
	return rc;
}

/* --- create, destroy --- */

static int open_below(struct gnn_tier *t)
{
	const struct gnn_tier_opts *o = &t->o;
	void *block;
	int rc = GNN_OK;

	if (o->host_slots > 0) {
		GNN_TRY(gnn_mem_pages(&block, (uint64_t)o->host_slots * o->width * sizeof(float),
			GNN_MEM_STATE));
		t->host = block;
	}
	if (!o->backend->ops->unified)
		GNN_TRY(gnn_ferry_init(&t->ferry, &(struct gnn_ferry_opts){.backend = o->backend,
			.width = o->width, .block_rows = o->block_rows, .top = t->top,
			.host = t->host, .spill = t->spill, .pages_ahead = o->spill.pages_ahead}));
out:
	return rc;
}

int gnn_tier_create(struct gnn_tier **out, const struct gnn_tier_opts *o)
{
	struct gnn_backend *b = o->backend;
	struct gnn_tier *t = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(!b->ops->unified || o->host_slots == 0);
	GNN_NEW(t, GNN_MEM_MISC);
	t->o = *o;
	t->o.spill.row_bytes = o->width * sizeof(float);
	GNN_TRY(alloc_rows(b, &t->top, o->top_slots, o->width));
	GNN_TRY(alloc_rows(b, &t->blank, 2, o->width));
	GNN_TRY(b->ops->fill(b, t->blank, o->empty, o->width));
	GNN_TRY(b->ops->fill(b, t->blank + o->width, 0.0f, o->width));
	GNN_TRY(gnn_spill_create(&t->spill, &t->o.spill));
	GNN_TRY(open_below(t));
	*out = t;
	t = NULL;
out:
	gnn_tier_destroy(t);
	return rc;
}

void gnn_tier_destroy(struct gnn_tier *t)
{
	if (t == NULL)
		return;
	gnn_ferry_fini(&t->ferry);
	gnn_spill_destroy(t->spill);
	t->o.backend->ops->free(t->o.backend, t->top);
	t->o.backend->ops->free(t->o.backend, t->blank);
	gnn_mem_free(t->host);
	gnn_mem_free(t);
}

/* --- the moves of a step, kind by kind --- */

static int spill_rows(struct gnn_tier *t, const float *store, const struct gnn_move *m,
	uint64_t count)
{
	int rc = GNN_OK;

	for (uint64_t i = 0; i < count; i++)
		GNN_TRY(gnn_spill_put(t->spill, m[i].to, store + (uint64_t)m[i].from * t->o.width));
out:
	return rc;
}

static int reload_rows(struct gnn_tier *t, const struct gnn_move *m, uint64_t count)
{
	uint64_t asked = 0;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < count; i++) {
		for (; asked < count && asked < i + t->o.spill.pages_ahead; asked++)
			GNN_TRY(gnn_spill_ask(t->spill, m[asked].from));
		GNN_TRY(gnn_spill_take(t->spill, m[i].from,
			t->top + (uint64_t)m[i].to * t->o.width));
	}
out:
	return rc;
}

static int init_rows(struct gnn_tier *t, const struct gnn_move *m, uint64_t count)
{
	struct gnn_backend *b = t->o.backend;

	return b->ops->move(b, &(struct gnn_move_args){.from = t->blank,
		.from_pitch = t->o.width, .to = t->top, .to_pitch = t->o.width,
		.width = t->o.width, .moves = m, .count = count});
}

/* The moves of one kind of a step. */
struct some {
	const struct gnn_move *m, *there;
	uint64_t               count;
};

static struct some moves_of(const struct gnn_tier_program *p, const struct gnn_tier_lists *l,
	uint64_t step, enum gnn_move_kind kind)
{
	uint64_t begin = gnn_tier_step_begin(p, step, kind);

	return (struct some){.m = p->moves[kind].move + begin, .there = l->moves[kind] + begin,
		.count = p->step[step].move_end[kind] - begin};
}

static int write_full(struct gnn_tier *t, const struct gnn_tier_program *p)
{
	int rc = GNN_OK;

	for (; t->full < t->full_end; t->full++)
		GNN_TRY(gnn_spill_full(t->spill, p->full.page[t->full]));
out:
	return rc;
}

/* What left the top in the step before is where it belongs. */
static int land(struct gnn_tier *t)
{
	int rc = GNN_OK;

	if (t->flying == NULL)
		return GNN_OK;
	GNN_TRY(gnn_ferry_land(&t->ferry));
	GNN_TRY(write_full(t, t->flying));
	t->flying = NULL;
out:
	return rc;
}

/*
 * All that leaves is gathered in front of what comes, which takes its slots, but lands behind it:
 * no row goes down and up in one step.
 */
static int cross(struct gnn_tier *t, const struct gnn_tier_program *p,
	const struct gnn_tier_lists *l, uint64_t step)
{
	static const enum gnn_move_kind downs[] = {GNN_MOVE_SPILL_TOP, GNN_MOVE_DEMOTE};
	static const enum gnn_move_kind ups[] = {GNN_MOVE_PROMOTE, GNN_MOVE_RELOAD};
	struct some s = moves_of(p, l, step, GNN_MOVE_SPILL_HOST);
	int rc;

	GNN_TRY(spill_rows(t, t->host, s.m, s.count));
	t->flying = p;
	for (uint32_t k = 0; k < GNN_COUNT_OF(downs); k++) {
		s = moves_of(p, l, step, downs[k]);
		GNN_TRY(gnn_ferry_down(&t->ferry, downs[k], s.m, s.there, s.count));
	}
	for (uint32_t k = 0; k < GNN_COUNT_OF(ups); k++) {
		s = moves_of(p, l, step, ups[k]);
		GNN_TRY(gnn_ferry_up(&t->ferry, ups[k], s.m, s.there, s.count));
	}
out:
	return rc;
}

/* The same where the top store is host memory, and the spill below it. */
static int move_here(struct gnn_tier *t, const struct gnn_tier_program *p,
	const struct gnn_tier_lists *l, uint64_t step)
{
	struct some s = moves_of(p, l, step, GNN_MOVE_SPILL_TOP);
	int rc;

	GNN_TRY(spill_rows(t, t->top, s.m, s.count));
	GNN_TRY(write_full(t, p));
	s = moves_of(p, l, step, GNN_MOVE_RELOAD);
	GNN_TRY(reload_rows(t, s.m, s.count));
out:
	return rc;
}

int gnn_tier_move(struct gnn_tier *t, const struct gnn_tier_program *p,
	const struct gnn_tier_lists *l, uint64_t step)
{
	struct some init = moves_of(p, l, step, GNN_MOVE_INIT);
	int rc;

	GNN_TRY(land(t));
	t->full = step == 0 ? 0 : p->step[step - 1].full_end;
	t->full_end = p->step[step].full_end;
	GNN_TRY(t->o.backend->ops->unified ? move_here(t, p, l, step) : cross(t, p, l, step));
	GNN_TRY(init_rows(t, init.there, init.count));
out:
	return rc;
}

int gnn_tier_ask(struct gnn_tier *t, const struct gnn_tier_program *p)
{
	const struct gnn_move_list *l = &p->moves[GNN_MOVE_RELOAD];
	int rc = GNN_OK;

	for (uint64_t i = 0; i < l->count; i++)
		GNN_TRY(gnn_spill_ask(t->spill, l->move[i].from));
out:
	return rc;
}

int gnn_tier_rest(struct gnn_tier *t)
{
	int rc = land(t);

	gnn_spill_rest(t->spill);
	return rc;
}

int gnn_tier_read(struct gnn_tier *t, const struct gnn_move *moves, uint64_t count, float *to)
{
	uint64_t row = t->o.width * sizeof(float);
	int rc = GNN_OK;

	GNN_ASSERT(t->flying == NULL);
	for (uint64_t i = 0; i < count && t->o.backend->ops->unified; i++)
		memcpy(to + i * t->o.width, t->top + (uint64_t)moves[i].from * t->o.width, row);
	for (uint64_t i = 0; i < count && !t->o.backend->ops->unified; i += t->o.block_rows)
		GNN_TRY(gnn_ferry_read(&t->ferry, moves + i,
			gnn_min_u64(t->o.block_rows, count - i), to + i * t->o.width));
out:
	return rc;
}
