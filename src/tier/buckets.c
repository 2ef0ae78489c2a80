/* tier/buckets.c - see buckets.h. */
#include "tier/buckets.h"

#include "base/mem.h"

#include <string.h>

static uint64_t words_of(uint64_t keys)
{
	return keys / 64 + 1;
}

uint64_t gnn_buckets_bytes(uint64_t slots, uint64_t keys)
{
	return slots * 12 + keys * 8 + words_of(keys) * 9;
}

int gnn_buckets_init(struct gnn_buckets *b, uint32_t slots, uint64_t keys)
{
	uint64_t words = keys;
	int rc;

	GNN_ASSERT(keys > 0 && slots < GNN_SLOT_NONE);
	*b = (struct gnn_buckets){.keys = keys, .slots = slots};
	GNN_NEW_ARRAY(b->first, keys, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(b->last, keys, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(b->next, slots, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(b->prev, slots, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(b->key, slots, GNN_MEM_TOPOLOGY);
	do {
		words = words_of(words);
		GNN_ASSERT(b->levels < GNN_BUCKET_LEVELS);
		GNN_NEW_ARRAY(b->used[b->levels], words, GNN_MEM_TOPOLOGY);
		b->levels++;
	} while (words > 1);
	memset(b->first, 0xff, keys * sizeof(*b->first));
	memset(b->last, 0xff, keys * sizeof(*b->last));
out:
	if (rc < 0)
		gnn_buckets_fini(b);
	return rc;
}

void gnn_buckets_fini(struct gnn_buckets *b)
{
	gnn_mem_free(b->first);
	gnn_mem_free(b->last);
	gnn_mem_free(b->next);
	gnn_mem_free(b->prev);
	gnn_mem_free(b->key);
	for (uint32_t l = 0; l < GNN_BUCKET_LEVELS; l++)
		gnn_mem_free(b->used[l]);
	*b = (struct gnn_buckets){0};
}

static void mark_used(struct gnn_buckets *b, uint64_t key)
{
	for (uint32_t l = 0; l < b->levels; l++, key /= 64)
		b->used[l][key / 64] |= UINT64_C(1) << (key % 64);
}

static void mark_empty(struct gnn_buckets *b, uint64_t key)
{
	for (uint32_t l = 0; l < b->levels; l++, key /= 64) {
		b->used[l][key / 64] &= ~(UINT64_C(1) << (key % 64));
		if (b->used[l][key / 64] != 0)
			return;
	}
}

void gnn_buckets_insert(struct gnn_buckets *b, uint32_t slot, uint64_t key)
{
	uint32_t last;

	GNN_DASSERT(slot < b->slots && key < b->keys);
	last = b->last[key];
	b->key[slot] = (uint32_t)key;
	b->prev[slot] = last;
	b->next[slot] = GNN_SLOT_NONE;
	b->last[key] = slot;
	if (last != GNN_SLOT_NONE) {
		b->next[last] = slot;
		return;
	}
	b->first[key] = slot;
	mark_used(b, key);
}

void gnn_buckets_remove(struct gnn_buckets *b, uint32_t slot)
{
	uint32_t next = b->next[slot], prev = b->prev[slot];
	uint64_t key = b->key[slot];

	if (prev != GNN_SLOT_NONE)
		b->next[prev] = next;
	else
		b->first[key] = next;
	if (next != GNN_SLOT_NONE)
		b->prev[next] = prev;
	else
		b->last[key] = prev;
	if (b->first[key] == GNN_SLOT_NONE)
		mark_empty(b, key);
}

uint32_t gnn_buckets_lowest(const struct gnn_buckets *b)
{
	uint64_t key = 0;

	if (b->used[b->levels - 1][0] == 0)
		return GNN_SLOT_NONE;
	for (uint32_t l = b->levels; l-- > 0;)
		key = key * 64 + (uint64_t)__builtin_ctzll(b->used[l][key]);
	return b->first[key];
}

uint32_t gnn_buckets_highest(const struct gnn_buckets *b)
{
	uint64_t key = 0;

	if (b->used[b->levels - 1][0] == 0)
		return GNN_SLOT_NONE;
	for (uint32_t l = b->levels; l-- > 0;)
		key = key * 64 + 63 - (uint64_t)__builtin_clzll(b->used[l][key]);
	return b->first[key];
}
