/*
 * cmd/bench_train.c - gnnrun bench train: how long steps take by each orchestration.
 *
 * Batches are brought and differentiated as `gnnrun train` does, on weights that stay as they are:
 * all of a step but the optimiser's. Ways that write files or train on stale rows are not tried.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/bench.h"
#include "cmd/devices.h"
#include "cmd/train_job.h"
#include "train/outfit.h"
#include "train/prepare.h"
#include "train/rehearsal.h"

#include <stdlib.h>

enum { RUNS_MAX = 64, BATCH = 1024 };

static const struct {
	enum gnn_opt_orchestration orchestration;
	enum gnn_reuse             reuse;
} ways[] = {
	{GNN_OPT_STEP_CPU, GNN_REUSE_OFF},
	{GNN_OPT_STEP_GPU_SAMPLE, GNN_REUSE_OFF},
	{GNN_OPT_STEP_GPU_GATHER, GNN_REUSE_OFF},
	{GNN_OPT_STEP_GPU, GNN_REUSE_OFF},
	{GNN_OPT_LAYER, GNN_REUSE_OFF},
	{GNN_OPT_LAYER, GNN_REUSE_AGGREGATES},
};

struct bench {
	const struct gnn_config *c;
	struct gnn_train_opts    train;
	struct gnn_train_source *source;
	struct gnn_net          *net;
	struct gnn_json         *json; /* NULL: a table */
	uint64_t                 steps, seeds;
};

static int check_options(const struct bench *b)
{
	const enum gnn_gather_wish told = gnn_train_told_gather(b->c);

	if (told == GNN_WISH_AUTO)
		return GNN_OK;
	if (b->train.backend->ops->unified)
		return gnn_err(GNN_ECONFIG, "--gather takes a GPU, and the backend is %s",
			b->train.backend->ops->name);
	if (told == GNN_WISH_STAGED)
		return gnn_err(GNN_ECONFIG, "bench train --gather is of step-gpu-gather and "
			"step-gpu: zero-copy or both; the others stage in any case");
	return GNN_OK;
}

/* Which way this backend and this graph have. */
static bool has_way(const struct bench *b, uint32_t i, const struct gnn_table_wish *wish)
{
	if (ways[i].orchestration == GNN_OPT_LAYER)
		return b->train.shape.arch != GNN_ARCH_GAT;
	if (wish->sample == GNN_SAMPLE_DEVICE && (b->train.backend->ops->unified ||
		b->source->lists->weight != NULL))
		return false;
	return wish->gather != GNN_WISH_DEVICE || (!b->train.backend->ops->unified &&
		gnn_source_in_memory(b->source));
}

/* --- the table --- */

static int compare(const void *a, const void *b)
{
	const struct gnn_rehearsed *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static void begin_table(const struct bench *b)
{
	if (b->json == NULL) {
		gnn_out("%s, backend %s, %llu steps of %llu seeds at most\n%-16s %-10s %-9s %8s "
			"%8s %8s %10s %8s %8s %8s %8s %9s %10s\n",
			gnn_arch_name(b->train.shape.arch), b->train.backend->ops->name,
			(unsigned long long)b->steps, (unsigned long long)b->train.batch_size,
			"orchestration", "reuse", "gather", "ms/step", "min", "max", "seeds/s",
			"sample", "collect", "transfer", "compute", "rows", "to GPU");
		return;
	}
	gnn_json_text(b->json, "command", "bench train");
	gnn_json_text(b->json, "backend", b->train.backend->ops->name);
	gnn_json_u64(b->json, "threads", b->train.threads);
	gnn_json_u64(b->json, "runs", b->c->runs);
	gnn_json_text(b->json, "arch", gnn_arch_name(b->train.shape.arch));
	gnn_json_u64(b->json, "batch_size", b->train.batch_size);
	gnn_json_u64(b->json, "steps", b->steps);
	gnn_json_u64(b->json, "seeds", b->seeds);
	gnn_json_open_array(b->json, "rows");
}

static void print_json(const struct bench *b, const struct gnn_outfit *f,
	const struct gnn_rehearsed *r)
{
	const struct gnn_rehearsed *middle = &r[b->c->runs / 2];
	const double steps = (double)b->steps;
	struct gnn_json *j = b->json;

	gnn_json_open_object(j, NULL);
	gnn_json_text(j, "orchestration", f->train.layerwise ? "layer" :
		gnn_table_orchestration(f->table.gather, f->table.samples));
	gnn_json_text(j, "reuse", gnn_reuse_name(f->train.reuse));
	gnn_json_text(j, "gather", gnn_gather_name(f->table.gather));
	gnn_json_bool(j, "gpu_samples", f->table.samples);
	gnn_json_real(j, "step_s", (double)middle->ns * 1e-9 / steps);
	gnn_json_real(j, "step_s_min", (double)r[0].ns * 1e-9 / steps);
	gnn_json_real(j, "step_s_max", (double)r[b->c->runs - 1].ns * 1e-9 / steps);
	gnn_json_real(j, "seeds_s", (double)b->seeds * 1e9 / (double)middle->ns);
	gnn_json_real(j, "sample_s", middle->sample_s / steps);
	gnn_json_real(j, "collect_s", middle->collect_s / steps);
	gnn_json_real(j, "transfer_s", middle->transfer_s / steps);
	gnn_json_real(j, "compute_s", middle->compute_s / steps);
	gnn_json_real(j, "input_vertices", (double)middle->input_vertices / steps);
	gnn_json_real(j, "h2d_bytes", (double)middle->h2d_bytes / steps);
	gnn_json_shut(j);
}

static void print_text(const struct bench *b, const struct gnn_outfit *f,
	const struct gnn_rehearsed *r)
{
	const struct gnn_rehearsed *middle = &r[b->c->runs / 2];
	const double steps = (double)b->steps, ms = 1e-6 / steps, part = 1e3 / steps;
	char bytes[GNN_UNITS_BYTES], rows[GNN_UNITS_BYTES], seeds[GNN_UNITS_BYTES];

	gnn_out("%-16s %-10s %-9s %8.3f %8.3f %8.3f %10s %8.3f %8.3f %8.3f %8.3f %9s %10s\n",
		f->train.layerwise ? "layer" :
		gnn_table_orchestration(f->table.gather, f->table.samples),
		gnn_reuse_name(f->train.reuse), gnn_gather_name(f->table.gather),
		(double)middle->ns * ms, (double)r[0].ns * ms,
		(double)r[b->c->runs - 1].ns * ms,
		gnn_units_count(seeds, (double)b->seeds * 1e9 / (double)middle->ns),
		middle->sample_s * part, middle->collect_s * part, middle->transfer_s * part,
		middle->compute_s * part,
		gnn_units_count(rows, (double)middle->input_vertices / steps),
		gnn_units_bytes(bytes, (double)middle->h2d_bytes / steps));
}

/* --- measuring --- */

static int measure(struct bench *b, uint32_t i, const struct gnn_table_wish *wish)
{
	const struct gnn_outfit_opts opts = {.source = b->source, .net = b->net,
		.steps = b->steps, .timed = true};
	struct gnn_rehearsed r[RUNS_MAX], warm;
	struct gnn_train_opts train = b->train;
	uint64_t way = GNN_WAY_OPEN;
	struct gnn_outfit fit = {0};
	int rc;

	train.layerwise = ways[i].orchestration == GNN_OPT_LAYER;
	train.reuse = ways[i].reuse;
	train.device = *wish;
	GNN_TRY(gnn_outfit_open(&fit, &train, &opts, &way));
	for (uint32_t k = 0; k <= b->c->runs; k++)
		GNN_TRY(gnn_rehearse(&(struct gnn_carrier_opts){
			.batches = gnn_outfit_batches(&fit, 0), .table = &fit.table,
			.pipeline = train.pipeline, .threads = train.threads}, 1, 0,
			k == 0 ? &warm : &r[k - 1]));
	qsort(r, b->c->runs, sizeof(*r), compare);
	if (b->json != NULL)
		print_json(b, &fit, r);
	else
		print_text(b, &fit, r);
out:
	gnn_outfit_close(&fit);
	return rc;
}

static int measure_all(struct bench *b)
{
	const enum gnn_gather_wish told = gnn_train_told_gather(b->c);
	int rc = GNN_OK;

	for (uint32_t i = 0; i < GNN_COUNT_OF(ways); i++) {
		struct gnn_table_wish wish = gnn_train_wish(ways[i].orchestration);

		if (!has_way(b, i, &wish))
			continue;
		if (wish.gather == GNN_WISH_DEVICE && told != GNN_WISH_AUTO)
			wish.gather = told;
		GNN_TRY(measure(b, i, &wish));
	}
out:
	return rc;
}

/* --- preparing --- */

static int open_net(struct bench *b)
{
	struct gnn_train_opts *o = &b->train;
	struct gnn_net_opts net = {.backend = o->backend, .shape = o->shape,
		.dropout = o->dropout, .seed = o->seed};
	uint64_t first;
	int rc;

	GNN_TRY(gnn_prepare_source(&b->source, o));
	net.shape.dim_in = b->source->dim;
	net.shape.channels[net.shape.layers - 1] = b->source->classes;
	GNN_TRY(gnn_net_create(&b->net, &net));
	o->batch_size = gnn_min_u64(o->batch_size, b->source->train_count);
	b->steps = b->c->batches > 0 ? b->c->batches :
		gnn_ceil_div(b->source->train_count, o->batch_size);
	for (uint64_t step = 0; step < b->steps; step++)
		b->seeds += gnn_batches_seeds(b->source, o->batch_size, step, &first);
out:
	return rc;
}

static int run(struct bench *b)
{
	struct gnn_train_opts *o = &b->train;
	int rc;

	GNN_TRY(gnn_train_read_batches(o, b->c));
	if (o->batch_size == 0)
		o->batch_size = BATCH;
	GNN_TRY(gnn_store_open(&o->store, &(struct gnn_container_opts){.path = b->c->args[1],
		.engine = (enum gnn_dio_engine)b->c->io}));
	o->comm = b->c->comm;
	GNN_TRY(gnn_devices_open(&o->backend, b->c, &o->devices_shared));
	GNN_TRY(check_options(b));
	GNN_TRY(open_net(b));
	begin_table(b);
	GNN_TRY(measure_all(b));
	if (b->json != NULL) {
		gnn_json_shut(b->json);
		GNN_TRY(gnn_json_print(b->json));
	}
out:
	return rc;
}

int gnn_bench_train(const struct gnn_config *c)
{
	struct bench b = {.c = c};
	int rc = GNN_OK;

	if (c->json)
		GNN_TRY(gnn_json_create(&b.json));
	GNN_TRY(run(&b));
out:
	gnn_net_destroy(b.net);
	gnn_source_close(b.source);
	gnn_backend_destroy(b.train.backend);
	gnn_store_close(b.train.store);
	gnn_json_destroy(b.json);
	return rc;
}
