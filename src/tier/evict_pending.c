/*
 * tier/evict_pending.c - the row with the fewest messages to come goes: it is closest to its end
 * and will come back least often. Buckets by that number, as published.
 */
#include "tier/evict.h"

enum { KEYS_MAX = 1 << 20 }; /* vertices with more messages to come share the last bucket */

static int init(struct gnn_evict *e, const struct gnn_evict_opts *o)
{
	e->key_max = gnn_min_u64(o->pending_max, KEYS_MAX);
	return gnn_buckets_init(&e->buckets, o->slots, e->key_max + 1);
}

static void insert(struct gnn_evict *e, uint32_t slot, const struct gnn_evict_row *r)
{
	gnn_buckets_insert(&e->buckets, slot, gnn_min_u64(r->pending, e->key_max));
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

const struct gnn_evict_ops gnn_evict_pending = {
	.name = "pending",
	.help = "with the fewest messages to come",
	.order = -1,
	.init = init,
	.insert = insert,
	.touch = touch,
	.remove = gnn_evict_drop,
	.victim = victim,
};
