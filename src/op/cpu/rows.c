/* op/cpu/rows.c - runs row programs, each panel through all operations while it is in cache. */
#include "op/cpu/cpu.h"

#include "base/mem.h"

#include <omp.h>
#include <string.h>

/* What one thread has: two panels to go back and forth between. */
struct bench {
	float   *panel[2];
	uint64_t pitch;
};

/* What all threads share. */
struct job {
	const struct gnn_rows_args *a;
	const struct gnn_cpu *c;
	float *packed[GNN_ROWPROG_MAX]; /* weight of each dense operation, or NULL */
};

static uint64_t panel_pitch(const struct gnn_rowprog *prog)
{
	return gnn_align_up(gnn_rowprog_width(prog), 16);
}

/* The rows of panel `index`; those that a dense operation needs past the end are zero. */
static void take_panel(struct gnn_cpu_panel *p, const struct gnn_rows_args *a,
	const struct bench *bench, uint64_t index)
{
	const uint64_t first = index * GNN_PANEL_ROWS;
	const uint64_t row_bytes = a->from_pitch * gnn_dtype_bytes(a->from_dtype);
	const char *from = (const char *)a->from + first * row_bytes;

	*p = (struct gnn_cpu_panel){.rows = gnn_min_u64(GNN_PANEL_ROWS, a->rows - first)};
	for (int i = 0; i < GNN_ROW_VECTORS; i++)
		p->vec[i] = a->vec[i] == NULL ? NULL : a->vec[i] + first;
	if (a->from_dtype == GNN_F32 && p->rows == GNN_PANEL_ROWS && a->from != a->to) {
		p->from = (const float *)(const void *)from;
		p->from_pitch = a->from_pitch;
		return;
	}
	gnn_cpu_widen(bench->panel[0], bench->pitch, from, a->from_dtype, a->from_pitch,
		a->prog->dim_in, p->rows);
	p->from = bench->panel[0];
	p->from_pitch = bench->pitch;
}

/* The last panel of all is filled up with zeros: its bits must not depend on what was there. */
static void pad_panel(float *panel, uint64_t pitch, uint64_t rows, uint32_t width)
{
	for (uint64_t r = rows; r < GNN_PANEL_ROWS; r++)
		memset(panel + r * pitch, 0, width * sizeof(float));
}

static void run_dense(const struct gnn_rowop *op, const struct gnn_cpu_panel *p,
	const float *packed, bool wide)
{
	gnn_cpu_dense(op, p, packed, wide);
	if (op->bias != NULL)
		gnn_cpu_bias(op, p);
}

/* Short panels and programs without operations end in a copy. */
static void put_panel(const struct gnn_cpu_panel *p, const struct gnn_rows_args *a, uint64_t index)
{
	float *to = a->to + index * GNN_PANEL_ROWS * a->to_pitch;

	if (p->from == to)
		return;
	for (uint64_t r = 0; r < p->rows; r++)
		memcpy(to + r * a->to_pitch, p->from + r * p->from_pitch,
			a->prog->dim_out * sizeof(float));
}

static void run_panel(const struct job *job, const struct bench *bench, uint64_t index)
{
	const struct gnn_rows_args *a = job->a;
	struct gnn_cpu_panel p;

	take_panel(&p, a, bench, index);
	for (uint32_t i = 0; i < a->prog->count; i++) {
		const struct gnn_rowop *op = &a->prog->op[i];
		const bool last = i + 1 == a->prog->count && p.rows == GNN_PANEL_ROWS;
		float *other = bench->panel[p.from == bench->panel[0]];

		p.to = last ? a->to + index * GNN_PANEL_ROWS * a->to_pitch : other;
		p.to_pitch = last ? a->to_pitch : bench->pitch;
		if (op->kind == GNN_ROW_DENSE) {
			/* Short panels lie on the bench, which is ours to write. */
			if (p.rows < GNN_PANEL_ROWS)
				pad_panel(bench->panel[p.from != bench->panel[0]], bench->pitch,
					p.rows, op->dim_in);
			run_dense(op, &p, job->packed[i], job->c->wide);
		} else {
			gnn_cpu_elementwise(op, &p);
		}
		p.from = p.to;
		p.from_pitch = p.to_pitch;
	}
	put_panel(&p, a, index);
}

/* Finds room for the packed weights. */
static int prepare_dense(struct gnn_cpu *c, struct job *job)
{
	const struct gnn_rowprog *prog = job->a->prog;
	uint64_t floats = 0, at[GNN_ROWPROG_MAX];
	int rc = GNN_OK;

	for (uint32_t i = 0; i < prog->count; i++) {
		const struct gnn_rowop *op = &prog->op[i];

		at[i] = UINT64_MAX;
		if (op->kind != GNN_ROW_DENSE)
			continue;
		at[i] = floats;
		floats += gnn_align_up(op->dim_out, GNN_CPU_TILE) * op->dim_in;
	}
	if (floats > c->packed_floats) {
		void *grown;

		GNN_TRY(gnn_mem_pages(&grown, floats * sizeof(float), GNN_MEM_MODEL));
		gnn_mem_free(c->packed);
		c->packed = grown;
		c->packed_floats = floats;
	}
	for (uint32_t i = 0; i < prog->count; i++)
		job->packed[i] = at[i] == UINT64_MAX ? NULL : c->packed + at[i];
out:
	return rc;
}

/* Called by all threads of the team, which share the blocks of each weight. */
static void pack_weights(const struct job *job)
{
	const struct gnn_rowprog *prog = job->a->prog;

	for (uint32_t i = 0; i < prog->count; i++) {
		const struct gnn_rowop *op = &prog->op[i];

		if (job->packed[i] == NULL)
			continue;
#pragma omp for
		for (uint64_t k = 0; k < gnn_ceil_div(op->dim_out, GNN_CPU_TILE); k++)
			gnn_cpu_dense_pack(job->packed[i], op, k);
	}
}

int gnn_cpu_rows(struct gnn_backend *b, const struct gnn_rows_args *a)
{
	struct gnn_cpu *c = (struct gnn_cpu *)b;
	const uint64_t pitch = panel_pitch(a->prog);
	const uint64_t panels = gnn_ceil_div(a->rows, GNN_PANEL_ROWS);
	struct job job = {.a = a, .c = c};
	int rc = GNN_OK;

	if (a->rows == 0)
		return GNN_OK;
	GNN_ASSERT(a->from_pitch >= a->prog->dim_in && a->to_pitch >= a->prog->dim_out);
	GNN_ASSERT((const void *)a->to != a->from ||
		(a->from_dtype == GNN_F32 && a->from_pitch == a->to_pitch));
	GNN_TRY(prepare_dense(c, &job));
	GNN_TRY(gnn_cpu_reserve(c, 2 * GNN_PANEL_ROWS * pitch));
#pragma omp parallel num_threads((int)gnn_min_u64(c->threads, panels))
	{
		float *mine = c->scratch + (uint64_t)omp_get_thread_num() * c->scratch_floats;
		const struct bench bench = {{mine, mine + GNN_PANEL_ROWS * pitch}, pitch};

		pack_weights(&job);
#pragma omp for schedule(dynamic)
		for (uint64_t i = 0; i < panels; i++)
			run_panel(&job, &bench, i);
	}
out:
	return rc;
}
