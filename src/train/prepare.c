/* train/prepare.c - see prepare.h. */
#include "train/prepare.h"

#include "base/log.h"
#include "infer/share.h"
#include "train/cache.h"
#include "train/gauge.h"

#include <stdio.h>

/* Made by rank 0, whatever their number: the same bits. The others find it. */
static int open_bottom(const struct gnn_train_opts *o, struct gnn_bottom **bottom)
{
	const bool first = gnn_comm_rank(o->comm) == 0;
	const struct gnn_bottom_opts b = {.store = o->store, .backend = o->backend,
		.arch = o->shape.arch, .threads = o->threads, .scratch = o->scratch};
	int rc = GNN_OK;

	gnn_comm_phase(o->comm, "aggregates of the bottom layer");
	if (first)
		GNN_TRY(gnn_bottom_open(bottom, &b));
	GNN_TRY(gnn_comm_agree(o->comm, GNN_OK));
	if (!first)
		GNN_TRY(gnn_bottom_open(bottom, &b));
out:
	if (rc < 0) {
		gnn_bottom_close(*bottom);
		*bottom = NULL;
	}
	return rc;
}

int gnn_prepare_source(struct gnn_train_source **out, const struct gnn_train_opts *o)
{
	struct gnn_bottom *bottom = NULL;
	char identity[32];
	int rc;

	*out = NULL;
	GNN_TRY(gnn_source_check(o->store));
	if (o->store->in.weights != NULL && o->shape.arch != GNN_ARCH_GCN)
		gnn_log(GNN_LOG_INFO, "train", "%s has edge weights; %s layers take none",
			gnn_container_path(o->store->container), gnn_arch_name(o->shape.arch));
	if (o->precomputed) /* while the memory is free */
		GNN_TRY(open_bottom(o, &bottom));
	GNN_TRY(gnn_source_open(out, o->store, bottom, o->comm,
		o->shape.arch == GNN_ARCH_GCN));
	snprintf(identity, sizeof(identity), "%016llx",
		(unsigned long long)(*out)->identity);
	GNN_TRY(gnn_share_same(o->comm, "store", identity));
	if (o->precomputed && o->dropout > 0)
		gnn_log(GNN_LOG_INFO, "train", "dropout of the first layer's input falls on "
			"aggregates%s", (*out)->bottom->parts > 1 ? " and on own rows" : "");
out:
	return rc;
}

int gnn_prepare_layerwise(struct gnn_hot **hot, struct gnn_onehop_opts *onehop,
	struct gnn_train_source *source, const struct gnn_train_opts *o,
	const struct gnn_batches_opts *batches)
{
	int rc = GNN_OK;

	*onehop = (struct gnn_onehop_opts){.super_batch = o->super_batch};
	source->parts = source->bottom != NULL ? source->bottom->parts :
		o->layerwise ? gnn_net_parts(o->shape.arch) : 1;
	if (o->reuse != GNN_REUSE_OFF && *hot == NULL)
		GNN_TRY(gnn_hot_choose(hot, &(struct gnn_hot_opts){.policy = o->hot_policy,
			.ratio = o->hot_ratio, .batches = batches, .comm = o->comm}));
	if (*hot != NULL && o->reuse != GNN_REUSE_OFF) {
		onehop->place = (*hot)->place;
		onehop->hot_count = (*hot)->count;
	}
out:
	return rc;
}

/* Known before the table is there; with embeddings some rows are made otherwise. */
static bool device_gathers(const struct gnn_train_opts *o)
{
	return o->reuse != GNN_REUSE_EMBEDDINGS && (o->device.gather == GNN_WISH_DEVICE ||
		o->device.gather == GNN_WISH_ZERO_COPY || o->device.gather == GNN_WISH_BOTH);
}

int gnn_prepare_memory(struct gnn_foreseen *f, const struct gnn_hot *hot,
	const struct gnn_train_opts *o, const struct gnn_batches_opts *batches)
{
	return gnn_foresee_check(f, &(struct gnn_foresee_opts){.batches = batches, .comm = o->comm,
		.hot = hot, .super_batch = o->super_batch, .pipeline = o->pipeline,
		.layerwise = o->layerwise, .mixed = o->reuse == GNN_REUSE_EMBEDDINGS,
		.late = o->late != GNN_LATE_WAIT,
		.samples = o->device.sample != GNN_SAMPLE_HOST &&
			batches->source->lists->weight == NULL,
		.gathers = device_gathers(o)});
}

int gnn_prepare_gather(struct gnn_table *t, struct gnn_cache **cache, const struct gnn_hot *hot,
	const struct gnn_train_opts *o, const struct gnn_batches_opts *batches, uint64_t reserve)
{
	struct gnn_table_wish wish = o->device;
	int rc = GNN_OK;

	wish.reserve = reserve;
	GNN_TRY(gnn_table_init(t, o->backend, batches->source, &wish));
	if (o->hybrid != GNN_HYBRID_OFF && !o->backend->ops->unified &&
		t->gather != GNN_GATHER_RESIDENT)
		rc = gnn_cache_open(cache, &(struct gnn_cache_opts){.device = o->backend,
			.worklist = hot, .batches = batches, .reserve = reserve});
	if (rc == GNN_ECONFIG) /* then no vertices go there */
		gnn_log(GNN_LOG_WARN, "train", "--hybrid: %s", gnn_err_text());
	else
		GNN_TRY(rc);
	if (o->device.cached)
		GNN_TRY(gnn_cache_open(cache, &(struct gnn_cache_opts){.device = o->backend,
			.ratio = o->cache_ratio, .policy = o->cache_policy, .batches = batches,
			.comm = o->comm, .reserve = reserve}));
	t->cache = *cache;
	GNN_TRY(gnn_gauge_gather(t, batches, o->threads));
out:
	return rc;
}
