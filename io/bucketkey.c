/* io/bucketkey.c - see bucketkey.h. The text of the three widths is in bucketkey.inc. */
#include "io/bucketkey.h"

#include "base/clones.h"
#include "base/err.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
	BUCKET_KEYS = 16 << 10,   /* wanted in a bucket */
	BUCKET_BITS = 11,         /* more only where keys get narrower by it */
	BUCKET_KEYS_MIN = 512,
	CHUNKS = 16,              /* taken at a time */
	LOOK_AHEAD = 256,
	READY = 256,              /* keys */
	DIGIT_BITS = GNN_BUCKET_DIGIT_BITS_MAX,
	DIGIT_BITS_SMALL = 8,
	SMALL = 4096,             /* keys, sorted by small digits */
};

/* Past the caches: what is read next is not what was written last. */
static inline void store_line(void *to, const void *line)
{
#ifdef __SSE2__
	const __m128i *from = line;
	__m128i *at = to;

	for (uint32_t i = 0; i < GNN_BUCKET_LINE_BYTES / sizeof(*at); i++)
		_mm_stream_si128(at + i, _mm_load_si128(from + i));
#else
	memcpy(to, line, GNN_BUCKET_LINE_BYTES);
#endif
}

/* Whoever reads what this thread has stored shall see it. */
static inline void fence_lines(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
}

/* Another chunk at the end of the list of a bucket. Seldom: no line saves registers for it. */
__attribute__((noinline))
static uint8_t *next_chunk(struct gnn_bucket_writer *w, uint32_t bucket)
{
	struct gnn_chunk *chunk = w->waste;
	uint8_t *end = w->at[bucket];

	if (w->idle.count == 0 && w->status == GNN_OK)
		w->status = gnn_chunks_fill(w->chunks, &w->idle, CHUNKS);
	if (w->status < 0)
		return (uint8_t *)chunk + GNN_CHUNK_HEAD_BYTES;
	chunk = gnn_chunk_take(&w->idle);
	chunk->next = NULL;
	if (end == NULL)
		w->head[bucket] = chunk;
	else
		((struct gnn_chunk *)(end - w->chunk_mask - 1))->next = chunk;
	return (uint8_t *)chunk + GNN_CHUNK_HEAD_BYTES;
}

static void store_next(struct gnn_bucket_writer *w, uint32_t bucket)
{
	uint8_t *at = w->at[bucket];

	if (((uintptr_t)at & w->chunk_mask) == 0)
		at = next_chunk(w, bucket);
	store_line(at, (const uint8_t *)w->line + (uint64_t)bucket * GNN_BUCKET_LINE_BYTES);
	w->at[bucket] = at + GNN_BUCKET_LINE_BYTES;
}

/*
 * The line before that which begins: what was just stored into a line cannot be loaded from it
 * without waiting, so it goes when it is needed again, not when it is full.
 */
static void put_line(struct gnn_bucket_writer *w, uint32_t bucket)
{
	if (w->count[bucket] > 1)
		store_next(w, bucket);
}

#define KEY     uint32_t
#define NAME(x) x##32
#include "io/bucketkey.inc"
#undef KEY
#undef NAME

#define KEY     uint64_t
#define NAME(x) x##64
#include "io/bucketkey.inc"
#undef KEY
#undef NAME

#define KEY     unsigned __int128
#define NAME(x) x##128
#include "io/bucketkey.inc"

static uint32_t width_of(uint64_t x)
{
	return x == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(x);
}

/*
 * Enough buckets for the cache, and a few more when that makes keys half as wide, or the row one
 * digit.
 */
struct gnn_bucket_layout gnn_bucket_layout(uint32_t bits, uint64_t keys, bool weighted)
{
	uint32_t top = (uint32_t)gnn_min_u64(width_of(keys / BUCKET_KEYS), BUCKET_BITS);
	uint32_t narrow = 2 * bits > 32 ? 2 * bits - 32 : 0;

	if (narrow > top && narrow <= GNN_BUCKET_BITS_MAX && keys >> narrow >= BUCKET_KEYS_MIN)
		top = narrow;
	narrow = bits > GNN_BUCKET_DIGIT_BITS_MAX ? bits - GNN_BUCKET_DIGIT_BITS_MAX : 0;
	if (narrow > top && narrow <= GNN_BUCKET_BITS_MAX && keys >> narrow >= BUCKET_KEYS)
		top = narrow;
	if (bits > GNN_BUCKET_ROW_BITS_MAX && top < bits - GNN_BUCKET_ROW_BITS_MAX)
		top = bits - GNN_BUCKET_ROW_BITS_MAX;
	top = top < bits ? top : bits;
	return (struct gnn_bucket_layout){
		.count = 1u << top, .shift = bits - top, .bits = bits, .low = weighted ? 32 : 0,
		.row_mask = ((uint64_t)1 << (bits - top)) - 1,
		.id_mask = ((uint64_t)1 << bits) - 1,
	};
}

const struct gnn_bucket_ops *gnn_bucket_ops(const struct gnn_bucket_layout *l)
{
	uint32_t bits = l->low + l->bits + l->shift;

	if (bits <= 32 && l->low == 0)
		return &ops32;
	return bits <= 64 ? &ops64 : &ops128;
}

static uint32_t add_digits(struct gnn_bucket_digit *to, uint32_t shift, uint32_t bits,
	uint32_t most)
{
	uint32_t count = (bits + most - 1) / most;
	uint32_t width = count == 0 ? 0 : (bits + count - 1) / count;

	for (uint32_t i = 0; i < count; i++)
		to[i] = (struct gnn_bucket_digit){shift + i * width,
			(1u << gnn_min_u64(width, bits - i * width)) - 1};
	return count;
}

uint32_t gnn_bucket_digits(const struct gnn_bucket_layout *l, uint64_t keys, bool neighbors,
	struct gnn_bucket_digit *digit)
{
	uint32_t most = keys < SMALL ? DIGIT_BITS_SMALL : DIGIT_BITS, count = 0;

	if (neighbors)
		count = add_digits(digit, l->low, l->bits, most);
	count += add_digits(digit + count, l->low + l->bits, l->shift,
		gnn_bucket_row_is_digit(l) ? GNN_BUCKET_DIGIT_BITS_MAX : most);
	GNN_ASSERT(count <= GNN_BUCKET_DIGITS_MAX);
	return count;
}

void gnn_bucket_end(struct gnn_bucket_writer *w, const struct gnn_bucket_layout *l)
{
	for (uint32_t b = 0; b < l->count; b++)
		if (w->count[b] > 0)
			store_next(w, b);
	fence_lines();
}
