/* train/ways.c - see ways.h. */
#include "train/ways.h"

#include "base/log.h"
#include "base/mem.h"
#include "train/prepare.h"
#include "train/rehearsal.h"

#include <stdio.h>

enum { RUNS = 2, STEPS = 32, LINE_BYTES = 256 };

/* One that is hardly faster than an earlier one is not worth other samples. */
#define CLEARLY .95

static const struct {
	const char    *said;
	bool           layerwise;
	enum gnn_reuse reuse;
} ways[GNN_WAY_COUNT] = {
	[GNN_WAY_STEP] = {"--orchestration auto", false, GNN_REUSE_OFF},
	[GNN_WAY_LAYER] = {"--orchestration layer", true, GNN_REUSE_OFF},
	[GNN_WAY_AGGREGATES] = {"--orchestration layer --reuse aggregates", true,
		GNN_REUSE_AGGREGATES},
};

struct contest {
	struct gnn_ways_opts    o;
	struct gnn_table        table;
	struct gnn_train_opts   train;   /* by the way that is tried */
	struct gnn_hot         *hot;
	uint64_t                steps;
	uint64_t                ns[GNN_WAY_COUNT];
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

static int measure(struct contest *c, enum gnn_way way)
{
	struct gnn_batches_opts batches = *c->o.batches;
	struct gnn_onehop_opts onehop;
	int rc;

	gnn_ways_take(&c->train, way);
	batches.first_step = 0;
	batches.last_step = c->steps;
	batches.workers = 0;
	batches.sampler.bare = c->train.layerwise;
	GNN_TRY(gnn_prepare_layerwise(&c->hot, &onehop, c->o.source, &c->train, &batches));
	batches.onehop = c->train.layerwise ? &onehop : NULL;
	GNN_TRY(gnn_rehearse(&(struct gnn_carrier_opts){.batches = batches, .table = &c->table,
		.threads = c->train.threads}, RUNS, &c->ns[way]));
	GNN_TRY(gnn_comm_reduce_u64(c->train.comm, GNN_REDUCE_MAX, &c->ns[way], 1));
out:
	return rc;
}

/* Each that was measured, in milliseconds a step. */
static void say(const struct contest *c, enum gnn_way way)
{
	char line[LINE_BYTES] = "";
	size_t used = 0;

	for (int i = GNN_WAY_STEP; i < GNN_WAY_COUNT; i++)
		if (c->ns[i] > 0)
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.3f ms %s",
				used > 0 ? ", " : "", (double)c->ns[i] / (double)c->steps * 1e-6,
				ways[i].said);
	gnn_log(GNN_LOG_INFO, "train", "of the first %llu steps each took %s: chosen %s",
		(unsigned long long)c->steps, line, ways[way].said);
}

int gnn_ways_choose(enum gnn_way *way, struct gnn_hot **hot, const struct gnn_ways_opts *o)
{
	const bool layerwise = o->train->layerwise;
	struct contest c = {.o = *o, .train = *o->train};
	int rc;

	*hot = NULL;
	*way = GNN_WAY_STEP;
	if (o->train->shape.arch == GNN_ARCH_GAT || o->source->bottom != NULL) {
		gnn_log(GNN_LOG_INFO, "train", "--reuse auto: %s has no aggregates that the CPU "
			"could make for a step, or keep: chosen off",
			o->source->bottom != NULL ? "a precomputed first layer" : "gat");
		return GNN_OK;
	}
	c.steps = gnn_min_u64(o->steps, gnn_min_u64(o->train->super_batch, STEPS));
	GNN_TRY(gnn_table_init(&c.table, o->train->backend, o->source, &o->train->device));
	if (layerwise)
		*way = GNN_WAY_LAYER;
	for (int i = *way; i < GNN_WAY_COUNT; i++) {
		GNN_TRY(measure(&c, (enum gnn_way)i));
		if ((double)c.ns[i] < CLEARLY * (double)c.ns[*way])
			*way = (enum gnn_way)i;
	}
	say(&c, *way);
	if (*way == GNN_WAY_AGGREGATES) {
		*hot = c.hot;
		c.hot = NULL;
	}
out:
	gnn_hot_free(c.hot);
	o->source->parts = o->source->bottom != NULL ? o->source->bottom->parts : 1;
	gnn_table_fini(&c.table);
	return rc;
}
