/* io/edges_text.c - edge lists: blocks of whole lines, cut into slices, parsed by all threads. */
#include "io/edges.h"

#include "base/mem.h"
#include "io/ahead.h"
#include "io/edgehead.h"
#include "io/edgeline.h"
#include "io/scan.h"

#include <string.h>

enum {
	BLOCK_BYTES = 4 << 20,
	BLOCK_BYTES_MIN = 256 << 10,
	MEMORY_SHARE = 32,   /* a block is this part of the memory; all there is, eight blocks */
	DEPTH = 3,
	SLICES_A_THREAD = 4, /* so that a thread that is held up does not hold up all */
	SLICE_BYTES_MIN = 32 << 10,
	EDGE_BYTES_MIN = 4,  /* "1 2\n" */
	KONECT_COLUMNS = 4,  /* src dst weight time */
};

/* A part of a block, and what came of it. */
struct slice {
	const char *begin, *end;
	uint64_t first;   /* its place in the edge arrays */
	uint64_t edges, lines, comments, blanks, columns_max;
	const char *bad;  /* the line that ended it; NULL: none */
	enum gnn_line_kind kind;
};

struct text_source {
	struct gnn_edge_source base;
	struct gnn_edges_opts opts;
	struct gnn_line_rules rules;
	uint64_t block_bytes;
	struct gnn_input *input;
	struct gnn_ahead *ahead;
	struct gnn_block *block;
	bool head_read;
	struct slice *slice;
	uint32_t slices, slices_max, at; /* of the block; next to be handed over */
	uint64_t *src, *dst;
	float *weight;
};

/* `digits separator digits newline`, which nearly all lines are; else NULL. */
static inline const char *parse_plain(const char *p, uint64_t limit, uint64_t *src, uint64_t *dst)
{
	const char *q, *r;
	uint64_t u, v;

	q = gnn_scan_u64(p, &u);
	if (q == NULL || q == p || (*q != '\t' && *q != ' ' && *q != ','))
		return NULL;
	r = gnn_scan_u64(q + 1, &v);
	if (r == NULL || r == q + 1)
		return NULL;
	r += *r == '\r';
	if (*r != '\n' || u >= limit || v >= limit)
		return NULL;
	/* Only now: the slot behind the last edge of a slice belongs to the next one. */
	*src = u;
	*dst = v;
	return r + 1;
}

static void parse_slice(struct slice *s, const struct gnn_line_rules *rules, uint64_t *src,
	uint64_t *dst, float *weight)
{
	uint64_t count[GNN_LINE_BAD] = {0};
	struct gnn_line line;
	const char *p = s->begin;
	uint64_t n = 0;

	s->columns_max = 0;
	s->bad = NULL;
	while (p < s->end) {
		const char *next = NULL;

		if (weight == NULL)
			next = parse_plain(p, rules->id_limit, &src[n], &dst[n]);
		if (next != NULL) {
			p = next;
			n++;
			continue;
		}
		next = memchr(p, '\n', (size_t)(s->end - p));
		s->kind = gnn_edgeline_parse(p, next, rules, &line);
		if (s->kind >= GNN_LINE_BAD) {
			s->bad = p;
			break;
		}
		count[s->kind]++;
		p = next + 1;
		if (s->kind != GNN_LINE_EDGE)
			continue;
		src[n] = line.src;
		dst[n] = line.dst;
		if (weight != NULL)
			weight[n] = line.weight;
		s->columns_max = gnn_max_u64(s->columns_max, line.columns);
		n++;
	}
	s->edges = n;
	s->comments = count[GNN_LINE_COMMENT];
	s->blanks = count[GNN_LINE_BLANK];
	s->lines = n + s->comments + s->blanks;
}

/* Every slice but the last ends behind a newline near its share of the block. */
static void cut_slices(struct text_source *t)
{
	const char *p = t->block->data, *end = p + t->block->bytes;
	uint64_t share = gnn_max_u64(t->block->bytes / t->slices_max, SLICE_BYTES_MIN);
	uint64_t first = 0;

	t->slices = 0;
	while (p < end) {
		struct slice *s = &t->slice[t->slices++];
		const char *stop = (uint64_t)(end - p) <= share || t->slices == t->slices_max ?
			end : p + share;

		if (stop < end) {
			stop = memchr(stop, '\n', (size_t)(end - stop));
			stop++; /* a block ends with a newline */
		}
		*s = (struct slice){.begin = p, .end = stop, .first = first};
		first += (uint64_t)(stop - p) / EDGE_BYTES_MIN;
		p = stop;
	}
}

static int add_counts(struct text_source *t)
{
	struct gnn_edge_counts *c = &t->base.counts;

	for (uint32_t i = 0; i < t->slices; i++) {
		const struct slice *s = &t->slice[i];
		uint64_t read = gnn_max_u64(2, t->rules.weight_column);
		struct gnn_line line;

		c->edges += s->edges;
		c->lines += s->lines;
		c->comments += s->comments;
		c->blanks += s->blanks;
		if (s->columns_max > read)
			c->skipped_columns = gnn_max_u64(c->skipped_columns, s->columns_max - read);
		if (s->bad != NULL) {
			gnn_edgeline_parse(s->bad, memchr(s->bad, '\n', (size_t)(s->end - s->bad)),
				&t->rules, &line);
			return gnn_edgeline_explain(s->kind, &line, &t->rules,
				gnn_input_name(t->input), c->lines + 1);
		}
	}
	return GNN_OK;
}

/* The comments in front of the first edge, before any line is parsed by their rules. */
static int read_head(struct text_source *t)
{
	const char *p = t->block->data, *end = p + t->block->bytes;
	uint64_t number = 1;
	int rc = GNN_OK;

	for (; p < end && (*p == '#' || *p == '%'); number++) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		GNN_TRY(gnn_edgehead_read(
			&t->base.counts, p, stop, gnn_input_name(t->input), number));
		p = stop + 1;
	}
	if (t->base.counts.from_one && t->rules.columns_max < KONECT_COLUMNS)
		t->rules.columns_max = KONECT_COLUMNS;
out:
	return rc;
}

static int parse_block(struct text_source *t)
{
	int rc = GNN_OK;

	if (t->block != NULL)
		gnn_ahead_put(t->ahead, t->block);
	t->block = NULL;
	t->at = t->slices = 0;
	GNN_TRY(gnn_ahead_next(t->ahead, &t->block));
	if (rc == GNN_EOF) {
		t->block = NULL;
		goto out;
	}
	if (!t->head_read)
		GNN_TRY(read_head(t));
	t->head_read = true;
	cut_slices(t);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)t->opts.threads)
	for (uint32_t i = 0; i < t->slices; i++) {
		struct slice *s = &t->slice[i];

		parse_slice(s, &t->rules, t->src + s->first, t->dst + s->first,
			t->weight == NULL ? NULL : t->weight + s->first);
	}
	GNN_TRY(add_counts(t));
out:
	return rc;
}

static int next_batch(struct gnn_edge_source *base, struct gnn_edges *batch)
{
	struct text_source *t = (struct text_source *)base;
	const struct slice *s;
	int rc = GNN_OK;

	*batch = (struct gnn_edges){0};
	while (t->at == t->slices || t->slice[t->at].edges == 0) {
		if (t->at < t->slices) {
			t->at++;
			continue;
		}
		GNN_TRY(parse_block(t));
		if (rc == GNN_EOF) {
			GNN_TRY(gnn_input_finish(t->input));
			return GNN_EOF;
		}
	}
	s = &t->slice[t->at++];
	*batch = (struct gnn_edges){t->src + s->first, t->dst + s->first,
		t->weight == NULL ? NULL : t->weight + s->first, s->edges};
out:
	return rc;
}

static void close_text(struct gnn_edge_source *base)
{
	struct text_source *t = (struct text_source *)base;

	gnn_ahead_close(t->ahead);
	gnn_input_close(t->input);
	gnn_mem_free(t->slice);
	gnn_mem_free(t->src);
	gnn_mem_free(t->dst);
	gnn_mem_free(t->weight);
	gnn_mem_free(t);
}

static int take_memory(struct text_source *t)
{
	uint64_t edges_max;
	int rc = GNN_OK;

	t->slices_max = t->opts.threads * SLICES_A_THREAD;
	edges_max = t->block_bytes / EDGE_BYTES_MIN + t->slices_max;
	GNN_NEW_ARRAY(t->slice, t->slices_max, GNN_MEM_IO);
	GNN_TRY(gnn_mem_pages((void **)&t->src, edges_max * sizeof(*t->src), GNN_MEM_IO));
	GNN_TRY(gnn_mem_pages((void **)&t->dst, edges_max * sizeof(*t->dst), GNN_MEM_IO));
	if (t->base.weighted)
		GNN_TRY(gnn_mem_pages((void **)&t->weight, edges_max * sizeof(*t->weight),
			GNN_MEM_IO));
out:
	return rc;
}

int gnn_edges_text_open(struct gnn_edge_source **out, const struct gnn_edges_opts *o)
{
	struct gnn_ahead_opts ahead = {
		.bytes = GNN_INPUT_UNKNOWN,
		.depth = DEPTH,
		.lines = true,
	};
	struct text_source *t = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->threads > 0 && (o->weight_column == 0 || o->weight_column > 2));
	GNN_NEW(t, GNN_MEM_IO);
	t->base = (struct gnn_edge_source){
		.next = next_batch, .close = close_text, .weighted = o->weight_column != 0};
	t->opts = *o;
	t->rules = (struct gnn_line_rules){
		.weight_column = o->weight_column,
		.columns_max = o->weight_column == 0 ? 2 : o->weight_column,
		.id_limit = o->id_limit == 0 ? UINT64_MAX : o->id_limit,
	};
	t->block_bytes = BLOCK_BYTES;
	if (o->memory_bytes != 0)
		t->block_bytes = gnn_max_u64(gnn_min_u64(o->memory_bytes / MEMORY_SHARE,
			BLOCK_BYTES), BLOCK_BYTES_MIN);
	GNN_TRY(take_memory(t));
	GNN_TRY(gnn_input_open(&t->input, &(struct gnn_input_opts){
		.path = o->path, .member = o->member, .record = o->record}));
	ahead.input = t->input;
	ahead.block_bytes = t->block_bytes;
	GNN_TRY(gnn_ahead_open(&t->ahead, &ahead));
	*out = &t->base;
	t = NULL;
out:
	if (t != NULL)
		close_text(&t->base);
	return rc;
}
