/* cmd/cmd_reorder.c - gnnrun reorder STORE.h5 OUT.h5: the same graph, its vertices in an order. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "io/file.h"
#include "io/store_schema.h"
#include "order/journal.h"
#include "order/relabel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RESERVE_BYTES = 64 << 20, SOURCE_MAX = 2048, ATTRS_MAX = 16 };

struct reorder {
	const struct gnn_config  *config;
	struct gnn_store         *store;
	uint64_t                 *rank; /* (V) */
	struct gnn_journal       *journal;
	bool                      taurus;
	bool                      keep; /* features stay where they are */
	bool                      resumed;
	struct gnn_order_report   order;
	struct gnn_relabel_report relabel;
	uint64_t                  start;
};

/* --- before the work --- */

/* An output that cannot be made is found out before the work, not after it. */
static int check_output(const struct gnn_config *c)
{
	struct gnn_pub *pub = NULL;
	int rc;

	GNN_TRY(gnn_file_check_output(c->args[1], (const char *const[]){c->args[0]}, 1));
	GNN_TRY(gnn_pub_begin(&pub, c->args[1]));
out:
	gnn_pub_abort(pub);
	return rc;
}

/* Whether features stay where they are; where that is must not become the output. */
static int check_features(struct reorder *r)
{
	const struct gnn_store *s = r->store;
	char path[GNN_STORE_PATH_BYTES];
	const char *const inputs[] = {path};
	int rc;

	r->keep = strcmp(r->config->order_features, "keep") == 0;
	if (s->feature_rank == NULL && s->features == NULL && r->keep)
		gnn_log(GNN_LOG_WARN, "reorder", "--features keep: %s has none",
			r->config->args[0]);
	r->keep = r->keep && (s->feature_rank != NULL || s->features != NULL);
	if (!r->keep)
		return gnn_store_check_own(s);
	GNN_TRY(gnn_store_features_path(s, path));
	GNN_TRY(gnn_file_check_output(r->config->args[1], inputs, 1));
out:
	return rc;
}

static void say_unused(const struct reorder *r)
{
	const char *const options[] = {"bootstrap", "iterations"};

	for (size_t i = 0; i < GNN_COUNT_OF(options) && !r->taurus; i++)
		if (gnn_option_given(r->config, options[i]))
			gnn_log(GNN_LOG_WARN, "reorder", "--%s is of --order taurus; %s does not "
				"use it", options[i], r->config->order);
}

/* Of the budget, what is not held yet. */
static uint64_t memory_left(const struct gnn_config *c)
{
	uint64_t all = c->host_memory - gnn_min_u64(RESERVE_BYTES, c->host_memory / 4);
	struct gnn_mem_stats m;

	gnn_mem_stats(&m);
	return all - gnn_min_u64(m.held_bytes, all);
}

/* Gathered from at random: of huge pages where it is large. */
static int make_ranks(struct reorder *r)
{
	void *block = NULL;
	int rc = gnn_mem_pages(&block, gnn_max_u64(r->store->vertices, 1) * sizeof(*r->rank),
		GNN_MEM_TOPOLOGY);

	r->rank = block;
	return rc;
}

/* --- the new store --- */

static int make_provenance(const struct reorder *r, char **text)
{
	const char *source = gnn_container_provenance(r->store->container);
	const struct gnn_config *c = r->config;
	struct gnn_json *j;
	int rc = gnn_json_create(&j);

	if (rc < 0)
		return rc;
	gnn_json_text(j, "command", "reorder");
	gnn_json_text(j, "order", c->order);
	if (r->taurus) {
		gnn_json_text(j, "bootstrap", c->bootstrap);
		gnn_json_u64(j, "iterations", c->iterations);
	}
	gnn_json_u64(j, "seed", c->seed);
	gnn_json_text(j, "features", r->keep ? "keep" : "relabel");
	gnn_json_text(j, "version", GNN_VERSION);
	/* Quotes of a quotation double with each reordering: the text stays within its place. */
	if (strlen(source) <= SOURCE_MAX)
		gnn_json_text(j, "source", source);
	rc = gnn_json_line(j, text);
	gnn_json_destroy(j);
	return rc;
}

/* What only some orders and stores have. */
static uint32_t add_attrs(const struct reorder *r, const char *features, uint64_t hash,
	struct gnn_attr *to)
{
	uint32_t count = 0;

	if (r->taurus) {
		to[count++] = (struct gnn_attr){.name = GNN_ATTR_ORDER_BOOTSTRAP,
			.text = r->config->bootstrap};
		to[count++] = (struct gnn_attr){.name = GNN_ATTR_ORDER_ITERATIONS,
			.number = r->order.best};
	}
	if (r->keep) {
		to[count++] = (struct gnn_attr){.name = GNN_ATTR_FEATURES_STORE, .text = features};
		to[count++] = (struct gnn_attr){.name = GNN_ATTR_FEATURES_HASH, .number = hash};
	}
	return count;
}

static int relabel(struct reorder *r)
{
	const struct gnn_config *c = r->config;
	const struct gnn_spread *after = &r->order.after;
	struct gnn_attr attrs[ATTRS_MAX] = {
		{.name = GNN_ATTR_ORDER, .text = c->order},
		{.name = GNN_ATTR_ORDER_SPAN, .number = after->span},
		{.name = GNN_ATTR_ORDER_SPAN_BEFORE, .number = r->order.before.span},
		{.name = GNN_ATTR_ORDER_DISPERSION, .real = &after->dispersion},
		{.name = GNN_ATTR_ORDER_BANDWIDTH, .number = after->bandwidth},
		{.name = GNN_ATTR_ORDER_PEAK, .number = after->peak_active},
		{.name = GNN_ATTR_ORDER_MEAN, .real = &after->mean_active},
		{.name = GNN_ATTR_ORDER_RUN, .text = gnn_journal_id(r->journal)},
	};
	char features[GNN_STORE_PATH_BYTES], *provenance = NULL;
	uint32_t attr_count = 0;
	uint64_t hash = 0;
	int rc = GNN_OK;

	if (r->keep) {
		GNN_TRY(gnn_store_features_text(r->store, c->args[1], features));
		GNN_TRY(gnn_store_features_hash(r->store, &hash));
	}
	while (attrs[attr_count].name != NULL)
		attr_count++;
	attr_count += add_attrs(r, features, hash, attrs + attr_count);
	GNN_TRY(make_provenance(r, &provenance));
	GNN_TRY(gnn_relabel(&(struct gnn_relabel_opts){.store = r->store, .rank = r->rank,
		.to_import = strcmp(c->order, gnn_order_original.name) == 0, .keep = r->keep,
		.out_path = c->args[1], .scratch = c->scratch, .journal = r->journal,
		.memory_bytes = memory_left(c),
		.threads = (uint32_t)c->threads, .engine = (enum gnn_dio_engine)c->io,
		.attrs = attrs, .attr_count = attr_count, .provenance = provenance}, &r->relabel));
out:
	gnn_mem_free(provenance);
	return rc;
}

/* --- the report --- */

static void put_spread(struct gnn_json *j, const struct gnn_spread *s)
{
	gnn_json_u64(j, "span", s->span);
	gnn_json_real(j, "dispersion", s->dispersion);
	gnn_json_u64(j, "bandwidth", s->bandwidth);
	gnn_json_u64(j, "peak_active", s->peak_active);
	gnn_json_real(j, "mean_active", s->mean_active);
}

static void put_named(struct gnn_json *j, const char *name, const struct gnn_spread *s)
{
	gnn_json_open_object(j, name);
	put_spread(j, s);
	gnn_json_shut(j);
}

static void put_taurus(struct gnn_json *j, const struct reorder *r)
{
	gnn_json_open_array(j, "iterations");
	for (uint64_t i = 0; i < r->order.iterations; i++) {
		gnn_json_open_object(j, NULL);
		gnn_json_u64(j, "index", i + 1);
		put_spread(j, &r->order.iteration[i].spread);
		gnn_json_real(j, "wall_s", r->order.iteration[i].wall_s);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
	if (!r->taurus)
		return;
	gnn_json_open_object(j, "bootstrap");
	gnn_json_text(j, "order", r->config->bootstrap);
	put_spread(j, &r->order.bootstrap.spread);
	gnn_json_real(j, "wall_s", r->order.bootstrap.wall_s);
	gnn_json_shut(j);
	gnn_json_u64(j, "best_iteration", r->order.best);
	gnn_json_bool(j, "converged", r->order.converged);
}

static int print_json(const struct reorder *r)
{
	struct gnn_mem_stats m;
	struct gnn_json *j;
	int rc = gnn_json_create(&j);

	if (rc < 0)
		return rc;
	gnn_mem_stats(&m);
	gnn_json_text(j, "command", "reorder");
	gnn_json_text(j, "order", r->config->order);
	gnn_json_text(j, "backend", r->order.backend);
	gnn_json_text(j, "features", r->keep ? "keep" : "relabel");
	gnn_json_text(j, "resumed", r->resumed ? "yes" : "no");
	gnn_json_u64(j, "vertices", r->store->vertices);
	gnn_json_u64(j, "edges", r->store->edges);
	put_taurus(j, r);
	gnn_json_u64(j, "span_before", r->order.before.span);
	gnn_json_u64(j, "span_after", r->order.after.span);
	put_named(j, "before", &r->order.before);
	put_named(j, "after", &r->order.after);
	gnn_json_bool(j, "topology_in_memory", r->order.resident);
	gnn_json_u64(j, "topology_read_bytes", r->order.read_bytes);
	gnn_json_u64(j, "scratch_bytes",
		r->relabel.row_scratch_bytes + r->relabel.build.scratch_bytes);
	gnn_json_u64(j, "peak_host_bytes", m.peak_bytes);
	gnn_json_u64(j, "peak_device_bytes", r->order.peak_device_bytes);
	gnn_json_real(j, "order_s", r->order.wall_s);
	gnn_json_real(j, "rows_s", r->relabel.rows_s);
	gnn_json_real(j, "edges_s", r->relabel.edges_s);
	gnn_json_real(j, "write_s", r->relabel.write_s);
	gnn_json_real(j, "wall_s", gnn_clock_s_since(r->start));
	rc = gnn_json_print(j);
	gnn_json_destroy(j);
	return rc;
}

static void print_spread(const char *name, const struct gnn_spread *s, double wall_s)
{
	gnn_out("%-14s %20" PRIu64 " %12.4g %14" PRIu64 " %14" PRIu64 " %14.0f %9.3f\n", name,
		s->span, s->dispersion, s->bandwidth, s->peak_active, s->mean_active, wall_s);
}

static void print_text(const struct reorder *r)
{
	double change = r->order.before.span == 0 ? 0.0 :
		100.0 * ((double)r->order.after.span / (double)r->order.before.span - 1.0);
	char name[2 * GNN_UNITS_BYTES], time[GNN_UNITS_BYTES];

	gnn_out("%-14s %20s %12s %14s %14s %14s %9s\n", "order", "span", "dispersion",
		"bandwidth", "peak active", "mean active", "s");
	print_spread("before", &r->order.before, 0.0);
	if (r->taurus)
		print_spread(r->config->bootstrap, &r->order.bootstrap.spread,
			r->order.bootstrap.wall_s);
	for (uint64_t i = 0; i < r->order.iterations; i++) {
		snprintf(name, sizeof(name), "taurus %" PRIu64 "%s", i + 1,
			i + 1 == r->order.best ? " kept" : "");
		print_spread(name, &r->order.iteration[i].spread, r->order.iteration[i].wall_s);
	}
	if (!r->taurus)
		print_spread(r->config->order, &r->order.after, r->order.wall_s);
	gnn_out("span           %+.1f %%%s\n", change,
		r->order.converged ? ", converged" : "");
	gnn_out("time           %s: ordering %.2f s, rows %.2f s, edges %.2f s, writing %.2f s\n",
		gnn_units_time(time, gnn_clock_s_since(r->start)), r->order.wall_s,
		r->relabel.rows_s, r->relabel.edges_s, r->relabel.write_s);
	gnn_out("store          %s\n", r->config->args[1]);
}

/* --- all of it --- */

static int say_done(const struct reorder *r)
{
	struct gnn_json *j;
	int rc;

	gnn_log(GNN_LOG_INFO, "reorder", "%s was finished before", r->config->args[1]);
	if (!r->config->json)
		return GNN_OK;
	rc = gnn_json_create(&j);
	if (rc < 0)
		return rc;
	gnn_json_text(j, "command", "reorder");
	gnn_json_text(j, "order", r->config->order);
	gnn_json_text(j, "resumed", "finished");
	gnn_json_u64(j, "vertices", r->store->vertices);
	gnn_json_u64(j, "edges", r->store->edges);
	rc = gnn_json_print(j);
	gnn_json_destroy(j);
	return rc;
}

/* The ranks: those that were kept, or made and kept. */
static int order(struct reorder *r, const struct gnn_order_opts *o)
{
	int rc = GNN_SKIPPED;

	if (r->config->resume)
		GNN_TRY(gnn_journal_restore(r->journal, r->rank, &r->order));
	r->resumed = rc == GNN_OK;
	if (r->resumed)
		goto out;
	GNN_TRY(gnn_journal_begin(r->journal));
	GNN_TRY(gnn_order_make(o, r->rank, &r->order));
	GNN_TRY(gnn_journal_keep(r->journal, r->rank, &r->order));
out:
	return rc < 0 ? rc : GNN_OK;
}

static int run(struct reorder *r)
{
	const struct gnn_config *c = r->config;
	const struct gnn_order_opts o = {.store = r->store, .name = c->order,
		.bootstrap = c->bootstrap, .iterations = c->iterations, .seed = c->seed,
		.memory_bytes = memory_left(c), .threads = (uint32_t)c->threads,
		.backend = c->backend, .gpu_memory = c->gpu_memory};
	int rc;

	GNN_TRY(gnn_journal_open(&r->journal, &o, r->keep, c->args[1], c->scratch));
	if (c->resume && gnn_journal_is_done(r->journal)) {
		gnn_journal_remove(r->journal);
		GNN_TRY(say_done(r));
		goto out;
	}
	GNN_TRY(make_ranks(r));
	GNN_TRY(order(r, &o));
	GNN_TRY(relabel(r));
	gnn_crash_point("reorder.published");
	gnn_journal_remove(r->journal);
	if (c->json)
		GNN_TRY(print_json(r));
	else
		print_text(r);
out:
	return rc;
}

/* What another try can go on with stays: a full disk, too little memory. */
static void leave(struct reorder *r, int rc)
{
	if (rc >= 0 || r->journal == NULL || !gnn_journal_kept(r->journal))
		return;
	if (rc == GNN_EIO || rc == GNN_EOS)
		gnn_log(GNN_LOG_WARN, "reorder", "the order is kept: the same command with "
			"--resume goes on");
	else
		gnn_journal_remove(r->journal);
}

int gnn_cmd_reorder(const struct gnn_config *c)
{
	struct reorder r = {.config = c, .taurus = strcmp(c->order, "taurus") == 0,
		.start = gnn_clock_ns()};
	int rc;

	GNN_TRY(check_output(c));
	say_unused(&r);
	GNN_TRY(gnn_store_open(&r.store, &(struct gnn_container_opts){.path = c->args[0],
		.engine = (enum gnn_dio_engine)c->io}));
	GNN_TRY(check_features(&r));
	GNN_TRY(run(&r));
out:
	leave(&r, rc);
	gnn_journal_close(r.journal);
	gnn_order_report_fini(&r.order);
	gnn_mem_free(r.rank);
	gnn_store_close(r.store);
	return rc;
}
