/* train/there.c - see there.h. */
#include "train/there.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/trace.h"
#include "train/cache.h"

#include <string.h>

/* Places of the rooms that do not belong to a block. */
enum { BLOCK_ARRAYS = 7, ID = GNN_BLOCKS_MAX * BLOCK_ARRAYS, X, LABEL, DY, MIX, COLD_ID, COLD,
	CUT = COLD + BLOCK_ARRAYS, LATE_ID, LATE };

_Static_assert(LATE + BLOCK_ARRAYS <= GNN_COUNT_OF(((struct gnn_there *)NULL)->room), "rooms");

/* A put on its way. */
struct put {
	struct gnn_there       *t;
	struct gnn_there_maker *m;
	const struct gnn_batch *batch;
	struct gnn_backend     *b; /* that does it */
	uint64_t                start;
};

static int take(struct put *p, uint32_t which, uint64_t bytes, void **out)
{
	struct gnn_room *room = &p->t->room[which];
	int rc = gnn_room_take_on(room, p->b, bytes, 1);

	*out = room->data;
	return rc;
}

/* *out: a copy of a host array, or NULL for NULL. */
static int upload(struct put *p, uint32_t which, const void *from, uint64_t bytes, void **out)
{
	struct gnn_backend *b = p->b;
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

/* A block into rooms from `first` on. */
static int upload_block(struct put *p, uint32_t first, const struct gnn_block *from,
	struct gnn_block *to)
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
		GNN_TRY(upload(p, first + i, array[i].from, array[i].bytes, &there[i]));
	*to = (struct gnn_block){.dst_count = from->dst_count,
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
		GNN_TRY(upload_block(p, l * BLOCK_ARRAYS, &from->block[l],
			&p->t->sample.block[l]));
out:
	return rc;
}

/* Which rows are hot, and one hop of the others unless the device draws it. */
static int upload_mix(struct put *p)
{
	const struct gnn_mix *from = &p->batch->mix;
	struct gnn_mix *to = &p->t->mix;
	void *words, *id;
	int rc;

	*to = *from;
	GNN_TRY(upload(p, MIX, from->from, gnn_mix_words(from) * sizeof(uint64_t), &words));
	gnn_mix_lay(to, words);
	p->t->sample.mix = to;
	if (p->m->sampler != NULL || from->cold == 0)
		return GNN_OK;
	GNN_TRY(upload(p, COLD_ID, from->id, from->block.src_count * sizeof(gnn_vid), &id));
	to->id = id;
	GNN_TRY(upload_block(p, COLD, &from->block, &to->block));
out:
	return rc;
}

/* A copy of a shelf's rows, those that are there, for all batches of its super-batch. */
static int upload_shelf(struct put *p, const struct gnn_shelf_part *part,
	struct gnn_there_shelf *to)
{
	const struct gnn_train_source *source = p->m->table->source;
	const struct gnn_net_shape *shape = gnn_net_shape_of(p->m->net);
	const struct gnn_shelf *shelf = part->shelf;
	const uint64_t y = part->rows * gnn_shape_out(shape, 0) * sizeof(float);
	const uint64_t pitch = shelf->count * source->dim * sizeof(float);
	const uint64_t width = part->rows * source->dim * sizeof(float);
	const uint64_t parts = shelf->aggregate == NULL ? 0 : source->parts;
	struct gnn_backend *b = p->b;
	int rc;

	to->there = false;
	GNN_TRY(gnn_room_take_on(&to->y, b, y, 1));
	if (y > 0)
		GNN_TRY(b->ops->copy(b, to->y.data, y, shelf->y, y, y, 1));
	if (parts > 0) {
		GNN_TRY(gnn_room_take_on(&to->aggregate, b, parts, pitch));
		GNN_TRY(b->ops->copy(b, to->aggregate.data, pitch, shelf->aggregate, pitch, width,
			parts));
	}
	p->t->copied_bytes += y + parts * width;
	to->there = true;
	to->index = shelf->index;
out:
	return rc;
}

/* The shelf that hot rows come from. */
static int put_shelf(struct put *p, const struct gnn_shelf_part *part)
{
	struct gnn_there *t = p->t;
	const struct gnn_shelf *shelf = part->shelf;
	struct gnn_there_shelf *held;
	int rc = GNN_OK;

	gnn_shelves_count(p->m->shelves, part, t->step, t->is_cut ? &t->cut : &p->batch->mix,
		&t->staleness, &t->bottom);
	t->bottom.gathered += t->mix.block.src_count;
	if (shelf == NULL)
		return GNN_OK;
	t->mix.kept_count = shelf->count;
	t->mix.kept = shelf->y;
	t->mix.aggregate = shelf->aggregate;
	if (p->b->ops->unified)
		return GNN_OK;
	held = &p->m->held[shelf->index % GNN_COUNT_OF(p->m->held)];
	if (!held->there || held->index != shelf->index)
		GNN_TRY(upload_shelf(p, part, held));
	t->mix.kept = held->y.data;
	t->mix.aggregate = shelf->aggregate == NULL ? NULL : held->aggregate.data;
out:
	return rc;
}

/* The device draws the sample, or what its last hop is of. */
static int draw(struct put *p)
{
	struct gnn_backend *b = p->b;
	struct gnn_there *t = p->t;
	struct gnn_sample *drawn = &t->drawn;
	const bool mixed = p->m->shelves != NULL;
	const uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	int rc;

	gnn_fault_dawdle(GNN_FAULT_SAMPLE_THERE);
	GNN_TRY(gnn_sampler_draw(p->m->sampler, mixed ? p->batch->mix.cold_id : p->batch->seed,
		mixed ? p->batch->mix.cold : p->batch->seed_count, p->batch->step, drawn));
	for (uint32_t l = 0; l < drawn->layers; l++)
		if (gnn_net_turns(p->m->net, l, &drawn->block[l]))
			GNN_TRY(gnn_block_turn(&drawn->block[l], b));
	GNN_TRY(b->ops->sync(b));
	if (mixed) { /* lent: rooms belong to what was drawn */
		t->mix.id = drawn->id;
		t->mix.block = drawn->block[0];
	} else {
		t->sample = *drawn;
	}
	t->sample_s += gnn_clock_s_since(start);
	gnn_trace_end(span, "sample");
out:
	return rc;
}

/* Rows of `count` ids that the device drew, gathered by the CPU: *x in host memory. */
static int collect(struct put *p, const gnn_vid *from, uint64_t count, float **x)
{
	struct gnn_there *t = p->t;
	struct gnn_backend *b = p->b;
	struct gnn_collect *c = p->m->collect;
	const uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	const uint64_t bytes = count * sizeof(gnn_vid);
	gnn_vid *id;
	int rc;

	GNN_TRY(gnn_room_take(&t->id, count, sizeof(gnn_vid)));
	id = t->id.data;
	GNN_TRY(b->ops->copy(b, id, bytes, from, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
	if (p->m->shelves != NULL) {
		GNN_TRY(gnn_collect_take(c, &t->rows, count * c->source->dim));
		*x = t->rows.room.data;
		GNN_TRY(gnn_collect_features(c, id, count, *x));
	} else if (p->m->onehop != NULL) {
		gnn_fault_dawdle(GNN_FAULT_BOTTOM);
		GNN_TRY(gnn_onehop_rows(p->m->onehop, id, count, t->step, &t->rows, x,
			&t->bottom));
	} else {
		gnn_fault_dawdle(GNN_FAULT_ROWS);
		GNN_TRY(gnn_collect_rows(c, id, count, &t->rows, x));
	}
	t->collect_s += gnn_clock_s_since(start);
	gnn_trace_end(span, "collect");
out:
	return rc;
}

/* Rows that the device gathers, or some of them. */
static int deliver(struct put *p, const gnn_vid *id, const gnn_vid *host, uint64_t rows, float *x)
{
	struct gnn_there *t = p->t;
	struct gnn_delivery_args a = {.there = id, .host = host, .rows = rows, .to = x,
		.drop = gnn_net_input_drop(p->m->net, t->step)};
	const uint64_t span = gnn_trace_begin();
	int rc;

	GNN_TRY(gnn_delivery_rows(p->m->delivery, &a));
	t->dropped = true;
	t->copied_bytes += a.bus_bytes;
	t->cache_hits = a.hits;
	t->collect_s += a.collect_s;
	gnn_trace_end(span, "deliver");
out:
	return rc;
}

static int put_rows(struct put *p)
{
	const struct gnn_train_source *s = p->m->table->source;
	const bool mixed = p->m->shelves != NULL;
	const bool drawn = p->m->sampler != NULL || p->t->is_cut;
	const uint64_t rows = mixed ? p->t->mix.block.src_count : p->t->sample.id_count;
	const uint64_t bytes = (mixed ? 1 : s->parts) * rows * s->dim * sizeof(float);
	const gnn_vid *id = mixed ? p->t->mix.id : p->t->sample.id;
	const gnn_vid *host = mixed ? p->batch->mix.id : p->batch->sample.id;
	float *from = p->batch->x;
	void *x = NULL;
	int rc = GNN_OK;

	if (rows == 0)
		goto out;
	if (p->m->delivery != NULL) {
		GNN_TRY(take(p, X, bytes, &x));
		GNN_TRY(deliver(p, id, drawn ? NULL : host, rows, x));
	} else {
		if (drawn)
			GNN_TRY(collect(p, id, rows, &from));
		GNN_TRY(upload(p, X, from, bytes, &x));
	}
out:
	p->t->x = x;
	return rc;
}

/* What the net takes of a cut mix, where the backend reads it. */
static int place_cut(struct put *p, const struct gnn_block *block)
{
	struct gnn_there *t = p->t;
	const bool is_there = p->b->ops->unified || p->m->table->samples;
	void *words = NULL, *id;
	int rc;

	t->mix = t->cut;
	t->mix.id = t->late.id;
	t->mix.block = *block;
	if (p->b->ops->unified)
		return GNN_OK;
	GNN_TRY(upload(p, CUT, t->cut.from, gnn_mix_words(&t->cut) * sizeof(uint64_t), &words));
	gnn_mix_lay(&t->mix, words);
	if (is_there)
		goto out;
	GNN_TRY(upload(p, LATE_ID, t->late.id, t->late.id_count * sizeof(gnn_vid), &id));
	t->mix.id = id;
	GNN_TRY(upload_block(p, LATE, block, &t->mix.block));
out:
	return rc;
}

/* Hot rows from `kept` on count as cold: one hop of all cold ones is drawn anew. */
static int cut_mix(struct put *p, uint64_t kept)
{
	const struct gnn_batch *batch = p->batch;
	struct gnn_there *t = p->t;
	struct gnn_block *block = &t->late.block[0];
	struct gnn_backend *b = p->m->table->samples || p->b->ops->unified ? p->b
		: p->m->collect->cpu;
	const uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	int rc;

	GNN_TRY(gnn_mix_cut(&t->cut, &t->cut_words, &batch->mix, batch->sample.id, kept));
	t->staleness.late = batch->mix.hot - t->cut.hot;
	t->is_cut = t->staleness.late > 0;
	if (!t->is_cut)
		return GNN_OK;
	GNN_TRY(gnn_sampler_draw(p->m->late, t->cut.cold_id, t->cut.cold, t->step, &t->late));
	if (gnn_net_turns(p->m->net, 0, block))
		GNN_TRY(gnn_block_turn(block, b));
	GNN_TRY(b->ops->sync(b));
	GNN_TRY(place_cut(p, block));
	t->sample_s += gnn_clock_s_since(start);
	gnn_trace_end(span, "late");
out:
	return rc;
}

/* Rows of features of all cold vertices of a cut mix. */
static int put_late_rows(struct put *p)
{
	float *x = NULL;
	int rc;

	if (!p->b->ops->unified)
		return put_rows(p);
	GNN_TRY(collect(p, p->t->mix.id, p->t->mix.block.src_count, &x));
	p->t->x = x;
out:
	return rc;
}

/* Rows of hot vertices, once they are there or the step is due. */
static int settle(struct put *p, struct gnn_shelf_part *part)
{
	const uint64_t start = gnn_clock_ns();
	int rc;

	GNN_TRY(gnn_shelves_take(p->m->shelves, p->t->step, part));
	p->t->shelf_wait_s = gnn_clock_s_since(start);
	if (p->m->late != NULL)
		GNN_TRY(cut_mix(p, part->rows));
	if (p->t->is_cut)
		GNN_TRY(put_late_rows(p));
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
	t->staleness = (struct gnn_staleness){0};
	t->is_cut = false;
	t->copied_bytes = t->cache_hits = 0;
	t->transfer_s = 0;
	t->dropped = false;
}

static void lend(struct put *p)
{
	p->t->sample = p->batch->sample; /* lent: rooms belong to the batch */
	p->t->mix = p->batch->mix;
	if (p->m->shelves != NULL)
		p->t->sample.mix = &p->t->mix;
	p->t->x = p->batch->x;
	p->t->label = p->batch->label;
	p->t->labels = p->batch->labels;
}

/* Sample and labels on a device of its own memory. */
static int bring(struct put *p)
{
	const bool mixed = p->m->shelves != NULL;
	int rc;

	if (p->m->sampler == NULL || mixed)
		GNN_TRY(upload_sample(p));
	if (mixed)
		GNN_TRY(upload_mix(p));
	if (p->m->sampler != NULL && (!mixed || p->batch->mix.cold > 0))
		GNN_TRY(draw(p));
	GNN_TRY(put_labels(p));
	GNN_TRY(p->b->ops->sync(p->b));
out:
	return rc;
}

/* Time since the start that neither sampling nor collecting took. */
static void add_transfer(struct put *p, double others_s)
{
	p->t->transfer_s += gnn_clock_s_since(p->start) -
		(p->t->sample_s + p->t->collect_s - others_s);
}

int gnn_there_begin(struct gnn_there *t, struct gnn_there_maker *m, struct gnn_batch *b)
{
	struct put p = {.t = t, .m = m, .batch = b, .b = m->backend, .start = gnn_clock_ns()};
	const uint64_t cells = b->seed_count * m->table->source->classes;
	const uint64_t span = gnn_trace_begin();
	void *dy;
	int rc;

	note(&p);
	t->batch = b;
	GNN_TRY(take(&p, DY, cells * sizeof(float), &dy));
	t->dy = dy;
	if (m->backend->ops->unified)
		lend(&p);
	else if (b->seed_count > 0) /* of several ranks one may have none */
		GNN_TRY(bring(&p));
	add_transfer(&p, b->sample_s + b->collect_s);
	gnn_trace_end(span, "place");
out:
	return rc;
}

int gnn_there_end(struct gnn_there *t, struct gnn_there_maker *m)
{
	struct put p = {.t = t, .m = m, .batch = t->batch, .b = m->bringer,
		.start = gnn_clock_ns()};
	const double others_s = t->sample_s + t->collect_s;
	const uint64_t span = gnn_trace_begin();
	/* Then there is nothing to wait for, and rows of what is late come with the others. */
	const bool settled = m->late != NULL && gnn_shelves_is_settled(m->shelves, t->step);
	struct gnn_shelf_part part = {0};
	int rc = GNN_OK;

	if (m->table->cache != NULL)
		GNN_TRY(gnn_cache_settle(m->table->cache));
	if (settled)
		GNN_TRY(settle(&p, &part));
	if (!p.b->ops->unified && !t->is_cut)
		GNN_TRY(put_rows(&p));
	if (m->shelves != NULL && !settled)
		GNN_TRY(settle(&p, &part));
	if (m->shelves != NULL)
		GNN_TRY(put_shelf(&p, &part));
	if (!p.b->ops->unified)
		GNN_TRY(p.b->ops->sync(p.b));
	add_transfer(&p, others_s);
	gnn_trace_end(span, "transfer");
out:
	return rc;
}

void gnn_there_fini(struct gnn_there *t, const struct gnn_there_maker *m)
{
	for (uint32_t i = 0; i < GNN_COUNT_OF(t->room); i++)
		gnn_room_fini(&t->room[i]);
	gnn_room_fini(&t->id);
	gnn_room_fini(&t->cut_words);
	gnn_sample_fini(&t->drawn);
	gnn_sample_fini(&t->late);
	if (m->collect != NULL)
		gnn_collect_free(m->collect, &t->rows);
	memset(t, 0, sizeof(*t));
}
