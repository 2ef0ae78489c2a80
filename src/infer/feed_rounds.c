/*
 * infer/feed_rounds.c - a pass of several ranks: the chunks of all at a time; see feed.h.
 *
 * In round k every rank hands out the edges of its chunk k, and groups those that lead to its own
 * rows. They are ordered by panel of the chunk, then by rank, then by source: neither the size of
 * chunks nor that of work items shows in a sum. A rank without rows left takes part all the same.
 */
#include "base/mem.h"
#include "base/stop.h"
#include "base/trace.h"
#include "infer/feed_inside.h"
#include "infer/neighbors.h"

#include <string.h>

enum { LANE_EDGES = 1 << 14 }; /* fewer are not worth waking threads for */

/* Where the packet of a rank stands while it is grouped. */
struct place {
	uint64_t row, edge;
};

/* The chunk's edges that are at hand, [begin, end), and the rows [row, row_end) that have them. */
struct stretch {
	gnn_vid  first; /* vertex of row 0 */
	uint64_t row, row_end;
	gnn_eid  begin, end;
	const uint64_t *offset;
	gnn_eid  chunk_end;
	uint64_t rows; /* of the chunk */
};

static gnn_eid row_end(const struct stretch *s, uint64_t row)
{
	return row + 1 < s->rows ? s->offset[row + 1] : s->chunk_end;
}

static int check_rows(struct gnn_feed *f, const struct stretch *s)
{
	gnn_eid cursor = f->edge_cursor;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < s->rows && rc == GNN_OK; i++) {
		rc = gnn_feed_check_row(f, s->first + i, s->offset[i], row_end(s, i));
		f->edge_cursor = row_end(s, i);
	}
	f->edge_cursor = cursor;
	return rc;
}

/* The part of a stretch that one lane hands out, of `lanes` about equal ones: whole rows. */
static void hand_out_lane(struct gnn_feed *f, const struct stretch *s, uint32_t lane,
	uint32_t lanes)
{
	uint32_t item = gnn_dtype_bytes(f->o.store->out.neighbors->dtype);
	gnn_eid count = s->end - s->begin;
	uint64_t row = lane == 0 ? s->row : gnn_row_from(s->offset, s->row, s->row_end,
		s->begin + count * lane / lanes);
	uint64_t end = lane + 1 == lanes ? s->row_end : gnn_row_from(s->offset, s->row,
		s->row_end, s->begin + count * (lane + 1) / lanes);
	int rc = GNN_OK;

	for (; row < end && rc == GNN_OK; row++) {
		gnn_eid from = gnn_max_u64(s->offset[row], s->begin);
		gnn_eid to = gnn_min_u64(row_end(s, row), s->end);

		if (from < to)
			rc = gnn_packets_add(&f->packets, lane, f->o.store->first + s->first + row,
				(uint32_t)row, (const char *)f->edge_piece->data +
					(from * item - f->edge_piece->first_byte),
				gnn_feed_weights(f, from), to - from);
	}
}

static int hand_out_stretch(struct gnn_feed *f, const struct stretch *s)
{
	uint32_t lanes = f->packets.o.lanes;

	if (lanes > 1 && s->end - s->begin >= LANE_EDGES) {
#pragma omp parallel for num_threads(lanes) schedule(static)
		for (uint32_t t = 0; t < lanes; t++)
			hand_out_lane(f, s, t, lanes);
	} else {
		hand_out_lane(f, s, 0, 1);
	}
	return gnn_packets_join(&f->packets);
}

/* All edges of the chunk, as they come. */
static int hand_out(struct gnn_feed *f, gnn_vid first, uint64_t rows, gnn_eid end)
{
	struct stretch s = {.first = first, .rows = rows, .chunk_end = end,
		.offset = rows > 0 ? f->offset_piece->data : NULL};
	int rc;

	gnn_packets_begin(&f->packets);
	GNN_TRY(check_rows(f, &s));
	while (rows > 0 && f->edge_cursor < end) {
		if (f->edge_cursor == f->edge_end)
			GNN_TRY(gnn_feed_next_edges(f));
		s.begin = f->edge_cursor;
		s.end = gnn_min_u64(end, f->edge_end);
		s.row_end = gnn_row_from(s.offset, s.row, rows, s.end);
		GNN_TRY(hand_out_stretch(f, &s));
		f->edge_cursor = s.end;
		s.row = row_end(&s, s.row_end - 1) > s.end ? s.row_end - 1 : s.row_end;
	}
out:
	return rc;
}

/* What the executor sends and takes. */
static void fill_round(const struct gnn_feed *f, struct gnn_round *round)
{
	const struct gnn_packets *p = &f->packets;
	uint64_t send = 0, take = 0;

	for (uint32_t q = 0; q < p->o.share->size; q++) {
		round->send[q] = send;
		round->take[q] = take;
		if (q == p->o.share->rank)
			continue;
		if (round->move == NULL)
			memcpy(round->row + send, p->out[q].row,
				p->out[q].rows * sizeof(*round->row));
		for (uint64_t i = 0; round->move != NULL && i < p->out[q].rows; i++)
			round->move[send + i] = (struct gnn_move){.from = p->out[q].row[i],
				.to = (uint32_t)(send + i)};
		send += p->out[q].rows;
		take += p->in[q].rows;
	}
	round->send[p->o.share->size] = send;
	round->take[p->o.share->size] = take;
}

/* The edges of one row of a packet, which is row `src` of the rows at hand. */
static int group_row(struct gnn_feed *f, struct gnn_work **w, const struct gnn_packet *p,
	struct place *at, gnn_vid v, uint32_t src)
{
	enum gnn_dtype dtype = f->o.store->out.neighbors->dtype;
	uint64_t left = p->count[at->row++];
	int rc = GNN_OK;

	while (left > 0) {
		uint64_t count;

		GNN_TRY(gnn_feed_make_room(f, w));
		count = gnn_min_u64(left, f->grouper.capacity - f->grouper.count);
		GNN_TRY(gnn_grouper_edges(&f->grouper, v, src,
			(const char *)p->neighbors + at->edge * gnn_dtype_bytes(dtype),
			f->o.weighted ? p->weights + at->edge : NULL, dtype, count));
		GNN_TRY(gnn_nextuse_take(f->o.next, (const char *)p->neighbors + at->edge *
			gnn_dtype_bytes(dtype), dtype, count));
		at->edge += count;
		left -= count;
	}
out:
	return rc;
}

/* Own rows of the chunk from row i to `end`, with their edges to this rank. */
static int group_own(struct gnn_feed *f, struct gnn_work **w, struct place *at, uint64_t i,
	uint64_t end)
{
	const struct gnn_packet *p = &f->packets.out[f->o.share->rank];
	int rc = GNN_OK;

	for (end = gnn_min_u64(end, (*w)->rows); i < end; i++) {
		gnn_vid v = (*w)->first_row + i;

		if (f->o.own_entries && v - f->o.to.first < f->o.to.count) {
			GNN_TRY(gnn_feed_make_room(f, w));
			gnn_grouper_own(&f->grouper, v, (uint32_t)i);
		}
		if (at->row < p->rows && p->row[at->row] == i)
			GNN_TRY(group_row(f, w, p, at, v, (uint32_t)i));
	}
out:
	return rc;
}

/* Rows of another rank's packet in front of row `end` of its chunk. */
static int group_other(struct gnn_feed *f, struct gnn_work **w, uint32_t q, struct place *at,
	uint64_t take, uint64_t end)
{
	const struct gnn_packet *p = &f->packets.in[q];
	gnn_vid first = f->o.share->part.bound[q] + (*w)->first_row;
	int rc = GNN_OK;

	while (at->row < p->rows && p->row[at->row] < end)
		GNN_TRY(group_row(f, w, p, at, first + p->row[at->row],
			(uint32_t)(f->o.chunk_rows + take + at->row)));
out:
	return rc;
}

/* By panel, then by rank, then by source. */
static int group_round(struct gnn_feed *f, struct gnn_work **w)
{
	const struct gnn_share *s = f->o.share;
	const uint64_t *take = f->taken;
	struct place *at = NULL;
	int rc;

	GNN_NEW_ARRAY(at, s->size, GNN_MEM_MISC);
	for (uint64_t i = 0; i < f->o.chunk_rows; i += f->o.panel_rows)
		for (uint32_t q = 0; q < s->size; q++)
			GNN_TRY(q == s->rank ? group_own(f, w, &at[q], i, i + f->o.panel_rows) :
				group_other(f, w, q, &at[q], take[q], i + f->o.panel_rows));
	gnn_grouper_end(&f->grouper, &(*w)->program);
out:
	gnn_mem_free(at);
	return rc;
}

/* Rows of the chunk and where its edges end; a rank at its end has none. */
static int begin_chunk(struct gnn_feed *f, struct gnn_work *like, struct gnn_feed_chunk *c,
	gnn_eid *end)
{
	int rc = GNN_OK;

	if (like->rows == 0)
		return GNN_OK;
	GNN_TRY(gnn_feed_next_offsets(f, like->rows, end));
	GNN_TRY(gnn_rows_next(f->rows, &c->rows));
	if (like->first_row - f->o.own.first < f->o.own.count)
		GNN_TRY(gnn_rows_next(f->own, &c->own));
	like->row_data = c->rows.data;
	like->own_data = c->own.data;
out:
	return rc;
}

static int feed_round(struct gnn_feed *f, gnn_vid first, bool *stop)
{
	uint64_t vertices = f->o.store->vertices;
	struct gnn_work like = {.first_row = first, .first = true,
		.rows = first < vertices ? gnn_min_u64(f->o.chunk_rows, vertices - first) : 0};
	struct gnn_feed_chunk c = {0};
	struct gnn_work *w = NULL;
	gnn_eid end = f->edge_cursor;
	int rc;

	GNN_TRY(begin_chunk(f, &like, &c, &end));
	GNN_TRY(hand_out(f, first, like.rows, end));
	*stop = gnn_stop_wanted();
	GNN_TRY(gnn_packets_swap(&f->packets, stop));
	GNN_TRY(gnn_feed_begin(f, &w, &like));
	fill_round(f, &w->round);
	memcpy(f->taken, w->round.take, (f->o.share->size + 1) * sizeof(*f->taken));
	GNN_TRY(f->o.lists ? gnn_feed_merge(f, &w) : group_round(f, &w));
	w->stop = *stop;
	GNN_TRY(gnn_feed_push_last(f, w, &c));
out:
	return rc;
}

int gnn_feed_rounds(struct gnn_feed *f)
{
	bool stop = false;
	int rc = GNN_OK;

	for (gnn_vid v = f->o.first_row; v < f->o.share->rows_max && rc == GNN_OK && !stop;
		v += f->o.chunk_rows) {
		uint64_t span = gnn_trace_begin();

		rc = feed_round(f, v, &stop);
		gnn_trace_end(span, "round");
	}
	f->stopped = stop;
	return rc;
}
