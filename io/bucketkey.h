/*
 * io/bucketkey.h - edges as narrow keys in buckets of rows: layout, distribution, sort.
 *
 * Flow     edgepool, bucketset, buckets -> [bucketkey] -> keys in buckets
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

#include "io/chunks.h"

enum {
	GNN_BUCKET_BITS_MAX = 12, /* lines for that many buckets stay in the second-level cache */
	GNN_BUCKET_ROW_BITS_MAX = 20,
	GNN_BUCKET_LINE_BYTES = 64,
	GNN_BUCKET_DIGIT_BITS_MAX = 12,
	GNN_BUCKET_DIGITS_MAX = 8,
	GNN_BUCKET_COUNTS = 1 << GNN_BUCKET_DIGIT_BITS_MAX,
};

struct gnn_bucket_layout {
	uint32_t count;    /* buckets */
	uint32_t shift;    /* a bucket has 2^shift rows */
	uint32_t bits;     /* of an id */
	uint32_t low;      /* of a weight: 32, or 0 */
	uint64_t row_mask, id_mask;
};

/* Some bits of a key, that it is sorted by in one pass. */
struct gnn_bucket_digit {
	uint32_t shift, mask;
};

/*
 * Keys on their way to their buckets: a line of cache for every bucket, which goes to a chunk of
 * its list when it is full.
 */
struct gnn_bucket_writer {
	void              *line;  /* (buckets, GNN_BUCKET_LINE_BYTES) */
	uint32_t          *count; /* (buckets) keys so far */
	uint8_t          **at;    /* (buckets) of the next line; a chunk's end: another chunk */
	struct gnn_chunk **head;  /* (buckets) the first chunk */
	uint64_t           chunk_mask; /* bytes of a chunk - 1 */
	struct gnn_chunks *chunks;
	struct gnn_chunk_list idle; /* a few of them in hand */
	struct gnn_chunk  *waste; /* in the place of a chunk that there is no memory for: */
	int                status; /* to be looked at behind by_src and by_dst */
};

struct gnn_bucket_ops {
	uint32_t bytes; /* of a key */

	/* Edges (source << 32 | destination) by source, with their reverses or not. */
	void (*by_src)(struct gnn_bucket_writer *w, const struct gnn_bucket_layout *l,
		const uint64_t *edge, const float *weight, uint64_t count, bool both_ways);
	/* The edges of a bucket again, of an edge and its reverse one. Returns their number. */
	uint64_t (*restore)(const struct gnn_bucket_layout *l, const void *key, uint64_t count,
		uint32_t bucket, bool both_ways, uint64_t *edge, float *weight);
	/* Sorted keys of a bucket by destination. */
	void (*by_dst)(struct gnn_bucket_writer *w, const struct gnn_bucket_layout *l,
		const void *key, uint64_t count, uint32_t bucket);

	/* Counts of digits are added; then, counts having become places, keys go to theirs. */
	void (*count)(const void *key, uint64_t n, const struct gnn_bucket_digit *digit,
		uint32_t digits, uint32_t (*count)[GNN_BUCKET_COUNTS]);
	void (*pass)(const void *key, uint64_t n, struct gnn_bucket_digit d, uint32_t *place,
		void *to);
	/* Equal ones among sorted keys. With `unique` the first of them stays; returns how many
	 * keys there are then. */
	uint64_t (*settle)(const struct gnn_bucket_layout *l, void *key, uint64_t n, bool unique,
		uint64_t *duplicates);

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

/*
 * The digits that `keys` keys of a bucket are sorted by, the lowest first: of the neighbour, unless
 * they are in its order, and of the row. Returns their number.
 */
uint32_t gnn_bucket_digits(const struct gnn_bucket_layout *l, uint64_t keys, bool neighbors,
	struct gnn_bucket_digit *digit);
/* Whether the row is one digit, the last one. */
static inline bool gnn_bucket_row_is_digit(const struct gnn_bucket_layout *l)
{
	return l->shift > 0 && l->shift <= GNN_BUCKET_DIGIT_BITS_MAX;
}
/* Writes out what is left in the lines: no key is put any more. */
void gnn_bucket_end(struct gnn_bucket_writer *w, const struct gnn_bucket_layout *l);

static inline bool gnn_bucket_same(const struct gnn_bucket_layout *a,
	const struct gnn_bucket_layout *b)
{
	return a->count == b->count && a->bits == b->bits;
}

GNN_END_DECLS

#endif
