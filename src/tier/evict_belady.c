/* tier/evict_belady.c - the row whose next use is farthest goes: no order has fewer reloads. */
#include "tier/evict.h"

static int init(struct gnn_evict *e, const struct gnn_evict_opts *o)
{
	return gnn_buckets_init(&e->buckets, o->slots, o->epochs);
}

static void insert(struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r)
{
	gnn_buckets_insert(&e->buckets, slot, r->next);
}

static void touch(struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r)
{
	gnn_buckets_remove(&e->buckets, slot);
	gnn_buckets_insert(&e->buckets, slot, r->next);
}

static uint32_t victim(struct gnn_evict *e)
{
	return gnn_buckets_highest(&e->buckets);
}

const struct gnn_evict_ops gnn_evict_belady = {
	.name = "belady",
	.help = "whose next use, known from the in-lists, is farthest",
	.next_use = true,
	.order = 1,
	.init = init,
	.insert = insert,
	.touch = touch,
	.remove = gnn_evict_drop,
	.victim = victim,
};
