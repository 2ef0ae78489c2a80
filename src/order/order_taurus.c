/* order/order_taurus.c - Taurus, algorithm 1: vertices move to where they are needed. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "order/order.h"

/*
 * One iteration, with N- and d- of op/places.h, and N+(w) the out-neighbours of w and w itself:
 *   mu(v) = 1/d-(v) sum over u in N-(v) of r(u)                                    (one pass, in)
 *   r(w)  = sum over v in N+(w) of mu(v)/d-(v) / sum over v in N+(w) of 1/d-(v)    (one pass, out)
 *   rank  = ArgSort(r), ties as they stood;  r = rank
 * The pass that gives mu of an order also measures it. The order of the smallest span is kept: J
 * falls with each update, C follows it closely but is not bound to.
 */
struct taurus {
	const struct gnn_order_work *w;
	uint64_t                     span_best;
};

/* mu of the places, and how good they are; the best are kept. */
static int centre(struct taurus *t, struct gnn_order_step *step, uint64_t iteration)
{
	struct gnn_places *r = t->w->places;
	int rc;

	GNN_TRY(gnn_spread_measure(&step->spread, t->w->lists, r));
	if (iteration == 0 || step->spread.span < t->span_best) {
		t->span_best = step->spread.span;
		t->w->report->best = iteration;
		GNN_TRY(r->ops->keep(r));
	}
out:
	return rc;
}

static int iterate(struct taurus *t)
{
	struct gnn_order_report *r = t->w->report;
	struct gnn_places *places = t->w->places;
	struct gnn_progress *progress = gnn_progress_begin("taurus", "iterations",
		t->w->o->iterations);
	bool changed = true;
	int rc = GNN_OK;

	while (r->iterations < t->w->o->iterations && changed) {
		struct gnn_order_step *step = &r->iteration[r->iterations];
		uint64_t start = gnn_clock_ns();

		GNN_TRY(gnn_spread_pull(t->w->lists, places));
		GNN_TRY(places->ops->sort(places, &changed));
		GNN_TRY(centre(t, step, ++r->iterations));
		step->wall_s = gnn_clock_s_since(start);
		gnn_order_tell("taurus", r->iterations, step);
		gnn_progress_add(progress, 1, 0);
	}
	r->converged = !changed;
out:
	gnn_progress_end(progress);
	return rc;
}

static int bootstrap(struct taurus *t, uint64_t *rank)
{
	struct gnn_order_report *r = t->w->report;
	struct gnn_places *places = t->w->places;
	uint64_t start = gnn_clock_ns();
	int rc;

	GNN_TRY(gnn_order_find(t->w->o->bootstrap)->make(t->w, rank));
	GNN_TRY(places->ops->prepare(places));
	GNN_TRY(places->ops->put(places, rank));
	GNN_TRY(centre(t, &r->bootstrap, 0));
	r->bootstrap.wall_s = gnn_clock_s_since(start);
	gnn_order_tell("taurus", 0, &r->bootstrap);
out:
	return rc;
}

static int make(const struct gnn_order_work *w, uint64_t *rank)
{
	struct taurus t = {.w = w};
	int rc = GNN_OK;

	GNN_NEW_ARRAY(w->report->iteration, w->o->iterations, GNN_MEM_MISC);
	GNN_TRY(bootstrap(&t, rank));
	GNN_TRY(iterate(&t));
	GNN_TRY(w->places->ops->get(w->places, rank));
out:
	return rc;
}

const struct gnn_order gnn_order_taurus = {
	.name = "taurus", .moves = true, .make = make,
};
