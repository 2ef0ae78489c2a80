/* order/order_rcm.c - reverse Cuthill-McKee on A + A^T, every component. */
#include "base/mem.h"
#include "base/progress.h"
#include "op/argsort.h"
#include "order/order.h"

#include <string.h>

/*
 * Breadth first from a vertex at the rim of each component, children of a vertex by ascending
 * degree, then id; all of it reversed. The degree of a vertex is that of A + A^T as a multigraph,
 * in plus out. The rim is found by George and Liu: from the component's vertex of least degree to
 * the vertex of least degree among the farthest from it, again while the distance grows.
 * Components come in the order of their least degrees, then ids.
 */
enum { VERTEX_BYTES = 8 + 4 + 3 * sizeof(struct gnn_sort_pair) };

#define NUMBERED UINT32_MAX

struct rcm {
	const struct gnn_order_work *w;
	const uint64_t       *offsets[GNN_DIRECTIONS];
	uint64_t             *queue;  /* (V) numbered vertices, behind them a search */
	uint64_t              count;  /* numbered */
	uint32_t             *mark;   /* (V) the last search that saw it, or NUMBERED */
	uint32_t              search;
	struct gnn_sort_pair *seed;   /* (V) all vertices by degree */
	struct gnn_sort_pair *child;  /* (V) */
	struct gnn_sort_pair *spare;  /* (V) */
};

static void destroy(struct rcm *r)
{
	gnn_mem_free(r->queue);
	gnn_mem_free(r->mark);
	gnn_mem_free(r->seed);
	gnn_mem_free(r->child);
	gnn_mem_free(r->spare);
}

static uint64_t degree(const struct rcm *r, gnn_vid v)
{
	return r->offsets[GNN_OUT][v + 1] - r->offsets[GNN_OUT][v] +
		r->offsets[GNN_IN][v + 1] - r->offsets[GNN_IN][v];
}

static int create(struct rcm *r)
{
	uint64_t v = r->w->vertices;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(r->queue, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(r->mark, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(r->seed, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(r->child, v, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(r->spare, v, GNN_MEM_TOPOLOGY);
	for (int d = 0; d < GNN_DIRECTIONS; d++)
		r->offsets[d] = gnn_lists_offsets(r->w->lists, (enum gnn_direction)d);
	for (uint64_t i = 0; i < v; i++)
		r->seed[i] = (struct gnn_sort_pair){degree(r, i), i};
	gnn_argsort(r->seed, r->spare, v, r->w->o->threads);
out:
	return rc;
}

/* --- the rim of a component --- */

/* How far the search came, and where the farthest vertices begin in the queue. */
struct reach {
	uint64_t distance, last, end;
};

static void look(struct rcm *r, enum gnn_direction d, gnn_vid v, struct reach *to)
{
	struct gnn_list l = gnn_lists_of(r->w->lists, d, v);

	for (uint64_t i = 0; i < l.count; i++) {
		gnn_vid u = gnn_list_at(&l, i);

		if (r->mark[u] == r->search)
			continue;
		GNN_DASSERT(r->mark[u] != NUMBERED); /* components are numbered whole */
		r->mark[u] = r->search;
		r->queue[to->end++] = u;
	}
}

/* Breadth first, into the queue behind what is numbered. */
static struct reach search_from(struct rcm *r, gnn_vid v)
{
	struct reach to = {.last = r->count, .end = r->count};

	if (++r->search == NUMBERED) { /* marks of old searches are of no use any more */
		for (uint64_t u = 0; u < r->w->vertices; u++)
			r->mark[u] = r->mark[u] == NUMBERED ? NUMBERED : 0;
		r->search = 1;
	}
	r->mark[v] = r->search;
	r->queue[to.end++] = v;
	for (;;) {
		uint64_t end = to.end;

		for (uint64_t i = to.last; i < end; i++) {
			look(r, GNN_OUT, r->queue[i], &to);
			look(r, GNN_IN, r->queue[i], &to);
		}
		if (to.end == end)
			return to;
		to.last = end;
		to.distance++;
	}
}

static gnn_vid least_of_farthest(const struct rcm *r, const struct reach *to)
{
	gnn_vid least = r->queue[to->last];

	for (uint64_t i = to->last + 1; i < to->end; i++) {
		gnn_vid v = r->queue[i];
		uint64_t a = degree(r, v), b = degree(r, least);

		if (a < b || (a == b && v < least))
			least = v;
	}
	return least;
}

static gnn_vid find_rim(struct rcm *r, gnn_vid v)
{
	struct reach reach = search_from(r, v), farther;

	while (reach.distance > 0) {
		gnn_vid next = least_of_farthest(r, &reach);

		farther = search_from(r, next);
		if (farther.distance <= reach.distance)
			break;
		v = next;
		reach = farther;
	}
	return v;
}

/* --- numbering --- */

/* Neighbours of both directions not yet numbered, ascending by id, each once. */
static uint64_t take_children(struct rcm *r, gnn_vid v)
{
	struct gnn_list out = gnn_lists_of(r->w->lists, GNN_OUT, v);
	struct gnn_list in = gnn_lists_of(r->w->lists, GNN_IN, v);
	uint64_t i = 0, k = 0, count = 0;

	while (i < out.count || k < in.count) {
		bool left = k == in.count ||
			(i < out.count && gnn_list_at(&out, i) <= gnn_list_at(&in, k));
		gnn_vid u = left ? gnn_list_at(&out, i++) : gnn_list_at(&in, k++);

		if (r->mark[u] == NUMBERED)
			continue;
		r->mark[u] = NUMBERED;
		r->child[count++] = (struct gnn_sort_pair){degree(r, u), u};
	}
	return count;
}

static void number_from(struct rcm *r, gnn_vid v, struct gnn_progress *progress)
{
	uint64_t first = r->count;

	r->mark[v] = NUMBERED;
	r->queue[r->count++] = v;
	for (uint64_t i = first; i < r->count; i++) {
		uint64_t children = take_children(r, r->queue[i]);

		gnn_argsort(r->child, r->spare, children, 1);
		for (uint64_t k = 0; k < children; k++)
			r->queue[r->count++] = r->child[k].id;
	}
	gnn_progress_add(progress, r->count - first, 0);
}

static void number_all(struct rcm *r)
{
	struct gnn_progress *progress = gnn_progress_begin("rcm", "vertices", r->w->vertices);

	for (uint64_t i = 0; i < r->w->vertices; i++)
		if (r->mark[r->seed[i].id] != NUMBERED)
			number_from(r, find_rim(r, r->seed[i].id), progress);
	gnn_progress_end(progress);
}

static int make(const struct gnn_order_work *w, uint64_t *rank)
{
	struct rcm r = {.w = w};
	int rc;

	GNN_TRY(create(&r));
	number_all(&r);
	GNN_ASSERT(r.count == w->vertices);
	for (uint64_t i = 0; i < w->vertices; i++)
		rank[r.queue[i]] = w->vertices - 1 - i;
out:
	destroy(&r);
	return rc;
}

const struct gnn_order gnn_order_rcm = {
	.name = "rcm", .at_random = true, .vertex_bytes = VERTEX_BYTES, .make = make,
};
