/* tier/evict_lru.c - the row that was not used for the longest time goes: one list. */
#include "tier/evict.h"

static int init(struct gnn_evict *e, const struct gnn_evict_opts *o)
{
	return gnn_buckets_init(&e->buckets, o->slots, 1);
}

static void insert(struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r)
{
	(void)r;
	gnn_buckets_insert(&e->buckets, slot, 0);
}

static void touch(struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r)
{
	gnn_buckets_remove(&e->buckets, slot);
	insert(e, slot, r);
}

static uint32_t victim(struct gnn_evict *e)
{
	return gnn_buckets_lowest(&e->buckets);
}

const struct gnn_evict_ops gnn_evict_lru = {
	.name = "lru",
	.help = "not used for the longest time",
	.init = init,
	.insert = insert,
	.touch = touch,
	.remove = gnn_evict_drop,
	.victim = victim,
};
