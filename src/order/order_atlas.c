/* order/order_atlas.c - ATLAS, greedy: next comes the source that completes most destinations. */
#include "base/mem.h"
#include "base/progress.h"
#include "order/order.h"

#include <string.h>

/*
 * The paper gives one phrase ("maximises completion rate"); this is our reading. A source streams
 * its messages to its distinct out-neighbours and its own row to itself. It completes those of
 * which it is the last missing source, and activates those that no source has reached yet. Next is
 * the one that completes most; of equals the one that activates fewest, then the smallest id.
 *
 * While sources are placed, those left complete more and activate fewer, so they only rise in a
 * heap. Each vertex has its in-list walked twice: when it becomes active, and when one source is
 * left. All in all O(E) rises.
 */
enum { WAYS = 4, VERTEX_BYTES = 5 * 8 + 1 };

#define PLACED UINT64_MAX

struct atlas {
	const struct gnn_order_work *w;
	uint64_t *missing;    /* (V) distinct sources not placed yet */
	bool     *active;     /* (V) */
	uint64_t *completes;  /* (V) destinations that each source would complete */
	uint64_t *activates;  /* (V) and activate */
	gnn_vid  *heap;       /* (V) the best in front */
	uint64_t *at;         /* (V) in the heap, or PLACED */
	uint64_t  count;      /* in the heap */
};

static void destroy(struct atlas *a)
{
	gnn_mem_free(a->missing);
	gnn_mem_free(a->active);
	gnn_mem_free(a->completes);
	gnn_mem_free(a->activates);
	gnn_mem_free(a->heap);
	gnn_mem_free(a->at);
}

/* --- distinct neighbours, and the vertex itself --- */

struct walk {
	struct gnn_list l;
	uint64_t        i;
	gnn_vid         own;
	bool            begun;
};

static struct walk walk_of(const struct atlas *a, enum gnn_direction d, gnn_vid v)
{
	return (struct walk){.l = gnn_lists_of(a->w->lists, d, v), .own = v};
}

/* The vertex itself first; false behind the last. */
static bool step(struct walk *w, gnn_vid *v)
{
	if (!w->begun) {
		w->begun = true;
		*v = w->own;
		return true;
	}
	for (; w->i < w->l.count; w->i++) {
		gnn_vid u = gnn_list_at(&w->l, w->i);

		if (u == w->own || (w->i > 0 && u == gnn_list_at(&w->l, w->i - 1)))
			continue;
		w->i++;
		*v = u;
		return true;
	}
	return false;
}

static uint64_t count_distinct(const struct atlas *a, enum gnn_direction d, gnn_vid v)
{
	struct walk w = walk_of(a, d, v);
	uint64_t count = 0;

	for (gnn_vid u; step(&w, &u);)
		count++;
	return count;
}

/* --- the heap --- */

static bool is_better(const struct atlas *a, gnn_vid x, gnn_vid y)
{
	if (a->completes[x] != a->completes[y])
		return a->completes[x] > a->completes[y];
	if (a->activates[x] != a->activates[y])
		return a->activates[x] < a->activates[y];
	return x < y;
}

static void put_at(struct atlas *a, uint64_t i, gnn_vid v)
{
	a->heap[i] = v;
	a->at[v] = i;
}

static void rise(struct atlas *a, gnn_vid v)
{
	uint64_t i = a->at[v];

	for (; i > 0 && is_better(a, v, a->heap[(i - 1) / WAYS]); i = (i - 1) / WAYS)
		put_at(a, i, a->heap[(i - 1) / WAYS]);
	put_at(a, i, v);
}

static void sink(struct atlas *a, uint64_t i, gnn_vid v)
{
	for (;;) {
		uint64_t first = i * WAYS + 1, best = first;

		if (first >= a->count)
			break;
		for (uint64_t c = first + 1; c < gnn_min_u64(first + WAYS, a->count); c++)
			if (is_better(a, a->heap[c], a->heap[best]))
				best = c;
		if (!is_better(a, a->heap[best], v))
			break;
		put_at(a, i, a->heap[best]);
		i = best;
	}
	put_at(a, i, v);
}

static gnn_vid take_best(struct atlas *a)
{
	gnn_vid best = a->heap[0], last = a->heap[--a->count];

	if (a->count > 0)
		sink(a, 0, last);
	a->at[best] = PLACED;
	return best;
}

/* --- placing --- */

static void count_up(struct atlas *a)
{
	uint64_t count = a->w->vertices;

#pragma omp parallel for schedule(dynamic, 1024) num_threads((int)a->w->o->threads)
	for (gnn_vid v = 0; v < count; v++) {
		a->missing[v] = count_distinct(a, GNN_IN, v);
		a->activates[v] = count_distinct(a, GNN_OUT, v);
		a->completes[v] = a->missing[v] == 1; /* no source but itself */
		put_at(a, v, v);
	}
	a->count = count;
	for (uint64_t i = count; i-- > 0;)
		sink(a, i, a->heap[i]);
}

/* No source that is left will activate v. */
static void activate(struct atlas *a, gnn_vid v)
{
	struct walk w = walk_of(a, GNN_IN, v);

	a->active[v] = true;
	for (gnn_vid u; step(&w, &u);) {
		if (a->at[u] == PLACED)
			continue;
		a->activates[u]--;
		rise(a, u);
	}
}

/* The last source that v misses would complete it. */
static void credit_last(struct atlas *a, gnn_vid v)
{
	struct walk w = walk_of(a, GNN_IN, v);

	for (gnn_vid u; step(&w, &u);) {
		if (a->at[u] == PLACED)
			continue;
		a->completes[u]++;
		rise(a, u);
		return;
	}
}

static void place(struct atlas *a, gnn_vid u)
{
	struct walk w = walk_of(a, GNN_OUT, u);

	for (gnn_vid v; step(&w, &v);) {
		a->missing[v]--;
		if (!a->active[v])
			activate(a, v);
		if (a->missing[v] == 1)
			credit_last(a, v);
	}
}

static int create(struct atlas *a)
{
	uint64_t v = a->w->vertices;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(a->missing, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(a->active, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(a->completes, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(a->activates, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(a->heap, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(a->at, v, GNN_MEM_TOPOLOGY);
	count_up(a);
out:
	return rc;
}

static int make(const struct gnn_order_work *w, uint64_t *rank)
{
	struct gnn_progress *progress = gnn_progress_begin("atlas", "vertices", w->vertices);
	struct atlas a = {.w = w};
	int rc;

	GNN_TRY(create(&a));
	for (uint64_t i = 0; i < w->vertices; i++) {
		gnn_vid u = take_best(&a);

		rank[u] = i;
		place(&a, u);
		gnn_progress_add(progress, 1, 0);
	}
out:
	gnn_progress_end(progress);
	destroy(&a);
	return rc;
}

const struct gnn_order gnn_order_atlas = {
	.name = "atlas", .at_random = true, .vertex_bytes = VERTEX_BYTES, .make = make,
};
