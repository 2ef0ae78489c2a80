/*
 * tier/buckets.h - slots in doubly linked lists, one list a key, and the lowest and highest key.
 *
 * Flow     evict policies -> [buckets] -> the slot to give up
 * Owns     8 bytes a key, 12 bytes a slot, 1/8 byte a key and less for the summary
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory
 *
 * insert, remove and the search for the lowest or highest list in use take constant time: a tree
 * of 64-bit words says which lists are not empty. Within a list the order is that of insertion.
 */
#ifndef GNN_TIER_BUCKETS_H
#define GNN_TIER_BUCKETS_H

#include "base/err.h"

#define GNN_SLOT_NONE UINT32_MAX

enum { GNN_BUCKET_LEVELS = 6 }; /* 64^6 keys */

struct gnn_buckets {
	uint64_t  keys;
	uint32_t  slots;
	uint32_t  levels;
	uint32_t *first, *last;      /* (keys) */
	uint32_t *next, *prev, *key; /* (slots) */
	uint64_t *used[GNN_BUCKET_LEVELS]; /* bit k of level 0: list k is not empty */
};

GNN_BEGIN_DECLS

int  gnn_buckets_init(struct gnn_buckets *b, uint32_t slots, uint64_t keys);
void gnn_buckets_fini(struct gnn_buckets *b); /* zeroed is fine */
uint64_t gnn_buckets_bytes(uint64_t slots, uint64_t keys); /* memory that init takes */

void gnn_buckets_insert(struct gnn_buckets *b, uint32_t slot, uint64_t key); /* behind equals */
void gnn_buckets_remove(struct gnn_buckets *b, uint32_t slot);
/* The slot inserted earliest among those with the lowest or highest key; or GNN_SLOT_NONE. */
uint32_t gnn_buckets_lowest (const struct gnn_buckets *b);
uint32_t gnn_buckets_highest(const struct gnn_buckets *b);

GNN_END_DECLS

#endif
