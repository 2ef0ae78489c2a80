/* tier/evict_random.c - any row goes, chosen by a counter-based draw: the same in every run. */
#include "tier/evict.h"

#include "base/mem.h"
#include "base/rng.h"

enum { STREAM = 0x65766963 };

static int init(struct gnn_evict *e, const struct gnn_evict_opts *o)
{
	int rc;

	GNN_NEW_ARRAY(e->slot, o->slots, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(e->place, o->slots, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

static void insert(struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r)
{
	(void)r;
	e->place[slot] = e->count;
	e->slot[e->count++] = slot;
}

static void touch(struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r)
{
	(void)e;
	(void)slot;
	(void)r;
}

static void drop(struct gnn_evict *e, uint32_t slot)
{
	uint32_t last = e->slot[--e->count];

	e->slot[e->place[slot]] = last;
	e->place[last] = e->place[slot];
}

static uint32_t victim(struct gnn_evict *e)
{
	if (e->count == 0)
		return GNN_SLOT_NONE;
	return e->slot[gnn_rng_below(gnn_rng_u64(e->seed, STREAM, e->draws++), e->count)];
}

const struct gnn_evict_ops gnn_evict_random = {
	.name = "random",
	.help = "any, by --seed",
	.init = init,
	.insert = insert,
	.touch = touch,
	.remove = drop,
	.victim = victim,
};
