/* graph/gen_power.c - power-law degrees without any structure: few hubs, many small vertices. */
#include "base/rng.h"
#include "graph/gen.h"

#include <math.h>

/* floor(V x), x < 1; the product may round up to V. */
static gnn_vid scaled(uint64_t v, double x)
{
	return gnn_min_u64((uint64_t)((double)v * x), v - 1);
}

/* Source floor(V u^2.5), destination floor(V w^1.5), u and w uniform; sqrt is exact anywhere. */
static void edges(const struct gnn_gen *g, gnn_eid first, uint64_t count, gnn_vid *src,
	gnn_vid *dst)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t e = first + i;
		double u = gnn_rng_unit(gnn_rng_u64(g->o.seed, GNN_GEN_EDGE, 2 * e));
		double w = gnn_rng_unit(gnn_rng_u64(g->o.seed, GNN_GEN_EDGE, 2 * e + 1));

		src[i] = scaled(g->o.vertices, u * u * sqrt(u));
		dst[i] = scaled(g->o.vertices, w * sqrt(w));
	}
}

static uint64_t group(const struct gnn_gen *g, gnn_vid place)
{
	return gnn_rng_u64(g->o.seed, GNN_GEN_GROUP, place);
}

const struct gnn_gen_kind gnn_gen_power = {.name = "power", .edges = edges, .group = group};
