/* cmd/cmd_generate.c - gnnrun generate KIND STORE.h5: a graph of any size, drawn from a seed. */
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "graph/gen_store.h"
#include "io/builder_memory.h"

enum { RESERVE_BYTES = 64 << 20, EDGE_FACTOR = 16 };

/* Vertices and edges, each told in one of two ways. */
static int read_size(const struct gnn_config *c, struct gnn_gen_opts *o)
{
	bool scale = gnn_option_given(c, "scale"), factor = gnn_option_given(c, "edge-factor");
	bool edges = gnn_option_given(c, "edges");
	uint64_t k = factor ? c->edge_factor : EDGE_FACTOR;

	if (scale == gnn_option_given(c, "vertices"))
		return gnn_err(GNN_EUSAGE, "generate: give --vertices N or --scale S, %s",
			scale ? "not both" : "found neither");
	if (edges && factor)
		return gnn_err(GNN_EUSAGE, "generate: give --edges N or --edge-factor K, not both");
	o->vertices = scale ? UINT64_C(1) << c->scale : c->vertices;
	o->edges = c->edges;
	if (!edges && __builtin_mul_overflow(o->vertices, k, &o->edges))
		return gnn_err(GNN_EUSAGE, "generate: --edge-factor %llu gives more than 2^64 "
			"edges", (unsigned long long)k);
	return GNN_OK;
}

static int read_recipe(const struct gnn_config *c, struct gnn_gen *g)
{
	struct gnn_gen_opts o = {
		.kind = c->args[0], .classes = c->classes, .communities = c->communities,
		.mixing = c->mixing, .feat_dim = c->feat_dim,
		.dtype = (enum gnn_dtype)c->feature_dtype, .noise = c->noise,
		.train_count = c->train_count, .seed = c->seed, .shuffle = c->shuffle,
		.threads = (uint32_t)c->threads,
	};
	int rc = read_size(c, &o);

	return rc < 0 ? rc : gnn_gen_init(g, &o);
}

static void put_recipe(struct gnn_json *j, const struct gnn_gen_opts *o)
{
	gnn_json_text(j, "command", "generate");
	gnn_json_text(j, "kind", o->kind);
	gnn_json_u64(j, "seed", o->seed);
	gnn_json_u64(j, "vertices", o->vertices);
	gnn_json_u64(j, "edges", o->edges);
	gnn_json_u64(j, "communities", o->communities);
	gnn_json_real(j, "mixing", o->mixing);
	gnn_json_u64(j, "feature_dim", o->feat_dim);
	gnn_json_text(j, "feature_dtype", gnn_dtype_name(o->dtype));
	gnn_json_real(j, "noise", o->noise);
	gnn_json_u64(j, "classes", o->classes);
	gnn_json_u64(j, "train_count", o->train_count);
	gnn_json_bool(j, "shuffle", o->shuffle);
}

static int make_provenance(const struct gnn_gen *g, char **text)
{
	struct gnn_json *j;
	int rc = gnn_json_create(&j);

	if (rc < 0)
		return rc;
	put_recipe(j, &g->o);
	gnn_json_text(j, "version", GNN_VERSION);
	rc = gnn_json_line(j, text);
	gnn_json_destroy(j);
	return rc;
}

static int print_json(const struct gnn_gen *g, const struct gnn_build_report *r, double wall_s)
{
	struct gnn_json *j;
	int rc = gnn_json_create(&j);

	if (rc < 0)
		return rc;
	put_recipe(j, &g->o);
	gnn_json_u64(j, "self_loops", r->self_loops);
	gnn_json_u64(j, "duplicates", r->duplicates);
	gnn_json_u64(j, "isolated", r->isolated);
	gnn_json_u64(j, "max_in_degree", r->max_in_degree);
	gnn_json_u64(j, "max_out_degree", r->max_out_degree);
	gnn_json_u64(j, "scratch_bytes", r->scratch_bytes);
	gnn_json_real(j, "wall_s", wall_s);
	rc = gnn_json_print(j);
	gnn_json_destroy(j);
	return rc;
}

static void print_text(const struct gnn_config *c, const struct gnn_gen *g,
	const struct gnn_build_report *r, double wall_s)
{
	const struct gnn_gen_opts *o = &g->o;
	char x[GNN_UNITS_BYTES], y[GNN_UNITS_BYTES];

	gnn_out("graph       %s, seed %llu\n", o->kind, (unsigned long long)o->seed);
	gnn_out("vertices    %llu, %llu of them without edges\n", (unsigned long long)o->vertices,
		(unsigned long long)r->isolated);
	gnn_out("edges       %llu: %llu self-loops, %llu duplicates\n",
		(unsigned long long)o->edges, (unsigned long long)r->self_loops,
		(unsigned long long)r->duplicates);
	gnn_out("max degree  %llu in, %llu out\n", (unsigned long long)r->max_in_degree,
		(unsigned long long)r->max_out_degree);
	if (o->feat_dim > 0)
		gnn_out("features    %llu x %s, noise %g\n", (unsigned long long)o->feat_dim,
			gnn_dtype_name(o->dtype), o->noise);
	if (o->classes > 0)
		gnn_out("labels      %llu classes; %llu train, %llu valid, %llu test\n",
			(unsigned long long)o->classes, (unsigned long long)g->split_count[0],
			(unsigned long long)g->split_count[1],
			(unsigned long long)g->split_count[2]);
	gnn_out("time        %s, %s\n", gnn_units_time(x, wall_s),
		gnn_units_rate(y, (double)o->edges / wall_s, "edges"));
	gnn_out("store       %s\n", c->args[1]);
}

int gnn_cmd_generate(const struct gnn_config *c)
{
	uint64_t start = gnn_clock_ns();
	struct gnn_build_report report;
	char *provenance = NULL;
	struct gnn_gen g;
	int rc;

	GNN_TRY(gnn_builder_check_memory(c->host_memory, "a graph"));
	GNN_TRY(read_recipe(c, &g));
	GNN_TRY(make_provenance(&g, &provenance));
	GNN_TRY(gnn_gen_store(&g, &(struct gnn_builder_opts){.out_path = c->args[1],
		.scratch = c->scratch, .threads = (uint32_t)c->threads,
		.memory_bytes = c->host_memory - gnn_min_u64(RESERVE_BYTES, c->host_memory / 4),
		.engine = (enum gnn_dio_engine)c->io}, provenance, &report));
	if (c->json)
		GNN_TRY(print_json(&g, &report, gnn_clock_s_since(start)));
	else
		print_text(c, &g, &report, gnn_clock_s_since(start));
out:
	gnn_mem_free(provenance);
	return rc;
}
