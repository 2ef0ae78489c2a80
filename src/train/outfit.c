/* train/outfit.c - see outfit.h. */
#include "train/outfit.h"

#include "base/log.h"
#include "train/cache.h"
#include "train/prepare.h"

/* Threads that prepare batches: half of them, which the queues keep to what is needed. */
static uint32_t workers_of(uint32_t threads)
{
	return threads < 4 ? 1 : threads > 64 ? 32 : threads / 2;
}

/* One worker keeps aggregates that are reused. */
static uint32_t batch_workers(const struct gnn_train_opts *o)
{
	if (!o->pipeline)
		return 0;
	return o->reuse == GNN_REUSE_AGGREGATES ? 1 : workers_of(o->threads);
}

struct gnn_batches_opts gnn_outfit_batches(const struct gnn_outfit *f, uint64_t first_step)
{
	const struct gnn_train_opts *o = &f->train;
	const struct gnn_train_source *source = f->o.source;

	return (struct gnn_batches_opts){.source = source, .net = f->o.net,
		.backend = o->backend, .batch_size = o->batch_size, .first_step = first_step,
		.last_step = f->o.steps, .rank = gnn_comm_rank(o->comm),
		.ranks = gnn_comm_size(o->comm),
		.workers = batch_workers(o),
		.onehop = o->layerwise && o->reuse != GNN_REUSE_EMBEDDINGS ? &f->onehop : NULL,
		.sampler = {.lists = source->lists, .rule = gnn_net_rule(o->shape.arch),
			.sampling = o->sampling, .dependency = o->dependency,
			.layers = o->shape.layers, .fanout = o->fanout, .seed = o->seed,
			.bare = source->bottom != NULL || o->layerwise},
		.threads = o->threads};
}

/* What is made of the first layer where, and the memory that it leaves. */
static int open_way(struct gnn_outfit *f)
{
	const struct gnn_train_opts *o = &f->train;
	struct gnn_batches_opts batches = gnn_outfit_batches(f, 0);
	struct gnn_foreseen foreseen;
	int rc;

	GNN_TRY(gnn_prepare_layerwise(&f->hot, &f->onehop, f->o.source, o, &batches));
	batches = gnn_outfit_batches(f, 0);
	GNN_TRY(gnn_prepare_memory(&foreseen, f->hot, o, &batches));
	if (!f->o.timed)
		GNN_TRY(gnn_evaluator_create(&f->evaluator, &(struct gnn_evaluator_opts){
			.source = f->o.source, .net = f->o.net, .backend = o->backend,
			.comm = o->comm, .devices_shared = o->devices_shared, .metric = o->metric,
			.threads = o->threads, .folder = o->checkpoint, .scratch = o->scratch,
			.foreseen = &foreseen}));
	GNN_TRY(gnn_prepare_gather(&f->table, &f->cache, f->hot, o, &batches,
		gnn_foreseen_bytes(&foreseen)));
out:
	return rc;
}

static void close_way(struct gnn_outfit *f)
{
	gnn_evaluator_destroy(f->evaluator);
	gnn_table_fini(&f->table);
	gnn_cache_close(f->cache);
	f->evaluator = NULL;
	f->cache = NULL;
}

/* `asked`: what may be chosen of. Hot vertices of the winner become the outfit's. */
static int choose(struct gnn_outfit *f, const struct gnn_train_opts *asked,
	struct gnn_ways_choice *choice)
{
	const struct gnn_batches_opts batches = gnn_outfit_batches(f, 0);
	int rc;

	GNN_TRY(gnn_ways_choose(choice, &f->ways, &(struct gnn_ways_opts){.train = asked,
		.source = f->o.source, .net = f->o.net, .batches = &batches, .hot = f->hot,
		.table = asked->backend->ops->unified ? NULL : &f->table, .steps = f->o.steps}));
	if (choice->hot != NULL && choice->hot != f->hot) {
		gnn_hot_free(f->hot);
		f->hot = choice->hot;
	}
out:
	return rc;
}

/* On a device, whose table is there: the way, unless that is known, and who samples. */
static int settle_there(struct gnn_outfit *f, const struct gnn_train_opts *asked, uint64_t *way)
{
	const bool layerwise = f->train.layerwise;
	struct gnn_batches_opts batches;
	struct gnn_ways_choice choice;
	int rc;

	GNN_TRY(choose(f, asked, &choice));
	if (asked->reuse == GNN_REUSE_AUTO) {
		*way = choice.way;
		gnn_ways_take(&f->train, choice.way);
	}
	if (f->train.layerwise != layerwise) { /* features are not the device's any more */
		f->train.device.gather = GNN_WISH_STAGED;
		f->train.device.sample = choice.samples ? GNN_SAMPLE_DEVICE : GNN_SAMPLE_HOST;
		close_way(f);
		return open_way(f);
	}
	if (f->table.samples && !choice.samples)
		gnn_table_sample_on_host(&f->table);
	batches = gnn_outfit_batches(f, 0);
	GNN_TRY(gnn_prepare_layerwise(&f->hot, &f->onehop, f->o.source, &f->train, &batches));
out:
	return rc;
}

/* Settles --reuse auto on cores; on a device the first way is taken until its table is there. */
static int settle_here(struct gnn_outfit *f, const struct gnn_train_opts *asked, uint64_t *way)
{
	enum gnn_way first = asked->layerwise ? GNN_WAY_LAYER : GNN_WAY_STEP;
	struct gnn_ways_choice choice;
	int rc = GNN_OK;

	if (asked->reuse != GNN_REUSE_AUTO)
		return GNN_OK;
	if (*way == GNN_WAY_OPEN && asked->backend->ops->unified) {
		GNN_TRY(choose(f, asked, &choice));
		*way = choice.way;
	}
	gnn_ways_take(&f->train, *way == GNN_WAY_OPEN ? first : (enum gnn_way)*way);
out:
	return rc;
}

int gnn_outfit_open(struct gnn_outfit *f, const struct gnn_train_opts *train,
	const struct gnn_outfit_opts *o, uint64_t *way)
{
	struct gnn_train_opts asked = *train;
	int rc;

	f->train = *train;
	f->o = *o;
	GNN_TRY(settle_here(f, &asked, way));
	if (*way != GNN_WAY_OPEN)
		asked = f->train;
	GNN_TRY(open_way(f));
	if (!train->backend->ops->unified)
		GNN_TRY(settle_there(f, &asked, way));
	if (f->train.layerwise && train->dropout > 0)
		gnn_log(GNN_LOG_INFO, "train", "dropout of the first layer's input falls on "
			"aggregates%s", o->source->parts > 1 ? " and on own rows" : "");
out:
	return rc;
}

void gnn_outfit_close(struct gnn_outfit *f)
{
	close_way(f);
	gnn_hot_free(f->hot);
	f->hot = NULL;
}
