/* train/ways.c - see ways.h. */
#include "train/ways.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "train/prepare.h"
#include "train/rehearsal.h"

#include <stdio.h>

/* Steps of a run, at most; where only who samples is open, a PART of the training's at most. */
enum { RUNS = 2, STEPS = 32, LEAST = 4, PART = 16, LINE_BYTES = 512 };

/* One that is hardly faster than an earlier one is not worth other samples. */
#define CLEARLY .95

static const struct {
	bool           layerwise;
	enum gnn_reuse reuse;
} ways[GNN_WAY_COUNT] = {
	[GNN_WAY_STEP] = {false, GNN_REUSE_OFF},
	[GNN_WAY_LAYER] = {true, GNN_REUSE_OFF},
	[GNN_WAY_AGGREGATES] = {true, GNN_REUSE_AGGREGATES},
};

struct candidate {
	enum gnn_way way;
	bool         samples;
	uint64_t     ns;      /* of a step */
};

struct contest {
	struct gnn_ways_opts  o;
	struct gnn_table      table;  /* of cores: nothing */
	struct gnn_train_opts train;  /* by the way that is tried */
	struct gnn_hot       *hot;
	struct candidate      candidate[GNN_WAYS_SEEN_MAX];
	uint32_t              count;
	uint64_t              steps;
};

const char *gnn_reuse_name(enum gnn_reuse reuse)
{
	static const char *const names[] = {"off", "aggregates", "embeddings", "auto"};

	return names[reuse];
}

void gnn_ways_take(struct gnn_train_opts *train, enum gnn_way way)
{
	GNN_ASSERT(way > GNN_WAY_OPEN && way < GNN_WAY_COUNT);
	train->layerwise = ways[way].layerwise;
	train->reuse = ways[way].reuse;
}

static int measure(struct contest *c, struct candidate *x)
{
	const bool there = c->o.table != NULL;
	struct gnn_table table = there ? *c->o.table : c->table;
	struct gnn_batches_opts batches = *c->o.batches;
	const bool piped = there && c->train.pipeline;
	struct gnn_rehearsed seen;
	struct gnn_onehop_opts onehop;
	const uint64_t skipped = piped ? c->steps / 2 : 0; /* while it fills */
	int rc;

	gnn_ways_take(&c->train, x->way);
	batches.first_step = 0;
	batches.last_step = c->steps;
	if (!there)
		batches.workers = 0;
	else if (c->train.reuse == GNN_REUSE_AGGREGATES && batches.workers > 0)
		batches.workers = 1; /* which keeps them */
	batches.sampler.bare = c->train.layerwise || c->o.source->bottom != NULL;
	GNN_TRY(gnn_prepare_layerwise(&c->hot, &onehop, c->o.source, &c->train, &batches));
	batches.onehop = c->train.layerwise ? &onehop : NULL;
	table.samples = x->samples;
	if (c->train.layerwise) {
		table.gather = GNN_GATHER_STAGED;
		table.cache = NULL;
	}
	GNN_TRY(gnn_rehearse(&(struct gnn_carrier_opts){.batches = batches, .table = &table,
		.pipeline = piped, .threads = c->train.threads}, piped ? 1 : RUNS, skipped,
		&seen));
	x->ns = seen.ns / (c->steps - skipped);
	GNN_TRY(gnn_comm_reduce_u64(c->train.comm, GNN_REDUCE_MAX, &x->ns, 1));
out:
	return rc;
}

static const char *orchestration(const struct contest *c, const struct candidate *x)
{
	if (ways[x->way].layerwise)
		return "layer";
	return gnn_table_orchestration(c->o.table != NULL ? c->o.table->gather : GNN_GATHER_STAGED,
		x->samples);
}

static size_t name(const struct contest *c, const struct candidate *x, char *to, size_t bytes)
{
	return (size_t)snprintf(to, bytes, "--orchestration %s%s%s", orchestration(c, x),
		ways[x->way].reuse == GNN_REUSE_AGGREGATES ? " --reuse aggregates" : "",
		ways[x->way].layerwise && x->samples ? " where the GPU samples" : "");
}

void gnn_ways_print(struct gnn_json *j, const struct gnn_ways_seen *seen)
{
	gnn_json_open_array(j, "ways");
	for (uint32_t i = 0; i < seen->count; i++) {
		gnn_json_open_object(j, NULL);
		gnn_json_text(j, "orchestration", seen->way[i].orchestration);
		gnn_json_text(j, "reuse", gnn_reuse_name(seen->way[i].reuse));
		gnn_json_bool(j, "gpu_samples", seen->way[i].samples);
		gnn_json_real(j, "step_s", seen->way[i].step_s);
		gnn_json_bool(j, "chosen", i == seen->chosen);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
}

/* Each that was measured, in milliseconds a step. */
static void say(const struct contest *c, const struct gnn_ways_seen *seen)
{
	struct gnn_json *event = gnn_metrics_begin("ways");
	char line[LINE_BYTES] = "", chosen[LINE_BYTES / 4];
	size_t used = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.3f ms ",
			used > 0 ? ", " : "", seen->way[i].step_s * 1e3);
		used += name(c, &c->candidate[i], line + used, sizeof(line) - used);
	}
	name(c, &c->candidate[seen->chosen], chosen, sizeof(chosen));
	gnn_log(GNN_LOG_INFO, "train", "of the first %llu steps each took %s: chosen %s",
		(unsigned long long)c->steps, line, chosen);
	if (event == NULL)
		return;
	gnn_json_u64(event, "steps", c->steps);
	gnn_ways_print(event, seen);
	gnn_metrics_end(event);
}

/* Whether the CPU could make aggregates for a step, or keep them. */
static bool has_layer(const struct gnn_ways_opts *o)
{
	const enum gnn_gather_wish gather = o->train->device.gather;

	return o->train->shape.arch != GNN_ARCH_GAT && o->source->bottom == NULL &&
		(gather == GNN_WISH_AUTO || gather == GNN_WISH_STAGED);
}

static enum gnn_way way_of(const struct gnn_train_opts *train)
{
	if (!train->layerwise)
		return GNN_WAY_STEP;
	return train->reuse == GNN_REUSE_AGGREGATES ? GNN_WAY_AGGREGATES : GNN_WAY_LAYER;
}

/* Rows of hot vertices made ahead have a sampler of their own. */
static bool may_sample(const struct gnn_ways_opts *o)
{
	return o->table != NULL && o->table->samples &&
		o->train->device.sample == GNN_SAMPLE_AUTO &&
		o->train->reuse != GNN_REUSE_EMBEDDINGS;
}

static int list_candidates(struct contest *c)
{
	const struct gnn_ways_opts *o = &c->o;
	const enum gnn_way first = way_of(o->train);
	const enum gnn_way last = o->train->reuse == GNN_REUSE_AUTO && has_layer(o)
		? GNN_WAY_AGGREGATES : first;
	uint64_t both = may_sample(o) ? 1 : 0;
	int rc;

	if (o->table != NULL) /* on some device the in-lists may not fit */
		GNN_TRY(gnn_comm_reduce_u64(o->train->comm, GNN_REDUCE_MIN, &both, 1));
	for (enum gnn_way way = first; way <= last; way++)
		for (uint64_t i = 0; i <= both; i++)
			c->candidate[c->count++] = (struct candidate){.way = way,
				.samples = o->table != NULL && o->table->samples && i == 0};
	rc = GNN_OK;
out:
	return rc;
}

/* Each candidate; the place of the best. */
static int compete(struct contest *c, uint32_t *best)
{
	int rc = GNN_OK;

	*best = 0;
	if (c->o.table == NULL)
		GNN_TRY(gnn_table_init(&c->table, c->train.backend, c->o.source,
			&c->train.device));
	for (uint32_t i = 0; i < c->count; i++) {
		GNN_TRY(measure(c, &c->candidate[i]));
		if ((double)c->candidate[i].ns < CLEARLY * (double)c->candidate[*best].ns)
			*best = i;
	}
out:
	gnn_table_fini(&c->table);
	return rc;
}

static void note(const struct contest *c, uint32_t best, struct gnn_ways_seen *seen)
{
	seen->count = c->count;
	seen->chosen = best;
	for (uint32_t i = 0; i < c->count; i++)
		seen->way[i] = (struct gnn_way_seen){orchestration(c, &c->candidate[i]),
			ways[c->candidate[i].way].reuse, c->candidate[i].samples,
			(double)c->candidate[i].ns * 1e-9};
	say(c, seen);
}

/* A super-batch, for the sake of what it keeps; with a pipeline enough that it is full. */
static uint64_t steps_of(const struct gnn_ways_opts *o)
{
	if (o->train->reuse != GNN_REUSE_AUTO)
		return gnn_max_u64(gnn_min_u64(o->steps / PART, STEPS), LEAST);
	return o->table != NULL && o->train->pipeline ? STEPS
		: gnn_min_u64(o->train->super_batch, STEPS);
}

int gnn_ways_choose(struct gnn_ways_choice *out, struct gnn_ways_seen *seen,
	const struct gnn_ways_opts *o)
{
	struct contest c = {.o = *o, .train = *o->train, .hot = o->hot};
	uint32_t best = 0;
	int rc;

	*out = (struct gnn_ways_choice){.hot = o->hot};
	if (o->train->reuse == GNN_REUSE_AUTO && !has_layer(o))
		gnn_log(GNN_LOG_INFO, "train", "--reuse auto: %s has no aggregates that the CPU "
			"could make for a step, or keep: chosen off",
			o->source->bottom != NULL ? "a precomputed first layer" :
			o->train->shape.arch == GNN_ARCH_GAT ? "gat" : "this --gather");
	GNN_TRY(list_candidates(&c));
	c.steps = gnn_min_u64(o->steps, steps_of(o));
	if (c.count > 1) {
		GNN_TRY(compete(&c, &best));
		note(&c, best, seen);
	}
	out->way = c.candidate[best].way;
	out->samples = c.candidate[best].samples;
	if (out->way == GNN_WAY_AGGREGATES) {
		out->hot = c.hot;
		c.hot = o->hot;
	}
out:
	if (c.hot != o->hot)
		gnn_hot_free(c.hot);
	if (o->table == NULL)
		o->source->parts = o->source->bottom != NULL ? o->source->bottom->parts : 1;
	return rc;
}
