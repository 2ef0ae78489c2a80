/* graph/gen_rmat.c - recursive quadrants (R-MAT): skewed degrees, communities of communities. */
#include "base/rng.h"
#include "graph/gen.h"

/*
 * Each level halves the adjacency matrix both ways and chooses a quadrant with probability a, b, c
 * or 1 - a - b - c, here as thresholds of a 32-bit draw. Duplicates and self-loops are kept. Where
 * the number of vertices is no power of two, an edge that leaves the matrix is drawn anew.
 */
static const uint64_t A = 2448131359, AB = 3264175145, ABC = 4080218931; /* .57 .76 .95 of 2^32 */

static void draw(uint64_t key, uint32_t levels, gnn_vid *src, gnn_vid *dst)
{
	gnn_vid s = 0, d = 0;
	uint64_t bits = 0;

	for (uint32_t level = 0; level < levels; level++) {
		uint64_t r;

		bits = level % 2 == 0 ? gnn_mix64(key += 0x9e3779b97f4a7c15u) : bits >> 32;
		r = bits & 0xffffffff;
		s = s << 1 | (r >= AB);
		d = d << 1 | ((r >= A) ^ (r >= AB) ^ (r >= ABC));
	}
	*src = s;
	*dst = d;
}

static void edges(const struct gnn_gen *g, gnn_eid first, uint64_t count, gnn_vid *src,
	gnn_vid *dst)
{
	uint64_t v = g->o.vertices;
	uint32_t levels = gnn_log2_ceil(v);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t key = gnn_rng_u64(g->o.seed, GNN_GEN_EDGE, first + i);

		do {
			draw(key, levels, &src[i], &dst[i]);
			key = gnn_mix64(key + 1);
		} while (src[i] >= v || dst[i] >= v);
	}
}

static uint64_t group(const struct gnn_gen *g, gnn_vid place)
{
	return gnn_rng_u64(g->o.seed, GNN_GEN_GROUP, place);
}

const struct gnn_gen_kind gnn_gen_rmat = {.name = "rmat", .edges = edges, .group = group};
