/* op/cpu/widen.c - stored element types to floats; exact, by bit moves that vectorise. */
#include "op/cpu/cpu.h"

#include "op/expf.h"

#include <string.h>

typedef void (*widen_fn)(float *to, const void *from, uint64_t count);

static void widen_f32(float *to, const void *from, uint64_t count)
{
	memcpy(to, from, count * sizeof(float));
}

/*
 * The 15 bits behind the sign, moved to their places in a float, are 2^-112 times the value,
 * subnormals included; infinity and NaN keep an exponent of all ones instead.
 */
GNN_CPU_CLONES
static void widen_f16(float *restrict to, const void *from, uint64_t count)
{
	const uint16_t *restrict half = from;

	for (uint64_t i = 0; i < count; i++) {
		const uint32_t h = half[i];
		const uint32_t moved = (h & 0x7fff) << 13;
		const uint32_t finite = gnn_float_bits(gnn_bits_float(moved) * 0x1p112f);
		const uint32_t value = (h & 0x7c00) == 0x7c00 ? moved | 0x7f800000 : finite;

		to[i] = gnn_bits_float(value | (h & 0x8000) << 16);
	}
}

GNN_CPU_CLONES
static void widen_bf16(float *restrict to, const void *from, uint64_t count)
{
	const uint16_t *restrict high = from;

	for (uint64_t i = 0; i < count; i++)
		to[i] = gnn_bits_float((uint32_t)high[i] << 16);
}

GNN_CPU_CLONES
static void widen_u8(float *restrict to, const void *from, uint64_t count)
{
	const uint8_t *restrict byte = from;

	for (uint64_t i = 0; i < count; i++)
		to[i] = (float)byte[i];
}

static const widen_fn widen[GNN_DTYPE_COUNT] = {
	[GNN_F32] = widen_f32,
	[GNN_F16] = widen_f16,
	[GNN_BF16] = widen_bf16,
	[GNN_U8] = widen_u8,
};

void gnn_cpu_widen(float *to, uint64_t to_pitch, const void *from, enum gnn_dtype type,
	uint64_t from_pitch, uint64_t width, uint64_t rows)
{
	const uint64_t row_bytes = from_pitch * gnn_dtype_bytes(type);

	GNN_ASSERT(widen[type] != NULL);
	for (uint64_t r = 0; width > 0 && r < rows; r++)
		widen[type](to + r * to_pitch, (const char *)from + r * row_bytes, width);
}
