/*
 * cmd/bench_gather.c - gnnrun bench gather: how fast random rows of a table in host memory reach
 * the backend by each gather, beside plain copies and what the CPU gathers alone; and what a step
 * loses while a kernel gathers.
 *
 * Rows are floats, of the sizes asked for, and 4 bytes longer: those start anywhere. A run gathers
 * RUN_BYTES of them, or RUN_ROWS rows.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stage.h"
#include "base/trial.h"
#include "cmd/bench.h"
#include "op/grad.h"
#include "train/delivery.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

enum {
	RUN_BYTES = 256 << 20, RUN_ROWS = 2 << 20,
	ROW_BYTES_MAX = 64 << 10,
	STEP_ROWS = 65536, STEP_DIM = 256, STEP_PRODUCTS = 64, STEP_ROW_BYTES = 512,
};

struct bench {
	const struct gnn_config *c;
	struct gnn_backend *b;
	struct gnn_json *json; /* NULL: a table */
	void *table;
	bool  pinned;
	struct gnn_array features; /* what the source says of the table */
	struct gnn_store store;
	struct gnn_train_source source;
	struct gnn_table place;
	gnn_vid *id;               /* (rows) in host memory */
	void *there_id, *to;       /* on the device, unless unified */
	uint64_t rows;
	double zero_copy_s, staged_s;
};

/* One row of the table that is printed. */
struct row {
	const char *method;
	double share;        /* of the rows, read in place */
	double memory;       /* bytes of host memory read and written for a byte that arrives */
	int  (*run)(void *arg);
	bool shift;
	uint32_t blocks;
	struct bench *bench;
	struct gnn_backend *b;
	struct gnn_delivery *delivery;
	struct gnn_collect *collect;
};

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static uint64_t run_bytes(const struct bench *b)
{
	return b->rows * b->source.dim * sizeof(float);
}

/* --- what is measured --- */

/* As many bytes in one piece, or the whole table. */
static int copy_all(void *arg)
{
	const struct row *r = arg;
	const uint64_t bytes = gnn_min_u64(run_bytes(r->bench), r->bench->c->bytes);
	struct gnn_backend *b = r->b;
	int rc;

	GNN_TRY(b->ops->copy(b, r->bench->to, bytes, r->bench->table, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

/* By the CPU alone, strip by strip into the same memory. */
static int collect_all(void *arg)
{
	struct row *r = arg;
	struct bench *b = r->bench;
	const uint64_t most = r->delivery->strip[0].room.bytes / (b->source.dim * sizeof(float));
	uint64_t count;
	int rc = GNN_OK;

	for (uint64_t at = 0; at < b->rows; at += count) {
		count = gnn_min_u64(most, b->rows - at);
		GNN_TRY(gnn_collect_features(r->collect, b->id + at, count,
			r->delivery->strip[0].room.data));
	}
out:
	return rc;
}

static int read_in_place(void *arg)
{
	const struct row *r = arg;
	const struct bench *b = r->bench;
	int rc;

	GNN_TRY(r->b->ops->grad->gather(r->b, &(struct gnn_gather_args){.table = b->table,
		.dtype = GNN_F32, .width = b->source.dim, .id = b->there_id, .rows = b->rows,
		.to = b->to, .blocks = r->blocks, .shift = r->shift}));
	GNN_TRY(r->b->ops->sync(r->b));
out:
	return rc;
}

static int deliver(void *arg)
{
	const struct row *r = arg;
	struct gnn_delivery_args a = {.there = r->bench->there_id, .host = r->bench->id,
		.rows = r->bench->rows, .to = r->bench->to};

	return gnn_delivery_rows(r->delivery, &a);
}

/* --- rows --- */

static void print_row(const struct row *r, const struct gnn_trial *t, double cpu_s)
{
	const struct bench *b = r->bench;
	const double bytes = (double)(r->run != copy_all ? run_bytes(b) :
		gnn_min_u64(run_bytes(b), b->c->bytes));

	if (b->json == NULL) {
		gnn_out("%-20s %6u  %8.2f (%.2f .. %.2f)  %8.1f  %8.3f  %6.2f  %5.2f\n", r->method,
			b->source.dim * 4, bytes * 1e-9 / t->median_s, bytes * 1e-9 / t->max_s,
			bytes * 1e-9 / t->min_s, (double)b->rows * 1e-6 / t->median_s,
			cpu_s / (bytes * 1e-9), r->memory, r->share);
		return;
	}
	gnn_json_open_object(b->json, NULL);
	gnn_json_text(b->json, "method", r->method);
	gnn_json_u64(b->json, "row_bytes", b->source.dim * 4);
	gnn_json_real(b->json, "bytes_s", bytes / t->median_s);
	gnn_json_real(b->json, "bytes_s_min", bytes / t->max_s);
	gnn_json_real(b->json, "bytes_s_max", bytes / t->min_s);
	gnn_json_real(b->json, "rows_s", (double)b->rows / t->median_s);
	gnn_json_real(b->json, "cpu_s_byte", cpu_s / bytes);
	gnn_json_real(b->json, "memory_bytes_byte", r->memory);
	gnn_json_real(b->json, "share", r->share);
	gnn_json_shut(b->json);
}

static int measure(struct row *r, double *seconds)
{
	struct gnn_trial t;
	double cpu_s;
	int rc;

	GNN_TRY(r->run(r)); /* warm, and without a part in the CPU's time */
	cpu_s = cpu_seconds();
	GNN_TRY(gnn_trial_run(&t, (uint32_t)r->bench->c->runs, false, r->run, r));
	cpu_s = (cpu_seconds() - cpu_s) / (double)r->bench->c->runs;
	print_row(r, &t, cpu_s);
	if (seconds != NULL)
		*seconds = t.median_s;
out:
	return rc;
}

/* Strips of the CPU, which other memory waits for: read, written, and read again by the device. */
static int measure_staged(struct bench *b, enum gnn_gather gather)
{
	struct gnn_delivery d = {0};
	struct row r = {.bench = b, .b = b->b, .delivery = &d, .collect = &d.collect};
	int rc;

	b->place.gather = gather;
	b->place.share = gather == GNN_GATHER_BOTH ?
		b->staged_s / (b->staged_s + b->zero_copy_s) : 0;
	GNN_TRY(gnn_delivery_init(&d, &b->place, b->b, (uint32_t)b->c->threads));
	if (gather == GNN_GATHER_STAGED) {
		r.method = "cpu";
		r.memory = 2;
		r.run = collect_all;
		GNN_TRY(measure(&r, NULL));
	}
	if (b->b->ops->unified)
		goto out;
	r.method = gnn_gather_name(gather);
	r.share = b->place.share;
	r.memory = 3 - 2 * r.share;
	r.run = deliver;
	GNN_TRY(measure(&r, gather == GNN_GATHER_STAGED ? &b->staged_s : NULL));
out:
	gnn_delivery_fini(&d);
	return rc;
}

static int measure_in_place(struct bench *b)
{
	struct row r = {.bench = b, .b = b->b, .method = "zero-copy", .share = 1, .memory = 1,
		.run = read_in_place, .blocks = GNN_IN_PLACE_BLOCKS};
	double plain, shifted;
	int rc;

	GNN_TRY(measure(&r, &plain));
	r.method = "zero-copy, shifted";
	r.shift = true;
	GNN_TRY(measure(&r, &shifted));
	b->zero_copy_s = plain < shifted ? plain : shifted;
out:
	return rc;
}

static void set_rows(struct bench *b, uint64_t row_bytes)
{
	const uint64_t vertices = b->c->bytes / row_bytes;

	b->source.dim = (uint32_t)(row_bytes / sizeof(float));
	b->rows = gnn_min_u64(RUN_BYTES / row_bytes, RUN_ROWS);
	b->store.vertices = vertices;
	for (uint64_t i = 0; i < b->rows; i++)
		b->id[i] = gnn_rng_below(gnn_rng_u64(b->c->seed, row_bytes, i), vertices);
}

static int send_ids(struct bench *b)
{
	const uint64_t bytes = b->rows * sizeof(*b->id);
	int rc;

	GNN_TRY(b->b->ops->copy(b->b, b->there_id, bytes, b->id, bytes, bytes, 1));
	GNN_TRY(b->b->ops->sync(b->b));
out:
	return rc;
}

static int measure_size(struct bench *b, uint64_t row_bytes)
{
	int rc;

	set_rows(b, row_bytes);
	GNN_TRY(send_ids(b));
	if (!b->b->ops->unified)
		GNN_TRY(measure_in_place(b));
	GNN_TRY(measure_staged(b, GNN_GATHER_STAGED));
	if (!b->b->ops->unified)
		GNN_TRY(measure_staged(b, GNN_GATHER_BOTH));
out:
	return rc;
}

/* --- a step beside a kernel that gathers --- */

struct beside {
	struct row  row;
	atomic_bool stop;
	uint64_t    runs;
};

static int gather_on(void *arg)
{
	struct beside *s = arg;
	int rc = GNN_OK;

	while (!atomic_load(&s->stop)) {
		GNN_TRY(read_in_place(&s->row));
		s->runs++;
	}
out:
	return rc;
}

struct step {
	struct gnn_backend *b;
	struct gnn_linear_args product;
	void *block[3];
};

static int run_step(void *arg)
{
	const struct step *s = arg;
	int rc;

	for (int i = 0; i < STEP_PRODUCTS; i++)
		GNN_TRY(s->b->ops->grad->linear(s->b, &s->product));
	GNN_TRY(s->b->ops->sync(s->b));
out:
	return rc;
}

static void print_step(const struct bench *b, uint32_t blocks, double alone_s, double beside_s,
	double bytes_s)
{
	if (b->json == NULL) {
		gnn_out("%-20s %6u  %8.2f GB/s, a step takes %.3f of its time alone\n",
			"beside, blocks", blocks, bytes_s * 1e-9, beside_s / alone_s);
		return;
	}
	gnn_json_open_object(b->json, NULL);
	gnn_json_u64(b->json, "blocks", blocks);
	gnn_json_real(b->json, "bytes_s", bytes_s);
	gnn_json_real(b->json, "step_alone_s", alone_s);
	gnn_json_real(b->json, "step_s", beside_s);
	gnn_json_shut(b->json);
}

/* While another thread with a stream of its own gathers with so many blocks. */
static int measure_beside(struct bench *b, struct step *step, double alone_s, uint32_t blocks)
{
	struct beside s = {.row = {.bench = b, .blocks = blocks}};
	struct gnn_stage *stage = NULL;
	struct gnn_trial t = {0};
	uint64_t runs;
	int rc, joined;

	GNN_TRY(b->b->ops->create(&s.row.b, &(struct gnn_backend_opts){.threads = 1,
		.beside = b->b}));
	GNN_TRY(gnn_stage_start(&stage, "gather", gather_on, &s));
	GNN_TRY(gnn_trial_run(&t, (uint32_t)b->c->runs, true, run_step, step));
out:
	atomic_store(&s.stop, true);
	joined = gnn_stage_join(&stage);
	rc = rc < 0 ? rc : joined;
	runs = s.runs;
	gnn_backend_destroy(s.row.b);
	if (rc == GNN_OK)
		print_step(b, blocks, alone_s, t.median_s, (double)runs * (double)run_bytes(b) /
			(t.median_s * (double)(b->c->runs + 1)));
	return rc;
}

static int open_step(struct step *s)
{
	const uint64_t floats[] = {(uint64_t)STEP_ROWS * STEP_DIM, STEP_DIM * STEP_DIM,
		(uint64_t)STEP_ROWS * STEP_DIM};
	int rc;

	for (int i = 0; i < 3; i++) {
		GNN_TRY(s->b->ops->alloc(s->b, &s->block[i], floats[i] * sizeof(float)));
		GNN_TRY(s->b->ops->fill(s->b, s->block[i], 0.5f, floats[i]));
	}
	s->product = (struct gnn_linear_args){.x = s->block[0], .w = s->block[1],
		.y = s->block[2], .rows = STEP_ROWS, .dim_in = STEP_DIM, .dim_out = STEP_DIM};
out:
	return rc;
}

static int measure_steps(struct bench *b)
{
	static const uint32_t blocks[] = {2, 4, 8, 16, 32, 64, 128};
	struct step s = {.b = b->b};
	struct gnn_trial alone;
	int rc;

	set_rows(b, STEP_ROW_BYTES);
	GNN_TRY(send_ids(b));
	GNN_TRY(open_step(&s));
	GNN_TRY(gnn_trial_run(&alone, (uint32_t)b->c->runs, true, run_step, &s));
	for (uint32_t i = 0; i < GNN_COUNT_OF(blocks); i++)
		GNN_TRY(measure_beside(b, &s, alone.median_s, blocks[i]));
out:
	for (int i = 0; i < 3; i++)
		b->b->ops->free(b->b, s.block[i]);
	return rc;
}

/* --- preparing --- */

static int check_sizes(const struct gnn_config *c, struct gnn_bench_list *sizes)
{
	int rc;

	GNN_TRY(gnn_bench_list(sizes, "row-bytes", c->row_bytes));
	for (uint32_t i = 0; i < sizes->count; i++)
		if (sizes->value[i] % sizeof(float) != 0 || sizes->value[i] > ROW_BYTES_MAX)
			return gnn_err(GNN_EUSAGE, "--row-bytes %s: multiples of 4 up to %d",
				c->row_bytes, ROW_BYTES_MAX);
	if (c->bytes < 2 * ROW_BYTES_MAX)
		return gnn_err(GNN_EUSAGE, "--bytes: the table takes %d at least",
			2 * ROW_BYTES_MAX);
out:
	return rc;
}

static int open_bench(struct bench *b)
{
	struct gnn_backend *backend;
	int rc;

	GNN_TRY(gnn_backend_create(&b->b, b->c->backend, &(struct gnn_backend_opts){
		.threads = (uint32_t)b->c->threads, .memory_bytes = b->c->gpu_memory}));
	backend = b->b;
	GNN_TRY(gnn_mem_pages(&b->table, b->c->bytes, GNN_MEM_STATE));
	memset(b->table, 0, b->c->bytes);
	GNN_NEW_ARRAY(b->id, RUN_ROWS, GNN_MEM_STATE);
	GNN_TRY(backend->ops->alloc(backend, &b->there_id, RUN_ROWS * sizeof(gnn_vid)));
	GNN_TRY(backend->ops->alloc(backend, &b->to, RUN_BYTES));
	if (!backend->ops->unified) {
		if (backend->ops->pin(backend, b->table, b->c->bytes) != GNN_OK)
			GNN_FAIL(GNN_EOS, "bench gather: %s", gnn_err_text());
		b->pinned = true;
	}
	b->features.bytes = b->c->bytes;
	b->store.features = &b->features;
	b->source = (struct gnn_train_source){.store = &b->store, .table = b->table,
		.dtype = GNN_F32, .parts = 1};
	b->place = (struct gnn_table){.backend = backend, .source = &b->source,
		.rows = b->table};
out:
	return rc;
}

static void begin(struct bench *b)
{
	if (b->json == NULL) {
		gnn_out("%-20s %6s  %8s %-17s %8s  %8s  %6s  %5s\n", "method", "row", "GB/s", "",
			"M rows/s", "CPU s/GB", "memory", "share");
		return;
	}
	gnn_json_text(b->json, "command", "bench gather");
	gnn_json_text(b->json, "backend", b->b->ops->name);
	gnn_json_u64(b->json, "threads", b->c->threads);
	gnn_json_u64(b->json, "table_bytes", b->c->bytes);
	gnn_json_open_array(b->json, "rows");
}

static int run(struct bench *b)
{
	struct row copy = {.bench = b, .method = "copy", .memory = 1, .run = copy_all};
	struct gnn_bench_list sizes;
	int rc;

	GNN_TRY(check_sizes(b->c, &sizes));
	GNN_TRY(open_bench(b));
	begin(b);
	set_rows(b, sizes.value[sizes.count - 1]);
	copy.b = b->b;
	copy.memory = b->b->ops->unified ? 2 : 1;
	GNN_TRY(measure(&copy, NULL));
	for (uint32_t i = 0; i < sizes.count; i++)
		for (uint64_t past = 0; past <= sizeof(float); past += sizeof(float))
			GNN_TRY(measure_size(b, sizes.value[i] + past));
	if (b->json != NULL) {
		gnn_json_shut(b->json);
		gnn_json_open_array(b->json, "beside");
	}
	if (!b->b->ops->unified)
		GNN_TRY(measure_steps(b));
	if (b->json != NULL) {
		gnn_json_shut(b->json);
		GNN_TRY(gnn_json_print(b->json));
	}
out:
	return rc;
}

int gnn_bench_gather(const struct gnn_config *c)
{
	struct bench b = {.c = c};
	int rc = GNN_OK;

	if (c->json)
		GNN_TRY(gnn_json_create(&b.json));
	rc = run(&b);
out:
	if (b.b != NULL) {
		if (b.pinned)
			b.b->ops->unpin(b.b, b.table);
		b.b->ops->free(b.b, b.there_id);
		b.b->ops->free(b.b, b.to);
	}
	gnn_backend_destroy(b.b);
	gnn_mem_free(b.table);
	gnn_mem_free(b.id);
	gnn_json_destroy(b.json);
	return rc;
}
