/* io/numtype.c - see numtype.h. */
#include "io/numtype.h"

#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum num_class { NUM_BOOL, NUM_SIGNED, NUM_UNSIGNED, NUM_FLOAT };

static const struct {
	const char *name;   /* as the project writes it */
	const char *numpy;  /* without the byte order */
	uint8_t bytes;
	uint8_t class;
} types[GNN_NUM_COUNT] = {
	[GNN_NUM_B1] = {"bool", "b1", 1, NUM_BOOL},
	[GNN_NUM_I1] = {"i8", "i1", 1, NUM_SIGNED},
	[GNN_NUM_I2] = {"i16", "i2", 2, NUM_SIGNED},
	[GNN_NUM_I4] = {"i32", "i4", 4, NUM_SIGNED},
	[GNN_NUM_I8] = {"i64", "i8", 8, NUM_SIGNED},
	[GNN_NUM_U1] = {"u8", "u1", 1, NUM_UNSIGNED},
	[GNN_NUM_U2] = {"u16", "u2", 2, NUM_UNSIGNED},
	[GNN_NUM_U4] = {"u32", "u4", 4, NUM_UNSIGNED},
	[GNN_NUM_U8] = {"u64", "u8", 8, NUM_UNSIGNED},
	[GNN_NUM_F2] = {"f16", "f2", 2, NUM_FLOAT},
	[GNN_NUM_F4] = {"f32", "f4", 4, NUM_FLOAT},
	[GNN_NUM_F8] = {"f64", "f8", 8, NUM_FLOAT},
	[GNN_NUM_BF16] = {"bf16", "V2", 2, NUM_FLOAT},
};

uint32_t gnn_num_bytes(enum gnn_num t)
{
	GNN_ASSERT(t < GNN_NUM_COUNT);
	return types[t].bytes;
}

const char *gnn_num_name(enum gnn_num t)
{
	GNN_ASSERT(t < GNN_NUM_COUNT);
	return types[t].name;
}

bool gnn_num_is_int(enum gnn_num t)
{
	return t < GNN_NUM_COUNT &&
		(types[t].class == NUM_SIGNED || types[t].class == NUM_UNSIGNED);
}

bool gnn_num_is_signed(enum gnn_num t)
{
	return t < GNN_NUM_COUNT && types[t].class == NUM_SIGNED;
}

bool gnn_num_is_float(enum gnn_num t)
{
	return t < GNN_NUM_COUNT && types[t].class == NUM_FLOAT;
}

enum gnn_num gnn_num_parse(const char *name)
{
	bool numpy = name[0] == '<' || name[0] == '|';

	for (int t = 0; t < GNN_NUM_COUNT; t++) {
		if (strcmp(numpy ? name + 1 : name, numpy ? types[t].numpy : types[t].name) == 0)
			return (enum gnn_num)t;
	}
	return GNN_NUM_COUNT;
}

const char *gnn_num_names(void)
{
	return "f32 f16 bf16 f64 u8 u16 u32 u64 i8 i16 i32 i64 bool";
}

void gnn_num_swap(void *data, uint64_t count, uint32_t bytes)
{
	uint16_t *h = data;
	uint32_t *w = data;
	uint64_t *d = data;

	switch (bytes) {
	case 2:
		for (uint64_t i = 0; i < count; i++)
			h[i] = __builtin_bswap16(h[i]);
		break;
	case 4:
		for (uint64_t i = 0; i < count; i++)
			w[i] = __builtin_bswap32(w[i]);
		break;
	case 8:
		for (uint64_t i = 0; i < count; i++)
			d[i] = __builtin_bswap64(d[i]);
		break;
	default:
		break;
	}
}

static float from_bits(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Exact: every f16 is an f32. Subnormals are m x 2^-24. */
static float from_f16(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
	float f;

	if (exponent == 31)
		return from_bits(sign | 0x7f800000 | mantissa << 13);
	if (exponent != 0)
		return from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
	f = (float)mantissa * 0x1p-24f;
	return sign ? -f : f;
}

/* An integer is an f32 when its set bits span at most 24 places. */
static bool spans_24(uint64_t v)
{
	return v == 0 || 64 - __builtin_clzll(v) - __builtin_ctzll(v) <= 24;
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static bool f64_is_f32(double d)
{
	return isnan(d) || (double)(float)d == d;
}

/* Widening, one loop a type, simple enough for the compiler to vectorise. */
#define WIDEN(type)                                    \
	for (uint64_t i = 0; i < count; i++)           \
		to[i] = (int64_t)((const type *)from)[i]

static void widen_int(enum gnn_num t, const void *from, uint64_t count, int64_t *to)
{
	switch (t) {
	case GNN_NUM_I1:
		WIDEN(int8_t);
		break;
	case GNN_NUM_I2:
		WIDEN(int16_t);
		break;
	case GNN_NUM_I4:
		WIDEN(int32_t);
		break;
	case GNN_NUM_U1:
		WIDEN(uint8_t);
		break;
	case GNN_NUM_U2:
		WIDEN(uint16_t);
		break;
	case GNN_NUM_U4:
		WIDEN(uint32_t);
		break;
	case GNN_NUM_I8:
	case GNN_NUM_U8:
		memcpy(to, from, count * 8);
		break;
	default:
		GNN_ASSERT(t == GNN_NUM_B1);
		for (uint64_t i = 0; i < count; i++)
			to[i] = ((const uint8_t *)from)[i] != 0;
		break;
	}
}

/* Every f16, bf16 and f32 is an f32. */
static void widen_half(enum gnn_num t, const void *from, uint64_t count, float *to)
{
	const uint16_t *h = from;

	if (t == GNN_NUM_F4) {
		memcpy(to, from, count * 4);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		to[i] = t == GNN_NUM_F2 ? from_f16(h[i]) : from_bits((uint32_t)h[i] << 16);
}

static const void *item(enum gnn_num t, const void *from, uint64_t i)
{
	return (const char *)from + i * types[t].bytes;
}

static uint64_t first_below_zero(const int64_t *v, uint64_t count)
{
	int64_t signs = 0;

	for (uint64_t i = 0; i < count; i++)
		signs |= v[i];
	if (signs >= 0)
		return count;
	for (uint64_t i = 0; i < count; i++) {
		if (v[i] < 0)
			return i;
	}
	return count;
}

/* Pieces that stay in the first-level cache between the two passes over them. */
enum { PIECE = 1024 };

uint64_t gnn_num_to_u64(enum gnn_num t, const void *from, uint64_t count, uint64_t *to)
{
	GNN_ASSERT(gnn_num_is_int(t));
	for (uint64_t at = 0; at < count; at += PIECE) {
		uint64_t n = gnn_min_u64(PIECE, count - at), bad = n;

		widen_int(t, item(t, from, at), n, (int64_t *)to + at);
		if (types[t].class == NUM_SIGNED)
			bad = first_below_zero((int64_t *)to + at, n);
		if (bad < n)
			return at + bad;
	}
	return count;
}

static bool float_to_i64(double d, int64_t *to)
{
	*to = -1;
	if (isnan(d))
		return true;
	if (!(d >= -0x1p62 && d <= 0x1p62) || d != floor(d))
		return false;
	*to = (int64_t)d;
	return true;
}

static double float_at(enum gnn_num t, const void *from, uint64_t i)
{
	float f;

	if (t == GNN_NUM_F8)
		return ((const double *)from)[i];
	widen_half(t, item(t, from, i), 1, &f);
	return (double)f;
}

uint64_t gnn_num_to_i64(enum gnn_num t, const void *from, uint64_t count, int64_t *to)
{
	if (gnn_num_is_float(t)) {
		for (uint64_t i = 0; i < count; i++) {
			if (!float_to_i64(float_at(t, from, i), &to[i]))
				return i;
		}
		return count;
	}
	widen_int(t, from, count, to);
	return t == GNN_NUM_U8 ? first_below_zero(to, count) : count;
}

static uint64_t int_to_f32(enum gnn_num t, const int64_t *v, uint64_t count, bool exact, float *to)
{
	for (uint64_t i = 0; i < count; i++) {
		bool is_u64 = t == GNN_NUM_U8;

		to[i] = is_u64 ? (float)(uint64_t)v[i] : (float)v[i];
		if (exact && !spans_24(is_u64 ? (uint64_t)v[i] : magnitude(v[i])))
			return i;
	}
	return count;
}

static uint64_t f64_to_f32(const double *d, uint64_t count, bool exact, float *to)
{
	for (uint64_t i = 0; i < count; i++) {
		to[i] = (float)d[i];
		if (exact && !f64_is_f32(d[i]))
			return i;
	}
	return count;
}

uint64_t gnn_num_to_f32(enum gnn_num t, const void *from, uint64_t count, bool exact, float *to)
{
	int64_t wide[PIECE];

	if (t == GNN_NUM_F8)
		return f64_to_f32(from, count, exact, to);
	if (gnn_num_is_float(t)) {
		widen_half(t, from, count, to);
		return count;
	}
	for (uint64_t at = 0; at < count; at += PIECE) {
		uint64_t n = gnn_min_u64(PIECE, count - at), bad;

		widen_int(t, item(t, from, at), n, wide);
		bad = int_to_f32(t, wide, n, exact, to + at);
		if (bad < n)
			return at + bad;
	}
	return count;
}

static uint64_t to_f16(const float *from, uint64_t count, void *to)
{
	_Float16 *h = to;

	for (uint64_t i = 0; i < count; i++) {
		h[i] = (_Float16)from[i];
		if (isinf((float)h[i]) && isfinite(from[i]))
			return i;
	}
	return count;
}

/* The upper half, rounded: 0x7fff and the last bit kept make ties even. NaN stays NaN. */
static uint64_t to_bf16(const float *from, uint64_t count, void *to)
{
	uint16_t *h = to;

	for (uint64_t i = 0; i < count; i++) {
		uint32_t bits;

		memcpy(&bits, &from[i], sizeof(bits));
		if (isnan(from[i]))
			h[i] = (uint16_t)(bits >> 16 | 0x40);
		else
			h[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
	}
	return count;
}

static uint64_t to_u8(const float *from, uint64_t count, void *to)
{
	uint8_t *b = to;

	for (uint64_t i = 0; i < count; i++) {
		if (!(from[i] >= 0.0f && from[i] <= 255.0f))
			return i;
		b[i] = (uint8_t)rintf(from[i]);
	}
	return count;
}

uint64_t gnn_num_from_f32(enum gnn_dtype t, const float *from, uint64_t count, void *to)
{
	GNN_ASSERT(t == GNN_F32 || t == GNN_F16 || t == GNN_BF16 || t == GNN_U8);
	if (t == GNN_F16)
		return to_f16(from, count, to);
	if (t == GNN_BF16)
		return to_bf16(from, count, to);
	if (t == GNN_U8)
		return to_u8(from, count, to);
	memcpy(to, from, count * sizeof(*from));
	return count;
}

void gnn_num_print(enum gnn_num t, const void *from, uint64_t i, char *to, uint64_t to_bytes)
{
	int64_t v;

	if (gnn_num_is_float(t)) {
		snprintf(to, to_bytes, "%.17g", float_at(t, from, i));
		return;
	}
	widen_int(t, item(t, from, i), 1, &v);
	if (t == GNN_NUM_U8)
		snprintf(to, to_bytes, "%llu", (unsigned long long)v);
	else
		snprintf(to, to_bytes, "%lld", (long long)v);
}
