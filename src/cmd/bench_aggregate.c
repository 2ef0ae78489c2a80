/*
 * cmd/bench_aggregate.c - gnnrun bench aggregate: how fast a backend adds messages and multiplies
 * panels, beside how fast it copies memory and what its largest product reaches.
 *
 * Messages are 16 for each of 8,192 sources, to R-MAT destinations among 2^18; eight different
 * blocks in turn, so that states come from memory. Bytes are those of the messages and, for each
 * destination of a block, of its state read and written.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/trial.h"
#include "cmd/bench.h"
#include "op/backend.h"

#include <stdlib.h>

enum {
	SCALE = 18, EDGE_FACTOR = 16, BLOCK_ROWS = 8192, BATCHES = 8,
	ENTRIES = BLOCK_ROWS * EDGE_FACTOR,
	PANEL_ROWS = 32768, PANEL_IN = 256, /* of the products of each width */
	LARGE = 1024,                       /* of the product that is the ceiling: 1024 to 1024 */
	COPY_BYTES = 256 << 20,
	HEADS = 8, WIDTH_MAX = 4096,
};

static const struct combination {
	const char *name;
	enum gnn_combine combine;
	bool carried;
} combinations[] = { /* of gcn, sage, gin; of their hubs; of sage's max and pool; of gat */
	{"sum", GNN_COMBINE_SUM, false},
	{"sum, hubs", GNN_COMBINE_SUM, true},
	{"max", GNN_COMBINE_MAX, false},
	{"softmax, 8 heads", GNN_COMBINE_SOFTMAX, false},
};

struct bench {
	const struct gnn_config *c;
	struct gnn_backend *b;
	struct gnn_json *json; /* NULL: a table */
	struct gnn_edge_batch batch[BATCHES]; /* as the backend reads them */
	double groups;                        /* of all */
	float *weight[GNN_BENCH_LIST_MAX + 1]; /* a backend may keep copies by address: they stay */
	uint32_t weights;
};

/* What one measurement holds, all of the backend. */
struct work {
	struct bench *bench;
	struct gnn_aggregate_args add;
	struct gnn_rows_args rows;
	struct gnn_rowprog prog;
	void *block[6];
	uint32_t blocks;
};

/* --- memory --- */

static int take(struct work *w, uint64_t floats, float value, float **out)
{
	const struct gnn_backend_ops *ops = w->bench->b->ops;
	void *block;
	int rc = ops->alloc(w->bench->b, &block, floats * sizeof(float));

	*out = block;
	if (rc < 0)
		return rc;
	GNN_ASSERT(w->blocks < GNN_COUNT_OF(w->block));
	w->block[w->blocks++] = block;
	return ops->fill(w->bench->b, *out, value, floats);
}

static void put_all(struct work *w)
{
	while (w->blocks > 0)
		w->bench->b->ops->free(w->bench->b, w->block[--w->blocks]);
}

/* --- edges --- */

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Half of the draws go to the left at each bit, and a quarter more: an R-MAT's a + c of .76. */
static uint64_t draw_destination(uint64_t seed, uint64_t stream, uint64_t i)
{
	uint64_t v = 0;

	for (uint64_t bit = 0; bit < SCALE; bit++)
		v = 2 * v + (gnn_rng_unit(gnn_rng_u64(seed, stream * SCALE + bit, i)) >= 0.76);
	return v * 0x9e3779b1u & ((1u << SCALE) - 1);
}

static int mirror(struct bench *b, const void **out, void *from, uint64_t bytes)
{
	int rc = gnn_backend_mirror(b->b, out, from, bytes);

	if (*out != from) /* a copy is there, or nothing */
		gnn_mem_free(from);
	return rc;
}

/* ENTRIES edges grouped by destination, in source order. */
static int make_batch(struct bench *b, uint64_t stream, struct gnn_edge_batch *out)
{
	uint64_t *edge = NULL, *vertex = NULL, *first = NULL, groups = 0;
	uint32_t *src = NULL;
	const void *there;
	int rc;

	GNN_NEW_ARRAY(edge, ENTRIES, GNN_MEM_MISC);
	GNN_NEW_ARRAY(vertex, ENTRIES, GNN_MEM_MISC);
	GNN_NEW_ARRAY(first, ENTRIES + 1, GNN_MEM_MISC);
	GNN_NEW_ARRAY(src, ENTRIES, GNN_MEM_MISC);
	for (uint64_t i = 0; i < ENTRIES; i++)
		edge[i] = draw_destination(b->c->seed, stream, i) << 32 | i / EDGE_FACTOR;
	qsort(edge, ENTRIES, sizeof(*edge), by_value);
	for (uint64_t i = 0; i < ENTRIES; i++) {
		if (i == 0 || edge[i] >> 32 != edge[i - 1] >> 32) {
			vertex[groups] = edge[i] >> 32;
			first[groups++] = i;
		}
		src[i] = (uint32_t)edge[i];
	}
	first[groups] = ENTRIES;
	out->group_count = groups;
	out->entry_count = ENTRIES;
	rc = mirror(b, &there, vertex, groups * sizeof(*vertex));
	out->vertex = out->slot = there;
	vertex = NULL;
	if (rc < 0)
		goto out;
	rc = mirror(b, &there, first, (groups + 1) * sizeof(*first));
	out->first = there;
	first = NULL;
	if (rc < 0)
		goto out;
	rc = mirror(b, &there, src, ENTRIES * sizeof(*src));
	out->src = there;
	src = NULL;
out:
	gnn_mem_free(edge);
	gnn_mem_free(vertex);
	gnn_mem_free(first);
	gnn_mem_free(src);
	return rc;
}

static void put_array(struct bench *b, const void *there)
{
	if (b->b->ops->unified)
		gnn_mem_free((void *)(uintptr_t)there);
	else
		gnn_backend_unmirror(b->b, there);
}

static void put_batches(struct bench *b)
{
	for (int i = 0; i < BATCHES && b->b != NULL; i++) {
		put_array(b, b->batch[i].vertex);
		put_array(b, b->batch[i].first);
		put_array(b, b->batch[i].src);
	}
}

/* --- measurements --- */

static int add_all(void *arg)
{
	struct work *w = arg;
	struct gnn_backend *b = w->bench->b;
	int rc = GNN_OK;

	for (int i = 0; i < BATCHES; i++) {
		w->add.batch = w->bench->batch[i];
		w->add.batch.carry = w->add.carry != NULL ? w->add.batch.vertex : NULL;
		GNN_TRY(b->ops->aggregate(b, &w->add));
	}
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

static int multiply(void *arg)
{
	struct work *w = arg;
	struct gnn_backend *b = w->bench->b;
	int rc;

	GNN_TRY(b->ops->rows(b, &w->rows));
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

static int copy(void *arg)
{
	struct work *w = arg;
	struct gnn_backend *b = w->bench->b;
	enum { ROW = 1 << 16 };
	int rc;

	GNN_TRY(b->ops->copy(b, w->block[0], ROW, w->block[1], ROW, ROW, COPY_BYTES / ROW));
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

/* A row of the table: bytes and floating-point operations of one run, 0 where they say nothing. */
static void print_row(const struct bench *b, const char *what, uint32_t width, double rows,
	double bytes, double flop, const struct gnn_trial *t)
{
	if (b->json == NULL) {
		gnn_out("%-18s %5u", what, width);
		if (rows > 0.0)
			gnn_out("  %9.1f", rows * 1e-6 / t->median_s);
		else
			gnn_out("  %9s", "");
		gnn_out("  %8.2f [%.2f .. %.2f]", bytes * 1e-9 / t->median_s,
			bytes * 1e-9 / t->max_s, bytes * 1e-9 / t->min_s);
		if (flop > 0.0)
			gnn_out("  %9.1f", flop * 1e-9 / t->median_s);
		gnn_out("\n");
		return;
	}
	gnn_json_open_object(b->json, NULL);
	gnn_json_text(b->json, "what", what);
	gnn_json_u64(b->json, "width", width);
	gnn_json_real(b->json, "median_s", t->median_s);
	gnn_json_real(b->json, "min_s", t->min_s);
	gnn_json_real(b->json, "max_s", t->max_s);
	gnn_json_real(b->json, "rows_s", rows / t->median_s);
	gnn_json_real(b->json, "bytes_s", bytes / t->median_s);
	gnn_json_real(b->json, "flop_s", flop / t->median_s);
	gnn_json_shut(b->json);
}

static int measure(struct bench *b, struct gnn_trial *t, int (*body)(void *), struct work *w)
{
	return gnn_trial_run(t, (uint32_t)b->c->runs, true, body, w);
}

static int bench_copy(struct bench *b)
{
	struct work w = {.bench = b};
	struct gnn_trial t;
	float *unused;
	int rc;

	GNN_TRY(take(&w, COPY_BYTES / sizeof(float), 0.0f, &unused));
	GNN_TRY(take(&w, COPY_BYTES / sizeof(float), 1.0f, &unused));
	GNN_TRY(measure(b, &t, copy, &w));
	print_row(b, "memory, copy", 0, 0.0, 2.0 * COPY_BYTES, 0.0, &t);
out:
	put_all(&w);
	return rc;
}

static int bench_dense(struct bench *b, const char *what, uint32_t dim_in, uint32_t dim_out)
{
	struct work w = {.bench = b};
	struct gnn_trial t;
	float *weight, *from, *to;
	int rc;

	GNN_NEW_ARRAY(weight, (uint64_t)dim_in * dim_out, GNN_MEM_MODEL);
	b->weight[b->weights++] = weight;
	for (uint64_t i = 0; i < (uint64_t)dim_in * dim_out; i++)
		weight[i] = (float)(gnn_rng_unit(gnn_rng_u64(b->c->seed, 1, i)) - 0.5);
	GNN_TRY(take(&w, (uint64_t)PANEL_ROWS * dim_in, 0.5f, &from));
	GNN_TRY(take(&w, (uint64_t)PANEL_ROWS * dim_out, 0.0f, &to));
	gnn_rowprog_init(&w.prog, dim_in);
	GNN_TRY(gnn_rowprog_dense(&w.prog, weight, NULL, dim_out));
	GNN_TRY(gnn_backend_check_dense(b->b, dim_in, dim_out));
	w.rows = (struct gnn_rows_args){.prog = &w.prog, .from = from, .from_dtype = GNN_F32,
		.from_pitch = dim_in, .to = to, .to_pitch = dim_out, .rows = PANEL_ROWS};
	GNN_TRY(measure(b, &t, multiply, &w));
	print_row(b, what, dim_out, PANEL_ROWS, PANEL_ROWS * 4.0 * (dim_in + dim_out),
		2.0 * PANEL_ROWS * dim_in * dim_out, &t);
out:
	put_all(&w);
	return rc;
}

static int bench_add(struct bench *b, const struct combination *k, uint32_t width)
{
	const bool softmax = k->combine == GNN_COMBINE_SOFTMAX;
	const uint64_t vertices = UINT64_C(1) << SCALE, whole = width + (softmax ? HEADS : 0);
	const double rows = (double)ENTRIES * BATCHES;
	struct gnn_aggregate_args *a;
	struct work w = {.bench = b};
	struct gnn_trial t;
	float *at;
	int rc = GNN_OK;

	if (softmax && width % HEADS != 0)
		return GNN_OK; /* no such layer */
	a = &w.add;
	*a = (struct gnn_aggregate_args){.combine = k->combine, .width = width,
		.message_pitch = width, .own_pitch = width, .own_factor = 1.0f,
		.state_pitch = whole, .carry_pitch = whole, .slope = 0.2f};
	GNN_TRY(take(&w, BLOCK_ROWS * (uint64_t)width, 0.25f, &at));
	a->message = a->own = at;
	GNN_TRY(take(&w, vertices * whole, 0.0f, &a->state));
	if (k->carried)
		GNN_TRY(take(&w, vertices * whole, 0.0f, &a->carry));
	if (softmax) {
		a->heads = HEADS;
		a->score_pitch = HEADS;
		GNN_TRY(take(&w, (uint64_t)BLOCK_ROWS * HEADS, 0.1f, &at));
		a->score_src = at;
		GNN_TRY(take(&w, vertices * HEADS, 0.1f, &at));
		a->score_dst = at;
		GNN_TRY(take(&w, vertices * HEADS, 0.1f, &at));
		a->score_max = at;
	}
	GNN_TRY(measure(b, &t, add_all, &w));
	print_row(b, k->name, width, rows, rows * width * 4.0 + b->groups * (double)whole *
		(k->carried ? 16.0 : 8.0), 0.0, &t);
out:
	put_all(&w);
	return rc;
}

static int bench_all(struct bench *b, const struct gnn_bench_list *widths)
{
	int rc;

	GNN_TRY(bench_copy(b));
	GNN_TRY(bench_dense(b, "product, large", LARGE, LARGE));
	for (uint32_t i = 0; i < widths->count; i++)
		GNN_TRY(bench_dense(b, "panels, 256 to", PANEL_IN, (uint32_t)widths->value[i]));
	for (size_t k = 0; k < GNN_COUNT_OF(combinations); k++)
		for (uint32_t i = 0; i < widths->count; i++)
			GNN_TRY(bench_add(b, &combinations[k], (uint32_t)widths->value[i]));
out:
	return rc;
}

static int run(struct bench *b)
{
	struct gnn_bench_list widths;
	int rc;

	GNN_TRY(gnn_bench_list(&widths, "widths", b->c->widths));
	for (uint32_t i = 0; i < widths.count; i++)
		if (widths.value[i] > WIDTH_MAX)
			GNN_FAIL(GNN_EUSAGE, "--widths %s: at most %d", b->c->widths, WIDTH_MAX);
	GNN_TRY(gnn_backend_create(&b->b, b->c->backend, &(struct gnn_backend_opts){
		.threads = (uint32_t)b->c->threads, .memory_bytes = b->c->gpu_memory}));
	for (int i = 0; i < BATCHES; i++) {
		GNN_TRY(make_batch(b, (uint64_t)i + 2, &b->batch[i]));
		b->groups += (double)b->batch[i].group_count;
	}
	if (b->json == NULL) {
		gnn_out("%-18s %5s  %9s  %8s %-16s  %9s\n", "what", "width", "M rows/s", "GB/s", "",
			"GFLOP/s");
	} else {
		gnn_json_text(b->json, "command", "bench aggregate");
		gnn_json_text(b->json, "backend", b->b->ops->name);
		gnn_json_u64(b->json, "threads", b->c->threads);
		gnn_json_u64(b->json, "runs", b->c->runs);
		gnn_json_open_array(b->json, "rows");
	}
	GNN_TRY(bench_all(b, &widths));
	if (b->json != NULL) {
		gnn_json_shut(b->json);
		GNN_TRY(gnn_json_print(b->json));
	}
out:
	return rc;
}

int gnn_bench_aggregate(const struct gnn_config *c)
{
	struct bench b = {.c = c};
	int rc = GNN_OK;

	if (c->json)
		GNN_TRY(gnn_json_create(&b.json));
	rc = run(&b);
out:
	put_batches(&b);
	gnn_backend_destroy(b.b);
	while (b.weights > 0)
		gnn_mem_free(b.weight[--b.weights]);
	gnn_json_destroy(b.json);
	return rc;
}
