/* train/table.c - see table.h. */
#include "train/table.h"

#include "base/log.h"
#include "op/backend.h"

#include <string.h>

/* Rows from this length on are read in place as fast as the bus goes; shorter ones are staged. */
enum { ZERO_COPY_BYTES = 2048 };

enum { FEATURES, FIRST, NEIGHBORS, LOOPS };

const char *gnn_gather_name(enum gnn_gather g)
{
	static const char *const names[] = {"staged", "zero-copy", "resident"};

	return names[g];
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

/* The whole table on the device where it takes at most half of what is free; else by width. */
static enum gnn_gather choose_gather(const struct gnn_table *t, enum gnn_gather_wish wish)
{
	const struct gnn_train_source *s = t->source;
	const uint64_t row_bytes = (uint64_t)s->dim * gnn_dtype_bytes(s->dtype);

	if (wish == GNN_WISH_STAGED || (wish == GNN_WISH_AUTO && s->table == NULL))
		return GNN_GATHER_STAGED;
	if (wish != GNN_WISH_ZERO_COPY &&
		s->store->features->bytes <= t->backend->ops->room_bytes(t->backend) / 2)
		return GNN_GATHER_RESIDENT;
	return wish != GNN_WISH_AUTO || row_bytes >= ZERO_COPY_BYTES ? GNN_GATHER_ZERO_COPY
		: GNN_GATHER_STAGED;
}

static int place_rows(struct gnn_table *t)
{
	const struct gnn_train_source *s = t->source;
	const uint64_t bytes = s->store->features->bytes;
	int rc = GNN_OK;

	if (t->gather == GNN_GATHER_STAGED)
		return GNN_OK;
	if (s->table == NULL)
		GNN_FAIL(GNN_ECONFIG, "a GPU gathers from features in host memory, and these do "
			"not fit there: give more --host-memory, or --gather staged");
	t->rows = s->table;
	if (t->gather == GNN_GATHER_RESIDENT)
		GNN_TRY(copy(t, FEATURES, s->table, bytes, &t->rows));
	else
		GNN_TRY(pin(t, FEATURES, s->table, bytes, "--gather zero-copy"));
out:
	return rc;
}

/* In-lists go to the device where they take at most half of what is free. */
static int place_lists(struct gnn_table *t, enum gnn_sample_wish wish)
{
	const struct gnn_lists *l = t->source->lists;
	const uint64_t bytes[] = {0, (l->vertices + 1) * sizeof(*l->first),
		l->edges * gnn_dtype_bytes(l->dtype),
		l->loops == NULL ? 0 : l->vertices * sizeof(*l->loops)};
	const void *from[] = {NULL, l->first, l->neighbor, l->loops};
	void *to[] = {NULL, &t->lists.first, &t->lists.neighbor, &t->lists.loops};
	/* The sampler numbers rows in a table of all vertices. */
	const uint64_t wanted = bytes[FIRST] + bytes[NEIGHBORS] + bytes[LOOPS] +
		l->vertices * sizeof(uint32_t);
	const bool fits = wanted <= t->backend->ops->room_bytes(t->backend) / 2;
	int rc = GNN_OK;

	t->samples = wish == GNN_SAMPLE_DEVICE || (wish == GNN_SAMPLE_AUTO && fits);
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
	enum gnn_gather_wish gather, enum gnn_sample_wish sample)
{
	int rc;

	t->backend = b;
	t->source = s;
	if (b->ops->unified)
		return GNN_OK;
	GNN_TRY(place_lists(t, sample));
	t->gather = choose_gather(t, gather);
	GNN_TRY(place_rows(t));
	gnn_log(GNN_LOG_INFO, "train", "rows of features: %s", gnn_gather_name(t->gather));
out:
	return rc;
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
