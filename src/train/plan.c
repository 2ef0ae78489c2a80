/* train/plan.c - see plan.h. */
#include "train/plan.h"

#include "base/gate.h"
#include "base/mem.h"
#include "train/mix.h"

/* At work: the last step of super-batch k - 2, then k - 1, k, and k + 1 that is being planned. */
enum { PLANS = 4, BINS = 1 << 10 }; /* steps from there on are as many */

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

		if (place == GNN_NOT_HOT || place >= hottest)
			continue;
		if (next->row[place] == GNN_NOT_HOT)
			next->row[place] = 0;
		next->row[place] += next->row[place] < BINS - 1;
	}
}

/* How many vertices so many steps need. */
static void count_steps(const struct gnn_plans *p, const struct gnn_plan *next, uint64_t *bin)
{
	for (uint64_t i = 0; i < p->o.hot_count; i++)
		if (next->row[i] != GNN_NOT_HOT)
			bin[p->o.window ? next->row[i] : 1]++;
}

/* Each bin's first row; how many rows there are. */
static uint64_t order_bins(const struct gnn_plans *p, uint64_t *bin)
{
	const uint32_t least = p->o.window ? 2 : 1;
	uint64_t rows = 0;

	for (uint32_t b = BINS - 1; b > 0; b--) {
		const uint64_t size = bin[b];

		bin[b] = b < least ? UINT64_MAX : rows;
		rows += b < least ? 0 : size;
	}
	return p->o.window ? gnn_min_u64(rows, p->o.most) : rows;
}

int gnn_plans_end(struct gnn_plans *p)
{
	struct gnn_plan *next = next_of(p);
	uint64_t bin[BINS] = {0};
	int rc;

	count_steps(p, next, bin);
	next->count = order_bins(p, bin);
	GNN_TRY(gnn_room_take(&next->room, next->count, sizeof(*next->id)));
	next->id = next->room.data;
	for (uint64_t i = 0; i < p->o.hot_count; i++) {
		uint64_t *row = &bin[p->o.window ? next->row[i] % BINS : 1];

		if (next->row[i] == GNN_NOT_HOT)
			continue;
		next->row[i] = GNN_NOT_HOT;
		if (*row >= next->count)
			continue;
		next->id[*row] = p->o.id[i];
		next->row[i] = (uint32_t)(*row)++;
	}
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
