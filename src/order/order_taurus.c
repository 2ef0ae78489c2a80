/* order/order_taurus.c - Taurus, algorithm 1: vertices move to where they are needed. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "order/argsort.h"
#include "order/order.h"

#include <string.h>

/*
 * One iteration, with N- and d- of spread.h, and N+(w) the out-neighbours of w and w itself:
 *   mu(v) = 1/d-(v) sum over u in N-(v) of r(u)                                    (one pass, in)
 *   r(w)  = sum over v in N+(w) of mu(v)/d-(v) / sum over v in N+(w) of 1/d-(v)    (one pass, out)
 *   rank  = ArgSort(r), ties as they stood;  r = rank
 * The pass that gives mu of an order also measures it. The order of the smallest span is kept: J
 * falls with each update, C follows it closely but is not bound to.
 */
enum {
	BLOCK = 2048, /* vertices of a task */
	VERTEX_BYTES = 8 + sizeof(struct gnn_centre) + 2 * sizeof(struct gnn_sort_pair),
};

struct taurus {
	const struct gnn_order_work *w;
	uint64_t             *rank, *best; /* (V) */
	struct gnn_centre    *centre;      /* (V) */
	struct gnn_sort_pair *pair;        /* (V) in the order of the ranks */
	struct gnn_sort_pair *spare;       /* (V) and the changes of activity, (V + 1) */
	double               *block;
	uint64_t              span_best;
};

static void destroy(struct taurus *t)
{
	gnn_mem_free(t->best);
	gnn_mem_free(t->centre);
	gnn_mem_free(t->pair);
	gnn_mem_free(t->spare);
	gnn_mem_free(t->block);
}

static int create(struct taurus *t)
{
	uint64_t v = t->w->vertices;
	int rc = GNN_OK;

	_Static_assert(sizeof(*t->spare) >= sizeof(int64_t), "changes fit the spare pairs");
	GNN_NEW_ARRAY(t->best, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(t->centre, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(t->pair, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(t->spare, v + 1, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(t->block, gnn_spread_blocks(v), GNN_MEM_TOPOLOGY);
out:
	return rc;
}

/* mu of the ranks, and how good they are; the best are kept. */
static int centre(struct taurus *t, struct gnn_order_step *step, uint64_t iteration)
{
	const struct gnn_spread_work work = {.rank = t->rank, .change = (int64_t *)t->spare,
		.centre = t->centre, .block = t->block, .threads = t->w->o->threads};
	int rc;

	GNN_TRY(gnn_spread_measure(&step->spread, t->w->lists, t->w->vertices, &work));
	if (iteration == 0 || step->spread.span < t->span_best) {
		t->span_best = step->spread.span;
		t->w->report->best = iteration;
		memcpy(t->best, t->rank, t->w->vertices * sizeof(*t->best));
	}
out:
	return rc;
}

static void move_block(struct taurus *t, const struct gnn_lists_part *p, gnn_vid first, gnn_vid end)
{
	for (gnn_vid w = first; w < end; w++) {
		struct gnn_list l = gnn_lists_in_part(p, w);
		struct gnn_centre sum = t->centre[w];

		for (uint64_t i = 0; i < l.count; i++) {
			const struct gnn_centre *c = &t->centre[gnn_list_at(&l, i)];

			sum.pull += c->pull;
			sum.weight += c->weight;
		}
		t->pair[t->rank[w]] = (struct gnn_sort_pair){
			gnn_sort_key(sum.pull / sum.weight), w};
	}
}

/* r of the centres. */
static int move(struct taurus *t)
{
	struct gnn_lists_part p;
	int rc;

	GNN_TRY(gnn_lists_begin(t->w->lists, GNN_OUT));
	while ((rc = gnn_lists_next(t->w->lists, &p)) == GNN_OK) {
		uint64_t tasks = gnn_ceil_div(p.end - p.first, BLOCK);

#pragma omp parallel for schedule(dynamic) num_threads((int)t->w->o->threads)
		for (uint64_t b = 0; b < tasks; b++)
			move_block(t, &p, p.first + b * BLOCK,
				gnn_min_u64(p.first + (b + 1) * BLOCK, p.end));
	}
out:
	return rc < 0 ? rc : GNN_OK;
}

/* Ranks of r; whether any of them changed. */
static bool sort(struct taurus *t)
{
	uint64_t changed = 0;

	gnn_argsort(t->pair, t->spare, t->w->vertices, t->w->o->threads);
#pragma omp parallel for schedule(static) num_threads((int)t->w->o->threads) reduction(+ : changed)
	for (uint64_t i = 0; i < t->w->vertices; i++) {
		changed += t->rank[t->pair[i].id] != i;
		t->rank[t->pair[i].id] = i;
	}
	return changed != 0;
}

static int iterate(struct taurus *t)
{
	struct gnn_order_report *r = t->w->report;
	struct gnn_progress *progress = gnn_progress_begin("taurus", "iterations",
		t->w->o->iterations);
	int rc = GNN_OK;

	while (r->iterations < t->w->o->iterations && !r->converged) {
		struct gnn_order_step *step = &r->iteration[r->iterations];
		uint64_t start = gnn_clock_ns();

		GNN_TRY(move(t));
		r->converged = !sort(t);
		GNN_TRY(centre(t, step, ++r->iterations));
		step->wall_s = gnn_clock_s_since(start);
		gnn_order_tell("taurus", r->iterations, step);
		gnn_progress_add(progress, 1, 0);
	}
out:
	gnn_progress_end(progress);
	return rc;
}

static int bootstrap(struct taurus *t)
{
	struct gnn_order_report *r = t->w->report;
	uint64_t start = gnn_clock_ns();
	int rc;

	GNN_TRY(gnn_order_find(t->w->o->bootstrap)->make(t->w, t->rank));
	GNN_TRY(create(t));
	GNN_TRY(centre(t, &r->bootstrap, 0));
	r->bootstrap.wall_s = gnn_clock_s_since(start);
	gnn_order_tell("taurus", 0, &r->bootstrap);
out:
	return rc;
}

static int make(const struct gnn_order_work *w, uint64_t *rank)
{
	struct taurus t = {.w = w, .rank = rank};
	int rc = GNN_OK;

	GNN_NEW_ARRAY(w->report->iteration, w->o->iterations, GNN_MEM_MISC);
	GNN_TRY(bootstrap(&t));
	GNN_TRY(iterate(&t));
	memcpy(rank, t.best, w->vertices * sizeof(*rank));
out:
	destroy(&t);
	return rc;
}

const struct gnn_order gnn_order_taurus = {
	.name = "taurus", .vertex_bytes = VERTEX_BYTES, .make = make,
};
