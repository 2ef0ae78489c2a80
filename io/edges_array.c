/*
 * io/edges_array.c - edges in a npy or npz array of integers, 2xE or Ex2.
 *
 * What counts is how the pairs lie in the file: side by side (Ex2, or 2xE in Fortran order), one
 * stream; or all sources and then all destinations, two streams at two places of the same file.
 */
#include "io/edges.h"

#include "base/mem.h"
#include "io/ahead.h"
#include "io/ndarray.h"

#include <stdio.h>
#include <string.h>

enum {
	EDGES_A_BLOCK = 256 << 10,
	EDGES_A_BLOCK_MIN = 16 << 10,
	MEMORY_AN_EDGE = 512, /* of the whole import: eight times what an edge of a block takes */
	EDGES_A_PIECE = 2048,
	DEPTH = 3,
};

struct array_source {
	struct gnn_edge_source base;
	struct gnn_edges_opts opts;
	struct gnn_ndarray *array[2]; /* the second: another cursor, when the ends lie apart */
	struct gnn_ahead *ahead[2];
	struct gnn_block *block[2];
	bool apart;
	bool finished;
	uint64_t edges;
	uint64_t block_edges;
	uint64_t *src, *dst; /* (block_edges) */
};

/* The place of the first bad id of a block: 2 x edge + end; UINT64_MAX: none. */
typedef uint64_t bad_place;

static bad_place check_limit(const uint64_t *id, uint64_t count, uint64_t limit)
{
	uint64_t over = 0;

	for (uint64_t i = 0; i < count; i++)
		over |= id[i] >= limit;
	for (uint64_t i = 0; over && i < count; i++) {
		if (id[i] >= limit)
			return i;
	}
	return UINT64_MAX;
}

/* Ends apart: `end` of `n` edges from edge `first` of the block. */
static bad_place convert_end(struct array_source *s, int end, uint64_t first, uint64_t n)
{
	const struct gnn_npy *head = &s->array[0]->head;
	uint32_t size = gnn_num_bytes(head->type);
	char *from = s->block[end]->data + first * size;
	uint64_t *to = (end == 0 ? s->src : s->dst) + first, bad;

	if (head->swapped)
		gnn_num_swap(from, n, size);
	bad = gnn_num_to_u64(head->type, from, n, to);
	bad = bad < n ? bad : check_limit(to, n, s->opts.id_limit);
	return bad == UINT64_MAX ? bad : 2 * (first + bad) + (uint64_t)end;
}

/* Ends side by side. */
static bad_place convert_pairs(struct array_source *s, uint64_t first, uint64_t n)
{
	const struct gnn_npy *head = &s->array[0]->head;
	uint32_t size = gnn_num_bytes(head->type);
	char *from = s->block[0]->data + 2 * first * size;
	uint64_t pair[2 * EDGES_A_PIECE], bad;

	if (head->swapped)
		gnn_num_swap(from, 2 * n, size);
	bad = gnn_num_to_u64(head->type, from, 2 * n, pair);
	bad = bad < 2 * n ? bad : check_limit(pair, 2 * n, s->opts.id_limit);
	if (bad != UINT64_MAX)
		return 2 * first + bad;
	for (uint64_t i = 0; i < n; i++) {
		s->src[first + i] = pair[2 * i];
		s->dst[first + i] = pair[2 * i + 1];
	}
	return UINT64_MAX;
}

static bad_place convert(struct array_source *s, uint64_t count)
{
	bad_place bad = UINT64_MAX;

#pragma omp parallel for reduction(min : bad) num_threads((int)s->opts.threads)
	for (uint64_t first = 0; first < count; first += EDGES_A_PIECE) {
		uint64_t n = gnn_min_u64(EDGES_A_PIECE, count - first);
		bad_place here;

		if (s->apart) {
			here = convert_end(s, 0, first, n);
			here = gnn_min_u64(here, convert_end(s, 1, first, n));
		} else {
			here = convert_pairs(s, first, n);
		}
		bad = gnn_min_u64(bad, here);
	}
	return bad;
}

static int explain(struct array_source *s, bad_place bad)
{
	const struct gnn_npy *head = &s->array[0]->head;
	int end = s->apart ? (int)(bad & 1) : 0;
	uint64_t edge = s->base.counts.edges + bad / 2;
	char text[32], wanted[64] = "";

	gnn_num_print(
		head->type, s->block[end]->data, s->apart ? bad / 2 : bad, text, sizeof(text));
	if (s->opts.id_limit != UINT64_MAX)
		snprintf(wanted, sizeof(wanted), " to %llu",
			(unsigned long long)s->opts.id_limit - 1);
	return gnn_err(GNN_EDATA, "%s: edge %llu has the %s %s; wanted a vertex id from 0%s",
		s->array[0]->name, (unsigned long long)edge, bad & 1 ? "destination" : "source",
		text, wanted);
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
	if (!s->apart)
		GNN_TRY(gnn_ndarray_finish(s->array[0]));
	else
		GNN_TRY(gnn_input_finish(s->array[0]->input));
	if (s->apart)
		GNN_TRY(gnn_ndarray_finish(s->array[1]));
	rc = GNN_EOF;
out:
	return rc;
}

static int next_blocks(struct array_source *s)
{
	int rc = GNN_OK;

	for (int i = 0; i <= s->apart; i++) {
		if (s->block[i] != NULL)
			gnn_ahead_put(s->ahead[i], s->block[i]);
		s->block[i] = NULL;
		GNN_TRY(gnn_ahead_next(s->ahead[i], &s->block[i]));
		if (rc == GNN_EOF)
			return rc;
	}
out:
	return rc;
}

static int next_batch(struct gnn_edge_source *base, struct gnn_edges *batch)
{
	struct array_source *s = (struct array_source *)base;
	uint64_t size = gnn_num_bytes(s->array[0]->head.type);
	uint64_t n = gnn_min_u64(s->block_edges, s->edges - s->base.counts.edges), have;
	bad_place bad;
	int rc = GNN_OK;

	*batch = (struct gnn_edges){0};
	if (s->finished || n == 0)
		return finish(s);
	GNN_TRY(next_blocks(s));
	if (rc == GNN_EOF)
		return finish(s);
	have = s->block[0]->bytes / (s->apart ? size : 2 * size);
	if (s->apart)
		have = gnn_min_u64(have, s->block[1]->bytes / size);
	if (have < n)
		return finish(s);
	bad = convert(s, n);
	if (bad != UINT64_MAX)
		return explain(s, bad);
	s->base.counts.edges += n;
	*batch = (struct gnn_edges){s->src, s->dst, NULL, n};
out:
	return rc;
}

static void close_array(struct gnn_edge_source *base)
{
	struct array_source *s = (struct array_source *)base;

	for (int i = 0; i < 2; i++) {
		gnn_ahead_close(s->ahead[i]);
		gnn_ndarray_close(s->array[i]);
	}
	gnn_mem_free(s->src);
	gnn_mem_free(s->dst);
	gnn_mem_free(s);
}

/* Which index of the shape is the 2; [2, 2] reads as 2xE. */
static int choose_layout(struct array_source *s)
{
	const struct gnn_npy *head = &s->array[0]->head;
	enum gnn_edge_layout layout = s->opts.layout;
	char shape[128];

	if (layout == GNN_EDGES_AUTO && head->rank == 2)
		layout = head->shape[0] == 2 ? GNN_EDGES_2XE : GNN_EDGES_EX2;
	if (head->rank != 2 || head->shape[layout == GNN_EDGES_2XE ? 0 : 1] != 2) {
		gnn_ndarray_shape_text(s->array[0], shape, sizeof(shape));
		return gnn_err(GNN_EDATA, "%s: edges of the shape %s; wanted %s", s->array[0]->name,
			shape, s->opts.layout == GNN_EDGES_2XE ? "(2, E)" :
			s->opts.layout == GNN_EDGES_EX2 ? "(E, 2)" : "(2, E) or (E, 2)");
	}
	s->edges = head->shape[layout == GNN_EDGES_2XE ? 1 : 0];
	s->apart = (layout == GNN_EDGES_2XE) != head->fortran;
	return GNN_OK;
}

static int open_streams(struct array_source *s, const struct gnn_ndarray_opts *array)
{
	struct gnn_ahead_opts o = {.depth = DEPTH};
	uint64_t size = gnn_num_bytes(s->array[0]->head.type);
	int rc = GNN_OK;

	if (s->apart) {
		GNN_TRY(gnn_ndarray_open(&s->array[1], &(struct gnn_ndarray_opts){
			.path = array->path, .member = array->member}));
		GNN_TRY(gnn_ndarray_skip(s->array[1], s->edges));
	}
	o.bytes = s->edges * size * (s->apart ? 1 : 2);
	o.block_bytes = s->block_edges * size * (s->apart ? 1 : 2);
	for (int i = 0; i <= s->apart && s->edges > 0; i++) {
		o.input = s->array[i]->input;
		GNN_TRY(gnn_ahead_open(&s->ahead[i], &o));
	}
	GNN_TRY(gnn_mem_pages((void **)&s->src, s->block_edges * sizeof(*s->src), GNN_MEM_IO));
	GNN_TRY(gnn_mem_pages((void **)&s->dst, s->block_edges * sizeof(*s->dst), GNN_MEM_IO));
out:
	return rc;
}

int gnn_edges_array_open(struct gnn_edge_source **out, const struct gnn_edges_opts *o)
{
	struct gnn_ndarray_opts array = {.path = o->path, .member = o->member,
		.record = o->record, .raw = o->raw, .rank = 2, .shape = {o->rows, 2},
		.type = o->raw ? o->type : GNN_NUM_COUNT};
	struct array_source *s = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(s, GNN_MEM_IO);
	s->base = (struct gnn_edge_source){.next = next_batch, .close = close_array};
	s->opts = *o;
	s->block_edges = EDGES_A_BLOCK;
	if (o->memory_bytes != 0)
		s->block_edges = gnn_max_u64(gnn_min_u64(o->memory_bytes / MEMORY_AN_EDGE,
			EDGES_A_BLOCK), EDGES_A_BLOCK_MIN);
	if (o->raw)
		s->opts.layout = GNN_EDGES_EX2;
	if (s->opts.id_limit == 0)
		s->opts.id_limit = UINT64_MAX;
	GNN_TRY(gnn_ndarray_open(&s->array[0], &array));
	GNN_TRY(gnn_ndarray_check_type(s->array[0], gnn_num_is_int(s->array[0]->head.type),
		"the integers i1 i2 i4 i8 u1 u2 u4 u8"));
	GNN_TRY(choose_layout(s));
	GNN_TRY(open_streams(s, &array));
	*out = &s->base;
	s = NULL;
out:
	if (s != NULL)
		close_array(&s->base);
	return rc;
}
