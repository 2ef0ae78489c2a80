/*
 * Rates of the iteration that orders vertices, beside a copy of memory.
 *
 * usage: order_bench BACKEND SCALE [EDGE_FACTOR] [THREADS] [DEVICE_MIB]
 *
 * Lists of 2^SCALE vertices, EDGE_FACTOR random neighbours each: of the kind that caches help
 * least. An iteration reads each neighbour twice (4 bytes) and gathers a rank and a centre for it,
 * a sector of 32 bytes each on a GPU, 64 on a CPU: bytes of memory are counted so, those of the
 * sort are not.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "op/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 4, COPY_BYTES = 1 << 30, COPIES = 8 };

static void check(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "order_bench: %s\n", gnn_err_text());
		exit(1);
	}
}

static void *take(uint64_t bytes)
{
	void *block;

	check(gnn_mem_pages(&block, bytes, GNN_MEM_TOPOLOGY));
	return block;
}

struct bench {
	struct gnn_backend    *b;
	struct gnn_places     *r;
	struct gnn_place_lists list[GNN_DIRECTIONS];
};

static void make_lists(struct bench *t, uint64_t vertices, uint64_t factor)
{
	uint64_t *offsets = take((vertices + 1) * sizeof(*offsets));

	for (uint64_t v = 0; v <= vertices; v++)
		offsets[v] = v * factor;
	for (int d = 0; d < GNN_DIRECTIONS; d++) {
		uint32_t *id = take((vertices * factor + 1) * sizeof(*id));

#pragma omp parallel for schedule(static)
		for (uint64_t i = 0; i < vertices * factor; i++)
			id[i] = (uint32_t)(gnn_rng_u64(3, (uint64_t)d, i) % vertices);
		t->list[d] = (struct gnn_place_lists){.end = vertices, .offsets = offsets,
			.narrow = id};
	}
}

static void free_lists(struct bench *t)
{
	gnn_mem_free((void *)(uintptr_t)t->list[GNN_OUT].offsets);
	for (int d = 0; d < GNN_DIRECTIONS; d++)
		gnn_mem_free((void *)(uintptr_t)t->list[d].narrow);
}

/* Bytes read and written a second by a copy within memory; `memory` 0: all of the machine's. */
static double copy_rate(struct gnn_backend *b, uint64_t memory)
{
	const uint64_t most = memory > 0 ? memory / 4 : COPY_BYTES;
	const uint64_t bytes = (most < COPY_BYTES ? most : COPY_BYTES) >> 20 << 20;
	void *from, *to;
	uint64_t start;
	double rate;

	check(b->ops->alloc(b, &from, bytes));
	check(b->ops->alloc(b, &to, bytes));
	for (int i = 0; i <= COPIES; i++) {
		check(b->ops->copy(b, to, 1 << 20, from, 1 << 20, 1 << 20, bytes >> 20));
		check(b->ops->sync(b));
		if (i == 0)
			start = gnn_clock_ns();
	}
	rate = 2.0 * COPIES * (double)bytes / gnn_clock_s_since(start) / 1e9;
	b->ops->free(b, from);
	b->ops->free(b, to);
	return rate;
}

static void measure(struct bench *t, struct gnn_spread *s)
{
	check(t->r->ops->begin(t->r));
	check(t->r->ops->spread(t->r, &t->list[GNN_IN]));
	check(t->r->ops->end(t->r, s));
}

static void run(struct bench *t, uint64_t edges, double copied)
{
	const struct gnn_place_ops *ops = t->r->ops;
	const double sectors = t->b->ops->unified ? 64.0 : 32.0;
	struct gnn_spread s;
	bool changed;

	check(ops->prepare(t->r));
	measure(t, &s);
	for (int i = 0; i < ITERATIONS; i++) {
		uint64_t start = gnn_clock_ns();
		double pulled, sorted, all, bytes = 2.0 * (4.0 + sectors) * (double)edges;

		check(ops->pull(t->r, &t->list[GNN_OUT]));
		check(t->b->ops->sync(t->b));
		pulled = gnn_clock_s_since(start);
		check(ops->sort(t->r, &changed));
		sorted = gnn_clock_s_since(start) - pulled;
		measure(t, &s);
		all = gnn_clock_s_since(start);
		printf("%s %d: pull %.4f s, sort %.4f, measure %.4f, all %.4f = %.0f M edges/s; "
			"passes %.0f GB/s, a copy %.0f\n", t->b->ops->name, i + 1, pulled, sorted,
			all - pulled - sorted, all, (double)edges / all / 1e6,
			bytes / (all - sorted) / 1e9, copied);
	}
}

int main(int argc, char **argv)
{
	const uint64_t vertices = UINT64_C(1) << strtoul(argc > 2 ? argv[2] : "20", NULL, 10);
	const uint64_t factor = strtoul(argc > 3 ? argv[3] : "16", NULL, 10);
	const uint64_t edges = vertices * factor;
	struct gnn_backend_opts o = {
		.threads = (uint32_t)strtoul(argc > 4 ? argv[4] : "2", NULL, 10),
		.memory_bytes = strtoul(argc > 5 ? argv[5] : "0", NULL, 10) << 20,
	};
	struct bench t = {0};
	uint64_t *rank;
	double copied;

	check(gnn_backend_create(&t.b, argc > 1 ? argv[1] : "cpu", &o));
	copied = copy_rate(t.b, o.memory_bytes);
	make_lists(&t, vertices, factor);
	rank = take(vertices * sizeof(*rank));
	for (uint64_t v = 0; v < vertices; v++)
		rank[v] = v;
	check(t.b->ops->places->create(&t.r, t.b, &(struct gnn_places_opts){.vertices = vertices,
		.edges = edges, .longest = factor, .moves = true}));
	for (int d = 0; d < GNN_DIRECTIONS && t.r->reads; d++)
		check(t.b->ops->pin(t.b, t.list[d].narrow, edges * sizeof(uint32_t)));
	check(t.r->ops->put(t.r, rank));
	run(&t, edges, copied);
	for (int d = 0; d < GNN_DIRECTIONS && t.r->reads; d++)
		t.b->ops->unpin(t.b, t.list[d].narrow);
	t.r->ops->destroy(t.r);
	gnn_backend_destroy(t.b);
	free_lists(&t);
	gnn_mem_free(rank);
	return 0;
}
