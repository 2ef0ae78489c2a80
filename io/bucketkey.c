/* io/bucketkey.c - see bucketkey.h. The text of the three widths is in bucketkey.inc. */
#include "io/bucketkey.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
	BUCKET_KEYS = 16 << 10,   /* wanted in a bucket */
	BUCKET_BITS = 11,         /* more only where keys get narrower by it */
	BUCKET_KEYS_MIN = 512,
	DIGIT_BITS = 11,
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

static inline void fence_lines(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
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

/* Enough buckets for the cache, and a few more when that makes keys half as wide. */
struct gnn_bucket_layout gnn_bucket_layout(uint32_t bits, uint64_t keys, bool weighted)
{
	uint32_t top = (uint32_t)gnn_min_u64(width_of(keys / BUCKET_KEYS), BUCKET_BITS);
	uint32_t narrow = 2 * bits > 32 ? 2 * bits - 32 : 0;

	if (narrow > top && narrow <= GNN_BUCKET_BITS_MAX && keys >> narrow >= BUCKET_KEYS_MIN)
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
