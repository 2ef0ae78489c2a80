/* graph/gen.c - the table of kinds, the complete recipe, and edges in parallel. See gen.h. */
#include "graph/gen.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { EDGES_A_TASK = 4096 };

static const struct gnn_gen_kind *const kinds[] = {&gnn_gen_rmat, &gnn_gen_sbm, &gnn_gen_power};

/*
 * Noise at which the best linear model is right on 60 of 100 vertices, whatever the width F and
 * the number of classes C. C <= F centres of +-1 lie sqrt(F) from the origin, at right angles up to
 * chance; what counts is d = sqrt(F) / noise. The accuracy, the integral of phi(x - d)
 * Phi(x)^(C-1), is .60 on d^2 = 1.37 log2(C) - 1.40 within .005 for 3 <= C <= 3,000, and at
 * d^2 = .128 for C = 2. Measured on 2^16 vertices, F = 128, trained on 60 % of them, least squares
 * and logistic regression alike: .60 for C = 2, .59 for C = 8 and 16, .57 for C = 64. Rounded to
 * three decimals, so that the last bit of another log2 draws no other graph.
 */
static double noise_for_60_percent(uint64_t feat_dim, uint64_t classes)
{
	double d2 = fmax(0.128, 1.37 * log2((double)gnn_max_u64(classes, 1)) - 1.40);

	return round(1000.0 * sqrt((double)feat_dim / d2)) / 1000.0;
}

static int check(const struct gnn_gen_opts *o)
{
	if (o->vertices == 0)
		return gnn_err(GNN_ECONFIG, "generate: a graph needs at least one vertex");
	if (o->communities > o->vertices)
		return gnn_err(GNN_ECONFIG, "generate: %llu communities in %llu vertices",
			(unsigned long long)o->communities, (unsigned long long)o->vertices);
	if (!(o->mixing >= 0.0 && o->mixing <= 1.0))
		return gnn_err(GNN_ECONFIG, "generate: --mixing is a share, 0 to 1, found %g",
			o->mixing);
	if (o->noise < 0.0 || isinf(o->noise))
		return gnn_err(GNN_ECONFIG, "generate: --noise is 0 or more, found %g", o->noise);
	if (o->train_count > o->vertices)
		return gnn_err(GNN_ECONFIG, "generate: --train-count %llu of %llu vertices",
			(unsigned long long)o->train_count, (unsigned long long)o->vertices);
	if (o->dtype != GNN_F32 && o->dtype != GNN_F16 && o->dtype != GNN_BF16 &&
		o->dtype != GNN_U8)
		return gnn_err(GNN_ECONFIG, "generate: features are f32, f16, bf16 or u8, not %s",
			gnn_dtype_name(o->dtype));
	return GNN_OK;
}

/* 60/20/20; a given training set takes from the others only where it must. */
static void share_out(struct gnn_gen *g)
{
	uint64_t v = g->o.vertices;
	uint64_t fifth = v / 5;

	if (g->o.train_count == 0)
		g->o.train_count = v - 2 * fifth;
	g->split_count[0] = g->o.train_count;
	g->split_count[1] = gnn_min_u64(fifth, (v - g->o.train_count) / 2);
	g->split_count[2] = gnn_min_u64(fifth, v - g->o.train_count - g->split_count[1]);
	gnn_shuffle_init(&g->split, v, g->o.seed, GNN_GEN_SPLIT);
}

int gnn_gen_init(struct gnn_gen *g, const struct gnn_gen_opts *o)
{
	int rc = GNN_OK;

	*g = (struct gnn_gen){.o = *o};
	for (size_t i = 0; i < GNN_COUNT_OF(kinds); i++)
		if (strcmp(kinds[i]->name, o->kind) == 0)
			g->kind = kinds[i];
	if (g->kind == NULL)
		GNN_FAIL(GNN_EUSAGE, "generate: no kind of graph is called %s; there are rmat, "
			"sbm and power", o->kind);
	if (g->o.communities == 0)
		g->o.communities = gnn_min_u64(gnn_max_u64(o->classes, 1), o->vertices);
	GNN_TRY(check(&g->o));
	if (isnan(g->o.noise))
		g->o.noise = noise_for_60_percent(o->feat_dim, o->classes);
	gnn_shuffle_init(&g->id, o->vertices, o->seed, GNN_GEN_ID);
	share_out(g);
out:
	return rc;
}

static void draw(const struct gnn_gen *g, gnn_eid first, uint64_t count, gnn_vid *src,
	gnn_vid *dst)
{
	g->kind->edges(g, first, count, src, dst);
	if (!g->o.shuffle)
		return;
	for (uint64_t i = 0; i < count; i++) {
		src[i] = gnn_shuffle_map(&g->id, src[i]);
		dst[i] = gnn_shuffle_map(&g->id, dst[i]);
	}
}

void gnn_gen_edges(const struct gnn_gen *g, gnn_eid first, uint64_t count, gnn_vid *src,
	gnn_vid *dst)
{
	uint64_t tasks = gnn_ceil_div(count, EDGES_A_TASK);

#pragma omp parallel for schedule(static) num_threads((int)g->o.threads)
	for (uint64_t t = 0; t < tasks; t++) {
		uint64_t at = t * EDGES_A_TASK;

		draw(g, first + at, gnn_min_u64(EDGES_A_TASK, count - at), src + at, dst + at);
	}
}

uint64_t gnn_gen_label(const struct gnn_gen *g, gnn_vid v)
{
	gnn_vid place = g->o.shuffle ? gnn_shuffle_unmap(&g->id, v) : v;

	return g->kind->group(g, place) % gnn_max_u64(g->o.classes, 1);
}

uint32_t gnn_gen_split(const struct gnn_gen *g, gnn_vid v)
{
	uint64_t rank = gnn_shuffle_map(&g->split, v);

	for (uint32_t s = 0; s < GNN_COUNT_OF(g->split_count); s++) {
		if (rank < g->split_count[s])
			return s;
		rank -= g->split_count[s];
	}
	return GNN_COUNT_OF(g->split_count);
}
