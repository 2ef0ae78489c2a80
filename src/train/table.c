/* train/table.c - see table.h. */
#include "train/table.h"

#include "base/log.h"
#include "op/backend.h"

#include <string.h>

enum { FEATURES, FIRST, NEIGHBORS, LOOPS };

const char *gnn_gather_name(enum gnn_gather g)
{
	static const char *const names[] = {"staged", "zero-copy", "resident", "both"};

	return names[g];
}

bool gnn_table_is_staged(const struct gnn_table *t)
{
	return t->gather == GNN_GATHER_STAGED && t->cache == NULL;
}

const char *gnn_table_orchestration(enum gnn_gather g, bool samples)
{
	if (g == GNN_GATHER_STAGED)
		return samples ? "step-gpu-sample" : "step-cpu";
	return samples ? "step-gpu" : "step-gpu-gather";
}

/* *out: a copy of host memory on the device. */
static int copy(struct gnn_table *t, uint32_t which, const void *from, uint64_t bytes, void *out)
{
	const struct gnn_backend_ops *ops = t->backend->ops;
	int rc;

	GNN_TRY(ops->alloc(t->backend, &t->copy[which], gnn_max_u64(bytes, 1)));
	GNN_TRY(ops->copy(t->backend, t->copy[which], bytes, from, bytes, bytes, 1));
	GNN_TRY(ops->sync(t->backend));
	*(void **)out = t->copy[which];
out:
	return rc;
}

/* Host memory that the device reads in place. */
static int pin(struct gnn_table *t, uint32_t which, const void *from, uint64_t bytes,
	const char *what)
{
	int rc = t->backend->ops->pin(t->backend, from, bytes);

	if (rc != GNN_OK)
		return gnn_err(GNN_EOS, "%s: %s", what, gnn_err_text());
	t->pinned[which] = from;
	return rc;
}

uint64_t gnn_table_room(const struct gnn_backend *b, uint64_t reserve)
{
	const uint64_t room = b->ops->room_bytes(b);

	return gnn_min_u64(room / 2, room - gnn_min_u64(room, reserve));
}

/* Whether the whole table goes to the device: where it takes at most half of what is free. */
static bool is_resident(const struct gnn_table *t, const struct gnn_table_wish *wish)
{
	return (wish->gather == GNN_WISH_AUTO || wish->gather == GNN_WISH_DEVICE) &&
		!wish->cached && t->source->store->features->bytes <=
		gnn_table_room(t->backend, wish->reserve);
}

/* Rows that stay in host memory; where the device cannot read them, the CPU gathers. */
static int place_in_host(struct gnn_table *t, const struct gnn_table_wish *wish)
{
	const struct gnn_train_source *s = t->source;
	int rc;

	t->gather = wish->gather == GNN_WISH_BOTH ? GNN_GATHER_BOTH : GNN_GATHER_ZERO_COPY;
	rc = pin(t, FEATURES, s->table, s->store->features->bytes, "zero-copy");
	if (rc < 0 && wish->gather == GNN_WISH_AUTO) {
		gnn_log(GNN_LOG_WARN, "train", "%s: rows are staged", gnn_err_text());
		t->gather = GNN_GATHER_STAGED;
		return GNN_OK;
	}
	t->rows = s->table;
	t->open = wish->gather != GNN_WISH_ZERO_COPY;
	t->staged_too = wish->gather == GNN_WISH_AUTO;
	return rc;
}

static int place_rows(struct gnn_table *t, const struct gnn_table_wish *wish)
{
	const struct gnn_train_source *s = t->source;
	int rc = GNN_OK;

	if (wish->gather == GNN_WISH_STAGED || (wish->gather == GNN_WISH_AUTO && s->table == NULL))
		return GNN_OK;
	if (s->table == NULL)
		GNN_FAIL(GNN_ECONFIG, "a GPU gathers from features in host memory, and these do "
			"not fit there: give more --host-memory, or --gather staged");
	if (!is_resident(t, wish))
		return place_in_host(t, wish);
	t->gather = GNN_GATHER_RESIDENT;
	GNN_TRY(copy(t, FEATURES, s->table, s->store->features->bytes, &t->rows));
out:
	return rc;
}

/* In-lists go to the device where they take at most half of what is free. */
static int place_lists(struct gnn_table *t, const struct gnn_table_wish *w)
{
	const enum gnn_sample_wish wish = w->sample;
	const struct gnn_lists *l = t->source->lists;
	const uint64_t bytes[] = {0, (l->vertices + 1) * sizeof(*l->first),
		l->edges * gnn_dtype_bytes(l->dtype),
		l->loops == NULL ? 0 : l->vertices * sizeof(*l->loops)};
	const void *from[] = {NULL, l->first, l->neighbor, l->loops};
	void *to[] = {NULL, &t->lists.first, &t->lists.neighbor, &t->lists.loops};
	/* The sampler numbers rows in a table of all vertices. */
	const uint64_t wanted = bytes[FIRST] + bytes[NEIGHBORS] + bytes[LOOPS] +
		l->vertices * sizeof(uint32_t);
	const bool fits = wanted <= gnn_table_room(t->backend, w->reserve);
	int rc = GNN_OK;

	if (l->weight != NULL && wish == GNN_SAMPLE_DEVICE)
		GNN_FAIL(GNN_ECONFIG, "the graph has edge weights, which come with the samples of "
			"the CPU only: give --orchestration step-cpu or step-gpu-gather");
	t->samples = wish == GNN_SAMPLE_DEVICE ||
		(wish == GNN_SAMPLE_AUTO && fits && l->weight == NULL);
	t->lists = *l;
	for (uint32_t i = FIRST; t->samples && i <= LOOPS; i++) {
		if (bytes[i] == 0)
			continue;
		if (fits)
			GNN_TRY(copy(t, i, from[i], bytes[i], to[i]));
		else
			GNN_TRY(pin(t, i, from[i], bytes[i], "sampling on the GPU"));
	}
	if (t->samples)
		gnn_log(GNN_LOG_INFO, "train", "the GPU samples, in-lists in %s memory",
			fits ? "its" : "host");
out:
	return rc;
}

int gnn_table_init(struct gnn_table *t, struct gnn_backend *b, const struct gnn_train_source *s,
	const struct gnn_table_wish *wish)
{
	int rc;

	t->backend = b;
	t->source = s;
	if (b->ops->unified)
		return GNN_OK;
	GNN_TRY(place_lists(t, wish));
	GNN_TRY(place_rows(t, wish));
out:
	return rc;
}

void gnn_table_sample_on_host(struct gnn_table *t)
{
	for (uint32_t i = FIRST; i <= LOOPS; i++) {
		t->backend->ops->free(t->backend, t->copy[i]);
		if (t->pinned[i] != NULL)
			t->backend->ops->unpin(t->backend, t->pinned[i]);
		t->copy[i] = NULL;
		t->pinned[i] = NULL;
	}
	t->samples = false;
}

void gnn_table_fini(struct gnn_table *t)
{
	if (t->backend == NULL)
		return;
	for (uint32_t i = 0; i < GNN_COUNT_OF(t->copy); i++) {
		t->backend->ops->free(t->backend, t->copy[i]);
		if (t->pinned[i] != NULL)
			t->backend->ops->unpin(t->backend, t->pinned[i]);
	}
	memset(t, 0, sizeof(*t));
}
