/*
 * io/bucketkey.h - edges as narrow keys in buckets of rows: layout, distribution, sort.
 *
 * Flow     edgepool, buckets -> [bucketkey] -> keys in buckets
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    never: callers bring memory
 *
 * What a bucket says need not be in its keys: they hold the lower bits of the row, the neighbour
 * and, at the bottom, the weight, and take 4, 8 or 16 bytes. All widths are one text, compiled
 * three times (bucketkey.inc).
 */
#ifndef GNN_IO_BUCKETKEY_H
#define GNN_IO_BUCKETKEY_H

#include "base/decl.h"

enum {
	GNN_BUCKET_BITS_MAX = 12, /* lines for that many buckets stay in the second-level cache */
	GNN_BUCKET_ROW_BITS_MAX = 20,
	GNN_BUCKET_LINE_BYTES = 64,
};

struct gnn_bucket_layout {
	uint32_t count;    /* buckets */
	uint32_t shift;    /* a bucket has 2^shift rows */
	uint32_t bits;     /* of an id */
	uint32_t low;      /* of a weight: 32, or 0 */
	uint64_t row_mask, id_mask;
};

/* A line of cache for every bucket, and the place of its next key. */
struct gnn_bucket_lines {
	void     *line;  /* (buckets, GNN_BUCKET_LINE_BYTES) */
	uint64_t *next;  /* (buckets) */
	uint64_t *first; /* (buckets) what is before this is another's */
};

struct gnn_bucket_found {
	uint64_t *by_dst; /* (buckets) keys of each are added */
	uint64_t duplicates, loops;
};

struct gnn_bucket_ops {
	uint32_t bytes; /* of a key */

	/* Edges (source << 32 | destination) by source, with their reverses or not. `next` has the
	 * place of each bucket and moves. */
	void (*by_src)(const struct gnn_bucket_layout *l, const uint64_t *edge,
		const float *weight, uint64_t count, bool both_ways, uint32_t *next, void *to);
	/* The edges of a bucket again, of an edge and its reverse one. Returns their number. */
	uint64_t (*restore)(const struct gnn_bucket_layout *l, const void *key, uint64_t count,
		uint32_t bucket, bool both_ways, uint64_t *edge, float *weight);
	/* Sorted keys of a bucket by destination, through lines, which end writes out. */
	void (*by_dst)(const struct gnn_bucket_lines *w, const struct gnn_bucket_layout *l,
		const void *key, uint64_t count, uint32_t bucket, void *to);
	void (*end)(const struct gnn_bucket_lines *w, const struct gnn_bucket_layout *l, void *to);

	/* Stable, by the bits from `low` on. Returns where the result is, in `key` or `spare`. */
	void *(*sort)(void *key, void *spare, uint64_t n, uint32_t low, uint32_t bits);
	/* Of sorted keys, counts what they are; with `unique` keeps the first of equal ones.
	 * Returns their number. */
	uint64_t (*settle)(const struct gnn_bucket_layout *l, void *key, uint64_t n,
		uint32_t bucket, bool unique, struct gnn_bucket_found *found);

	/* Key number `first` + i is the last of its row so far. */
	void (*ends)(const struct gnn_bucket_layout *l, const void *key, uint64_t n,
		uint32_t first, uint32_t *end);
	void (*loops)(const struct gnn_bucket_layout *l, const void *key, uint64_t n,
		uint32_t bucket, uint32_t *loops);
	void (*unpack)(const struct gnn_bucket_layout *l, const void *key, uint64_t n,
		uint32_t *neighbor, float *weight);
};

GNN_BEGIN_DECLS

/* For ids of so many bits, and so many keys in all. */
struct gnn_bucket_layout gnn_bucket_layout(uint32_t bits, uint64_t keys, bool weighted);
const struct gnn_bucket_ops *gnn_bucket_ops(const struct gnn_bucket_layout *l);

static inline bool gnn_bucket_same(const struct gnn_bucket_layout *a,
	const struct gnn_bucket_layout *b)
{
	return a->count == b->count && a->bits == b->bits;
}

GNN_END_DECLS

#endif
