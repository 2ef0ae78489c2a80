/* infer/forecast.c - see forecast.h. */
#include "infer/forecast.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "infer/neighbors.h"
#include "io/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS = 512,           /* of vertices side by side, whose lists one read brings */
	BLOCK_ROWS = 16,
	BLOCK_EDGES = 1 << 18,  /* read at once at most */
	LIST_MAX = 1 << 12,     /* longer lists are thinned out */
	ENTRY_BYTES = 24,       /* what all arrays take for a message */
	MEMORY_SHARE = 4,       /* of the budget, for them */
};

struct block {
	gnn_vid  first;
	uint64_t rows;
	gnn_eid  edge, edges;
};

/*
 * Vertices keep their epochs but not their ids: the i-th of the sample in epoch e is e * width + i.
 * Sources are the first ids of their epochs.
 */
struct sample {
	const struct gnn_infer_opts *o;
	const struct gnn_degrees    *d;
	uint64_t  source_rows; /* numbers of sources are below it */
	uint64_t  epoch_rows, epochs;
	uint64_t  fanout;
	bool      drop_loops;
	struct block *block;   /* (blocks) */
	uint64_t  blocks;
	uint64_t  vertices;    /* of the sample */
	uint64_t  width;       /* ids of an epoch */
	uint32_t *in;          /* (epochs * width) messages */
	uint64_t *offset;      /* (epochs * width + 1) */
	uint32_t *source;      /* of the messages */
	uint64_t  messages, capacity;
	uint64_t *event;       /* (epochs + 1) first event of each epoch */
	uint32_t *event_vertex; /* (messages + vertices) with GNN_OWN_BIT: its own row */
	void     *list;        /* neighbours of a block */
};

/* --- which vertices --- */

static void choose_blocks(struct sample *s, uint64_t memory_bytes)
{
	uint64_t v = s->d->vertices, rows = BLOCK_ROWS;
	double degree = (double)s->o->store->edges / (double)gnn_max_u64(v, 1) + 2.0;
	double room = (double)(memory_bytes / MEMORY_SHARE) / (degree * ENTRY_BYTES);

	s->blocks = gnn_min_u64(BLOCKS, gnn_max_u64((uint64_t)(room / BLOCK_ROWS), 8));
	if (v <= 2 * s->blocks * rows) { /* all */
		rows = gnn_max_u64(gnn_ceil_div(v, s->blocks), 1);
		s->blocks = gnn_ceil_div(v, rows);
	}
	for (uint64_t b = 0; b < s->blocks; b++) {
		uint64_t low = v / s->blocks * b, high = v / s->blocks * (b + 1);
		uint64_t room_rows = high - low > rows ? high - low - rows : 0;

		s->block[b] = (struct block){.rows = rows,
			.first = low + gnn_rng_u64(s->o->seed, 9, b) % (room_rows + 1)};
		if (v <= 2 * s->blocks * rows)
			s->block[b] = (struct block){.first = b * rows,
				.rows = gnn_min_u64(rows, v - b * rows)};
		s->vertices += s->block[b].rows;
	}
}

/* Where the lists of the blocks stand, and how many ids an epoch needs. */
static void find_lists(struct sample *s)
{
	uint64_t b = 0, in_epoch = 0, epoch = 0;
	gnn_eid edge = 0;

	for (gnn_vid v = 0; v < s->d->vertices && b < s->blocks; edge += s->d->in[v++]) {
		struct block *at = &s->block[b];

		if (v < at->first)
			continue;
		if (v == at->first)
			at->edge = edge;
		at->edges += s->d->in[v];
		in_epoch = v / s->epoch_rows == epoch ? in_epoch + 1 : 1;
		epoch = v / s->epoch_rows;
		s->width = gnn_max_u64(s->width, in_epoch);
		b += v + 1 == at->first + at->rows;
	}
}

/* --- their messages --- */

static int add_message(struct sample *s, uint64_t epoch)
{
	uint64_t capacity = gnn_max_u64(2 * s->capacity, 1 << 12);
	void *block = s->source;
	int rc = GNN_OK;

	if (s->messages == s->capacity) {
		GNN_TRY(gnn_mem_resize(&block, capacity, sizeof(*s->source), GNN_MEM_MISC));
		s->source = block;
		s->capacity = capacity;
	}
	s->source[s->messages++] = (uint32_t)(epoch * s->width);
out:
	return rc;
}

static uint64_t taken_of(const struct sample *s, uint64_t degree)
{
	uint64_t taken = s->fanout != 0 ? gnn_min_u64(degree, s->fanout) : degree;

	return gnn_min_u64(taken, LIST_MAX);
}

/* Of a list that is not read: spread evenly. */
static int spread_messages(struct sample *s, gnn_vid v)
{
	uint64_t taken = taken_of(s, s->d->in[v]);
	int rc = GNN_OK;

	for (uint64_t i = 0; i < taken; i++)
		GNN_TRY(add_message(s, s->source_rows * i / taken / s->epoch_rows));
out:
	return rc;
}

/* The row that a source is of its rank, which says when it comes. */
static uint64_t row_of(const struct sample *s, gnn_vid u)
{
	const struct gnn_share *share = s->o->share;

	if (share == NULL)
		return u;
	return u - share->part.bound[gnn_partition_owner(&share->part, u)];
}

/* Messages of v: so many of its list as are sampled, any of them. */
static int add_messages(struct sample *s, gnn_vid v, uint64_t begin)
{
	uint64_t degree = s->d->in[v], left = taken_of(s, degree);
	enum gnn_dtype dtype = s->o->store->in.neighbors->dtype;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < degree && left > 0; i++) {
		gnn_vid u = gnn_neighbor_at(s->list, dtype, begin + i);

		if (gnn_rng_u64(v, 10, i) % (degree - i) >= left)
			continue;
		left--;

		if (u >= s->o->store->whole_vertices)
			GNN_FAIL(GNN_EDATA, "topology/in/neighbors: vertex %llu has a neighbour "
				"%llu, the graph has %llu vertices", (unsigned long long)v,
				(unsigned long long)u,
				(unsigned long long)s->o->store->whole_vertices);
		if (u != s->o->store->first + v || !s->drop_loops)
			GNN_TRY(add_message(s, row_of(s, u) / s->epoch_rows));
	}
out:
	return rc;
}

static int read_block(struct sample *s, const struct block *b)
{
	const struct gnn_array *a = s->o->store->in.neighbors;
	uint64_t item = gnn_dtype_bytes(a->dtype);
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	int rc = GNN_OK;

	if (b->edges == 0)
		return GNN_OK;
	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){
		.container = s->o->store->container, .array = a,
		.first_byte = (s->o->store->first_in + b->edge) * item,
		.bytes = b->edges * item, .piece_bytes = b->edges * item, .ahead = 1, .lent = 1}));
	GNN_TRY(gnn_stream_next(stream, &piece));
	memcpy(s->list, piece->data, piece->bytes);
out:
	gnn_stream_close(stream);
	return rc;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int read_messages(struct sample *s)
{
	uint64_t next = 0, epoch = 0, begin, id;
	int rc = GNN_OK;

	for (uint64_t b = 0; b < s->blocks; b++) {
		const struct block *at = &s->block[b];
		bool whole = at->edges <= BLOCK_EDGES;

		if (whole)
			GNN_TRY(read_block(s, at));
		begin = 0;
		for (gnn_vid v = at->first; v < at->first + at->rows; v++) {
			uint64_t first = s->messages;

			next = v / s->epoch_rows == epoch ? next : 0;
			epoch = v / s->epoch_rows;
			id = epoch * s->width + next++;
			GNN_TRY(whole ? add_messages(s, v, begin) : spread_messages(s, v));
			/* Chunks of all ranks come at a time. */
			if (s->o->share != NULL && s->messages > first)
				qsort(s->source + first, s->messages - first, sizeof(*s->source),
					compare);
			s->in[id] = (uint32_t)(s->messages - first);
			begin += s->d->in[v];
		}
	}
	for (id = 0; id < s->epochs * s->width; id++)
		s->offset[id + 1] = s->offset[id] + s->in[id];
out:
	return rc;
}

/* --- events by epoch --- */

static bool is_sampled(const struct sample *s, gnn_vid *v, uint64_t *b)
{
	*b += *v == s->block[*b].first + s->block[*b].rows;
	if (*b == s->blocks)
		return false;
	*v = gnn_max_u64(*v, s->block[*b].first);
	return true;
}

/* Sorted by epoch, in an epoch by vertex: the first round counts, the second one places. */
static int sort_events(struct sample *s)
{
	int rc;

	GNN_NEW_ARRAY(s->event, s->epochs + 2, GNN_MEM_MISC);
	GNN_NEW_ARRAY(s->event_vertex, s->messages + s->vertices, GNN_MEM_MISC);
	for (uint32_t round = 0; round < 2; round++) {
		uint64_t b = 0, next = 0, epoch = 0;

		for (gnn_vid v = 0; is_sampled(s, &v, &b); v++) {
			uint64_t id;

			next = v / s->epoch_rows == epoch ? next : 0;
			epoch = v / s->epoch_rows;
			id = epoch * s->width + next++;
			if (round == 0)
				s->event[epoch + 2]++;
			else
				s->event_vertex[s->event[epoch + 1]++] = (uint32_t)id | GNN_OWN_BIT;
			for (uint64_t i = s->offset[id]; i < s->offset[id + 1]; i++) {
				uint64_t e = s->source[i] / s->width + 1;

				if (round == 0)
					s->event[e + 1]++;
				else
					s->event_vertex[s->event[e]++] = (uint32_t)id;
			}
		}
		for (uint64_t e = 1; e < s->epochs + 2 && round == 0; e++)
			s->event[e] += s->event[e - 1];
	}
out:
	return rc;
}

/* --- the machine --- */

/* Room for the events of the largest epoch as a batch. */
struct groups {
	struct gnn_edge_batch batch;
	uint64_t *vertex, *first;
	uint32_t *src;
};

static int open_groups(struct groups *g, const struct sample *s)
{
	uint64_t most = 0;
	int rc;

	for (uint64_t e = 0; e < s->epochs; e++)
		most = gnn_max_u64(most, s->event[e + 1] - s->event[e]);
	GNN_NEW_ARRAY(g->vertex, most, GNN_MEM_MISC);
	GNN_NEW_ARRAY(g->first, most + 1, GNN_MEM_MISC);
	GNN_NEW_ARRAY(g->src, most, GNN_MEM_MISC);
out:
	return rc;
}

static void close_groups(struct groups *g)
{
	gnn_mem_free(g->vertex);
	gnn_mem_free(g->first);
	gnn_mem_free(g->src);
}

static void fill_groups(struct groups *g, const struct sample *s, uint64_t epoch)
{
	uint64_t groups = 0, entries = 0;

	for (uint64_t i = s->event[epoch]; i < s->event[epoch + 1]; i++) {
		uint32_t id = s->event_vertex[i] & ~GNN_OWN_BIT;

		if (groups == 0 || g->vertex[groups - 1] != id) {
			g->first[groups] = entries;
			g->vertex[groups++] = id;
		}
		g->src[entries++] = s->event_vertex[i] & GNN_OWN_BIT;
	}
	g->first[groups] = entries;
	g->batch = (struct gnn_edge_batch){.group_count = groups, .entry_count = entries,
		.vertex = g->vertex, .slot = g->vertex, .first = g->first, .src = g->src};
}

static uint32_t scaled(uint64_t count, double scale, uint32_t least)
{
	return (uint32_t)gnn_max_u64((uint64_t)((double)count * scale + 0.5), least);
}

/* The machine's options for the sample: stores and pages as much smaller. */
static struct gnn_control_opts scale_opts(const struct sample *s,
	const struct gnn_control_opts *whole, const struct gnn_inlists *lists, double scale)
{
	struct gnn_control_opts c = *whole;
	uint32_t least = gnn_control_slots_min(whole);

	c.vertices = s->epochs * s->width;
	c.in = s->in;
	c.loops = NULL;
	c.drop_loops = false;
	c.fanout = 0;
	c.inlists = lists;
	c.epoch_rows = s->width;
	c.source_rows = c.vertices;
	c.pin_slots = scaled(whole->pin_slots, scale, 0);
	c.top_slots = scaled(whole->top_slots, scale, least + c.pin_slots);
	c.host_slots = whole->host_slots == 0 ? 0 : scaled(whole->host_slots, scale, least);
	c.page_records = scaled(whole->page_records, scale, 2);
	return c;
}

/* Pages that `rows` rows taken at random among `pages` pages are in. */
static double touched_pages(double rows, double pages)
{
	return pages <= 0.0 ? 0.0 : pages * (1.0 - exp(-rows / pages));
}

/* How often a page is read whose rows are used in one of the epochs that share a stream. */
static double readings(const struct sample *s, const struct gnn_control_opts *whole)
{
	double epochs = (double)gnn_ceil_div(s->epochs + 1, whole->streams_max);

	return epochs * (1.0 - pow(1.0 - 1.0 / epochs, whole->page_records));
}

static int run_machine(struct gnn_forecast *f, const struct sample *s, struct gnn_control *c,
	const struct gnn_control_opts *whole, double page_records, double page_bytes)
{
	double scale = (double)s->vertices / (double)s->d->vertices, pages = 0.0, read = 0.0;
	bool known = gnn_evict_ops_of(whole->policy)->next_use;
	bool small = (double)whole->page_records * scale < 2.0;
	struct gnn_tier_program program = {0};
	struct gnn_control_stats stats = {0};
	struct groups g = {0};
	uint64_t start;
	int rc;

	GNN_TRY(open_groups(&g, s));
	start = gnn_clock_ns();
	for (uint64_t e = 0; e < s->epochs; e++) {
		double on_file = (double)stats.spill_rows / scale / whole->page_records;

		fill_groups(&g, s, e);
		GNN_TRY(gnn_control_step(c, e * s->width, s->width, &g.batch, &program));
		read += touched_pages((double)program.moves[GNN_MOVE_RELOAD].count / scale,
			on_file);
		pages += (double)program.full.count;
		gnn_control_stats(c, &stats);
	}
	f->control_s = gnn_clock_s_since(start) / scale;
	f->evictions = (double)stats.evictions / scale;
	f->reloads = (double)stats.reloads / scale;
	if (small) /* all pages fill up */
		pages = (double)stats.spilled_rows / scale / whole->page_records;
	else /* pages of the sample are whole records large */
		pages *= page_records / (whole->page_records * scale);
	f->written_bytes = pages * page_bytes;
	f->read_bytes = known ? f->written_bytes * readings(s, whole) : read * page_bytes;
out:
	close_groups(&g);
	gnn_tier_program_fini(&program);
	return rc;
}

static void close_sample(struct sample *s)
{
	gnn_mem_free(s->block);
	gnn_mem_free(s->in);
	gnn_mem_free(s->offset);
	gnn_mem_free(s->source);
	gnn_mem_free(s->event);
	gnn_mem_free(s->event_vertex);
	gnn_mem_free(s->list);
}

static int open_sample(struct sample *s, uint64_t memory_bytes)
{
	uint64_t item = gnn_dtype_bytes(s->o->store->in.neighbors->dtype);
	int rc;

	s->epochs = gnn_ceil_div(s->source_rows, s->epoch_rows);
	GNN_NEW_ARRAY(s->block, BLOCKS, GNN_MEM_MISC);
	choose_blocks(s, memory_bytes);
	find_lists(s);
	if (s->epochs * s->width >= GNN_OWN_BIT)
		return gnn_err(GNN_EOS, "too many chunks to foresee what a tiered plan does");
	GNN_NEW_ARRAY(s->in, s->epochs * s->width, GNN_MEM_MISC);
	GNN_NEW_ARRAY(s->offset, s->epochs * s->width + 1, GNN_MEM_MISC);
	GNN_TRY(gnn_mem_pages(&s->list, BLOCK_EDGES * item, GNN_MEM_MISC));
	GNN_TRY(read_messages(s));
	GNN_TRY(sort_events(s));
out:
	return rc;
}

int gnn_forecast_tiered(struct gnn_forecast *f, const struct gnn_plan *p, uint32_t layer,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	struct gnn_control_opts whole = gnn_plan_control(p, layer, o, d), c;
	struct sample s = {.o = o, .d = d, .epoch_rows = whole.epoch_rows,
		.source_rows = gnn_max_u64(whole.source_rows, d->vertices),
		.fanout = whole.fanout, .drop_loops = whole.drop_loops};
	struct gnn_control *control = NULL;
	struct gnn_inlists lists;
	int rc = GNN_OK;

	*f = (struct gnn_forecast){0};
	if (d->vertices == 0)
		return GNN_OK;
	GNN_TRY(open_sample(&s, p->host_budget));
	lists = (struct gnn_inlists){.offset = s.offset, .narrow = s.source};
	c = scale_opts(&s, &whole, &lists, (double)s.vertices / (double)d->vertices);
	GNN_TRY(gnn_control_create(&control, &c));
	GNN_TRY(run_machine(f, &s, control, &whole, (double)c.page_records,
		(double)p->layer[layer].page_bytes));
out:
	gnn_control_destroy(control);
	close_sample(&s);
	return rc;
}
