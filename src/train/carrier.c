/* train/carrier.c - see carrier.h. */
#include "train/carrier.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"

enum { PLACES = 2 };

struct gnn_carrier {
	struct gnn_carrier_opts o;
	struct gnn_batches     *batches;
	struct gnn_backend     *own;     /* of the thread; NULL: the caller's is used */
	struct gnn_there_maker  maker;
	struct gnn_collect      collect;
	struct gnn_there        place[PLACES];
	struct gnn_queue       *free, *full;
	struct gnn_stage       *stage;
};

/* The next batch into a place; GNN_EOF. A unified backend's place holds the batch until put. */
static int fill(struct gnn_carrier *c, struct gnn_there *t)
{
	struct gnn_batch *batch;
	int rc = gnn_batches_next(c->batches, &batch);

	if (rc != GNN_OK)
		return rc;
	t->batch = batch;
	rc = gnn_there_put(t, &c->maker, batch);
	if (!c->maker.backend->ops->unified) {
		gnn_batches_put(c->batches, batch);
		t->batch = NULL;
	}
	return rc;
}

/* The body of the thread. */
static int carry(void *arg)
{
	struct gnn_carrier *c = arg;
	void *place;
	int rc;

	while ((rc = gnn_queue_pop(c->free, &place)) == GNN_OK) {
		rc = fill(c, place);
		if (rc != GNN_OK)
			break;
		GNN_TRY(gnn_queue_push(c->full, place));
	}
out:
	if (rc < 0)
		gnn_queue_cancel(c->full); /* next finds the reason where it joins */
	else
		gnn_queue_close(c->full);
	return rc < 0 ? rc : GNN_OK;
}

/* The backend that carries: another of the same device, on a thread of its own, or the caller's. */
static int open_backend(struct gnn_carrier *c)
{
	struct gnn_backend *main = c->o.batches.backend;
	int rc = GNN_OK;

	c->maker.backend = main;
	if (main->ops->unified || !c->o.pipeline)
		return GNN_OK;
	GNN_TRY(main->ops->create(&c->own, &(struct gnn_backend_opts){
		.threads = 1, .beside = main}));
	c->maker.backend = c->own;
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
	GNN_TRY(open_backend(c));
	if (table->samples) {
		sampler.backend = c->maker.backend;
		sampler.lists = &table->lists;
		GNN_TRY(c->maker.shelves != NULL
			? gnn_sampler_create_last(&c->maker.sampler, &sampler)
			: gnn_sampler_create(&c->maker.sampler, &sampler));
	}
	if (table->samples && table->gather == GNN_GATHER_STAGED) {
		c->maker.collect = &c->collect;
		GNN_TRY(gnn_collect_init(&c->collect, table->source, c->maker.backend,
			c->o.threads));
		if (c->o.batches.onehop != NULL)
			GNN_TRY(gnn_onehop_create(&c->maker.onehop, c->o.batches.onehop,
				&c->o.batches.sampler, &c->collect));
	}
out:
	return rc;
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
	batches.collect = o->table->gather == GNN_GATHER_STAGED && !o->table->samples;
	GNN_TRY(gnn_batches_start(&c->batches, &batches));
	if (c->own != NULL) {
		GNN_TRY(gnn_queue_create(&c->free, PLACES));
		GNN_TRY(gnn_queue_create(&c->full, PLACES));
		for (uint32_t i = 0; i < PLACES; i++)
			GNN_TRY(gnn_queue_push(c->free, &c->place[i]));
		GNN_TRY(gnn_stage_start(&c->stage, "carrier", carry, c));
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
	if (c->own == NULL) {
		rc = fill(c, place);
	} else {
		rc = gnn_queue_pop(c->full, &place);
		if (rc == GNN_ESTOP)
			rc = gnn_stage_join(&c->stage);
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
	if (c->own != NULL)
		(void)gnn_queue_push(c->free, there); /* never full, and cancelled only by stop */
}

void gnn_carrier_stop(struct gnn_carrier *c)
{
	struct gnn_err_state kept;

	if (c == NULL)
		return;
	gnn_err_save(&kept, GNN_OK); /* what ends the threads is no news */
	if (c->free != NULL)
		gnn_queue_cancel(c->free);
	if (c->full != NULL)
		gnn_queue_cancel(c->full);
	gnn_batches_cancel(c->batches); /* the thread may wait for one */
	gnn_shelves_cancel(c->maker.shelves);
	(void)gnn_stage_join(&c->stage);
	for (uint32_t i = 0; i < PLACES; i++)
		gnn_there_fini(&c->place[i], &c->maker);
	for (uint32_t i = 0; i < GNN_COUNT_OF(c->maker.held); i++) {
		gnn_room_fini(&c->maker.held[i].y);
		gnn_room_fini(&c->maker.held[i].aggregate);
	}
	gnn_batches_stop(c->batches);
	gnn_sampler_destroy(c->maker.sampler);
	gnn_onehop_destroy(c->maker.onehop);
	gnn_collect_fini(&c->collect);
	gnn_backend_destroy(c->own);
	gnn_queue_destroy(c->free);
	gnn_queue_destroy(c->full);
	gnn_mem_free(c);
	(void)gnn_err_restore(&kept);
}
