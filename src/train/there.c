/* train/there.c - see there.h. */
#include "train/there.h"

#include "base/log.h"

#include <string.h>

/* Rows from this length on are read in place as fast as the bus goes; shorter ones are staged. */
enum { ZERO_COPY_BYTES = 2048 };

/* Places of the buffers that do not belong to a block. */
enum { ID = GNN_BLOCKS_MAX * 7, X, LABEL, DY };

const char *gnn_gather_name(enum gnn_gather g)
{
	static const char *const names[] = {"staged", "zero-copy", "resident"};

	return names[g];
}

static int take(struct gnn_there *t, uint32_t which, uint64_t bytes, void **out)
{
	struct gnn_buffer *b = &t->buffer[which];
	const struct gnn_backend_ops *ops = t->backend->ops;
	uint64_t floats = gnn_ceil_div(bytes, sizeof(float));
	void *block;
	int rc;

	*out = b->data;
	if (floats <= b->floats && b->data != NULL)
		return GNN_OK;
	ops->free(t->backend, b->data);
	*b = (struct gnn_buffer){0};
	floats = gnn_max_u64(floats + floats / 4, 1);
	rc = ops->alloc(t->backend, &block, floats * sizeof(float));
	if (rc < 0)
		return rc;
	b->data = *out = block;
	b->floats = floats;
	return rc;
}

/* *out: a copy of a host array, or NULL for NULL. */
static int upload(struct gnn_there *t, uint32_t which, const void *from, uint64_t bytes,
	void **out)
{
	int rc = GNN_OK;

	*out = NULL;
	if (from == NULL)
		return GNN_OK;
	GNN_TRY(take(t, which, bytes, out));
	GNN_TRY(t->backend->ops->copy(t->backend, *out, bytes, from, bytes, bytes, 1));
	t->copied_bytes += bytes;
out:
	return rc;
}

static int upload_block(struct gnn_there *t, uint32_t layer, const struct gnn_block *from)
{
	struct gnn_block *to = &t->sample.block[layer];
	const uint64_t dst = (from->dst_count + 1) * sizeof(uint64_t);
	const uint64_t src = (from->src_count + 1) * sizeof(uint64_t);
	const uint64_t entries = from->entry_count * sizeof(uint32_t);
	const bool turned = from->back_first != NULL;
	const struct {
		const void *from;
		uint64_t    bytes;
	} array[] = {{from->first, dst}, {from->src, entries}, {from->weight, entries},
		{from->back_first, src}, {turned ? from->back_dst : NULL, entries},
		{turned ? from->back_entry : NULL, entries},
		{turned ? from->back_weight : NULL, entries}};
	void *there[GNN_COUNT_OF(array)];
	int rc = GNN_OK;

	for (uint32_t i = 0; i < GNN_COUNT_OF(array); i++)
		GNN_TRY(upload(t, layer * 7 + i, array[i].from, array[i].bytes, &there[i]));
	*to = (struct gnn_block){.dst_count = from->dst_count, .src_count = from->src_count,
		.entry_count = from->entry_count, .first = there[0], .src = there[1],
		.weight = there[2], .back_first = there[3], .back_dst = there[4],
		.back_entry = there[5], .back_weight = there[6]};
out:
	return rc;
}

static int put_rows(struct gnn_there *t, const struct gnn_batch *b)
{
	const uint64_t rows = b->sample.id_count, width = t->source->dim;
	void *x;
	int rc;

	if (t->gather == GNN_GATHER_STAGED) {
		GNN_TRY(upload(t, X, b->x, rows * width * sizeof(float), &x));
	} else {
		GNN_TRY(take(t, X, rows * width * sizeof(float), &x));
		GNN_TRY(t->backend->ops->grad->gather(t->backend, &(struct gnn_gather_args){
			.table = t->table, .dtype = t->source->dtype, .width = t->source->dim,
			.id = t->sample.id, .rows = rows, .to = x}));
	}
	t->x = x;
out:
	return rc;
}

int gnn_there_put(struct gnn_there *t, const struct gnn_batch *b)
{
	const uint64_t cells = b->seed_count * t->source->classes;
	void *id, *label, *dy;
	int rc;

	GNN_TRY(take(t, DY, cells * sizeof(float), &dy));
	t->dy = dy;
	if (t->backend->ops->unified) {
		t->sample = b->sample; /* lent: room belongs to the batch */
		t->x = b->x;
		t->label = b->label;
		t->labels = b->labels;
		goto out;
	}
	GNN_TRY(upload(t, ID, b->sample.id, b->sample.id_count * sizeof(gnn_vid), &id));
	GNN_TRY(upload(t, LABEL, b->label != NULL ? (const void *)b->label : b->labels,
		b->label != NULL ? b->seed_count * sizeof(int64_t) : cells, &label));
	t->sample.id = id;
	t->sample.id_count = b->sample.id_count;
	t->sample.layers = b->sample.layers;
	t->label = b->label != NULL ? label : NULL;
	t->labels = b->label != NULL ? NULL : label;
	for (uint32_t l = 0; l < b->sample.layers; l++)
		GNN_TRY(upload_block(t, l, &b->sample.block[l]));
	GNN_TRY(put_rows(t, b));
	GNN_TRY(t->backend->ops->sync(t->backend));
out:
	return rc;
}

static int copy_table(struct gnn_there *t, uint64_t bytes)
{
	int rc;

	GNN_TRY(t->backend->ops->alloc(t->backend, &t->table_copy, bytes));
	GNN_TRY(t->backend->ops->copy(t->backend, t->table_copy, bytes, t->source->table, bytes,
		bytes, 1));
	GNN_TRY(t->backend->ops->sync(t->backend));
	t->table = t->table_copy;
out:
	return rc;
}

/* The whole table on the device where it takes at most half of what is free; else by width. */
static enum gnn_gather choose(const struct gnn_there *t, uint64_t table_bytes)
{
	const struct gnn_train_source *s = t->source;
	const uint64_t row_bytes = (uint64_t)s->dim * gnn_dtype_bytes(s->dtype);

	if (s->table == NULL)
		return GNN_GATHER_STAGED;
	if (table_bytes <= t->backend->ops->room_bytes(t->backend) / 2)
		return GNN_GATHER_RESIDENT;
	return row_bytes >= ZERO_COPY_BYTES ? GNN_GATHER_ZERO_COPY : GNN_GATHER_STAGED;
}

int gnn_there_init(struct gnn_there *t, struct gnn_backend *b, const struct gnn_train_source *s,
	bool is_auto, enum gnn_gather wanted)
{
	const uint64_t bytes = s->store->features->bytes;
	int rc = GNN_OK;

	t->backend = b;
	t->source = s;
	t->gather = GNN_GATHER_STAGED;
	if (b->ops->unified)
		return GNN_OK;
	t->gather = is_auto ? choose(t, bytes) : wanted;
	if (t->gather != GNN_GATHER_STAGED && s->table == NULL)
		GNN_FAIL(GNN_ECONFIG, "--gather zero-copy reads features in host memory, and these "
			"do not fit there: give more --host-memory, or --gather staged");
	if (t->gather == GNN_GATHER_RESIDENT)
		GNN_TRY(copy_table(t, bytes));
	if (t->gather == GNN_GATHER_ZERO_COPY) {
		GNN_TRY(b->ops->pin(b, s->table, bytes));
		if (rc != GNN_OK)
			GNN_FAIL(GNN_EOS, "--gather zero-copy: %s", gnn_err_text());
		t->pinned = true;
		t->table = s->table;
	}
	gnn_log(GNN_LOG_INFO, "train", "rows of features: %s", gnn_gather_name(t->gather));
out:
	return rc;
}

void gnn_there_fini(struct gnn_there *t)
{
	if (t->backend == NULL)
		return;
	for (uint32_t i = 0; i < GNN_COUNT_OF(t->buffer); i++)
		t->backend->ops->free(t->backend, t->buffer[i].data);
	t->backend->ops->free(t->backend, t->table_copy);
	if (t->pinned)
		t->backend->ops->unpin(t->backend, t->source->table);
	memset(t, 0, sizeof(*t));
}
