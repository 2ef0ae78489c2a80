/* tier/inlists.c - see inlists.h. */
#include "tier/inlists.h"

#include "base/mem.h"
#include "io/stream.h"

static int read_lists(struct gnn_inlists *l, const struct gnn_store *s)
{
	uint64_t item = gnn_dtype_bytes(s->in.neighbors->dtype), *offset = l->owned_[0];
	int rc;

	GNN_TRY(gnn_array_load(s->container, s->in.offsets, s->first * sizeof(*offset),
		(s->vertices + 1) * sizeof(*offset), offset));
	GNN_TRY(gnn_array_load(s->container, s->in.neighbors, s->first_in * item,
		s->in_edges * item, l->owned_[1]));
	l->read_bytes += gnn_inlists_bytes(s);
	for (gnn_vid v = 0; v <= s->vertices; v++) {
		if (offset[v] - s->first_in > s->in_edges)
			GNN_FAIL(GNN_EDATA, "topology/in/offsets: the list of vertex %llu is not "
				"within the lists", (unsigned long long)(s->first + v));
		offset[v] -= s->first_in;
		if (v > 0 && offset[v] < offset[v - 1])
			GNN_FAIL(GNN_EDATA, "topology/in/offsets: the list of vertex %llu ends "
				"before it begins", (unsigned long long)(s->first + v - 1));
	}
	l->drawn = false;
out:
	return rc;
}

uint64_t gnn_inlists_bytes(const struct gnn_store *s)
{
	return (s->vertices + 1) * sizeof(uint64_t) +
		s->in_edges * gnn_dtype_bytes(s->in.neighbors->dtype);
}

int gnn_inlists_load(struct gnn_inlists *l, const struct gnn_store *s)
{
	uint64_t edges = s->in_edges * gnn_dtype_bytes(s->in.neighbors->dtype);
	int rc;

	*l = (struct gnn_inlists){0};
	GNN_TRY(gnn_mem_pages(&l->owned_[0], (s->vertices + 1) * sizeof(uint64_t),
		GNN_MEM_TOPOLOGY));
	GNN_TRY(gnn_mem_pages(&l->owned_[1], gnn_max_u64(edges, 1), GNN_MEM_TOPOLOGY));
	GNN_TRY(read_lists(l, s));
	l->offset = l->owned_[0];
	if (s->in.neighbors->dtype == GNN_U32)
		l->narrow = l->owned_[1];
	else
		l->wide = l->owned_[1];
out:
	if (rc < 0)
		gnn_inlists_fini(l);
	return rc;
}

static gnn_vid source_at(const struct gnn_inlists *l, uint64_t i)
{
	return l->narrow != NULL ? l->narrow[i] : l->wide[i];
}

static void put_source(struct gnn_inlists *l, uint64_t i, gnn_vid u)
{
	if (l->narrow != NULL)
		((uint32_t *)l->owned_[1])[i] = (uint32_t)u;
	else
		((uint64_t *)l->owned_[1])[i] = u;
}

/* --- which edges are messages --- */

/* The messages among edges [begin, end) into v move to `to`; returns where they end. */
static uint64_t keep_drawn(struct gnn_inlists *l, const struct gnn_inlists_draw *o, gnn_vid v,
	uint64_t begin, uint64_t end, uint64_t to)
{
	const struct gnn_draw *d = &o->draw;
	gnn_vid last = UINT64_MAX;
	uint64_t copy = 0;

	for (uint64_t i = begin; i < end; i++) {
		gnn_vid u = source_at(l, i);

		copy = u == last ? copy + 1 : 0;
		last = u;
		if ((u == v && o->drop_loops) || (d->fanout != 0 &&
			!gnn_draw_keeps(d, gnn_draw_source(d, u, copy), v)))
			continue;
		put_source(l, to++, u);
	}
	return to;
}

/* --- in which order they come --- */

/* Room to sort a list in: its messages as (panel, rank, row of the panel), by rank at first. */
struct sorter {
	const struct gnn_inlists_order *order;
	uint64_t *key, *spare;  /* (longest list) */
	uint64_t *begin;        /* (ranks + 1) of each rank's */
};

/* Keys of the messages [first, end), which ascend. GNN_EDATA where they do not. */
static int take_keys(struct sorter *s, const struct gnn_inlists *l, gnn_vid v, uint64_t first,
	uint64_t end)
{
	const struct gnn_inlists_order *o = s->order;
	uint64_t height = o->panel_rows, i = first;

	for (uint32_t q = 0; q < o->ranks; q++) {
		s->begin[q] = i - first;
		for (; i < end; i++) {
			uint64_t row = source_at(l, i) - o->bound[q];

			if (row >= o->bound[q + 1] - o->bound[q])
				break;
			s->key[i - first] = (row / height * o->ranks + q) * height + row % height;
		}
	}
	s->begin[o->ranks] = i - first;
	if (i < end)
		return gnn_err(GNN_EDATA, "topology/in/neighbors: the list of vertex %llu does not "
			"ascend within the graph", (unsigned long long)v);
	return GNN_OK;
}

/* [begin, middle) and [middle, end), sorted both, into one. */
static void merge(const uint64_t *from, uint64_t *to, uint64_t begin, uint64_t middle, uint64_t end)
{
	uint64_t a = begin, b = middle;

	for (uint64_t i = begin; i < end; i++)
		to[i] = b == end || (a < middle && from[a] <= from[b]) ? from[a++] : from[b++];
}

/* Neighbouring ranks' messages become one, until all are. */
static void sort_keys(struct sorter *s)
{
	uint32_t ranks = s->order->ranks;

	for (uint64_t each = 1; each < ranks; each *= 2) {
		uint64_t *other = s->spare;

		for (uint64_t q = 0; q < ranks; q += 2 * each)
			merge(s->key, s->spare, s->begin[q],
				s->begin[gnn_min_u64(q + each, ranks)],
				s->begin[gnn_min_u64(q + 2 * each, ranks)]);
		s->spare = s->key;
		s->key = other;
	}
}

/* Messages [first, end) into v, as they come, and of each the row that it is of its rank. */
static int sort_list(struct sorter *s, struct gnn_inlists *l, gnn_vid v, uint64_t first,
	uint64_t end)
{
	uint64_t height = s->order->panel_rows;
	int rc;

	GNN_TRY(take_keys(s, l, v, first, end));
	sort_keys(s);
	for (uint64_t i = first; i < end; i++) {
		uint64_t key = s->key[i - first];

		put_source(l, i, key / height / s->order->ranks * height + key % height);
	}
out:
	return rc;
}

uint64_t gnn_inlists_sort_bytes(uint64_t longest, uint32_t ranks)
{
	return (2 * longest + ranks + 1) * sizeof(uint64_t);
}

static int open_sorter(struct sorter *s, const struct gnn_inlists_draw *o, const uint64_t *offset)
{
	uint64_t longest = 0;
	int rc = GNN_OK;

	*s = (struct sorter){.order = o->order};
	if (o->order == NULL)
		return GNN_OK;
	for (gnn_vid v = 0; v < o->store->vertices; v++)
		longest = gnn_max_u64(longest, offset[v + 1] - offset[v]);
	GNN_NEW_ARRAY(s->key, longest, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(s->spare, longest, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(s->begin, o->order->ranks + UINT64_C(1), GNN_MEM_TOPOLOGY);
out:
	return rc;
}

static void close_sorter(struct sorter *s)
{
	gnn_mem_free(s->key);
	gnn_mem_free(s->spare);
	gnn_mem_free(s->begin);
}

int gnn_inlists_draw(struct gnn_inlists *l, const struct gnn_inlists_draw *o)
{
	uint64_t *offset = l->owned_[0], begin = 0, to = 0, fanout = o->draw.fanout;
	const struct gnn_store *s = o->store;
	struct sorter sorter = {0};
	int rc = GNN_OK;

	if (l->drawn && fanout == 0 && l->fanout_ == 0 && l->loops_ == o->drop_loops)
		return GNN_OK;
	if (l->drawn)
		GNN_TRY(read_lists(l, s));
	if (fanout == 0 && o->order == NULL)
		return GNN_OK;
	GNN_TRY(open_sorter(&sorter, o, offset));
	for (gnn_vid v = 0; v < s->vertices; v++) {
		uint64_t end = offset[v + 1], first = to;

		to = keep_drawn(l, o, s->first + v, begin, end, to);
		if (o->order != NULL)
			GNN_TRY(sort_list(&sorter, l, s->first + v, first, to));
		offset[v] = first;
		begin = end;
	}
	offset[s->vertices] = to;
	l->drawn = true;
	l->fanout_ = fanout;
	l->loops_ = o->drop_loops;
out:
	close_sorter(&sorter);
	return rc;
}

void gnn_inlists_fini(struct gnn_inlists *l)
{
	gnn_mem_free(l->owned_[0]);
	gnn_mem_free(l->owned_[1]);
	*l = (struct gnn_inlists){0};
}
