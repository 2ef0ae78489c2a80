/* tier/tier.c - see tier.h. */
#include "tier/tier.h"

#include "base/mem.h"

static int alloc_rows(struct gnn_backend *b, float **out, uint64_t rows, uint32_t width)
{
	void *block;
	int rc = b->ops->alloc(b, &block, rows * width * sizeof(float));

	*out = block;
	return rc;
}

int gnn_tier_create(struct gnn_tier **out, const struct gnn_tier_opts *o)
{
	struct gnn_backend *b = o->backend;
	struct gnn_tier *t = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(b->ops->unified && o->host_slots == 0);
	GNN_NEW(t, GNN_MEM_MISC);
	t->o = *o;
	t->o.spill.row_bytes = o->width * sizeof(float);
	GNN_TRY(alloc_rows(b, &t->top, o->top_slots, o->width));
	GNN_TRY(alloc_rows(b, &t->blank, 2, o->width));
	GNN_TRY(b->ops->fill(b, t->blank, o->empty, o->width));
	GNN_TRY(b->ops->fill(b, t->blank + o->width, 0.0f, o->width));
	GNN_TRY(gnn_spill_create(&t->spill, &t->o.spill));
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
	gnn_spill_destroy(t->spill);
	t->o.backend->ops->free(t->o.backend, t->top);
	t->o.backend->ops->free(t->o.backend, t->blank);
	gnn_mem_free(t);
}

/* --- the moves of a step, kind by kind --- */

static int spill_rows(struct gnn_tier *t, const struct gnn_move *m, uint64_t count)
{
	int rc = GNN_OK;

	for (uint64_t i = 0; i < count; i++)
		GNN_TRY(gnn_spill_put(t->spill, m[i].to,
			t->top + (uint64_t)m[i].from * t->o.width));
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

int gnn_tier_move(struct gnn_tier *t, const struct gnn_tier_program *p, uint64_t step)
{
	const struct gnn_tier_step *s = &p->step[step];
	const struct gnn_move *m[GNN_MOVE_KINDS];
	uint64_t count[GNN_MOVE_KINDS];
	int rc;

	for (int k = 0; k < GNN_MOVE_KINDS; k++) {
		uint64_t begin = gnn_tier_step_begin(p, step, (enum gnn_move_kind)k);

		m[k] = p->moves[k].move + begin;
		count[k] = s->move_end[k] - begin;
	}
	GNN_TRY(spill_rows(t, m[GNN_MOVE_SPILL_TOP], count[GNN_MOVE_SPILL_TOP]));
	for (uint64_t i = step == 0 ? 0 : p->step[step - 1].full_end; i < s->full_end; i++)
		GNN_TRY(gnn_spill_full(t->spill, p->full.page[i]));
	GNN_TRY(reload_rows(t, m[GNN_MOVE_RELOAD], count[GNN_MOVE_RELOAD]));
	GNN_TRY(init_rows(t, m[GNN_MOVE_INIT], count[GNN_MOVE_INIT]));
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

void gnn_tier_rest(struct gnn_tier *t)
{
	gnn_spill_rest(t->spill);
}
