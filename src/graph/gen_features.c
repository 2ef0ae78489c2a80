/* graph/gen_features.c - features: the centre of the vertex's class plus noise. See gen.h. */
#include "base/rng.h"
#include "graph/gen.h"

#include <math.h>
#include <string.h>

enum { PIECE = 64 }; /* columns that one word of signs serves */

/* The sum of four 16-bit numbers has the spread 2^16 / sqrt(3), and is within sqrt(12) spreads. */
#define NOISE_UNIT (1.7320508f / 65536.0f)

struct look {
	float    centre, noise; /* scaled to variance 1; u8: to a largest value of 127 */
	void   (*narrow)(void *to, const float *from, uint32_t count);
	uint64_t item;
};

static void keep_f32(void *to, const float *from, uint32_t count)
{
	memcpy(to, from, count * sizeof(*from));
}

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* Nearest, ties to even. |x| < 2^15 here; below 2^-14 the sum with .5 rounds to steps of 2^-24. */
static void narrow_f16(void *to, const float *from, uint32_t count)
{
	uint16_t *half = to;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t sign = bits_of(from[i]) >> 16 & 0x8000;
		uint32_t u = bits_of(from[i]) & 0x7fffffff;
		uint32_t h = u < 0x38800000 ? bits_of(fabsf(from[i]) + 0.5f) - 0x3f000000 :
			(u - 0x38000000 + 0xfff + (u >> 13 & 1)) >> 13;

		half[i] = (uint16_t)(sign | h);
	}
}

static void narrow_bf16(void *to, const float *from, uint32_t count)
{
	uint16_t *half = to;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t u = bits_of(from[i]);

		half[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
	}
}

static void narrow_u8(void *to, const float *from, uint32_t count)
{
	uint8_t *bytes = to;

	for (uint32_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)(128.5f + from[i]);
}

static struct look look_of(const struct gnn_gen *g)
{
	static void (*const narrow[GNN_DTYPE_COUNT])(void *, const float *, uint32_t) = {
		[GNN_F32] = keep_f32, [GNN_F16] = narrow_f16, [GNN_BF16] = narrow_bf16,
		[GNN_U8] = narrow_u8,
	};
	double noise = g->o.noise;
	double unit = g->o.dtype == GNN_U8 ? 127.0 / (1.0 + sqrt(12.0) * noise) :
		1.0 / sqrt(1.0 + noise * noise);

	return (struct look){
		.centre = (float)unit,
		.noise = (float)(unit * noise),
		.narrow = narrow[g->o.dtype],
		.item = gnn_dtype_bytes(g->o.dtype),
	};
}

/* The sum of four 16-bit numbers, less its mean: nearly normal, and the same on any machine. */
static int32_t four_of(uint64_t h)
{
	uint64_t pairs = (h & 0x0000ffff0000ffff) + (h >> 16 & 0x0000ffff0000ffff);

	return (int32_t)((pairs & 0xffffffff) + (pairs >> 32)) - 2 * 65535;
}

static void draw_row(const struct gnn_gen *g, const struct look *l, gnn_vid v, char *to)
{
	uint64_t dim = g->o.feat_dim, pieces = gnn_ceil_div(dim, PIECE);
	uint64_t label = gnn_gen_label(g, v);
	uint64_t key = gnn_rng_u64(g->o.seed, GNN_GEN_NOISE, v);
	float row[PIECE];

	for (uint64_t p = 0; p < pieces; p++) {
		uint64_t signs = gnn_rng_u64(g->o.seed, GNN_GEN_CENTRE, label * pieces + p);
		uint32_t count = (uint32_t)gnn_min_u64(PIECE, dim - p * PIECE);

		for (uint32_t i = 0; i < count; i++) {
			uint64_t h = gnn_mix64(key + (p * PIECE + i + 1) * 0x9e3779b97f4a7c15u);
			float noise = (float)four_of(h) * NOISE_UNIT;

			row[i] = (signs >> i & 1 ? l->centre : -l->centre) + noise * l->noise;
		}
		l->narrow(to + p * PIECE * l->item, row, count);
	}
}

void gnn_gen_features(const struct gnn_gen *g, gnn_vid first, uint64_t rows, void *to)
{
	struct look l = look_of(g);

#pragma omp parallel for schedule(static) num_threads((int)g->o.threads)
	for (uint64_t r = 0; r < rows; r++)
		draw_row(g, &l, first + r, (char *)to + r * g->o.feat_dim * l.item);
}
