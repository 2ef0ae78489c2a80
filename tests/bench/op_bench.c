/*
 * Rates of the CPU backend beside the machine's own: dense panels beside OpenBLAS, aggregation
 * beside a copy. Usage: op_bench [threads]. One line a case, each figure the median of the trials.
 */
#include "base/trial.h"

#include "base/mem.h"
#include "base/rng.h"
#include "op/backend.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRIALS = 5,
	ROWS = 32768,       /* of a dense case */
	SCALE = 20,         /* vertices of the R-MAT, as a power of two */
	BLOCK_ROWS = 8192,  /* sources of one batch */
	EDGE_FACTOR = 16,
	BATCHES = 8,        /* different ones, so that states come from memory */
	ENTRIES = BLOCK_ROWS * EDGE_FACTOR,
};

static void check(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "op_bench: %s\n", gnn_err_text());
		exit(1);
	}
}

static void *take(uint64_t bytes)
{
	void *block;

	check(gnn_mem_pages(&block, bytes, GNN_MEM_STATE));
	memset(block, 0, bytes);
	return block;
}

static float *take_random(uint64_t count, uint64_t stream)
{
	float *to = take(count * sizeof(float));

	for (uint64_t i = 0; i < count; i++)
		to[i] = (float)(gnn_rng_unit(gnn_rng_u64(1, stream, i)) - 0.5);
	return to;
}

/* Median seconds of the trials. */
static double seconds(int (*run)(void *), void *arg)
{
	struct gnn_trial trial;

	check(gnn_trial_run(&trial, TRIALS, true, run, arg));
	return trial.median_s;
}

struct dense_case {
	struct gnn_backend  *b;
	struct gnn_rowprog   prog;
	struct gnn_rows_args args;
	uint64_t             panel; /* rows of one sgemm call */
};

static int run_rows(void *arg)
{
	struct dense_case *c = arg;

	return c->b->ops->rows(c->b, &c->args);
}

static int run_sgemm(void *arg)
{
	const struct dense_case *c = arg;
	const struct gnn_rowop *op = &c->prog.op[0];

	for (uint64_t r = 0; r < ROWS; r += c->panel)
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)c->panel,
			(int)op->dim_out, (int)op->dim_in, 1.0f,
			(const float *)c->args.from + r * op->dim_in, (int)op->dim_in, op->weight,
			(int)op->dim_in, 0.0f, c->args.to + r * op->dim_out, (int)op->dim_out);
	return GNN_OK;
}

static void bench_dense(struct gnn_backend *one, struct gnn_backend *all, uint32_t dim_in,
	uint32_t dim_out)
{
	float *x = take_random((uint64_t)ROWS * dim_in, 1);
	float *y = take((uint64_t)ROWS * dim_out * sizeof(float));
	float *w = take_random((uint64_t)dim_in * dim_out, 2);
	const double flop = 2.0 * ROWS * dim_in * dim_out * 1e-9;
	struct dense_case c = {.b = one};

	gnn_rowprog_init(&c.prog, dim_in);
	check(gnn_rowprog_dense(&c.prog, w, NULL, dim_out));
	c.args = (struct gnn_rows_args){.prog = &c.prog, .from = x, .from_dtype = GNN_F32,
		.from_pitch = dim_in, .to = y, .to_pitch = dim_out, .rows = ROWS};
	check(gnn_backend_check_dense(one, dim_in, dim_out));
	check(gnn_backend_check_dense(all, dim_in, dim_out));
	printf("dense %4u to %4u  rows %6.1f GFLOP/s", dim_in, dim_out,
		flop / seconds(run_rows, &c));
	c.b = all;
	printf("  all threads %6.1f", flop / seconds(run_rows, &c));
	c.panel = GNN_PANEL_ROWS;
	printf("  sgemm of 256 rows %6.1f", flop / seconds(run_sgemm, &c));
	c.panel = ROWS;
	printf("  of all rows %6.1f\n", flop / seconds(run_sgemm, &c));
	gnn_mem_free(x);
	gnn_mem_free(y);
	gnn_mem_free(w);
}

/* One R-MAT draw: a destination, its bits shuffled so that hubs lie anywhere. */
static uint64_t draw_destination(uint64_t stream, uint64_t i)
{
	uint64_t v = 0;

	for (int bit = 0; bit < SCALE; bit++) {
		const uint64_t draw = gnn_rng_u64(7, stream * SCALE + (uint64_t)bit, i);

		v = 2 * v + (gnn_rng_unit(draw) >= 0.76); /* a + c, the left half */
	}
	return v * 0x9e3779b1u & ((1u << SCALE) - 1);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* ENTRIES edges grouped by destination, in source order. */
static struct gnn_edge_batch take_batch(uint64_t stream, bool carried)
{
	uint64_t *edge = take(ENTRIES * 8), *vertex = take(ENTRIES * 8), *carry = NULL;
	uint64_t *first = take((ENTRIES + 1) * 8), groups = 0;
	uint32_t *src = take(ENTRIES * 4);

	for (uint64_t i = 0; i < ENTRIES; i++)
		edge[i] = draw_destination(stream, i) << 32 | i / EDGE_FACTOR;
	qsort(edge, ENTRIES, 8, by_value);
	for (uint64_t i = 0; i < ENTRIES; i++) {
		if (i == 0 || edge[i] >> 32 != edge[i - 1] >> 32) {
			vertex[groups] = edge[i] >> 32;
			first[groups++] = i;
		}
		src[i] = (uint32_t)edge[i];
	}
	first[groups] = ENTRIES;
	gnn_mem_free(edge);
	if (carried)
		carry = vertex;
	return (struct gnn_edge_batch){.group_count = groups, .entry_count = ENTRIES,
		.vertex = vertex, .slot = vertex, .carry = carry, .first = first, .src = src};
}

static void put_batch(struct gnn_edge_batch *b)
{
	gnn_mem_free((void *)b->vertex);
	gnn_mem_free((void *)b->first);
	gnn_mem_free((void *)b->src);
}

struct aggregate_case {
	struct gnn_backend *b;
	struct gnn_aggregate_args args;
	struct gnn_edge_batch batch[BATCHES];
};

static int run_aggregate(void *arg)
{
	struct aggregate_case *c = arg;
	int rc = GNN_OK;

	for (int i = 0; i < BATCHES; i++) {
		c->args.batch = c->batch[i];
		GNN_TRY(c->b->ops->aggregate(c->b, &c->args));
	}
out:
	return rc;
}

static void bench_aggregate(struct gnn_backend *one, struct gnn_backend *all, const char *name,
	enum gnn_combine combine, uint32_t width, uint32_t heads, bool carried)
{
	const uint64_t vertices = 1u << SCALE, whole = width + heads;
	const double entries = (double)ENTRIES * BATCHES;
	struct aggregate_case c = {.b = one};
	double groups = 0, s1, sn;

	for (int i = 0; i < BATCHES; i++) {
		c.batch[i] = take_batch((uint64_t)i, carried);
		groups += (double)c.batch[i].group_count;
	}
	c.args = (struct gnn_aggregate_args){.combine = combine, .width = width,
		.message = take_random((uint64_t)BLOCK_ROWS * width, 3), .message_pitch = width,
		.own_factor = 1, .state = take(vertices * whole * 4), .state_pitch = whole,
		.carry = carried ? take(vertices * whole * 4) : NULL, .carry_pitch = whole,
		.heads = heads, .slope = 0.2f,
		.score_src = take_random((uint64_t)BLOCK_ROWS * heads, 4),
		.score_dst = take_random(vertices * heads, 5),
		.score_max = take_random(vertices * heads, 6), .score_pitch = heads};
	s1 = seconds(run_aggregate, &c);
	c.b = all;
	sn = seconds(run_aggregate, &c);
	printf("%-16s %4u wide  %5.1f M entries/s  messages %5.2f GB/s  state traffic %5.2f GB/s"
		"  all threads %5.1f M/s %5.2f GB/s %5.2f GB/s\n", name, width, entries / s1 * 1e-6,
		entries * width * 4e-9 / s1, groups * (double)whole * (carried ? 16e-9 : 8e-9) / s1,
		entries / sn * 1e-6, entries * width * 4e-9 / sn,
		groups * (double)whole * (carried ? 16e-9 : 8e-9) / sn);
	gnn_mem_free((void *)c.args.message);
	gnn_mem_free(c.args.state);
	gnn_mem_free(c.args.carry);
	gnn_mem_free((void *)c.args.score_src);
	gnn_mem_free((void *)c.args.score_dst);
	gnn_mem_free((void *)c.args.score_max);
	for (int i = 0; i < BATCHES; i++)
		put_batch(&c.batch[i]);
}

struct copy_case {
	struct gnn_backend *b;
	float *from, *to;
	uint64_t bytes;
};

static int run_copy(void *arg)
{
	struct copy_case *c = arg;

	return c->b->ops->copy(c->b, c->to, c->bytes / 512, c->from, c->bytes / 512,
		c->bytes / 512, 512);
}

static void bench_copy(struct gnn_backend *one, struct gnn_backend *all)
{
	struct copy_case c = {.b = one, .bytes = 512 << 20};

	c.from = take(c.bytes);
	c.to = take(c.bytes);
	printf("copy  512 MiB  %5.2f GB/s read and written", 2e-9 * (double)c.bytes /
		seconds(run_copy, &c));
	c.b = all;
	printf("  all threads %5.2f\n", 2e-9 * (double)c.bytes / seconds(run_copy, &c));
	gnn_mem_free(c.from);
	gnn_mem_free(c.to);
}

int main(int argc, char **argv)
{
	const struct gnn_backend_opts serial = {.threads = 1};
	const struct gnn_backend_opts wide = {.threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 2};
	struct gnn_backend *one, *all;

	check(gnn_backend_create(&one, "cpu", &serial));
	check(gnn_backend_create(&all, "cpu", &wide));
	openblas_set_num_threads(1);
	bench_copy(one, all);
	bench_dense(one, all, 256, 128);
	bench_dense(one, all, 1024, 128);
	bench_dense(one, all, 128, 128);
	bench_dense(one, all, 128, 47);
	bench_dense(one, all, 128, 3);
	bench_aggregate(one, all, "sum", GNN_COMBINE_SUM, 128, 0, false);
	bench_aggregate(one, all, "sum, carried", GNN_COMBINE_SUM, 128, 0, true);
	bench_aggregate(one, all, "sum", GNN_COMBINE_SUM, 47, 0, false);
	bench_aggregate(one, all, "max", GNN_COMBINE_MAX, 128, 0, false);
	bench_aggregate(one, all, "softmax, 8 heads", GNN_COMBINE_SOFTMAX, 128, 8, false);
	gnn_backend_destroy(one);
	gnn_backend_destroy(all);
	return 0;
}
