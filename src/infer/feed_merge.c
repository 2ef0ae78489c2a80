/*
 * infer/feed_merge.c - the edges of a round as one list, for backends that group; see feed.h.
 *
 * The list has a row for each row at hand that has edges, and for each own row of the chunk where
 * those are entries: by panel of the chunk, then by rank, then by source. Which row at hand that is
 * stands beside it. Packets are taken over by the next round, so the edges are copied.
 */
#include "base/mem.h"
#include "infer/feed_inside.h"
#include "infer/neighbors.h"

#include <string.h>

static uint64_t edge_room(const struct gnn_feed *f)
{
	return f->o.list_bytes / gnn_dtype_bytes(f->o.store->out.neighbors->dtype);
}

static void add_row(struct gnn_work *w, uint64_t source, uint64_t edges)
{
	struct gnn_edge_list *l = &w->list;

	w->source_[l->rows] = (uint32_t)source;
	w->offsets_[l->rows + 1] = w->offsets_[l->rows] + edges;
	l->rows++;
}

/* Rows of this rank's chunk from row i to `end`; *at goes on in its packet. Returns their edges. */
static uint64_t lay_own(const struct gnn_feed *f, struct gnn_work *w, uint64_t i, uint64_t end,
	uint64_t *at)
{
	const struct gnn_packet *p = &f->packets.out[f->o.share->rank];
	uint64_t begin = w->offsets_[w->list.rows];

	for (end = gnn_min_u64(end, w->rows); i < end; i++) {
		bool listed = *at < p->rows && p->row[*at] == i;

		if (listed || f->o.own_entries)
			add_row(w, i, listed ? p->count[*at] : 0);
		*at += listed;
	}
	return w->offsets_[w->list.rows] - begin;
}

/* Rows of another rank's packet in front of row `end` of its chunk, which stand from `take` on. */
static uint64_t lay_other(const struct gnn_feed *f, struct gnn_work *w, uint32_t q, uint64_t take,
	uint64_t end, uint64_t *at)
{
	const struct gnn_packet *p = &f->packets.in[q];
	uint64_t begin = w->offsets_[w->list.rows];

	for (; *at < p->rows && p->row[*at] < end; ++*at)
		add_row(w, f->o.chunk_rows + take + *at, p->count[*at]);
	return w->offsets_[w->list.rows] - begin;
}

/* All rows of the round, and how many edges each (panel, rank) has. */
static void lay_out(struct gnn_feed *f, struct gnn_work *w)
{
	const struct gnn_share *s = f->o.share;
	uint64_t *slice = f->slice;

	memset(f->place, 0, s->size * sizeof(*f->place));
	w->offsets_[0] = 0;
	for (uint64_t i = 0; i < f->o.chunk_rows; i += f->o.panel_rows)
		for (uint32_t q = 0; q < s->size; q++)
			*slice++ = q == s->rank ?
				lay_own(f, w, i, i + f->o.panel_rows, &f->place[q]) :
				lay_other(f, w, q, f->taken[q], i + f->o.panel_rows, &f->place[q]);
	GNN_ASSERT(w->list.rows <= s->size * f->o.chunk_rows);
}

/* The list is cut: it goes on in another item. */
static int cut(struct gnn_feed *f, struct gnn_work **w)
{
	struct gnn_edge_list *l = &(*w)->list;
	struct gnn_work like;
	int rc;

	l->row_end = gnn_row_from(l->offsets, l->row_begin, l->rows, l->edge_end);
	like = **w;
	like.first = false;
	GNN_TRY(gnn_queue_push(f->ready, *w));
	GNN_TRY(gnn_feed_begin(f, w, &like));
	(*w)->list = like.list;
	(*w)->list.row_begin = like.list.row_end;
	(*w)->list.edge_begin = like.list.edge_end;
	(*w)->list.neighbors = (*w)->edges_;
	(*w)->list.weights = (*w)->edge_weights_;
out:
	return rc;
}

/* Edges [from, from + count) of a packet. */
static int put_edges(struct gnn_feed *f, struct gnn_work **w, const struct gnn_packet *p,
	uint64_t from, uint64_t count)
{
	uint32_t item = gnn_dtype_bytes(f->o.store->out.neighbors->dtype);
	int rc = GNN_OK;

	while (count > 0) {
		struct gnn_edge_list *l = &(*w)->list;
		uint64_t there = l->edge_end - l->edge_begin;
		uint64_t some = gnn_min_u64(count, edge_room(f) - there);

		if (some == 0) {
			GNN_TRY(cut(f, w));
			continue;
		}
		memcpy((char *)(*w)->edges_ + there * item, (char *)p->neighbors + from * item,
			some * item);
		if (f->o.weighted)
			memcpy((*w)->edge_weights_ + there, p->weights + from,
				some * sizeof(float));
		l->edge_end += some;
		from += some;
		count -= some;
	}
out:
	return rc;
}

int gnn_feed_merge(struct gnn_feed *f, struct gnn_work **w)
{
	const struct gnn_share *s = f->o.share;
	const uint64_t *slice = f->slice;
	int rc = GNN_OK;

	(*w)->list = (struct gnn_edge_list){.first_vertex = (*w)->first_row,
		.offsets = (*w)->offsets_, .source = (*w)->source_, .own_rows = (*w)->rows,
		.dtype = f->o.store->out.neighbors->dtype, .own = f->o.own_entries,
		.weighted = f->o.weighted, .own_weights = f->o.own_weights, .to = f->o.to,
		.sample = f->o.sample, .drawn = true, .neighbors = (*w)->edges_,
		.weights = (*w)->edge_weights_};
	lay_out(f, *w);
	memset(f->place, 0, s->size * sizeof(*f->place));
	for (uint64_t i = 0; i < f->o.chunk_rows; i += f->o.panel_rows)
		for (uint32_t q = 0; q < s->size; q++) {
			GNN_TRY(put_edges(f, w, q == s->rank ? &f->packets.out[q] :
				&f->packets.in[q], f->place[q], *slice));
			f->place[q] += *slice++;
		}
	(*w)->list.row_end = (*w)->list.rows;
out:
	return rc;
}

static int alloc_pages(void *out, uint64_t bytes)
{
	void *block;
	int rc = gnn_mem_pages(&block, gnn_max_u64(bytes, 1), GNN_MEM_IO);

	memcpy(out, &block, sizeof(block));
	return rc;
}

int gnn_feed_merge_init(struct gnn_feed *f)
{
	const struct gnn_feed_opts *o = &f->o;
	uint64_t rows = o->share->size * o->chunk_rows;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < o->ahead; i++) {
		struct gnn_work *w = &f->work[i];

		GNN_TRY(alloc_pages(&w->offsets_, (rows + 1) * sizeof(*w->offsets_)));
		GNN_TRY(alloc_pages(&w->source_, rows * sizeof(*w->source_)));
		GNN_TRY(alloc_pages(&w->edges_, o->list_bytes));
		if (o->weighted)
			GNN_TRY(alloc_pages(&w->edge_weights_, edge_room(f) * sizeof(float)));
	}
	GNN_NEW_ARRAY(f->place, o->share->size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(f->slice, o->share->size * gnn_ceil_div(o->chunk_rows, o->panel_rows),
		GNN_MEM_MISC);
out:
	return rc;
}

uint64_t gnn_feed_merge_bytes(const struct gnn_feed_opts *o)
{
	uint64_t rows = o->share->size * o->chunk_rows;

	return o->ahead * (rows * (sizeof(uint64_t) + sizeof(uint32_t)) +
		o->list_bytes + (o->weighted ? o->list_bytes /
			gnn_dtype_bytes(o->store->out.neighbors->dtype) * sizeof(float) : 0));
}
