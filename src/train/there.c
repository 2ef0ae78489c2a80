/* train/there.c - see there.h. */
#include "train/there.h"

#include "base/clock.h"
#include "base/trace.h"
#include "op/grad.h"

#include <string.h>

/* Places of the rooms that do not belong to a block. */
enum { ID = GNN_BLOCKS_MAX * 7, X, LABEL, DY };

/* A put on its way. */
struct put {
	struct gnn_there             *t;
	const struct gnn_there_maker *m;
	const struct gnn_batch       *batch;
};

static int take(struct put *p, uint32_t which, uint64_t bytes, void **out)
{
	struct gnn_room *room = &p->t->room[which];
	int rc = gnn_room_take_on(room, p->m->backend, bytes, 1);

	*out = room->data;
	return rc;
}

/* *out: a copy of a host array, or NULL for NULL. */
static int upload(struct put *p, uint32_t which, const void *from, uint64_t bytes, void **out)
{
	struct gnn_backend *b = p->m->backend;
	int rc = GNN_OK;

	*out = NULL;
	if (from == NULL)
		return GNN_OK;
	GNN_TRY(take(p, which, bytes, out));
	GNN_TRY(b->ops->copy(b, *out, bytes, from, bytes, bytes, 1));
	p->t->copied_bytes += bytes;
out:
	return rc;
}

static int upload_block(struct put *p, uint32_t layer, const struct gnn_block *from)
{
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
		GNN_TRY(upload(p, layer * 7 + i, array[i].from, array[i].bytes, &there[i]));
	p->t->sample.block[layer] = (struct gnn_block){.dst_count = from->dst_count,
		.src_count = from->src_count, .entry_count = from->entry_count, .first = there[0],
		.src = there[1], .weight = there[2], .back_first = there[3], .back_dst = there[4],
		.back_entry = there[5], .back_weight = there[6]};
out:
	return rc;
}

static int upload_sample(struct put *p)
{
	const struct gnn_sample *from = &p->batch->sample;
	void *id;
	int rc;

	GNN_TRY(upload(p, ID, from->id, from->id_count * sizeof(gnn_vid), &id));
	p->t->sample.id = id;
	p->t->sample.id_count = from->id_count;
	p->t->sample.layers = from->layers;
	for (uint32_t l = 0; l < from->layers; l++)
		GNN_TRY(upload_block(p, l, &from->block[l]));
out:
	return rc;
}

/* The device draws the sample. */
static int draw(struct put *p)
{
	struct gnn_backend *b = p->m->backend;
	struct gnn_sample *drawn = &p->t->drawn;
	const uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	int rc;

	GNN_TRY(gnn_sampler_draw(p->m->sampler, p->batch->seed, p->batch->seed_count,
		p->batch->step, drawn));
	for (uint32_t l = 0; l < drawn->layers; l++)
		if (gnn_net_turns(p->m->net, l, &drawn->block[l]))
			GNN_TRY(gnn_block_turn(&drawn->block[l], b));
	GNN_TRY(b->ops->sync(b));
	p->t->sample = *drawn; /* lent: rooms belong to what was drawn */
	p->t->sample_s += gnn_clock_s_since(start);
	gnn_trace_end(span, "sample");
out:
	return rc;
}

/* Rows of what the device drew, gathered by the CPU: *x in host memory. */
static int collect(struct put *p, float **x)
{
	struct gnn_there *t = p->t;
	struct gnn_backend *b = p->m->backend;
	const uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	const uint64_t bytes = t->sample.id_count * sizeof(gnn_vid);
	int rc;

	GNN_TRY(gnn_room_take(&t->id, t->sample.id_count, sizeof(gnn_vid)));
	GNN_TRY(b->ops->copy(b, t->id.data, bytes, t->sample.id, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
	GNN_TRY(p->m->onehop != NULL ? gnn_onehop_rows(p->m->onehop, t->id.data,
		t->sample.id_count, t->step, &t->rows, x, &t->bottom) :
		gnn_collect_rows(p->m->collect, t->id.data, t->sample.id_count, &t->rows, x));
	t->collect_s += gnn_clock_s_since(start);
	gnn_trace_end(span, "collect");
out:
	return rc;
}

static int put_rows(struct put *p)
{
	const struct gnn_table *table = p->m->table;
	const struct gnn_train_source *s = table->source;
	const uint64_t rows = p->t->sample.id_count;
	const uint64_t bytes = s->parts * rows * s->dim * sizeof(float);
	struct gnn_backend *b = p->m->backend;
	float *from = p->batch->x;
	void *x;
	int rc;

	if (table->gather == GNN_GATHER_STAGED) {
		if (p->m->sampler != NULL)
			GNN_TRY(collect(p, &from));
		GNN_TRY(upload(p, X, from, bytes, &x));
	} else {
		GNN_TRY(take(p, X, bytes, &x));
		GNN_TRY(b->ops->grad->gather(b, &(struct gnn_gather_args){.table = table->rows,
			.dtype = s->dtype, .width = s->dim, .id = p->t->sample.id, .rows = rows,
			.to = x}));
	}
	p->t->x = x;
out:
	return rc;
}

static int put_labels(struct put *p)
{
	const struct gnn_batch *b = p->batch;
	const uint64_t cells = b->seed_count * p->m->table->source->classes;
	void *label;
	int rc;

	GNN_TRY(upload(p, LABEL, b->label != NULL ? (const void *)b->label : b->labels,
		b->label != NULL ? b->seed_count * sizeof(int64_t) : cells, &label));
	p->t->label = b->label != NULL ? label : NULL;
	p->t->labels = b->label != NULL ? NULL : label;
out:
	return rc;
}

/* What the loop must know of a batch that may be gone by then. */
static void note(struct put *p)
{
	struct gnn_there *t = p->t;
	const struct gnn_batch *b = p->batch;

	t->step = b->step;
	t->seed_count = b->seed_count;
	memcpy(t->seed, b->seed, gnn_min_u64(b->seed_count, GNN_THERE_SEEDS) * sizeof(gnn_vid));
	t->sample_s = b->sample_s;
	t->collect_s = b->collect_s;
	t->bottom = b->bottom;
	t->copied_bytes = 0;
}

static void lend(struct put *p)
{
	p->t->sample = p->batch->sample; /* lent: rooms belong to the batch */
	p->t->x = p->batch->x;
	p->t->label = p->batch->label;
	p->t->labels = p->batch->labels;
}

int gnn_there_put(struct gnn_there *t, const struct gnn_there_maker *m, struct gnn_batch *b)
{
	struct put p = {.t = t, .m = m, .batch = b};
	const uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	const uint64_t cells = b->seed_count * m->table->source->classes;
	void *dy;
	int rc;

	note(&p);
	GNN_TRY(take(&p, DY, cells * sizeof(float), &dy));
	t->dy = dy;
	if (m->backend->ops->unified) {
		lend(&p);
	} else {
		if (m->sampler != NULL)
			GNN_TRY(draw(&p));
		else
			GNN_TRY(upload_sample(&p));
		GNN_TRY(put_labels(&p));
		GNN_TRY(put_rows(&p));
		GNN_TRY(m->backend->ops->sync(m->backend));
	}
	t->transfer_s = gnn_clock_s_since(start) - (t->sample_s - b->sample_s) -
		(t->collect_s - b->collect_s);
	gnn_trace_end(span, "transfer");
out:
	return rc;
}

void gnn_there_fini(struct gnn_there *t, const struct gnn_there_maker *m)
{
	for (uint32_t i = 0; i < GNN_COUNT_OF(t->room); i++)
		gnn_room_fini(&t->room[i]);
	gnn_room_fini(&t->id);
	gnn_sample_fini(&t->drawn);
	if (m->collect != NULL)
		gnn_collect_free(m->collect, &t->rows);
	memset(t, 0, sizeof(*t));
}
