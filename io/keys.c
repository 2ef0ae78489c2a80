/* io/keys.c - see keys.h. The text of both widths is in keys.inc. */
#include "io/keys.h"

#include "base/err.h"

#include <string.h>

enum {
	SORT_SMALL = 24,        /* up to here by insertion */
	SORT_CACHED = 32 << 10, /* keys that are sorted in the cache */
	DIGIT_BITS = 10,        /* of a digit at most */
	DIGIT_BITS_LIKED = 9,
	DIGITS_MAX = 4,
};

/* Digits of a key, the highest first. */
struct digits {
	uint32_t count;
	uint32_t bits;
	uint32_t shift[DIGITS_MAX];
};

static inline uint32_t log2_up(uint64_t n)
{
	return n <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(n - 1);
}

static inline uint32_t width64(uint64_t x)
{
	return x == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(x);
}

static inline uint32_t width128(gnn_key x)
{
	return x >> 64 != 0 ? 64 + width64((uint64_t)(x >> 64)) : width64((uint64_t)x);
}

static inline uint32_t ones64(uint64_t x)
{
	return (uint32_t)__builtin_popcountll(x);
}

static inline uint32_t ones128(gnn_key x)
{
	return ones64((uint64_t)(x >> 64)) + ones64((uint64_t)x);
}

#define KEY     uint64_t
#define NAME(x) x##64
#include "io/keys.inc"
#undef KEY
#undef NAME

#define KEY     gnn_key
#define NAME(x) x##128
#include "io/keys.inc"

const struct gnn_key_ops *gnn_keys(bool wide)
{
	return wide ? &ops128 : &ops64;
}

void gnn_keys_widen(void *key, uint32_t end, uint64_t count)
{
	const uint64_t *from = key;
	gnn_key *to = key;

	for (uint64_t i = count; i-- > 0;)
		to[i] = at64(from, end, i);
}

uint32_t gnn_keys_end(uint64_t bits)
{
	uint32_t width = width64(bits);

	return width <= GNN_KEY_END_NARROW ? width : 64;
}
