/*
 * tests/bench/build_bench.c - what the builder costs per edge, by phase.
 *
 * usage: build_bench OUT.h5 [kind=random|rmat|sorted] [scale=26] [edges=50M] [memory=200M]
 *                    [threads=2] [weighted=0] [undirected=0] [dedup=0] [remap=0] [stride=1]
 *
 * Edges are made in batches; the time that takes is not counted. `add` is then what a caller waits
 * for, with the sorting behind it; `finish` the merges and the writing. CPU is that of all threads.
 * Beside it stand the steps alone, one thread on one batch in memory.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/builder.h"
#include "io/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BATCH = 1 << 18, STEP_EDGES = 2500000 };

struct setup {
	const char *out, *kind;
	uint64_t scale, edges, memory, threads, weighted, undirected, dedup, remap, stride;
};

struct batch {
	uint64_t *src, *dst;
	float *weight;
};

static uint64_t number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	return (uint64_t)(value * (*end == 'K' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1));
}

static double cpu_s(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double peak_mib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss / 1024;
}

/* a, b, c = .57, .19, .19; the ids are scattered by a multiplication. */
static void rmat(uint64_t scale, uint64_t i, uint64_t *src, uint64_t *dst)
{
	uint64_t mask = ((uint64_t)1 << scale) - 1;

	*src = *dst = 0;
	for (uint64_t level = 0; level < scale; level++) {
		double u = gnn_rng_unit(gnn_mix64(i * 64 + level));

		*src = *src << 1 | (u >= .76);
		*dst = *dst << 1 | ((u >= .57 && u < .76) || u >= .95);
	}
	*src = *src * 0x9e3779b1u & mask;
	*dst = *dst * 0x9e3779b1u & mask;
}

static void make(const struct setup *s, uint64_t first, uint64_t count, struct batch *b)
{
	uint64_t mask = ((uint64_t)1 << s->scale) - 1;

	for (uint64_t k = 0; k < count; k++) {
		uint64_t i = first + k, src = gnn_mix64(2 * i + 1) & mask;
		uint64_t dst = gnn_mix64(2 * i + 2) & mask;

		if (strcmp(s->kind, "rmat") == 0)
			rmat(s->scale, i, &src, &dst);
		else if (strcmp(s->kind, "sorted") == 0)
			src = (uint64_t)((double)i / (double)s->edges * (double)mask);
		b->src[k] = src * s->stride;
		b->dst[k] = dst * s->stride;
		b->weight[k] = (float)i;
	}
}

static int new_batch(struct batch *b, uint64_t count)
{
	void *block;
	int rc;

	GNN_TRY(gnn_mem_pages(&block, count * 8, GNN_MEM_MISC));
	b->src = block;
	GNN_TRY(gnn_mem_pages(&block, count * 8, GNN_MEM_MISC));
	b->dst = block;
	GNN_TRY(gnn_mem_pages(&block, count * 4, GNN_MEM_MISC));
	b->weight = block;
out:
	return rc;
}

/* --- the steps alone --- */

static double lap(double *before)
{
	double now = cpu_s(RUSAGE_THREAD), took = now - *before;

	*before = now;
	return took * 1e9 / STEP_EDGES;
}

static int steps(const struct setup *s)
{
	uint32_t end = gnn_keys_end((((uint64_t)1 << s->scale) - 1) * s->stride);
	const struct gnn_key_ops *ops = gnn_keys(end > GNN_KEY_END_NARROW);
	struct gnn_key_sort sort = {.count = STEP_EDGES};
	struct batch b = {0};
	void *code = NULL;
	gnn_key last = 0;
	uint64_t used = 0, at = 0;
	double t, took[6];
	int rc;

	GNN_TRY(new_batch(&b, STEP_EDGES));
	GNN_TRY(gnn_mem_pages(&sort.key, STEP_EDGES * 16, GNN_MEM_MISC));
	GNN_TRY(gnn_mem_pages(&sort.spare_key, STEP_EDGES * 16, GNN_MEM_MISC));
	GNN_TRY(gnn_mem_pages(&code, STEP_EDGES * 17 + 4096, GNN_MEM_MISC));
	memset(sort.key, 1, STEP_EDGES * 16);
	memset(sort.spare_key, 1, STEP_EDGES * 16);
	memset(code, 1, STEP_EDGES * 17);
	make(s, 0, STEP_EDGES, &b);
	t = cpu_s(RUSAGE_THREAD);
	ops->pack(sort.key, end, b.src, b.dst, STEP_EDGES);
	took[0] = lap(&t);
	ops->sort(&sort);
	took[1] = lap(&t);
	for (uint64_t i = 0; i < STEP_EDGES; i += GNN_KEY_GROUP)
		used += ops->encode(&last, (char *)sort.key + i * ops->bytes,
			(uint32_t)gnn_min_u64(GNN_KEY_GROUP, STEP_EDGES - i),
			(uint8_t *)code + used);
	took[2] = lap(&t);
	last = 0;
	for (uint64_t i = 0; i < STEP_EDGES; i += GNN_KEY_GROUP)
		at += ops->decode(&last, (uint8_t *)code + at,
			(uint32_t)gnn_min_u64(GNN_KEY_GROUP, STEP_EDGES - i),
			(char *)sort.spare_key + i * ops->bytes);
	took[3] = lap(&t);
	ops->swap(sort.key, end, STEP_EDGES);
	took[4] = lap(&t);
	sort.low = end;
	ops->sort(&sort);
	took[5] = lap(&t);
	printf("steps, ns per edge: pack %.1f, sort %.1f, swap %.1f, second order %.1f, "
		"encode %.1f, decode %.1f; %.2f bytes coded\n", took[0], took[1], took[4], took[5],
		took[2], took[3], (double)used / STEP_EDGES);
out:
	gnn_mem_free(b.src);
	gnn_mem_free(b.dst);
	gnn_mem_free(b.weight);
	gnn_mem_free(sort.key);
	gnn_mem_free(sort.spare_key);
	gnn_mem_free(code);
	return rc;
}

/* --- all of it --- */

static int add_edges(struct gnn_builder *b, const struct setup *s, double *wall, double *made_cpu)
{
	struct batch batch = {0};
	int rc;

	GNN_TRY(new_batch(&batch, BATCH));
	for (uint64_t i = 0; i < s->edges; i += BATCH) {
		struct gnn_edges e = {batch.src, batch.dst, s->weighted ? batch.weight : NULL,
			gnn_min_u64(BATCH, s->edges - i)};
		double cpu = cpu_s(RUSAGE_THREAD);
		uint64_t start;

		make(s, i, e.count, &batch);
		*made_cpu += cpu_s(RUSAGE_THREAD) - cpu;
		start = gnn_clock_ns();
		GNN_TRY(gnn_builder_add(b, &e));
		*wall += gnn_clock_s_since(start);
	}
out:
	gnn_mem_free(batch.src);
	gnn_mem_free(batch.dst);
	gnn_mem_free(batch.weight);
	return rc;
}

static int whole(const struct setup *s)
{
	const struct gnn_builder_opts o = {
		.out_path = s->out, .memory_bytes = s->memory, .threads = (uint32_t)s->threads,
		.weighted = s->weighted, .undirected = s->undirected, .dedup = s->dedup,
		.remap = s->remap,
	};
	struct gnn_builder *b = NULL;
	struct gnn_build_report r;
	uint64_t vertices, start = gnn_clock_ns();
	double cpu = cpu_s(RUSAGE_SELF), made = 0, add = 0, seal, finish, sort_cpu, all_cpu;
	double n = (double)s->edges * 1e-9;
	int rc;

	GNN_TRY(gnn_builder_create(&b, &o));
	GNN_TRY(add_edges(b, s, &add, &made));
	start = gnn_clock_ns();
	GNN_TRY(gnn_builder_seal(b, 0, &vertices));
	seal = gnn_clock_s_since(start);
	sort_cpu = cpu_s(RUSAGE_SELF) - cpu - made;
	start = gnn_clock_ns();
	GNN_TRY(gnn_builder_finish(b, &(struct gnn_builder_parts){0}, &r));
	finish = gnn_clock_s_since(start);
	all_cpu = cpu_s(RUSAGE_SELF) - cpu - made;
	printf("%s 2^%llu, %.0f M edges, %llu M memory, %llu threads: %llu runs, %.1f MB scratch\n",
		s->kind, (unsigned long long)s->scale, (double)s->edges / 1e6,
		(unsigned long long)(s->memory / 1000000), (unsigned long long)s->threads,
		(unsigned long long)r.run_count, (double)r.scratch_bytes / 1e6);
	printf("wall, ns per edge: add %.1f, seal %.1f, finish %.1f, together %.1f = "
		"%.1f M edges/s\n", add / n, seal / n, finish / n, (add + seal + finish) / n,
		(double)s->edges / 1e6 / (add + seal + finish));
	printf("cpu, ns per edge: sort %.1f, finish %.1f, together %.1f; peak %.0f MiB\n",
		sort_cpu / n, (all_cpu - sort_cpu) / n, all_cpu / n, peak_mib());
out:
	gnn_builder_destroy(b);
	return rc;
}

static void read_setting(struct setup *s, const char *text)
{
	const struct {
		const char *name;
		uint64_t *to;
	} numbers[] = {
		{"scale=", &s->scale}, {"edges=", &s->edges}, {"memory=", &s->memory},
		{"threads=", &s->threads}, {"weighted=", &s->weighted},
		{"undirected=", &s->undirected}, {"dedup=", &s->dedup}, {"remap=", &s->remap},
		{"stride=", &s->stride},
	};

	if (strncmp(text, "kind=", 5) == 0)
		s->kind = text + 5;
	for (uint32_t i = 0; i < GNN_COUNT_OF(numbers); i++)
		if (strncmp(text, numbers[i].name, strlen(numbers[i].name)) == 0)
			*numbers[i].to = number(text + strlen(numbers[i].name));
}

int main(int argc, char **argv)
{
	struct setup s = {
		.kind = "random", .scale = 26, .edges = 50000000, .memory = 200000000, .threads = 2,
		.stride = 1,
	};
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: build_bench OUT.h5 [name=value ...]\n");
		return 64;
	}
	s.out = argv[1];
	for (int i = 2; i < argc; i++)
		read_setting(&s, argv[i]);
	rc = steps(&s);
	if (rc == GNN_OK)
		rc = whole(&s);
	if (rc < 0)
		fprintf(stderr, "build_bench: %s\n", gnn_err_text());
	return -rc;
}
