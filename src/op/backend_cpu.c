/* op/backend_cpu.c - the CPU backend: host memory, OpenMP threads, done when a call returns. */
#include "op/cpu/cpu.h"
#include "op/grad.h"
#include "op/sample.h"

#include "base/mem.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

enum {
	FILL_BLOCK = 1 << 18,
	COPY_BLOCK_BYTES = 1 << 20,
	MOVE_FLOATS_MIN = 1 << 14, /* below, one thread is faster */
};

static struct gnn_cpu *cpu_of(struct gnn_backend *b)
{
	return (struct gnn_cpu *)b;
}

static void destroy(struct gnn_backend *b)
{
	struct gnn_cpu *c = cpu_of(b);

	if (c == NULL)
		return;
	gnn_mem_free(c->scratch);
	gnn_mem_free(c->packed);
	gnn_mem_free(c);
}

static int create(struct gnn_backend **out, const struct gnn_backend_opts *o)
{
	const int omp_threads = omp_get_max_threads();
	struct gnn_cpu *c = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->threads > 0);
	GNN_NEW(c, GNN_MEM_MISC);
	c->base.ops = &gnn_backend_cpu;
	c->threads = o->threads;
#if defined(__x86_64__)
	c->wide = __builtin_cpu_supports("x86-64-v4") != 0;
#endif
	/* One thread a call; the openmp flavour sets OpenMP's number too: it is put back. */
	openblas_set_num_threads(1);
	omp_set_num_threads(omp_threads);
	*out = &c->base;
	c = NULL;
out:
	gnn_mem_free(c);
	return rc;
}

int gnn_cpu_reserve(struct gnn_cpu *c, uint64_t floats)
{
	void *grown;
	int rc;

	if (floats <= c->scratch_floats)
		return GNN_OK;
	/* Whole pages a thread, so that no two threads share one. */
	floats = gnn_align_up(floats, GNN_PAGE_BYTES / sizeof(float));
	rc = gnn_mem_pages(&grown, c->threads * floats * sizeof(float), GNN_MEM_STATE);
	if (rc < 0)
		return rc;
	gnn_mem_free(c->scratch);
	c->scratch = grown;
	c->scratch_floats = floats;
	return GNN_OK;
}

/* Bits of a row depend on nothing but the row: see gnn_cpu_dense. */
static int check_dense(struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out)
{
	(void)b;
	(void)dim_in;
	(void)dim_out;
	return GNN_OK;
}

static int alloc(struct gnn_backend *b, void **out, uint64_t bytes)
{
	(void)b;
	return gnn_mem_pages(out, bytes, GNN_MEM_STATE);
}

static void free_buffer(struct gnn_backend *b, void *buffer)
{
	(void)b;
	gnn_mem_free(buffer);
}

static int fill(struct gnn_backend *b, float *to, float value, uint64_t count)
{
	const uint64_t blocks = gnn_ceil_div(count, FILL_BLOCK);

#pragma omp parallel for num_threads(gnn_cpu_team(b, count)) schedule(static)
	for (uint64_t i = 0; i < blocks; i++) {
		const uint64_t end = gnn_min_u64((i + 1) * FILL_BLOCK, count);

		for (uint64_t k = i * FILL_BLOCK; k < end; k++)
			to[k] = value;
	}
	return GNN_OK;
}

static int copy(struct gnn_backend *b, void *to, uint64_t to_pitch, const void *from,
	uint64_t from_pitch, uint64_t width, uint64_t rows)
{
	const uint64_t rows_each = gnn_max_u64(1, COPY_BLOCK_BYTES / gnn_max_u64(1, width));
	const uint64_t blocks = gnn_ceil_div(rows, rows_each);

	GNN_ASSERT(width <= to_pitch && width <= from_pitch);
	if (width == 0)
		return GNN_OK;
#pragma omp parallel for num_threads(gnn_cpu_team(b, rows * width / 4)) schedule(static)
	for (uint64_t i = 0; i < blocks; i++) {
		const uint64_t end = gnn_min_u64((i + 1) * rows_each, rows);

		for (uint64_t r = i * rows_each; r < end; r++)
			memcpy((char *)to + r * to_pitch, (const char *)from + r * from_pitch,
				width);
	}
	return GNN_OK;
}

static int move(struct gnn_backend *b, const struct gnn_move_args *a)
{
#pragma omp parallel for num_threads(cpu_of(b)->threads) schedule(static) \
	if (a->count * a->width > MOVE_FLOATS_MIN)
	for (uint64_t i = 0; i < a->count; i++) {
		uint64_t from = a->rule == GNN_MOVE_SCATTER ? i : a->moves[i].from;
		uint64_t to = a->rule == GNN_MOVE_GATHER ? i : a->moves[i].to;

		memcpy(a->to + to * a->to_pitch, a->from + from * a->from_pitch,
			a->width * sizeof(float));
	}
	return GNN_OK;
}

static int pin(struct gnn_backend *b, const void *host, uint64_t bytes)
{
	(void)b;
	(void)host;
	(void)bytes;
	return GNN_OK;
}

static void unpin(struct gnn_backend *b, const void *host)
{
	(void)b;
	(void)host;
}

static int reserve(struct gnn_backend *b, enum gnn_stage_kind kind, uint64_t bytes)
{
	(void)b;
	(void)kind;
	(void)bytes;
	return GNN_OK;
}

static int stage(struct gnn_backend *b, enum gnn_stage_kind kind, const void *host, uint64_t bytes,
	const void **out)
{
	(void)b;
	(void)kind;
	(void)bytes;
	*out = host;
	return GNN_OK;
}

/* Every operation is done when it returns, so every ticket is reached. */
static int mark(struct gnn_backend *b, uint64_t *ticket)
{
	(void)b;
	*ticket = 0;
	return GNN_OK;
}

static int wait_ticket(struct gnn_backend *b, uint64_t ticket)
{
	(void)b;
	(void)ticket;
	return GNN_OK;
}

static int fetch(struct gnn_backend *b, void *host, const void *from, uint64_t bytes,
	uint64_t *ticket)
{
	(void)b;
	*ticket = 0;
	if (bytes > 0)
		memcpy(host, from, bytes);
	return GNN_OK;
}

static int factors(struct gnn_backend *b, const struct gnn_factors_args *a)
{
#pragma omp parallel for num_threads(cpu_of(b)->threads) schedule(static)
	for (uint64_t i = 0; i < a->rows; i++)
		a->to[i] = gnn_norm_value(a->norm, gnn_factors_deg(a, i));
	return GNN_OK;
}

const char *gnn_backend_blas(void)
{
	return openblas_get_config();
}

static int sync_done(struct gnn_backend *b)
{
	(void)b;
	return GNN_OK;
}

static uint64_t peak_bytes(const struct gnn_backend *b)
{
	(void)b;
	return 0;
}

const struct gnn_backend_ops gnn_backend_cpu = {
	.name = "cpu",
	.panel_rows = GNN_PANEL_ROWS,
	.unified = true,
	.create = create,
	.destroy = destroy,
	.alloc = alloc,
	.free = free_buffer,
	.alloc_host = alloc,
	.free_host = free_buffer,
	.pin = pin,
	.unpin = unpin,
	.fill = fill,
	.copy = copy,
	.reserve = reserve,
	.stage = stage,
	.mark = mark,
	.wait = wait_ticket,
	.fetch = fetch,
	.fetched = wait_ticket,
	.rows = gnn_cpu_rows,
	.move = move,
	.factors = factors,
	.aggregate = gnn_cpu_aggregate,
	.moments = gnn_cpu_moments,
	.merge = gnn_cpu_merge,
	.check_dense = check_dense,
	.sync = sync_done,
	.peak_bytes = peak_bytes,
	.grad = &gnn_grad_cpu,
	.sample = &gnn_sample_cpu,
	.places = &gnn_places_cpu,
};
