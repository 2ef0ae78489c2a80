/* train/gauge.c - see gauge.h. */
#include "train/gauge.h"

#include "base/clock.h"
#include "base/log.h"
#include "train/rehearsal.h"

#include <math.h>

enum { RUNS = 3, STEPS = 8, STEP_RUNS = 2 };

#define CLEARLY     .98 /* of a step's time, for as many blocks again */
#define LEAST_SHARE .02 /* of both, for either: with less it is the other */

static const enum gnn_gather tried[] = {GNN_GATHER_ZERO_COPY, GNN_GATHER_STAGED, GNN_GATHER_BOTH};

struct gauge {
	const struct gnn_table *table;
	uint32_t                threads;
	struct gnn_delivery_args args;
	double                  seconds[GNN_COUNT_OF(tried)];
};

static int measure(struct gauge *g, enum gnn_gather gather, double *seconds)
{
	struct gnn_table table = *g->table;
	struct gnn_delivery d = {0};
	int rc;

	table.gather = gather;
	*seconds = INFINITY;
	GNN_TRY(gnn_delivery_init(&d, &table, table.backend, g->threads));
	for (int i = 0; i <= RUNS; i++) {
		const uint64_t start = gnn_clock_ns();

		GNN_TRY(gnn_delivery_rows(&d, &g->args));
		if (i > 0)
			*seconds = fmin(*seconds, gnn_clock_s_since(start));
	}
out:
	gnn_delivery_fini(&d);
	return rc;
}

static void say(const struct gauge *g, const struct gnn_table *t)
{
	const double *s = g->seconds;

	gnn_log(GNN_LOG_INFO, "train", "rows of features: %s; %llu of a batch took zero-copy %.3f "
		"ms, staged %.3f, both %.3f with %.0f %% in place", gnn_gather_name(t->gather),
		(unsigned long long)g->args.rows, s[0] * 1e3, s[1] * 1e3, s[2] * 1e3,
		t->share * 100);
}

static void choose(const struct gauge *g, struct gnn_table *t)
{
	const double *s = g->seconds;
	uint32_t best = 0;

	for (uint32_t i = 0; i < GNN_COUNT_OF(tried); i++)
		if (s[i] < s[best] && (tried[i] != GNN_GATHER_STAGED || t->staged_too))
			best = i;
	if (t->gather != GNN_GATHER_BOTH)
		t->gather = tried[best];
	say(g, t);
}

static int measure_all(struct gnn_table *t, const struct gnn_net *net,
	const struct gnn_batch *batch, uint32_t threads)
{
	const uint64_t rows = batch->sample.id_count, bytes = rows * sizeof(gnn_vid);
	struct gauge g = {.table = t, .threads = threads};
	struct gnn_backend *b = t->backend;
	struct gnn_room id = {0}, x = {0};
	int rc;

	GNN_TRY(gnn_room_take_on(&id, b, rows, sizeof(gnn_vid)));
	GNN_TRY(gnn_room_take_on(&x, b, rows, t->source->dim * sizeof(float)));
	GNN_TRY(b->ops->copy(b, id.data, bytes, batch->sample.id, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
	g.args = (struct gnn_delivery_args){.there = id.data,
		.host = t->samples ? NULL : batch->sample.id, .rows = rows, .to = x.data,
		.drop = gnn_net_input_drop(net, 0)};
	t->blocks = GNN_IN_PLACE_BLOCKS;
	GNN_TRY(measure(&g, tried[0], &g.seconds[0]));
	if (!t->open)
		goto out;
	GNN_TRY(measure(&g, tried[1], &g.seconds[1]));
	t->share = g.seconds[1] / (g.seconds[0] + g.seconds[1]);
	t->share = fmin(fmax(t->share, LEAST_SHARE), 1 - LEAST_SHARE);
	GNN_TRY(measure(&g, tried[2], &g.seconds[2]));
	choose(&g, t);
out:
	gnn_room_fini(&id);
	gnn_room_fini(&x);
	return rc;
}

/*
 * Blocks that read in place: more bring rows faster and leave fewer multiprocessors to the step.
 * They are doubled for as long as the steps that both make become shorter.
 */
static int choose_blocks(struct gnn_table *t, const struct gnn_batches_opts *from,
	uint32_t threads)
{
	static const uint32_t blocks[] = {GNN_IN_PLACE_BLOCKS / 4, GNN_IN_PLACE_BLOCKS / 2,
		GNN_IN_PLACE_BLOCKS, 2 * GNN_IN_PLACE_BLOCKS, 4 * GNN_IN_PLACE_BLOCKS};
	struct gnn_carrier_opts o = {.batches = *from, .table = t, .threads = threads,
		.pipeline = from->workers > 0};
	struct gnn_rehearsed seen;
	uint64_t least = UINT64_MAX;
	uint32_t best = GNN_IN_PLACE_BLOCKS;
	int rc;

	o.batches.first_step = 0;
	o.batches.last_step = gnn_min_u64(STEPS, from->last_step);
	for (uint32_t i = 0; i < GNN_COUNT_OF(blocks); i++) {
		t->blocks = blocks[i];
		GNN_TRY(gnn_rehearse(&o, STEP_RUNS, 0, &seen));
		gnn_log(GNN_LOG_DEBUG, "train", "rows in place by %u blocks: %.3f ms a step",
			blocks[i], (double)seen.ns * 1e-6 / (double)o.batches.last_step);
		if ((double)seen.ns > CLEARLY * (double)least)
			break;
		least = seen.ns;
		best = blocks[i];
	}
	gnn_log(GNN_LOG_INFO, "train", "rows in place by %u blocks: %.3f ms a step", best,
		(double)least * 1e-6 / (double)o.batches.last_step);
	rc = GNN_OK;
out:
	t->blocks = best;
	return rc;
}

static bool reads_in_place(const struct gnn_table *t)
{
	return t->gather == GNN_GATHER_ZERO_COPY || t->gather == GNN_GATHER_BOTH;
}

int gnn_gauge_gather(struct gnn_table *t, const struct gnn_batches_opts *from, uint32_t threads)
{
	struct gnn_batches_opts o = *from;
	struct gnn_batches *batches = NULL;
	struct gnn_batch *batch;
	int rc = GNN_OK;

	if (!t->open && t->gather != GNN_GATHER_ZERO_COPY) {
		if (t->backend != NULL && !t->backend->ops->unified)
			gnn_log(GNN_LOG_INFO, "train", "rows of features: %s",
				gnn_gather_name(t->gather));
		return GNN_OK;
	}
	o.first_step = 0;
	o.last_step = 1;
	o.workers = 0;
	o.collect = false;
	o.onehop = NULL;
	GNN_TRY(gnn_batches_start(&batches, &o));
	GNN_TRY(gnn_batches_next(batches, &batch));
	if (batch->sample.id_count > 0) /* a rank may have no seeds */
		GNN_TRY(measure_all(t, o.net, batch, threads));
	gnn_batches_put(batches, batch);
	t->open = false;
	if (reads_in_place(t) && !from->sampler.bare)
		GNN_TRY(choose_blocks(t, from, threads));
out:
	gnn_batches_stop(batches);
	return rc;
}
