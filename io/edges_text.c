/* io/edges_text.c - edge lists: blocks of whole lines, each parsed by one of many threads. */
#include "io/edges.h"

#include "base/mem.h"
#include "io/ahead.h"
#include "io/edgehead.h"
#include "io/edgeline.h"
#include "io/scan.h"

#include <stdatomic.h>
#include <string.h>

enum {
	BLOCK_BYTES = 1 << 20,
	BLOCK_BYTES_MIN = 64 << 10,
	MEMORY_SHARE = 8,    /* all blocks and what is parsed from them: this part of the memory */
	EDGE_BYTES_MIN = 4,  /* "1 2\n" */
	HEAD_BYTES = 64 << 10,
	KONECT_COLUMNS = 4,  /* src dst weight time */
};

/* What came of a block; its edges lie behind it. */
struct parsed {
	uint64_t edges, lines, comments, blanks, columns_max;
	const char *bad; /* the line that ended it; NULL: none */
	enum gnn_line_kind kind;
	uint64_t bits;   /* the union of all ids */
	bool narrow;     /* ids are of 32 bits */
	void *src, *dst;
	float *weight;   /* NULL: none */
};

struct text_source {
	struct gnn_edge_source base;
	struct gnn_line_rules rules;
	uint64_t edges_max; /* of a block */
	atomic_bool wide;   /* ids of over 32 bits have been seen: a hint to the workers */
	struct gnn_input *input;
	struct gnn_ahead *ahead;
	struct gnn_block *block;
};

/* `digits separator digits newline`, which nearly all lines are; else NULL. */
static inline const char *parse_plain(const char *p, uint64_t limit, uint64_t *src, uint64_t *dst)
{
	const char *q, *r;

	q = gnn_scan_u64(p, src);
	if (q == NULL || q == p || (*q != '\t' && *q != ' ' && *q != ','))
		return NULL;
	r = gnn_scan_u64(q + 1, dst);
	if (r == NULL || r == q + 1)
		return NULL;
	r += *r == '\r';
	return *r == '\n' && *src < limit && *dst < limit ? r + 1 : NULL;
}

static inline void put_edge(struct parsed *to, uint64_t src, uint64_t dst, bool narrow)
{
	if (narrow) {
		((uint32_t *)to->src)[to->edges] = (uint32_t)src;
		((uint32_t *)to->dst)[to->edges] = (uint32_t)dst;
	} else {
		((uint64_t *)to->src)[to->edges] = src;
		((uint64_t *)to->dst)[to->edges] = dst;
	}
	to->bits |= src | dst;
	to->edges++;
}

/* Any line at p, whose newline is at `end`. False when it is an error. */
static bool parse_any(struct parsed *to, const struct gnn_line_rules *rules, const char *p,
	const char *end)
{
	struct gnn_line line;

	to->kind = gnn_edgeline_parse(p, end, rules, &line);
	switch (to->kind) {
	case GNN_LINE_COMMENT:
		to->comments++;
		return true;
	case GNN_LINE_BLANK:
		to->blanks++;
		return true;
	case GNN_LINE_EDGE:
		if (to->weight != NULL)
			to->weight[to->edges] = line.weight;
		to->columns_max = gnn_max_u64(to->columns_max, line.columns);
		put_edge(to, line.src, line.dst, to->narrow);
		return true;
	default:
		return false;
	}
}

/* The arrays behind the head of `out`: edges_max of each. */
static struct parsed lay_out(void *out, uint64_t edges_max, bool weighted, bool narrow)
{
	uint64_t *ids = (uint64_t *)((struct parsed *)out + 1);

	return (struct parsed){.src = ids, .dst = ids + edges_max, .narrow = narrow,
		.weight = weighted ? (float *)(ids + 2 * edges_max) : NULL};
}

/* False when the ids take more than the 32 bits that they were to be put into. */
static inline bool parse_lines(const struct text_source *t, const struct gnn_block *b,
	struct parsed *out, const bool narrow)
{
	const struct gnn_line_rules *rules = &t->rules;
	uint64_t limit = narrow ? gnn_min_u64(rules->id_limit, (uint64_t)1 << 32) :
		rules->id_limit;
	struct parsed to = lay_out(b->out, t->edges_max, t->base.weighted, narrow);
	const char *p = b->data, *end = p + b->bytes;
	uint64_t src, dst;

	while (p < end) {
		const char *next = NULL;

		if (to.weight == NULL)
			next = parse_plain(p, limit, &src, &dst);
		if (next != NULL) {
			put_edge(&to, src, dst, narrow);
			p = next;
			continue;
		}
		next = memchr(p, '\n', (size_t)(end - p));
		if (!parse_any(&to, rules, p, next)) {
			to.bad = p;
			break;
		}
		p = next + 1;
	}
	to.lines = to.edges + to.comments + to.blanks;
	*out = to;
	return !narrow || to.bits >> 32 == 0;
}

static void parse_block(void *arg, struct gnn_block *b)
{
	struct text_source *t = arg;
	struct parsed to;

	if (atomic_load_explicit(&t->wide, memory_order_relaxed) || !parse_lines(t, b, &to, true)) {
		atomic_store_explicit(&t->wide, true, memory_order_relaxed);
		parse_lines(t, b, &to, false);
	}
	*(struct parsed *)b->out = to;
}

static int add_counts(struct text_source *t, const struct parsed *from)
{
	struct gnn_edge_counts *c = &t->base.counts;
	uint64_t read = gnn_max_u64(2, t->rules.weight_column);
	struct gnn_line line;
	const char *end = t->block->data + t->block->bytes;

	c->edges += from->edges;
	c->lines += from->lines;
	c->comments += from->comments;
	c->blanks += from->blanks;
	if (from->columns_max > read)
		c->skipped_columns = gnn_max_u64(c->skipped_columns, from->columns_max - read);
	if (from->bad == NULL)
		return GNN_OK;
	gnn_edgeline_parse(from->bad, memchr(from->bad, '\n', (size_t)(end - from->bad)),
		&t->rules, &line);
	return gnn_edgeline_explain(from->kind, &line, &t->rules, gnn_input_name(t->input),
		c->lines + 1);
}

static int next_batch(struct gnn_edge_source *base, struct gnn_edge_batch *batch)
{
	struct text_source *t = (struct text_source *)base;
	const struct parsed *from;
	int rc = GNN_OK;

	*batch = (struct gnn_edge_batch){0};
	do {
		if (t->block != NULL)
			gnn_ahead_put(t->ahead, t->block);
		t->block = NULL;
		GNN_TRY(gnn_ahead_next(t->ahead, &t->block));
		if (rc == GNN_EOF) {
			GNN_TRY(gnn_input_finish(t->input));
			return GNN_EOF;
		}
		from = t->block->out;
		GNN_TRY(add_counts(t, from));
	} while (from->edges == 0);
	*batch = from->narrow ?
		(struct gnn_edge_batch){.src32 = from->src, .dst32 = from->dst} :
		(struct gnn_edge_batch){.src = from->src, .dst = from->dst};
	batch->weight = from->weight;
	batch->count = from->edges;
	batch->bits = from->bits;
out:
	return rc;
}

static void close_text(struct gnn_edge_source *base)
{
	struct text_source *t = (struct text_source *)base;

	gnn_ahead_close(t->ahead);
	gnn_input_close(t->input);
	gnn_mem_free(t);
}

/* The comments in front of the first edge: they say by which rules the lines are parsed. */
static int read_head(struct text_source *t, const struct gnn_input_opts *o)
{
	struct gnn_input *in = NULL;
	char *text = NULL, *p, *end, *stop;
	uint64_t got, number = 1;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(text, HEAD_BYTES, GNN_MEM_IO);
	GNN_TRY(gnn_input_open(&in, &(struct gnn_input_opts){
		.path = o->path, .member = o->member}));
	GNN_TRY(gnn_input_read(in, text, HEAD_BYTES, &got));
	end = text + got;
	for (p = text; p < end && (*p == '#' || *p == '%'); p = stop + 1, number++) {
		stop = memchr(p, '\n', (size_t)(end - p));
		stop = stop == NULL ? end : stop;
		GNN_TRY(gnn_edgehead_read(&t->base.counts, p, stop, o->path, number));
	}
	if (t->base.counts.from_one && t->rules.columns_max < KONECT_COLUMNS)
		t->rules.columns_max = KONECT_COLUMNS;
out:
	gnn_input_close(in);
	gnn_mem_free(text);
	return rc;
}

/* A block, what is parsed from it, and as many of both as are in flight. */
static uint64_t choose_block_bytes(const struct gnn_edges_opts *o, uint64_t edge_bytes)
{
	uint64_t a_byte = EDGE_BYTES_MIN + edge_bytes; /* memory for EDGE_BYTES_MIN bytes of text */
	uint64_t bytes = o->memory_bytes / MEMORY_SHARE /
			 gnn_ahead_depth(gnn_ahead_workers(o->threads)) / a_byte * EDGE_BYTES_MIN;

	if (o->memory_bytes == 0)
		return BLOCK_BYTES;
	return gnn_max_u64(gnn_min_u64(bytes, BLOCK_BYTES), BLOCK_BYTES_MIN);
}

int gnn_edges_text_open(struct gnn_edge_source **out, const struct gnn_edges_opts *o)
{
	struct gnn_input_opts input = {.path = o->path, .member = o->member, .record = o->record};
	uint64_t edge_bytes = 2 * sizeof(uint64_t) + (o->weight_column != 0 ? sizeof(float) : 0);
	struct gnn_ahead_opts ahead = {.block_bytes = choose_block_bytes(o, edge_bytes),
		.bytes = GNN_INPUT_UNKNOWN,
		.lines = true,
		.work = parse_block,
		.workers = gnn_ahead_workers(o->threads)};
	struct text_source *t = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->threads > 0 && (o->weight_column == 0 || o->weight_column > 2));
	GNN_NEW(t, GNN_MEM_IO);
	t->base = (struct gnn_edge_source){
		.next = next_batch, .close = close_text, .weighted = o->weight_column != 0};
	t->rules = (struct gnn_line_rules){
		.weight_column = o->weight_column,
		.columns_max = o->weight_column == 0 ? 2 : o->weight_column,
		.id_limit = o->id_limit == 0 ? UINT64_MAX : o->id_limit,
	};
	GNN_TRY(read_head(t, &input));
	GNN_TRY(gnn_input_open(&t->input, &input));
	t->edges_max = ahead.block_bytes / EDGE_BYTES_MIN + 1;
	ahead.input = t->input;
	ahead.arg = t;
	ahead.out_bytes = sizeof(struct parsed) + t->edges_max * edge_bytes;
	GNN_TRY(gnn_ahead_open(&t->ahead, &ahead));
	*out = &t->base;
	t = NULL;
out:
	if (t != NULL)
		close_text(&t->base);
	return rc;
}
