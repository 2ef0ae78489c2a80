/* train/plan.c - see plan.h. */
#include "train/plan.h"

#include "base/gate.h"
#include "base/mem.h"
#include "train/mix.h"

/* At work: the last step of super-batch k - 2, then k - 1, k, and k + 1 that is being planned. */
enum { PLANS = 4 };

struct gnn_plans {
	struct gnn_plans_opts o;
	struct gnn_plan  plan[PLANS];
	struct gnn_gate *made;
};

int gnn_plans_create(struct gnn_plans **out, const struct gnn_plans_opts *o)
{
	struct gnn_plans *p = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(p, GNN_MEM_MISC);
	p->o = *o;
	for (uint32_t i = 0; i < PLANS; i++)
		GNN_NEW_ARRAY(p->plan[i].row, gnn_max_u64(o->hot_count, 1), GNN_MEM_STATE);
	GNN_TRY(gnn_gate_create(&p->made, o->first));
	*out = p;
	p = NULL;
out:
	gnn_plans_destroy(p);
	return rc;
}

void gnn_plans_destroy(struct gnn_plans *p)
{
	if (p == NULL)
		return;
	for (uint32_t i = 0; i < PLANS; i++) {
		gnn_mem_free(p->plan[i].row);
		gnn_room_fini(&p->plan[i].room);
	}
	gnn_gate_destroy(p->made);
	gnn_mem_free(p);
}

uint64_t gnn_plans_made(struct gnn_plans *p)
{
	return gnn_gate_value(p->made);
}

static struct gnn_plan *next_of(struct gnn_plans *p)
{
	return &p->plan[gnn_gate_value(p->made) % PLANS];
}

void gnn_plans_begin(struct gnn_plans *p)
{
	struct gnn_plan *next = next_of(p);

	next->index = gnn_gate_value(p->made);
	next->count = 0;
	for (uint64_t i = 0; i < p->o.hot_count; i++)
		next->row[i] = GNN_NOT_HOT;
}

void gnn_plans_mark(struct gnn_plans *p, const gnn_vid *id, uint64_t count)
{
	struct gnn_plan *next = next_of(p);
	const uint64_t hottest = p->o.hybrid == NULL ? p->o.hot_count :
		gnn_hybrid_cpu(p->o.hybrid, next->index);

	for (uint64_t i = 0; i < count; i++) {
		const uint32_t place = p->o.place[id[i]];

		if (place == GNN_NOT_HOT || place >= hottest ||
			next->row[place] != GNN_NOT_HOT)
			continue;
		next->row[place] = 0;
		next->count++;
	}
}

int gnn_plans_end(struct gnn_plans *p)
{
	struct gnn_plan *next = next_of(p);
	uint32_t rows = 0;
	int rc;

	GNN_TRY(gnn_room_take(&next->room, next->count, sizeof(*next->id)));
	next->id = next->room.data;
	for (uint64_t i = 0; i < p->o.hot_count; i++)
		if (next->row[i] != GNN_NOT_HOT) {
			next->id[rows] = p->o.id[i];
			next->row[i] = rows++;
		}
	GNN_ASSERT(rows == next->count);
	gnn_gate_raise(p->made, next->index + 1);
out:
	return rc;
}

int gnn_plans_wait(struct gnn_plans *p, uint64_t step, const struct gnn_plan **plan)
{
	const uint64_t index = step / p->o.super_batch;
	int rc;

	GNN_TRY(gnn_gate_wait(p->made, index + 1));
	*plan = &p->plan[index % PLANS];
	GNN_ASSERT((*plan)->index == index);
out:
	return rc;
}

const uint32_t *gnn_plans_place(const struct gnn_plans *p)
{
	return p->o.place;
}

void gnn_plans_cancel(struct gnn_plans *p)
{
	gnn_gate_cancel(p->made);
}
