/* io/keymerge_gather.c - see keymerge_gather.h. */
#include "io/keymerge_gather.h"

#include "base/mem.h"

#include <string.h>

/* One run: pieces up to `asked` have been asked for, the one before `opened` is being decoded. */
struct source {
	struct gnn_keyrun *run;
	uint32_t asked, opened;
	const uint8_t *piece; /* lent, while it has keys left; else NULL */
	struct gnn_piece_cursor cursor;
	uint8_t *key;         /* (window) */
	float *weight;
	uint32_t at, fill;    /* of the window */
};

/* A key and the run that it is in: equal keys come in the order of the runs. */
struct bound {
	gnn_key key;
	uint32_t source;
	bool none;
};

struct gnn_gather {
	struct gnn_gather_opts opts;
	const struct gnn_key_ops *ops;
	struct gnn_scratch_reader *reader;
	struct source *source;
	uint32_t sources;
	uint32_t order[GNN_SCRATCH_AHEAD]; /* of the sources that were asked from, a ring */
	uint32_t order_first, order_count;
	uint8_t *keys;   /* (sources, window) */
	float *weights;
};

static bool before(gnn_key key, uint32_t source, const struct bound *b)
{
	return b->none || key < b->key || (key == b->key && source < b->source);
}

int gnn_gather_open(struct gnn_gather **out, const struct gnn_gather_opts *o)
{
	uint64_t window, count = o->runs->count;
	struct gnn_gather *g = NULL;
	void *block;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->window > 0 && o->window % GNN_KEY_GROUP == 0);
	GNN_NEW(g, GNN_MEM_SORT);
	g->opts = *o;
	g->ops = gnn_keys(o->end > GNN_KEY_END_NARROW);
	g->sources = o->runs->count;
	window = (uint64_t)o->window * g->ops->bytes;
	GNN_NEW_ARRAY(g->source, count, GNN_MEM_SORT);
	GNN_TRY(gnn_mem_pages(&block, count * window, GNN_MEM_SORT));
	g->keys = block;
	if (o->weighted) {
		GNN_TRY(gnn_mem_pages(&block, count * o->window * sizeof(float), GNN_MEM_SORT));
		g->weights = block;
	}
	for (uint32_t i = 0; i < g->sources; i++)
		g->source[i] = (struct source){
			.run = &o->runs->run[i],
			.key = g->keys + i * window,
			.weight = o->weighted ? g->weights + (uint64_t)i * o->window : NULL,
		};
	GNN_TRY(gnn_scratch_reader_open(&g->reader, o->scratch, o->buffers));
	*out = g;
	g = NULL;
out:
	gnn_gather_close(g);
	return rc;
}

void gnn_gather_close(struct gnn_gather *g)
{
	if (g == NULL)
		return;
	gnn_scratch_reader_close(g->reader);
	gnn_mem_free(g->source);
	gnn_mem_free(g->keys);
	gnn_mem_free(g->weights);
	gnn_mem_free(g);
}

/* --- pieces --- */

/* The source whose next piece is the first to be wanted of all that are not asked for yet. */
static struct bound next_to_ask(const struct gnn_gather *g)
{
	struct bound b = {.none = true};

	for (uint32_t i = 0; i < g->sources; i++) {
		const struct source *s = &g->source[i];
		gnn_key first;

		if (s->asked == s->run->count)
			continue;
		first = gnn_piece_first(&s->run->piece[s->asked]);
		if (before(first, i, &b))
			b = (struct bound){.key = first, .source = i};
	}
	return b;
}

static int ask_ahead(struct gnn_gather *g)
{
	int rc = GNN_OK;

	while (gnn_scratch_reader_has_room(g->reader)) {
		struct bound b = next_to_ask(g);
		const struct gnn_piece_entry *e;
		struct source *s;

		if (b.none)
			break;
		s = &g->source[b.source];
		e = &s->run->piece[s->asked++];
		g->order[(g->order_first + g->order_count++) % GNN_SCRATCH_AHEAD] = b.source;
		GNN_TRY(gnn_scratch_reader_ask(g->reader, &e->place, e->bytes));
	}
out:
	return rc;
}

/* The first key that is neither in a window nor in a piece that is open. */
static struct bound next_to_open(const struct gnn_gather *g)
{
	const struct source *s;
	uint32_t i;

	if (g->order_count == 0)
		return (struct bound){.none = true};
	i = g->order[g->order_first];
	s = &g->source[i];
	return (struct bound){.key = gnn_piece_first(&s->run->piece[s->opened]), .source = i};
}

static int open_next(struct gnn_gather *g)
{
	struct source *s = &g->source[g->order[g->order_first]];
	int rc;

	GNN_ASSERT(s->piece == NULL);
	g->order_first = (g->order_first + 1) % GNN_SCRATCH_AHEAD;
	g->order_count--;
	GNN_TRY(gnn_scratch_reader_next(g->reader, &s->piece));
	GNN_TRY(gnn_piece_open(&s->cursor, s->run, s->opened, s->piece));
	s->opened++;
out:
	return rc;
}

static void end_piece(struct gnn_gather *g, struct source *s)
{
	struct gnn_place *place = &s->run->piece[s->opened - 1].place;

	gnn_scratch_reader_put(g->reader, s->piece);
	s->piece = NULL;
	if (!g->opts.keep) {
		gnn_scratch_drop(g->opts.scratch, place);
		*place = (struct gnn_place){0};
	}
}

/* --- windows --- */

/*
 * Windows are topped up when they are half empty, not when they are empty: a bound takes all of
 * one window, and would find little in the others.
 */
static void fill_window(struct gnn_gather *g, struct source *s)
{
	uint32_t from = gnn_keys(s->run->wide)->bytes, to = g->ops->bytes;
	uint32_t left = s->fill - s->at, room = g->opts.window - left, fresh = 0;
	uint8_t *key;
	float *weight = s->weight;

	memmove(s->key, s->key + (uint64_t)s->at * to, (uint64_t)left * to);
	if (weight != NULL) {
		memmove(weight, weight + s->at, left * sizeof(*weight));
		weight += left;
	}
	key = s->key + (uint64_t)left * to;
	while (s->cursor.left > 0 && fresh + GNN_KEY_GROUP <= room)
		fresh += gnn_piece_decode(&s->cursor, s->run, key + (uint64_t)fresh * from,
			weight == NULL ? NULL : weight + fresh);
	if (from != to)
		gnn_keys_widen(key, s->run->end, fresh);
	else if (s->run->end != g->opts.end)
		g->ops->move(key, s->run->end, g->opts.end, fresh);
	s->at = 0;
	s->fill = left + fresh;
	if (s->cursor.left == 0)
		end_piece(g, s);
}

/*
 * Everything up to the bound, itself included, is in the windows: it is the last key of the window
 * that ends first, of those whose pieces go on.
 */
static struct bound end_of_windows(struct gnn_gather *g)
{
	struct bound b = {.none = true};

	for (uint32_t i = 0; i < g->sources; i++) {
		struct source *s = &g->source[i];
		gnn_key last;

		if (s->piece != NULL && s->fill - s->at <= g->opts.window / 2)
			fill_window(g, s);
		if (s->piece == NULL)
			continue;
		last = g->ops->at(s->key, g->opts.end, s->fill - 1);
		if (before(last, i, &b))
			b = (struct bound){.key = last, .source = i};
	}
	return b;
}

static void take(struct gnn_gather *g, struct source *s, uint32_t index, const struct bound *b,
	struct gnn_gathered *to)
{
	uint32_t bytes = g->ops->bytes;
	const uint8_t *key = s->key + (uint64_t)s->at * bytes;
	uint64_t n = s->fill - s->at;

	if (n > 0 && !b->none)
		n = g->ops->upto(key, g->opts.end, n, b->key, index <= b->source);
	if (n == 0)
		return;
	memcpy((uint8_t *)to->key + to->count * bytes, key, n * bytes);
	if (s->weight != NULL)
		memcpy(to->weight + to->count, s->weight + s->at, n * sizeof(float));
	s->at += (uint32_t)n;
	to->count += n;
	to->parts++;
}

int gnn_gather_next(struct gnn_gather *g, struct gnn_gathered *to)
{
	struct bound windows, unopened;
	int rc = GNN_OK;

	to->count = 0;
	to->parts = 0;
	for (;;) {
		GNN_TRY(ask_ahead(g));
		windows = end_of_windows(g);
		unopened = next_to_open(g);
		if (unopened.none || !before(unopened.key, unopened.source, &windows))
			break;
		GNN_TRY(open_next(g));
	}
	for (uint32_t i = 0; i < g->sources; i++)
		take(g, &g->source[i], i, &windows, to);
	/* A bound is a key in a window: as long as there is any, the merge goes on. */
	GNN_ASSERT(to->count > 0 || windows.none);
out:
	return rc;
}
