/*
 * io/edges_array.c - edges in a npy, npz or headerless array of integers, 2xE or Ex2.
 *
 * What counts is how the pairs lie in the file: side by side (Ex2, or 2xE in Fortran order), one
 * stream; or all sources and then all destinations, two streams at two places of the same file.
 */
#include "io/edges.h"

#include "base/clones.h"
#include "base/mem.h"
#include "base/stage.h"
#include "io/ahead.h"
#include "io/ndarray.h"

#include <stdio.h>

enum {
	BLOCK_EDGES = 128 << 10,
	BLOCK_EDGES_MIN = 8 << 10,
	EDGE_BYTES =
		32, /* of a block at most: two ids as they are read, and as they are handed on */
	MEMORY_SHARE = 8, /* all blocks: this part of the memory */
	PAIRS = 1024,     /* converted on the stack, before they are parted */
};

/* What came of a block. Its ids, of 4 or 8 bytes, lie behind it, or are those of the file. */
struct converted {
	uint64_t bad;  /* the first id that is none, counted in file order; UINT64_MAX: none */
	uint64_t bits; /* the union of all ids */
	void *first, *second; /* ends side by side: sources, destinations; apart: one of them */
};

struct array_source {
	struct gnn_edge_source base;
	struct gnn_edges_opts opts;
	struct gnn_ndarray *array[2]; /* the second: another cursor, when the ends lie apart */
	struct gnn_ahead *ahead[2];
	struct gnn_block *block[2];
	struct gnn_stage *rest; /* hashes what the first stream has not read */
	bool apart;
	bool finished;
	uint64_t edges, block_edges;
	uint64_t limit;    /* ids at and over it are refused, negative ones too */
	uint64_t id_bytes; /* as they are handed on */
};

/* The first of `count` ids at and over the limit; UINT64_MAX: none. */
static uint64_t find_over(const void *id, uint64_t id_bytes, uint64_t count, uint64_t limit)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t one = id_bytes == 4 ? ((const uint32_t *)id)[i] :
			((const uint64_t *)id)[i];

		if (one >= limit)
			return i;
	}
	return UINT64_MAX;
}

GNN_CPU_CLONES
static uint64_t union32(const uint32_t *id, uint64_t count)
{
	uint32_t bits = 0;

	for (uint64_t i = 0; i < count; i++)
		bits |= id[i];
	return bits;
}

GNN_CPU_CLONES
static uint64_t union64(const uint64_t *id, uint64_t count)
{
	uint64_t bits = 0;

	for (uint64_t i = 0; i < count; i++)
		bits |= id[i];
	return bits;
}

/* Ids of the width that is handed on: where they lie when the file has it, else at `to`. */
static void *convert(const struct array_source *s, char *from, uint64_t count, void *to,
	struct converted *c)
{
	const struct gnn_npy *head = &s->array[0]->head;
	uint64_t size = gnn_num_bytes(head->type), bits;
	void *id = from;

	if (head->swapped)
		gnn_num_swap(from, count, (uint32_t)size);
	if (size != s->id_bytes) {
		c->bad = gnn_num_to_u64(head->type, from, count, to);
		if (c->bad < count)
			return to;
		id = to;
	}
	bits = s->id_bytes == 4 ? union32(id, count) : union64(id, count);
	c->bits |= bits;
	c->bad = bits < s->limit ? UINT64_MAX : find_over(id, s->id_bytes, count, s->limit);
	return id;
}

static void convert_end(void *arg, struct gnn_block *b)
{
	const struct array_source *s = arg;
	struct converted *c = b->out;

	*c = (struct converted){0};
	c->first = convert(s, b->data, b->bytes / gnn_num_bytes(s->array[0]->head.type), c + 1, c);
}

#define PART_PAIRS(type)                                               \
	for (uint64_t i = 0; i < n; i++) {                             \
		((type *)c->first)[at + i] = ((const type *)pair)[2 * i];      \
		((type *)c->second)[at + i] = ((const type *)pair)[2 * i + 1]; \
	}

static void convert_pairs(void *arg, struct gnn_block *b)
{
	const struct array_source *s = arg;
	uint64_t size = gnn_num_bytes(s->array[0]->head.type), edges = b->bytes / (2 * size);
	struct converted *c = b->out;
	uint64_t wide[2 * PAIRS];

	*c = (struct converted){UINT64_MAX, 0, c + 1, NULL};
	c->second = (char *)c->first + s->block_edges * s->id_bytes;
	for (uint64_t at = 0, n; at < edges && c->bad == UINT64_MAX; at += n) {
		const void *pair;

		n = gnn_min_u64(PAIRS, edges - at);
		pair = convert(s, b->data + 2 * at * size, 2 * n, wide, c);
		c->bad += c->bad == UINT64_MAX ? 0 : 2 * at;
		if (s->id_bytes == 4)
			PART_PAIRS(uint32_t)
		else
			PART_PAIRS(uint64_t)
	}
}

/* Id number `bad` of block `k`: its edge, its end, and the value as the file has it. */
static int explain(const struct array_source *s, int k, uint64_t bad)
{
	uint64_t edge = s->base.counts.edges + (s->apart ? bad : bad / 2);
	bool is_destination = s->apart ? k == 1 : bad & 1;
	char text[32], wanted[64] = "";

	gnn_num_print(s->array[0]->head.type, s->block[k]->data, bad, text, sizeof(text));
	if (s->opts.id_limit != UINT64_MAX)
		snprintf(wanted, sizeof(wanted), " to %llu",
			(unsigned long long)s->opts.id_limit - 1);
	return gnn_err(GNN_EDATA, "%s: edge %llu has the %s %s; wanted a vertex id from 0%s",
		s->array[0]->name, (unsigned long long)edge,
		is_destination ? "destination" : "source", text, wanted);
}

static int check_bad(const struct array_source *s)
{
	const struct converted *a = s->block[0]->out, *b;

	if (!s->apart)
		return a->bad == UINT64_MAX ? GNN_OK : explain(s, 0, a->bad);
	b = s->block[1]->out;
	if (a->bad == UINT64_MAX && b->bad == UINT64_MAX)
		return GNN_OK;
	return a->bad <= b->bad ? explain(s, 0, a->bad) : explain(s, 1, b->bad);
}

static int hash_rest(void *arg)
{
	struct array_source *s = arg;

	return gnn_input_finish(s->array[0]->input);
}

static int settle(struct gnn_edge_source *base)
{
	return gnn_stage_join(&((struct array_source *)base)->rest);
}

static int finish(struct array_source *s)
{
	int rc = GNN_OK;

	if (s->finished)
		return GNN_EOF;
	for (int i = 0; i < 2; i++) { /* the readers are through before their input is used */
		gnn_ahead_close(s->ahead[i]);
		s->ahead[i] = NULL;
	}
	s->finished = true;
	if (s->base.counts.edges < s->edges)
		GNN_FAIL(GNN_EDATA, "%s: the data ends after %llu of %llu edges", s->array[0]->name,
			(unsigned long long)s->base.counts.edges, (unsigned long long)s->edges);
	GNN_TRY(gnn_ndarray_finish(s->array[s->apart]));
	if (s->apart && s->opts.member == NULL)
		GNN_TRY(gnn_stage_start(&s->rest, "input-hash", hash_rest, s));
	else if (s->apart) /* others may read this file, under the same record */
		GNN_TRY(hash_rest(s));
	rc = GNN_EOF;
out:
	return rc;
}

/* The next block of each stream; both hold as many edges, but where the file is cut short. */
static int next_blocks(struct array_source *s, uint64_t *edges)
{
	uint64_t size = gnn_num_bytes(s->array[0]->head.type);
	int rc = GNN_OK;

	*edges = UINT64_MAX;
	for (int i = 0; i <= s->apart; i++) {
		if (s->block[i] != NULL)
			gnn_ahead_put(s->ahead[i], s->block[i]);
		s->block[i] = NULL;
		GNN_TRY(gnn_ahead_next(s->ahead[i], &s->block[i]));
		if (rc == GNN_EOF)
			return rc;
		*edges = gnn_min_u64(*edges, s->block[i]->bytes / (s->apart ? size : 2 * size));
	}
out:
	return rc;
}

static int next_batch(struct gnn_edge_source *base, struct gnn_edge_batch *batch)
{
	struct array_source *s = (struct array_source *)base;
	const struct converted *c, *other;
	const void *second;
	uint64_t edges;
	int rc = GNN_OK;

	*batch = (struct gnn_edge_batch){0};
	if (s->finished || s->base.counts.edges == s->edges)
		return finish(s);
	GNN_TRY(next_blocks(s, &edges));
	if (rc == GNN_EOF || edges == 0)
		return finish(s);
	GNN_TRY(check_bad(s));
	s->base.counts.edges += edges;
	c = s->block[0]->out;
	other = s->apart ? s->block[1]->out : c;
	second = s->apart ? other->first : c->second;
	*batch = s->id_bytes == 4 ?
		(struct gnn_edge_batch){.src32 = c->first, .dst32 = second} :
		(struct gnn_edge_batch){.src = c->first, .dst = second};
	batch->bits = c->bits | other->bits;
	batch->count = edges;
out:
	return rc;
}

static void close_array(struct gnn_edge_source *base)
{
	struct array_source *s = (struct array_source *)base;

	for (int i = 0; i < 2; i++) /* the workers of either look at the first array */
		gnn_ahead_close(s->ahead[i]);
	gnn_stage_join(&s->rest);
	for (int i = 0; i < 2; i++)
		gnn_ndarray_close(s->array[i]);
	gnn_mem_free(s);
}

/* Which index of the shape is the 2; [2, 2] reads as 2xE. */
static int choose_layout(struct array_source *s)
{
	static const char *const wanted[] = {
		[GNN_EDGES_AUTO] = "(2, E) or (E, 2)",
		[GNN_EDGES_2XE] = "(2, E)",
		[GNN_EDGES_EX2] = "(E, 2)",
	};
	const struct gnn_npy *head = &s->array[0]->head;
	enum gnn_edge_layout layout = s->opts.layout;
	char shape[128];

	if (layout == GNN_EDGES_AUTO && head->rank == 2)
		layout = head->shape[0] == 2 ? GNN_EDGES_2XE : GNN_EDGES_EX2;
	if (head->rank != 2 || head->shape[layout == GNN_EDGES_2XE ? 0 : 1] != 2) {
		gnn_ndarray_shape_text(s->array[0], shape, sizeof(shape));
		return gnn_err(GNN_EDATA, "%s: edges of the shape %s; wanted %s",
			s->array[0]->name, shape, wanted[s->opts.layout]);
	}
	s->edges = head->shape[layout == GNN_EDGES_2XE ? 1 : 0];
	s->apart = (layout == GNN_EDGES_2XE) != head->fortran;
	s->id_bytes = gnn_num_bytes(head->type) == 4 ? 4 : 8;
	s->limit = s->opts.id_limit;
	if (gnn_num_is_signed(head->type))
		s->limit = gnn_min_u64(s->limit, (uint64_t)1 << (8 * s->id_bytes - 1));
	return GNN_OK;
}

static int open_streams(struct array_source *s, const struct gnn_ndarray_opts *array)
{
	uint64_t ids = s->apart ? 1 : 2; /* of an edge, in one stream */
	uint64_t size = gnn_num_bytes(s->array[0]->head.type);
	struct gnn_ahead_opts o = {
		.bytes = s->edges * size * ids,
		.block_bytes = s->block_edges * size * ids,
		.work = s->apart ? convert_end : convert_pairs,
		.arg = s,
		.out_bytes = sizeof(struct converted) + s->block_edges * ids * s->id_bytes,
		/* Two streams have a worker for every second thread each. */
		.workers = gnn_ahead_workers((uint32_t)gnn_ceil_div(s->opts.threads, 3 - ids)),
	};
	int rc = GNN_OK;

	if (s->apart) {
		GNN_TRY(gnn_ndarray_open(&s->array[1], array));
		GNN_TRY(gnn_ndarray_skip(s->array[1], s->edges));
	}
	for (int i = 0; i <= s->apart && s->edges > 0; i++) {
		o.input = s->array[i]->input;
		GNN_TRY(gnn_ahead_open(&s->ahead[i], &o));
	}
out:
	return rc;
}

static uint64_t choose_block_edges(const struct gnn_edges_opts *o)
{
	uint32_t depth = gnn_ahead_depth(gnn_ahead_workers(o->threads));
	uint64_t edges = o->memory_bytes / MEMORY_SHARE / depth / EDGE_BYTES;

	if (o->memory_bytes == 0)
		return BLOCK_EDGES;
	return gnn_max_u64(gnn_min_u64(edges, BLOCK_EDGES), BLOCK_EDGES_MIN);
}

int gnn_edges_array_open(struct gnn_edge_source **out, const struct gnn_edges_opts *o)
{
	struct gnn_ndarray_opts array = {.path = o->path, .member = o->member,
		.record = o->record, .raw = o->raw, .rank = 2, .shape = {o->rows, 2},
		.type = o->raw ? o->type : GNN_NUM_COUNT};
	struct array_source *s = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->threads > 0);
	GNN_NEW(s, GNN_MEM_IO);
	s->base = (struct gnn_edge_source){
		.next = next_batch, .settle = settle, .close = close_array};
	s->opts = *o;
	s->block_edges = choose_block_edges(o);
	if (o->raw)
		s->opts.layout = GNN_EDGES_EX2;
	if (s->opts.id_limit == 0)
		s->opts.id_limit = UINT64_MAX;
	GNN_TRY(gnn_ndarray_open(&s->array[0], &array));
	GNN_TRY(gnn_ndarray_check_type(s->array[0], gnn_num_is_int(s->array[0]->head.type),
		"the integers i1 i2 i4 i8 u1 u2 u4 u8"));
	GNN_TRY(choose_layout(s));
	array.record = NULL; /* the second cursor is not hashed */
	GNN_TRY(open_streams(s, &array));
	*out = &s->base;
	s = NULL;
out:
	if (s != NULL)
		close_array(&s->base);
	return rc;
}
