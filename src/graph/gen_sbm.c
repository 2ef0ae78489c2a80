/* graph/gen_sbm.c - planted communities (stochastic block model) of equal size. */
#include "base/rng.h"
#include "graph/gen.h"

struct range {
	gnn_vid first, end;
};

/* Community k holds the places [ceil(k V / K), ceil((k+1) V / K)). */
static uint64_t community(const struct gnn_gen *g, gnn_vid place)
{
	return (uint64_t)((unsigned __int128)place * g->o.communities / g->o.vertices);
}

static gnn_vid first_of(const struct gnn_gen *g, uint64_t k)
{
	unsigned __int128 product = (unsigned __int128)k * g->o.vertices;

	return (gnn_vid)((product + g->o.communities - 1) / g->o.communities);
}

/* A place of `all` outside `but`; one of `all` where nothing is left. */
static gnn_vid draw_outside(uint64_t bits, struct range all, struct range but)
{
	uint64_t count = all.end - all.first, gap = but.end - but.first;
	gnn_vid x;

	if (count == gap)
		return all.first + gnn_rng_below(bits, count);
	x = all.first + gnn_rng_below(bits, count - gap);
	return x < but.first ? x : x + gap;
}

/*
 * The source is any place. With probability `mixing` the destination is any place of the other
 * communities, else any other place of the source's own.
 */
static void edges(const struct gnn_gen *g, gnn_eid first, uint64_t count, gnn_vid *src,
	gnn_vid *dst)
{
	const struct range all = {0, g->o.vertices};

	for (uint64_t i = 0; i < count; i++) {
		uint64_t e = 3 * (first + i);
		gnn_vid s = gnn_rng_below(gnn_rng_u64(g->o.seed, GNN_GEN_EDGE, e), all.end);
		double leave = gnn_rng_unit(gnn_rng_u64(g->o.seed, GNN_GEN_EDGE, e + 1));
		uint64_t bits = gnn_rng_u64(g->o.seed, GNN_GEN_EDGE, e + 2);
		uint64_t k = community(g, s);
		struct range own = {first_of(g, k), first_of(g, k + 1)}, self = {s, s + 1};

		src[i] = s;
		dst[i] = leave < g->o.mixing ? draw_outside(bits, all, own) :
			draw_outside(bits, own, self);
	}
}

const struct gnn_gen_kind gnn_gen_sbm = {.name = "sbm", .edges = edges, .group = community};
