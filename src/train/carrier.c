/* train/carrier.c - see carrier.h. */
#include "train/carrier.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"

enum { PLACES = 3 }; /* one sampled, one that rows are brought to, one computed on */

struct gnn_carrier {
	struct gnn_carrier_opts o;
	struct gnn_batches     *batches;
	struct gnn_backend     *own[2];  /* of the threads; NULL: the caller's is used */
	struct gnn_there_maker  maker;
	struct gnn_collect      collect;
	struct gnn_delivery     delivery;
	struct gnn_there        place[PLACES];
	struct gnn_queue       *free, *begun, *full;
	struct gnn_stage       *beginner, *bringer;
};

static int begin(struct gnn_carrier *c, struct gnn_there *t)
{
	struct gnn_batch *batch;
	int rc = gnn_batches_next(c->batches, &batch);

	return rc != GNN_OK ? rc : gnn_there_begin(t, &c->maker, batch);
}

/* A unified backend's place holds the batch until put. */
static int end(struct gnn_carrier *c, struct gnn_there *t)
{
	int rc = gnn_there_end(t, &c->maker);

	if (!c->maker.backend->ops->unified) {
		gnn_batches_put(c->batches, t->batch);
		t->batch = NULL;
	}
	return rc;
}

/* Who comes behind finds the reason where it joins. */
static int leave(int rc, struct gnn_queue *to)
{
	if (rc < 0)
		gnn_queue_cancel(to);
	else
		gnn_queue_close(to);
	return rc < 0 ? rc : GNN_OK;
}

/* The body of the first thread: samples. */
static int begin_all(void *arg)
{
	struct gnn_carrier *c = arg;
	void *place;
	int rc;

	while ((rc = gnn_queue_pop(c->free, &place)) == GNN_OK) {
		rc = begin(c, place);
		if (rc != GNN_OK)
			break;
		GNN_TRY(gnn_queue_push(c->begun, place));
	}
out:
	return leave(rc, c->begun);
}

/* The body of the second: brings rows. */
static int end_all(void *arg)
{
	struct gnn_carrier *c = arg;
	void *place;
	int rc;

	while ((rc = gnn_queue_pop(c->begun, &place)) == GNN_OK) {
		GNN_TRY(end(c, place));
		GNN_TRY(gnn_queue_push(c->full, place));
	}
out:
	return leave(rc, c->full);
}

/* The backends that carry: others of the same device, each on a thread, or the caller's. */
static int open_backends(struct gnn_carrier *c)
{
	struct gnn_backend *main = c->o.batches.backend;
	int rc = GNN_OK;

	c->maker.backend = c->maker.bringer = main;
	if (main->ops->unified || !c->o.pipeline)
		return GNN_OK;
	for (int i = 0; i < 2; i++)
		GNN_TRY(main->ops->create(&c->own[i], &(struct gnn_backend_opts){
			.threads = 1, .beside = main}));
	c->maker.backend = c->own[0];
	c->maker.bringer = c->own[1];
out:
	return rc;
}

/* Where rows of hot vertices may be late, who draws for them then: the bringer, or the CPU. */
static int open_late(struct gnn_carrier *c)
{
	struct gnn_sampler_opts sampler = c->o.batches.sampler;
	const struct gnn_table *table = c->o.table;
	int rc = GNN_OK;

	if (c->o.shelves == NULL || !gnn_shelves_may_be_late(c->o.shelves))
		return GNN_OK;
	if (c->maker.collect == NULL) {
		c->maker.collect = &c->collect;
		GNN_TRY(gnn_collect_init(&c->collect, table->source, c->maker.bringer,
			c->o.threads));
	}
	sampler.backend = table->samples ? c->maker.bringer : c->collect.cpu;
	if (table->samples)
		sampler.lists = &table->lists;
	GNN_TRY(gnn_sampler_create_last(&c->maker.late, &sampler));
out:
	return rc;
}

static int open_maker(struct gnn_carrier *c)
{
	struct gnn_sampler_opts sampler = c->o.batches.sampler;
	const struct gnn_table *table = c->o.table;
	int rc;

	c->maker.table = table;
	c->maker.net = c->o.batches.net;
	c->maker.shelves = c->o.shelves;
	GNN_TRY(open_backends(c));
	if (table->samples) {
		sampler.backend = c->maker.backend;
		sampler.lists = &table->lists;
		GNN_TRY(c->maker.shelves != NULL
			? gnn_sampler_create_last(&c->maker.sampler, &sampler)
			: gnn_sampler_create(&c->maker.sampler, &sampler));
	}
	if (!c->maker.bringer->ops->unified && !gnn_table_is_staged(table)) {
		c->maker.delivery = &c->delivery;
		GNN_TRY(gnn_delivery_init(&c->delivery, table, c->maker.bringer, c->o.threads));
	} else if (table->samples) {
		c->maker.collect = &c->collect;
		GNN_TRY(gnn_collect_init(&c->collect, table->source, c->maker.bringer,
			c->o.threads));
		if (c->o.batches.onehop != NULL)
			GNN_TRY(gnn_onehop_create(&c->maker.onehop, c->o.batches.onehop,
				&c->o.batches.sampler, &c->collect));
	}
	GNN_TRY(open_late(c));
out:
	return rc;
}

/* Of three batches in turn each might take another shelf, and two are there. */
static uint32_t places_of(const struct gnn_carrier *c)
{
	return c->maker.shelves != NULL ? PLACES - 1 : PLACES;
}

int gnn_carrier_start(struct gnn_carrier **out, const struct gnn_carrier_opts *o)
{
	struct gnn_batches_opts batches = o->batches;
	struct gnn_carrier *c = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(c, GNN_MEM_MISC);
	c->o = *o;
	GNN_TRY(open_maker(c));
	batches.plans = o->shelves != NULL ? gnn_shelves_plans(o->shelves) : NULL;
	batches.bare = o->table->samples;
	batches.collect = gnn_table_is_staged(o->table) && !o->table->samples;
	GNN_TRY(gnn_batches_start(&c->batches, &batches));
	if (c->own[0] != NULL) {
		GNN_TRY(gnn_queue_create(&c->free, PLACES));
		GNN_TRY(gnn_queue_create(&c->begun, PLACES));
		GNN_TRY(gnn_queue_create(&c->full, PLACES));
		for (uint32_t i = 0; i < places_of(c); i++)
			GNN_TRY(gnn_queue_push(c->free, &c->place[i]));
		GNN_TRY(gnn_stage_start(&c->beginner, "sampler", begin_all, c));
		GNN_TRY(gnn_stage_start(&c->bringer, "carrier", end_all, c));
	}
	*out = c;
	c = NULL;
out:
	gnn_carrier_stop(c);
	return rc;
}

int gnn_carrier_next(struct gnn_carrier *c, struct gnn_there **there)
{
	void *place = &c->place[0];
	int rc;

	*there = NULL;
	if (c->own[0] == NULL) {
		rc = begin(c, place);
		rc = rc != GNN_OK ? rc : end(c, place);
	} else {
		rc = gnn_queue_pop(c->full, &place);
		if (rc == GNN_ESTOP)
			rc = gnn_stage_join(&c->bringer);
		if (rc == GNN_ESTOP) /* it found nothing to go on with */
			rc = gnn_stage_join(&c->beginner);
	}
	if (rc == GNN_OK)
		*there = place;
	return rc;
}

void gnn_carrier_put(struct gnn_carrier *c, struct gnn_there *there)
{
	if (there->batch != NULL)
		gnn_batches_put(c->batches, there->batch);
	there->batch = NULL;
	if (c->own[0] != NULL)
		(void)gnn_queue_push(c->free, there); /* never full, and cancelled only by stop */
}

static void stop(struct gnn_carrier *c)
{
	struct gnn_queue *const queue[] = {c->free, c->begun, c->full};
	struct gnn_err_state kept;

	gnn_err_save(&kept, GNN_OK); /* what ends the threads is no news */
	for (uint32_t i = 0; i < GNN_COUNT_OF(queue); i++)
		if (queue[i] != NULL)
			gnn_queue_cancel(queue[i]);
	gnn_batches_cancel(c->batches); /* a thread may wait for one */
	gnn_shelves_cancel(c->maker.shelves);
	(void)gnn_stage_join(&c->beginner);
	(void)gnn_stage_join(&c->bringer);
	for (uint32_t i = 0; i < PLACES; i++)
		gnn_there_fini(&c->place[i], &c->maker);
	for (uint32_t i = 0; i < GNN_COUNT_OF(c->maker.held); i++) {
		gnn_room_fini(&c->maker.held[i].y);
		gnn_room_fini(&c->maker.held[i].aggregate);
	}
	gnn_batches_stop(c->batches);
	gnn_sampler_destroy(c->maker.sampler);
	gnn_sampler_destroy(c->maker.late);
	gnn_onehop_destroy(c->maker.onehop);
	gnn_collect_fini(&c->collect);
	gnn_delivery_fini(&c->delivery);
	for (int i = 0; i < 2; i++)
		gnn_backend_destroy(c->own[i]);
	for (uint32_t i = 0; i < GNN_COUNT_OF(queue); i++)
		gnn_queue_destroy(queue[i]);
	gnn_mem_free(c);
	(void)gnn_err_restore(&kept);
}

void gnn_carrier_stop(struct gnn_carrier *c)
{
	if (c != NULL)
		stop(c);
}
