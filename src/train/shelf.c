/* train/shelf.c - see shelf.h. */
#include "train/shelf.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/stage.h"
#include "base/trace.h"

enum { SHELVES = 2 };

struct gnn_shelves {
	struct gnn_shelves_opts o;
	struct gnn_versions   *versions;
	struct gnn_embed      *embed;
	struct gnn_batches    *batches;  /* of the plans */
	struct gnn_plans      *plans;
	struct gnn_shelf       shelf[SHELVES];
	struct gnn_stage      *stage;
	uint64_t               next_version;
	struct gnn_onehop_counts counts; /* of the shelf that is made */
};

/* The next plan, from the next batches; super-batch 0 has no hot vertices. */
static int make_plan(struct gnn_shelves *s)
{
	const uint64_t batches = gnn_plans_made(s->plans) > 0 ? s->o.plans.super_batch : 0;
	const uint64_t span = gnn_trace_begin();
	struct gnn_batch *batch;
	int rc;

	gnn_plans_begin(s->plans);
	for (uint64_t i = 0; i < batches; i++) {
		GNN_TRY(gnn_batches_next(s->batches, &batch));
		GNN_ASSERT(rc == GNN_OK);
		gnn_plans_mark(s->plans, batch->sample.id, batch->sample.id_count);
		gnn_batches_put(s->batches, batch);
	}
	GNN_TRY(gnn_plans_end(s->plans));
	gnn_trace_end(span, "plan");
out:
	return rc;
}

/* An empty shelf for the queue of a super-batch. */
static int begin_shelf(struct gnn_shelves *s, const struct gnn_plan *p)
{
	struct gnn_shelf *f = &s->shelf[p->index % SHELVES];
	struct gnn_collect *c = gnn_embed_collect(s->embed);
	const struct gnn_train_source *source = s->o.embed.source;
	int rc;

	f->index = p->index;
	f->count = p->count;
	GNN_TRY(gnn_collect_take(c, &f->rows[0], p->count * gnn_embed_width(s->embed)));
	f->y = f->rows[0].room.data;
	if (s->o.embed.aggregates)
		GNN_TRY(gnn_collect_take(c, &f->rows[1], p->count * source->parts * source->dim));
	f->aggregate = f->rows[1].room.data;
	GNN_TRY(gnn_room_take(&f->versions, p->count, sizeof(*f->version)));
	f->version = f->versions.data;
out:
	return rc;
}

/* Rows of slice j of the queue, with the weights that are in the net. */
static int make_rows(struct gnn_shelves *s, const struct gnn_plan *p, uint64_t j, uint64_t version,
	uint64_t is)
{
	struct gnn_shelf *f = &s->shelf[p->index % SHELVES];
	const uint64_t n = s->o.plans.super_batch, dim = s->o.embed.source->dim;
	const uint64_t first = p->count * j / n, end = p->count * (j + 1) / n;
	const uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	int rc;

	if (first == end)
		return GNN_OK;
	gnn_fault_dawdle(GNN_FAULT_EMBED);
	GNN_TRY(gnn_embed_rows(s->embed, p->id + first, end - first, version,
		f->y + first * gnn_embed_width(s->embed),
		f->aggregate == NULL ? NULL : f->aggregate + first * dim, p->count * dim,
		&s->counts));
	for (uint64_t i = first; i < end; i++)
		f->version[i] = is;
	s->counts.seconds += gnn_clock_s_since(start);
	gnn_trace_end(span, "embed");
out:
	return rc;
}

/* Slice j with its version, unless nobody will take it; not before its time in either case. */
static int make_slice(struct gnn_shelves *s, const struct gnn_plan *p, uint64_t j,
	uint64_t version)
{
	uint64_t is;
	int rc;

	GNN_TRY(gnn_versions_wait(s->versions, version));
	if (gnn_late_is_over(s->o.late, p->index, j))
		return GNN_OK;
	GNN_TRY(gnn_versions_read(s->versions, version, gnn_embed_net(s->embed), &is));
	if (rc == GNN_SKIPPED) /* over meanwhile: the training is two super-batches on */
		return GNN_OK;
	if (j == 0) { /* the shelf before the last is free: its super-batch is trained */
		GNN_TRY(begin_shelf(s, p));
		s->counts = (struct gnn_onehop_counts){0};
	}
	GNN_TRY(make_rows(s, p, j, version, is));
	gnn_late_made(s->o.late, p->index, j + 1, &s->counts);
out:
	return rc;
}

/* Whether some step takes what is made with a version. */
static bool is_wanted(const struct gnn_shelves *s, uint64_t version)
{
	const uint64_t n = s->o.plans.super_batch;

	return version / n + 1 <= (s->o.last_step - 1) / n;
}

/* What is made with the next version, which is waited for. */
static int make_next(struct gnn_shelves *s)
{
	const uint64_t n = s->o.plans.super_batch, version = s->next_version++;
	const uint64_t index = version / n + 1, j = version % n;
	/* One further: batches are prepared ahead of the step at work. */
	const uint64_t planned = index + (is_wanted(s, version + n) ? 1 : 0);
	const struct gnn_plan *p;
	int rc;

	while (gnn_plans_made(s->plans) <= planned)
		GNN_TRY(make_plan(s));
	GNN_TRY(gnn_plans_wait(s->plans, index * n, &p));
	GNN_TRY(make_slice(s, p, j, version));
out:
	return rc;
}

/* The body of the thread. */
static int work(void *arg)
{
	struct gnn_shelves *s = arg;
	int rc = GNN_OK;

	while (is_wanted(s, s->next_version))
		GNN_TRY(make_next(s));
out:
	if (rc < 0) { /* who waits finds the reason where it joins */
		gnn_plans_cancel(s->plans);
		gnn_late_cancel(s->o.late);
	}
	return rc;
}

/* Batches from the first super-batch on that has a queue and is not planned; they never end. */
static int open_batches(struct gnn_shelves *s, uint64_t first)
{
	struct gnn_batches_opts o = s->o.batches;

	o.net = NULL;
	o.plans = NULL;
	o.onehop = NULL;
	o.collect = o.bare = false;
	o.workers = 0;
	o.threads = s->o.embed.threads;
	o.first_step = gnn_max_u64(first, 1) * s->o.plans.super_batch;
	o.last_step = UINT64_MAX;
	return gnn_batches_start(&s->batches, &o);
}

/* Plans from super-batch `first` on; the plan of super-batch 0 is there, and empty. */
static int open_plans(struct gnn_shelves *s, uint64_t first)
{
	struct gnn_plans_opts o = s->o.plans;
	int rc;

	o.first = first;
	GNN_TRY(gnn_plans_create(&s->plans, &o));
	GNN_TRY(open_batches(s, first));
	if (first == 0)
		GNN_TRY(make_plan(s));
out:
	return rc;
}

int gnn_shelves_start(struct gnn_shelves **out, const struct gnn_shelves_opts *o,
	const struct gnn_history *history)
{
	const uint64_t n = o->plans.super_batch, first = o->step / n;
	struct gnn_shelves *s = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(s, GNN_MEM_MISC);
	s->o = *o;
	s->next_version = first > 0 ? (first - 1) * n : 0;
	GNN_TRY(gnn_versions_create(&s->versions, o->net, o->embed.device, n, o->last_step));
	GNN_TRY(gnn_versions_load(s->versions, o->step, history));
	GNN_TRY(gnn_embed_create(&s->embed, &o->embed));
	GNN_TRY(open_plans(s, first));
	while (!o->ahead && s->next_version < o->step && is_wanted(s, s->next_version))
		GNN_TRY(make_next(s));
	GNN_TRY(gnn_shelves_publish(s, o->step));
	if (o->ahead)
		GNN_TRY(gnn_stage_start(&s->stage, "embeddings", work, s));
	*out = s;
	s = NULL;
out:
	gnn_shelves_destroy(s);
	return rc;
}

struct gnn_plans *gnn_shelves_plans(struct gnn_shelves *s)
{
	return s->plans;
}

int gnn_shelves_take(struct gnn_shelves *s, uint64_t step, struct gnn_shelf_part *part)
{
	const uint64_t n = s->o.plans.super_batch, index = step / n;
	const struct gnn_shelf *shelf = &s->shelf[index % SHELVES];
	uint64_t slices;
	int rc;

	*part = (struct gnn_shelf_part){0};
	GNN_TRY(gnn_late_settle(s->o.late, index, &slices, &part->counts));
	if (index == 0 || slices == 0)
		return GNN_OK;
	GNN_ASSERT(shelf->index == index);
	part->rows = shelf->count * slices / n;
	part->shelf = part->rows > 0 ? shelf : NULL;
out:
	return rc;
}

bool gnn_shelves_may_be_late(const struct gnn_shelves *s)
{
	return gnn_late_mode_of(s->o.late) != GNN_LATE_WAIT;
}

bool gnn_shelves_is_settled(struct gnn_shelves *s, uint64_t step)
{
	return gnn_late_is_settled(s->o.late, step / s->o.plans.super_batch);
}

/* 0, 1, 2-3, 4-7 ... */
static uint32_t bin_of(uint64_t staleness)
{
	const uint32_t bits = staleness == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(staleness);

	return bits < GNN_STALE_BINS ? bits : GNN_STALE_BINS - 1;
}

void gnn_shelves_count(const struct gnn_shelves *s, const struct gnn_shelf_part *part,
	uint64_t step, const struct gnn_mix *m, struct gnn_staleness *t,
	struct gnn_onehop_counts *counts)
{
	const uint64_t bound = 2 * s->o.plans.super_batch - 1;

	if (step % s->o.plans.super_batch == 0) { /* once a shelf */
		counts->seconds += part->counts.seconds;
		counts->gathered += part->counts.gathered;
		counts->computed += part->counts.computed;
	}
	counts->reused += m->hot;
	t->bin[0] += m->cold;
	for (uint64_t i = 0; i < m->hot; i++) {
		const uint64_t staleness = step - part->shelf->version[m->kept_row[i]];

		GNN_ASSERT(staleness <= bound);
		t->most = gnn_max_u64(t->most, staleness);
		t->bin[bin_of(staleness)]++;
	}
}

int gnn_shelves_publish(struct gnn_shelves *s, uint64_t step)
{
	int rc;

	GNN_TRY(gnn_versions_publish(s->versions, step));
	if (!s->o.ahead && is_wanted(s, step))
		GNN_TRY(make_next(s));
out:
	return rc;
}

int gnn_shelves_save(struct gnn_shelves *s, uint64_t step, struct gnn_history *h)
{
	return gnn_versions_save(s->versions, step, h);
}

void gnn_shelves_cancel(struct gnn_shelves *s)
{
	if (s == NULL || s->plans == NULL)
		return;
	gnn_versions_cancel(s->versions);
	gnn_plans_cancel(s->plans);
	gnn_late_cancel(s->o.late);
}

int gnn_shelves_join(struct gnn_shelves *s)
{
	return gnn_stage_join(&s->stage);
}

void gnn_shelves_destroy(struct gnn_shelves *s)
{
	struct gnn_err_state kept;

	if (s == NULL)
		return;
	gnn_err_save(&kept, GNN_OK); /* what ends the thread is no news */
	gnn_shelves_cancel(s);
	(void)gnn_stage_join(&s->stage);
	(void)gnn_err_restore(&kept);
	gnn_batches_stop(s->batches);
	gnn_plans_destroy(s->plans);
	for (uint32_t i = 0; i < SHELVES; i++) {
		for (uint32_t p = 0; s->embed != NULL && p < 2; p++)
			gnn_collect_free(gnn_embed_collect(s->embed), &s->shelf[i].rows[p]);
		gnn_room_fini(&s->shelf[i].versions);
	}
	gnn_embed_destroy(s->embed);
	gnn_versions_destroy(s->versions);
	gnn_mem_free(s);
}
