/* tier/evict.c - the table of policies; see evict.h. */
#include "tier/evict.h"

#include "base/mem.h"

static const struct gnn_evict_ops *const table[GNN_EVICT_COUNT] = {
	[GNN_EVICT_BELADY] = &gnn_evict_belady,
	[GNN_EVICT_PENDING] = &gnn_evict_pending,
	[GNN_EVICT_LRU] = &gnn_evict_lru,
	[GNN_EVICT_FIFO] = &gnn_evict_fifo,
	[GNN_EVICT_RANDOM] = &gnn_evict_random,
};

const struct gnn_evict_ops *gnn_evict_ops_of(enum gnn_evict_policy p)
{
	GNN_ASSERT(p < GNN_EVICT_COUNT);
	return table[p];
}

int gnn_evict_init(struct gnn_evict *e, enum gnn_evict_policy p, const struct gnn_evict_opts *o)
{
	int rc;

	*e = (struct gnn_evict){.ops = gnn_evict_ops_of(p), .seed = o->seed};
	rc = e->ops->init(e, o);
	if (rc < 0)
		gnn_evict_fini(e);
	return rc;
}

void gnn_evict_fini(struct gnn_evict *e)
{
	gnn_buckets_fini(&e->buckets);
	gnn_mem_free(e->slot);
	gnn_mem_free(e->place);
	*e = (struct gnn_evict){0};
}

/* An upper bound for every policy: the largest is the one with most keys. */
uint64_t gnn_evict_bytes(enum gnn_evict_policy p, const struct gnn_evict_opts *o)
{
	uint64_t keys = 1;

	if (p == GNN_EVICT_BELADY)
		keys = o->epochs;
	else if (p == GNN_EVICT_PENDING)
		keys = o->pending_max + 1;
	return gnn_buckets_bytes(o->slots, keys);
}

void gnn_evict_drop(struct gnn_evict *e, uint32_t slot)
{
	gnn_buckets_remove(&e->buckets, slot);
}
