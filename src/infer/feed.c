/* infer/feed.c - see feed.h. */
#include "infer/feed.h"

#include "base/mem.h"
#include "base/trace.h"
#include "infer/feed_inside.h"
#include "infer/neighbors.h"

enum { AHEAD_MIN = 2, AHEAD_MAX = 32, LIST_SHARE = 4 /* lists are a part of what is read */ };

/* Lists point into the pieces; programs are copies. */
static uint32_t neighbors_lent(const struct gnn_feed_opts *o)
{
	return o->lists && o->share == NULL ? o->ahead + 1 : 1;
}

/* Pieces on their way: small ones want more of them to keep a disk busy. */
static uint32_t ahead_of(const struct gnn_feed_opts *o, uint64_t piece_bytes)
{
	uint64_t pieces = o->read_bytes / gnn_max_u64(piece_bytes, 1);

	return (uint32_t)gnn_min_u64(gnn_max_u64(pieces, AHEAD_MIN), AHEAD_MAX);
}

/* Of the weights that belong to one piece of neighbours. */
static uint64_t weight_piece_bytes(const struct gnn_feed_opts *o)
{
	return o->list_bytes / gnn_dtype_bytes(o->store->out.neighbors->dtype) *
		sizeof(float);
}

static uint64_t weight_bytes(const struct gnn_feed_opts *o)
{
	return (weight_piece_bytes(o) + 2 * GNN_PAGE_BYTES) *
		(ahead_of(o, LIST_SHARE * o->list_bytes) + neighbors_lent(o)) +
		(o->lists ? 0 : o->entries * 2 * sizeof(float));
}

/* Whether entries have weights: of their edges, or of a sample that is scaled. */
static bool weighs(const struct gnn_feed_opts *o)
{
	return o->weighted || (o->sample.fanout != 0 && o->sample.scaled);
}

static struct gnn_rows_opts rows_opts(const struct gnn_feed_opts *o)
{
	uint64_t row_bytes = gnn_max_u64(gnn_rows_row_bytes(&o->rows),
		gnn_rows_row_bytes(&o->own));

	return (struct gnn_rows_opts){.chunk_rows = o->chunk_rows,
		.ahead = ahead_of(o, o->chunk_rows * row_bytes),
		.lent = o->ahead + 1, .verify = o->verify};
}

struct gnn_packets_opts gnn_feed_packets(const struct gnn_feed_opts *o)
{
	return (struct gnn_packets_opts){.share = o->share, .shards = o->shards,
		.shard = o->shard, .panel_rows = o->panel_rows, .chunk_rows = o->chunk_rows,
		.lanes = (uint32_t)gnn_max_u64(o->lanes, 1),
		.dtype = o->store->out.neighbors->dtype, .weighted = o->weighted,
		.drop_loops = o->drop_loops, .sample = o->sample};
}

/* Packets of twice an average chunk, and the rows that each work item sends. */
static uint64_t round_bytes(const struct gnn_feed_opts *o)
{
	struct gnn_packets_opts packets = gnn_feed_packets(o);
	double average = (double)o->store->whole_edges /
		(double)gnn_max_u64(o->store->whole_vertices, 1);

	return gnn_packets_bytes(&packets, (uint64_t)(2.0 * average * (double)o->chunk_rows)) +
		(o->lists ? gnn_feed_merge_bytes(o) : 0) + o->ahead * o->share->size *
		o->chunk_rows * (o->moves ? sizeof(struct gnn_move) : sizeof(uint32_t));
}

uint64_t gnn_feed_bytes(const struct gnn_feed_opts *o)
{
	struct gnn_rows_opts rows = rows_opts(o);
	uint64_t padding = 2 * GNN_PAGE_BYTES;

	return gnn_rows_bytes(&o->rows, &rows) + gnn_rows_bytes(&o->own, &rows) +
		(o->chunk_rows * 8 + padding) * (ahead_of(o, o->chunk_rows * 8) + 2) +
		(o->list_bytes + padding) * (ahead_of(o, LIST_SHARE * o->list_bytes) +
			neighbors_lent(o)) +
		(o->lists ? (o->share == NULL ? o->ahead * (o->chunk_rows + 1) * 8 : 0) :
			o->entries * 16 + gnn_max_u64(o->lanes, 1) * gnn_grouper_lane_bytes() +
				o->ahead * gnn_program_bytes(o->entries, o->store->vertices)) +
		(o->weighted ? weight_bytes(o) : 0) + (o->share != NULL ? round_bytes(o) : 0) +
		(weighs(o) && !o->lists ? o->entries * sizeof(float) * o->ahead : 0);
}

/* Items [first, end) of an array. */
static int open_stream(struct gnn_stream **out, const struct gnn_feed *f,
	const struct gnn_array *array, uint64_t first, uint64_t end, uint64_t piece_bytes,
	uint32_t ahead, uint32_t lent)
{
	uint64_t item = gnn_dtype_bytes(array->dtype);

	return gnn_stream_open(out, &(struct gnn_stream_opts){
		.container = f->o.store->container, .array = array, .first_byte = first * item,
		.bytes = (end - first) * item, .piece_bytes = piece_bytes,
		.ahead = ahead, .lent = lent, .verify = f->o.verify});
}

/* Where the list of the first row begins, which may be past the last. */
static int find_first_edge(struct gnn_feed *f, gnn_vid *first)
{
	const struct gnn_store *s = f->o.store;
	int rc = GNN_OK;

	*first = s->first + gnn_min_u64(f->o.first_row, s->vertices);
	f->edge_cursor = s->first_out;
	if (f->o.first_row > 0)
		GNN_TRY(gnn_store_list_begin(s, &s->out, *first, &f->edge_cursor));
	f->edge_end = f->edge_cursor;
out:
	return rc;
}

static int open_streams(struct gnn_feed *f)
{
	const struct gnn_store *s = f->o.store;
	struct gnn_rows_opts rows = rows_opts(&f->o);
	uint32_t lists = ahead_of(&f->o, LIST_SHARE * f->o.list_bytes);
	gnn_eid end = s->first_out + s->edges;
	gnn_vid first;
	int rc;

	GNN_TRY(find_first_edge(f, &first));
	GNN_TRY(gnn_rows_open(&f->rows, &f->o.rows, &rows));
	GNN_TRY(gnn_rows_open(&f->own, &f->o.own, &rows));
	GNN_TRY(open_stream(&f->offsets, f, s->out.offsets, first, s->first + s->vertices + 1,
		f->o.chunk_rows * 8, ahead_of(&f->o, f->o.chunk_rows * 8), 2));
	if (f->edge_cursor > end)
		GNN_FAIL(GNN_EDATA, "topology/out/offsets: row %llu begins at %llu, behind its end "
			"%llu", (unsigned long long)first, (unsigned long long)f->edge_cursor,
			(unsigned long long)end);
	GNN_TRY(open_stream(&f->neighbors, f, s->out.neighbors, f->edge_cursor, end,
		f->o.list_bytes, lists, neighbors_lent(&f->o)));
	if (f->o.weighted)
		GNN_TRY(open_stream(&f->weights, f, s->out.weights, f->edge_cursor, end,
			weight_piece_bytes(&f->o), lists, neighbors_lent(&f->o)));
out:
	return rc;
}

static int next_piece(struct gnn_stream *s, struct gnn_piece **piece, const char *what)
{
	int rc = gnn_stream_next(s, piece);

	if (rc == GNN_EOF)
		return gnn_err(GNN_EDATA, "%s ends before the graph does", what);
	return rc;
}

/* Offsets of the next chunk; *end is where its last row ends. */
int gnn_feed_next_offsets(struct gnn_feed *f, uint64_t rows, gnn_eid *end)
{
	int rc;

	if (f->offset_piece != NULL)
		gnn_stream_put(f->offsets, f->offset_piece);
	f->offset_piece = f->offset_next;
	f->offset_next = NULL;
	if (f->offset_piece == NULL)
		GNN_TRY(next_piece(f->offsets, &f->offset_piece, "topology/out/offsets"));
	if (f->offset_piece->bytes / 8 > rows) {
		*end = ((const uint64_t *)f->offset_piece->data)[rows];
		return GNN_OK;
	}
	GNN_TRY(next_piece(f->offsets, &f->offset_next, "topology/out/offsets"));
	*end = *(const uint64_t *)f->offset_next->data;
out:
	return rc;
}

int gnn_feed_push_last(struct gnn_feed *f, struct gnn_work *w, const struct gnn_feed_chunk *c)
{
	w->last = true;
	w->rows_ = c->rows;
	w->own_ = c->own;
	return gnn_queue_push(f->ready, w);
}

int gnn_feed_begin(struct gnn_feed *f, struct gnn_work **out, const struct gnn_work *like)
{
	void *item;
	int rc = gnn_queue_pop(f->idle, &item);

	if (rc != GNN_OK)
		return rc;
	*out = item;
	(*out)->first_row = like->first_row;
	(*out)->rows = like->rows;
	(*out)->row_data = like->row_data;
	(*out)->own_data = like->own_data;
	(*out)->first = like->first;
	(*out)->last = false;
	(*out)->stop = false;
	(*out)->neighbors_ = NULL;
	(*out)->weights_ = NULL;
	return GNN_OK;
}

int gnn_feed_next_edges(struct gnn_feed *f)
{
	uint32_t item = gnn_dtype_bytes(f->o.store->out.neighbors->dtype);
	int rc;

	if (f->edge_piece != NULL)
		gnn_stream_put(f->neighbors, f->edge_piece);
	if (f->weight_piece != NULL)
		gnn_stream_put(f->weights, f->weight_piece);
	f->edge_piece = NULL;
	f->weight_piece = NULL;
	GNN_TRY(next_piece(f->neighbors, &f->edge_piece, "topology/out/neighbors"));
	f->edge_end = (f->edge_piece->first_byte + f->edge_piece->bytes) / item;
	if (f->weights != NULL)
		GNN_TRY(next_piece(f->weights, &f->weight_piece, "topology/out/weights"));
out:
	return rc;
}

/* Weights from an edge of the piece on, or NULL. */
const float *gnn_feed_weights(const struct gnn_feed *f, gnn_eid edge)
{
	if (f->weight_piece == NULL)
		return NULL;
	return (const float *)f->weight_piece->data +
		(edge - f->weight_piece->first_byte / sizeof(float));
}

/* Of `count` neighbours: those in front of the range are skipped, *kept are in it. */
static uint64_t slice(const struct gnn_feed *f, const char *from, enum gnn_dtype dtype,
	uint64_t count, uint64_t *kept)
{
	const struct gnn_range *to = &f->o.to;
	uint64_t skipped = 0;

	*kept = count;
	if (to->first > 0)
		skipped = gnn_neighbor_from(from, dtype, count, to->first);
	/* A neighbour outside the graph is in the last range: it must be seen. */
	if (to->first + to->count < f->o.store->vertices)
		*kept = gnn_neighbor_from(from, dtype, count, to->first + to->count);
	*kept -= skipped;
	return skipped;
}

/* As many edges of one row, up to `end`, as the piece and the grouper allow. */
static int take_edges(struct gnn_feed *f, gnn_vid v, uint32_t row, gnn_eid end)
{
	enum gnn_dtype dtype = f->o.store->out.neighbors->dtype;
	uint32_t item = gnn_dtype_bytes(dtype);
	uint64_t count, skipped, kept, room = f->grouper.capacity - f->grouper.count;
	const char *from;
	int rc;

	if (f->edge_cursor == f->edge_end)
		GNN_TRY(gnn_feed_next_edges(f));
	count = gnn_min_u64(end, f->edge_end) - f->edge_cursor;
	from = (const char *)f->edge_piece->data + (f->edge_cursor * item -
		f->edge_piece->first_byte);
	skipped = slice(f, from, dtype, count, &kept);
	GNN_TRY(gnn_grouper_edges(&f->grouper, v, row, from + skipped * item,
		gnn_feed_weights(f, f->edge_cursor + skipped), dtype, gnn_min_u64(kept, room)));
	count = kept <= room ? count : skipped + room;
	f->edge_cursor += count;
	GNN_TRY(gnn_nextuse_take(f->o.next, from, dtype, count));
out:
	return rc;
}

/* A full grouper becomes a work item, and the chunk goes on in the next one. */
int gnn_feed_make_room(struct gnn_feed *f, struct gnn_work **w)
{
	struct gnn_work like = **w;
	int rc;

	if (f->grouper.count < f->grouper.capacity)
		return GNN_OK;
	like.first = false;
	gnn_grouper_end(&f->grouper, &(*w)->program);
	GNN_TRY(gnn_queue_push(f->ready, *w));
	GNN_TRY(gnn_feed_begin(f, w, &like));
out:
	return rc;
}

int gnn_feed_check_row(const struct gnn_feed *f, gnn_vid v, gnn_eid begin, gnn_eid end)
{
	const struct gnn_store *s = f->o.store;

	if (begin != f->edge_cursor || end < begin || end > s->first_out + s->edges)
		return gnn_err(GNN_EDATA, "topology/out/offsets: row %llu is [%llu, %llu), wanted "
			"a begin of %llu and an end up to %llu", (unsigned long long)(s->first + v),
			(unsigned long long)begin, (unsigned long long)end,
			(unsigned long long)f->edge_cursor,
			(unsigned long long)(s->first_out + s->edges));
	return GNN_OK;
}

static int feed_row(struct gnn_feed *f, struct gnn_work **w, gnn_vid v, uint32_t row, gnn_eid end)
{
	int rc = GNN_OK;

	if (f->o.own_entries && v - f->o.to.first < f->o.to.count) {
		GNN_TRY(gnn_feed_make_room(f, w));
		gnn_grouper_own(&f->grouper, v, row);
	}
	while (f->edge_cursor < end) {
		GNN_TRY(gnn_feed_make_room(f, w));
		GNN_TRY(take_edges(f, v, row, end));
	}
out:
	return rc;
}

/* The chunk's edges grouped by destination here, in as many items as they need. */
static int feed_programs(struct gnn_feed *f, struct gnn_work *w, const struct gnn_feed_chunk *c,
	gnn_eid end)
{
	const uint64_t *offset = f->offset_piece->data;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < w->rows; i++) {
		gnn_eid row_end = i + 1 < w->rows ? offset[i + 1] : end;

		GNN_TRY(gnn_feed_check_row(f, w->first_row + i, offset[i], row_end));
		GNN_TRY(feed_row(f, &w, w->first_row + i, (uint32_t)i, row_end));
	}
	gnn_grouper_end(&f->grouper, &w->program);
	GNN_TRY(gnn_feed_push_last(f, w, c));
out:
	return rc;
}

static int feed_chunk(struct gnn_feed *f, gnn_vid first, uint64_t rows)
{
	struct gnn_work like = {.first_row = first, .rows = rows, .first = true}, *w = NULL;
	struct gnn_feed_chunk c = {0};
	gnn_eid end;
	int rc;

	GNN_TRY(gnn_feed_next_offsets(f, rows, &end));
	GNN_TRY(gnn_rows_next(f->rows, &c.rows));
	if (first >= f->o.own.first && first < f->o.own.first + f->o.own.count)
		GNN_TRY(gnn_rows_next(f->own, &c.own));
	like.row_data = c.rows.data;
	like.own_data = c.own.data;
	GNN_TRY(gnn_feed_begin(f, &w, &like));
	GNN_TRY(f->o.lists ? gnn_feed_lists(f, w, &c, end) : feed_programs(f, w, &c, end));
out:
	return rc;
}

static int feed_chunks(struct gnn_feed *f)
{
	uint64_t vertices = f->o.store->vertices;
	int rc = GNN_OK;

	for (gnn_vid v = f->o.first_row; v < vertices && rc == GNN_OK; v += f->o.chunk_rows) {
		uint64_t span = gnn_trace_begin();

		rc = feed_chunk(f, v, gnn_min_u64(f->o.chunk_rows, vertices - v));
		gnn_trace_end(span, "chunk");
	}
	return rc;
}

static int run(void *arg)
{
	struct gnn_feed *f = arg;
	const struct gnn_store *s = f->o.store;
	int rc = f->o.share != NULL ? gnn_feed_rounds(f) : feed_chunks(f);

	if (rc == GNN_OK && !f->stopped && f->edge_cursor != s->first_out + s->edges)
		rc = gnn_err(GNN_EDATA, "topology/out/offsets ends at %llu, the store has %llu "
			"edges", (unsigned long long)f->edge_cursor,
			(unsigned long long)(s->first_out + s->edges));
	f->read_bytes = gnn_stream_read_bytes(f->offsets) + gnn_stream_read_bytes(f->neighbors) +
		gnn_rows_read_bytes(f->rows) + gnn_rows_read_bytes(f->own);
	if (f->weights != NULL)
		f->read_bytes += gnn_stream_read_bytes(f->weights);
	gnn_queue_close(f->ready);
	return rc;
}

static int make_round(struct gnn_round *r, const struct gnn_feed_opts *o)
{
	uint32_t size = o->share->size;
	void *block;
	int rc = GNN_OK;

	if (o->moves) {
		GNN_TRY(gnn_mem_pages(&block, (size - 1) * o->chunk_rows * sizeof(*r->move),
			GNN_MEM_IO));
		r->move = block;
	} else {
		GNN_NEW_ARRAY(r->row, (size - 1) * o->chunk_rows, GNN_MEM_TOPOLOGY);
	}
	GNN_NEW_ARRAY(r->send, size + 1, GNN_MEM_MISC);
	GNN_NEW_ARRAY(r->take, size + 1, GNN_MEM_MISC);
out:
	return rc;
}

/* What groups edges: those of this rank's chunk, or those that all ranks send. */
static int make_grouper(struct gnn_feed *f)
{
	const struct gnn_feed_opts *o = &f->o;
	uint64_t rows = o->chunk_rows * gnn_share_size(o->share);
	int rc;

	GNN_TRY(gnn_grouper_init(&f->grouper, o->degrees, &o->to, rows, o->entries,
		o->drop_loops && o->share == NULL));
	GNN_TRY(gnn_grouper_share(&f->grouper, (uint32_t)gnn_max_u64(o->lanes, 1)));
	if (o->weighted)
		GNN_TRY(gnn_grouper_weigh(&f->grouper, o->own_weights));
	if (o->sample.fanout != 0)
		gnn_grouper_sample(&f->grouper, &o->sample, o->share != NULL);
out:
	return rc;
}

static int make_packets(struct gnn_feed *f)
{
	const struct gnn_feed_opts *o = &f->o;
	struct gnn_packets_opts packets = gnn_feed_packets(o);
	int rc;

	GNN_TRY(gnn_packets_init(&f->packets, &packets));
	GNN_NEW_ARRAY(f->taken, o->share->size + 1, GNN_MEM_MISC);
	if (o->lists)
		GNN_TRY(gnn_feed_merge_init(f));
out:
	return rc;
}

static int make_work(struct gnn_feed *f)
{
	int rc;

	GNN_TRY(gnn_queue_create(&f->ready, f->o.ahead));
	GNN_TRY(gnn_queue_create(&f->idle, f->o.ahead));
	GNN_NEW_ARRAY(f->work, f->o.ahead, GNN_MEM_MISC);
	for (uint32_t i = 0; i < f->o.ahead; i++) {
		struct gnn_work *w = &f->work[i];

		if (f->o.lists && f->o.share == NULL)
			GNN_NEW_ARRAY(w->offsets_, f->o.chunk_rows + 1, GNN_MEM_IO);
		else if (!f->o.lists)
			GNN_TRY(gnn_program_init(&w->program, f->o.entries,
				f->o.store->vertices));
		if (weighs(&f->o) && !f->o.lists)
			GNN_TRY(gnn_program_weigh(&w->program, f->o.entries));
		if (f->o.share != NULL)
			GNN_TRY(make_round(&w->round, &f->o));
		GNN_TRY(gnn_queue_push(f->idle, w));
	}
out:
	return rc;
}

int gnn_feed_start(struct gnn_feed **out, const struct gnn_feed_opts *o)
{
	struct gnn_feed *f = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->chunk_rows > 0 && o->chunk_rows % GNN_PANEL_ROWS == 0 && o->ahead >= 2);
	GNN_ASSERT(o->first_row % o->chunk_rows == 0);
	GNN_NEW(f, GNN_MEM_MISC);
	f->o = *o;
	GNN_TRY(make_work(f));
	if (!o->lists)
		GNN_TRY(make_grouper(f));
	if (o->share != NULL)
		GNN_TRY(make_packets(f));
	f->grouper.now = gnn_nextuse_now(o->next);
	f->grouper.cursor = o->cursor;
	GNN_TRY(open_streams(f));
	GNN_TRY(gnn_stage_start(&f->stage, "control", run, f));
	*out = f;
	f = NULL;
out:
	gnn_feed_stop(f);
	return rc;
}

int gnn_feed_next(struct gnn_feed *f, struct gnn_work **work)
{
	void *item;
	int rc = gnn_queue_pop(f->ready, &item);

	*work = item;
	if (rc != GNN_EOF)
		return rc;
	*work = NULL;
	rc = gnn_stage_join(&f->stage);
	return rc < 0 ? rc : GNN_EOF;
}

void gnn_feed_put(struct gnn_feed *f, struct gnn_work *work)
{
	gnn_rows_put(f->rows, &work->rows_);
	gnn_rows_put(f->own, &work->own_);
	if (work->neighbors_ != NULL)
		gnn_stream_put(f->neighbors, work->neighbors_);
	if (work->weights_ != NULL)
		gnn_stream_put(f->weights, work->weights_);
	work->neighbors_ = NULL;
	work->weights_ = NULL;
	gnn_queue_push(f->idle, work);
}

uint64_t gnn_feed_read_bytes(const struct gnn_feed *f)
{
	return f->read_bytes;
}

void gnn_feed_cancel(struct gnn_feed *f)
{
	gnn_queue_cancel(f->ready);
	gnn_queue_cancel(f->idle);
	gnn_rows_cancel(f->rows);
	gnn_rows_cancel(f->own);
	gnn_stream_cancel(f->neighbors);
	if (f->weights != NULL)
		gnn_stream_cancel(f->weights);
}

void gnn_feed_stop(struct gnn_feed *f)
{
	if (f == NULL)
		return;
	if (f->stage != NULL) {
		struct gnn_err_state first; /* what the caller is about to report stays */

		gnn_err_save(&first, GNN_OK);
		gnn_feed_cancel(f);
		gnn_stage_join(&f->stage);
		gnn_err_restore(&first);
	}
	gnn_rows_close(f->rows);
	gnn_rows_close(f->own);
	gnn_stream_close(f->offsets);
	gnn_stream_close(f->neighbors);
	gnn_stream_close(f->weights);
	gnn_queue_destroy(f->ready);
	gnn_queue_destroy(f->idle);
	gnn_grouper_fini(&f->grouper);
	for (uint32_t i = 0; f->work != NULL && i < f->o.ahead; i++) {
		gnn_program_fini(&f->work[i].program);
		gnn_mem_free(f->work[i].offsets_);
		gnn_mem_free(f->work[i].source_);
		gnn_mem_free(f->work[i].edges_);
		gnn_mem_free(f->work[i].edge_weights_);
		gnn_mem_free(f->work[i].round.move);
		gnn_mem_free(f->work[i].round.row);
		gnn_mem_free(f->work[i].round.send);
		gnn_mem_free(f->work[i].round.take);
	}
	gnn_packets_fini(&f->packets);
	gnn_mem_free(f->taken);
	gnn_mem_free(f->place);
	gnn_mem_free(f->slice);
	gnn_mem_free(f->work);
	gnn_mem_free(f);
}
