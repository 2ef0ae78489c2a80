/*
 * infer/feed_lists.c - a chunk's edges as they lie in the store, for backends that group; see
 * feed.h.
 */
#include "infer/feed_inside.h"
#include "infer/neighbors.h"

#include <string.h>

/* The chunk's offsets copied, with the end of its last row behind them. */
static int copy_offsets(struct gnn_feed *f, const struct gnn_work *w, gnn_eid end)
{
	const uint64_t *offset = f->offset_piece->data;
	gnn_eid cursor = f->edge_cursor;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < w->rows && rc == GNN_OK; i++) {
		gnn_eid row_end = i + 1 < w->rows ? offset[i + 1] : end;

		rc = gnn_feed_check_row(f, w->first_row + i, offset[i], row_end);
		f->edge_cursor = row_end;
	}
	f->edge_cursor = cursor;
	memcpy(w->offsets_, offset, w->rows * sizeof(*offset));
	w->offsets_[w->rows] = end;
	return rc;
}

/* Copies of the list's first edge that the items before hold. */
static uint64_t copies_before(const struct gnn_feed *f, const struct gnn_edge_list *l)
{
	if (f->tail_copies == 0 || l->edge_begin == l->edge_end ||
		gnn_neighbor_at(l->neighbors, l->dtype, 0) != f->tail)
		return 0;
	return f->tail_copies;
}

/* Of a list that is cut behind `l`: where its last edge leads, and how often so far. */
static void count_tail(struct gnn_feed *f, const struct gnn_edge_list *l)
{
	uint64_t count = l->edge_end - l->edge_begin, i = count, begin;

	f->tail_copies = 0;
	if (count == 0 || l->offsets[l->row_end] == l->edge_end)
		return;
	begin = gnn_max_u64(l->offsets[l->row_end - 1], l->edge_begin) - l->edge_begin;
	f->tail = gnn_neighbor_at(l->neighbors, l->dtype, count - 1);
	while (i > begin && gnn_neighbor_at(l->neighbors, l->dtype, i - 1) == f->tail)
		i--;
	f->tail_copies = count - i + (i == 0 ? l->copies : 0);
}

/* The chunk's edges as they lie in the store, an item for each neighbour piece they touch. */
int gnn_feed_lists(struct gnn_feed *f, struct gnn_work *w, const struct gnn_feed_chunk *c,
	gnn_eid end)
{
	enum gnn_dtype dtype = f->o.store->out.neighbors->dtype;
	struct gnn_work like;
	int rc;

	GNN_TRY(copy_offsets(f, w, end));
	w->list = (struct gnn_edge_list){.first_vertex = w->first_row, .rows = w->rows,
		.edge_begin = f->edge_cursor, .offsets = w->offsets_, .dtype = dtype,
		.own = f->o.own_entries, .drop_loops = f->o.drop_loops, .to = f->o.to,
		.weighted = f->o.weighted, .own_weights = f->o.own_weights,
		.sample = f->o.sample};
	for (;;) {
		struct gnn_edge_list *l = &w->list;
		uint32_t item = gnn_dtype_bytes(dtype);

		if (f->edge_cursor < end && f->edge_cursor == f->edge_end)
			GNN_TRY(gnn_feed_next_edges(f));
		l->edge_end = gnn_min_u64(end, gnn_max_u64(f->edge_end, f->edge_cursor));
		if (f->edge_piece != NULL)
			l->neighbors = (const char *)f->edge_piece->data +
				(l->edge_begin * item - f->edge_piece->first_byte);
		l->weights = gnn_feed_weights(f, l->edge_begin);
		l->copies = copies_before(f, l);
		f->edge_cursor = l->edge_end;
		if (f->edge_cursor == f->edge_end) { /* the item takes the piece along */
			w->neighbors_ = f->edge_piece;
			w->weights_ = f->weight_piece;
			f->edge_piece = NULL;
			f->weight_piece = NULL;
		}
		l->row_end = f->edge_cursor == end ? l->rows :
			gnn_row_from(l->offsets, l->row_begin, l->rows, l->edge_end);
		count_tail(f, l);
		if (f->edge_cursor == end)
			break;
		like = *w;
		like.first = false;
		GNN_TRY(gnn_queue_push(f->ready, w));
		GNN_TRY(gnn_feed_begin(f, &w, &like));
		memmove(w->offsets_, like.offsets_, (w->rows + 1) * sizeof(*w->offsets_));
		w->list = like.list;
		w->list.offsets = w->offsets_;
		w->list.row_begin = like.list.row_end;
		w->list.edge_begin = like.list.edge_end;
	}
	GNN_TRY(gnn_feed_push_last(f, w, c));
out:
	return rc;
}
