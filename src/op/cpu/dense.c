/* op/cpu/dense.c - one panel times one weight matrix, by OpenBLAS or in a fixed order. */
#include "op/cpu/simd.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"

#include <cblas.h>
#include <omp.h>

enum {
	TILE_ROWS = 6,    /* 12 vectors of sums, two of the weight and one of x: 15 registers */
	TILE_REST = GNN_PANEL_ROWS % TILE_ROWS,
	TILE_DEPTH = 512, /* of the packed weight at a time, 32 KiB */
	LINE_FLOATS = 16, /* of a cache line */
	PROBE_PLACES = 3,
};

_Static_assert(GNN_CPU_TILE == 2 * GNN_LANES, "a tile is two vectors wide");

static void zero_columns(const struct gnn_rowop *op, const struct gnn_cpu_panel *p)
{
	for (uint64_t r = 0; r < GNN_PANEL_ROWS; r++)
		memset(p->to + r * p->to_pitch, 0, op->dim_out * sizeof(float));
}

void gnn_cpu_dense_blas(const struct gnn_rowop *op, const struct gnn_cpu_panel *p)
{
	if (op->dim_in == 0 || op->dim_out == 0) {
		zero_columns(op, p);
		return;
	}
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, GNN_PANEL_ROWS, (int)op->dim_out,
		(int)op->dim_in, 1.0f, p->from, (int)p->from_pitch, op->weight, (int)op->dim_in,
		0.0f, p->to, (int)p->to_pitch);
}

/* Rows [block TILE, (block + 1) TILE) of the weight, turned: (dim_in, TILE), zeros past the end. */
void gnn_cpu_dense_pack(float *packed, const struct gnn_rowop *op, uint64_t block)
{
	const uint64_t first = block * GNN_CPU_TILE, depth = op->dim_in;
	const uint64_t width = gnn_min_u64(GNN_CPU_TILE, op->dim_out - first);
	float *restrict to = packed + first * depth;

	for (uint64_t k = 0; k < depth; k++, to += GNN_CPU_TILE)
		for (uint64_t j = 0; j < GNN_CPU_TILE; j++)
			to[j] = j < width ? op->weight[(first + j) * depth + k] : 0.0f;
}

/*
 * y (rows, TILE) += x (rows, depth) times packed (depth, TILE), in order of depth. Meanwhile the
 * rows of the next tile are asked for, unless they are in cache already.
 */
GNN_CPU_INLINE void multiply_tile(const int rows, float *restrict y, uint64_t y_pitch,
	const float *restrict x, uint64_t x_pitch, const float *restrict packed, uint64_t depth,
	bool fresh)
{
	gnn_f8 sum[TILE_ROWS][2];

#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		gnn_f8_load(&sum[r][0], y + (uint64_t)r * y_pitch);
		gnn_f8_load(&sum[r][1], y + (uint64_t)r * y_pitch + GNN_LANES);
	}
	for (uint64_t line = 0; line < depth; line += LINE_FLOATS) {
		const uint64_t end = gnn_min_u64(depth, line + LINE_FLOATS);

		for (int r = 0; fresh && r < rows; r++)
			__builtin_prefetch(x + (uint64_t)(rows + r) * x_pitch + line);
		for (uint64_t k = line; k < end; k++, packed += GNN_CPU_TILE) {
			gnn_f8 left, right;

			gnn_f8_load(&left, packed);
			gnn_f8_load(&right, packed + GNN_LANES);
#pragma GCC unroll 6
			for (int r = 0; r < rows; r++) {
				const float w = x[(uint64_t)r * x_pitch + k];

				gnn_f8_fma(&sum[r][0], w, &left, &sum[r][0]);
				gnn_f8_fma(&sum[r][1], w, &right, &sum[r][1]);
			}
		}
	}
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		gnn_f8_store(y + (uint64_t)r * y_pitch, &sum[r][0]);
		gnn_f8_store(y + (uint64_t)r * y_pitch + GNN_LANES, &sum[r][1]);
	}
}

/* TILE columns of a panel; `fresh`: x was not read before. */
GNN_CPU_CLONES
static void multiply_block(float *restrict y, uint64_t y_pitch, const float *restrict x,
	uint64_t x_pitch, const float *restrict packed, uint64_t depth, bool fresh)
{
	for (uint64_t r = 0; r < GNN_PANEL_ROWS; r++)
		memset(y + r * y_pitch, 0, GNN_CPU_TILE * sizeof(float));
	for (uint64_t k = 0; k < depth; k += TILE_DEPTH) {
		const float *weight = packed + k * GNN_CPU_TILE;
		const uint64_t part = gnn_min_u64(TILE_DEPTH, depth - k);
		uint64_t r = 0;

		for (; r + TILE_ROWS <= GNN_PANEL_ROWS; r += TILE_ROWS)
			multiply_tile(TILE_ROWS, y + r * y_pitch, y_pitch, x + r * x_pitch + k,
				x_pitch, weight, part, fresh);
		multiply_tile(TILE_REST, y + r * y_pitch, y_pitch, x + r * x_pitch + k, x_pitch,
			weight, part, fresh);
	}
}

void gnn_cpu_dense_own(const struct gnn_rowop *op, const struct gnn_cpu_panel *p,
	const float *packed)
{
	float edge[GNN_PANEL_ROWS * GNN_CPU_TILE];

	for (uint64_t first = 0; first < op->dim_out; first += GNN_CPU_TILE) {
		const uint64_t width = gnn_min_u64(GNN_CPU_TILE, op->dim_out - first);
		const bool whole = width == GNN_CPU_TILE;

		multiply_block(whole ? p->to + first : edge, whole ? p->to_pitch : GNN_CPU_TILE,
			p->from, p->from_pitch, packed + first * op->dim_in, op->dim_in,
			first == 0);
		for (uint64_t r = 0; !whole && r < GNN_PANEL_ROWS; r++)
			memcpy(p->to + r * p->to_pitch + first, edge + r * GNN_CPU_TILE,
				width * sizeof(float));
	}
}

static const struct gnn_cpu_shape *find_shape(const struct gnn_cpu *c, uint32_t dim_in,
	uint32_t dim_out)
{
	for (uint32_t i = 0; i < c->shape_count; i++)
		if (c->shapes[i].dim_in == dim_in && c->shapes[i].dim_out == dim_out)
			return &c->shapes[i];
	return NULL;
}

bool gnn_cpu_dense_is_own(const struct gnn_cpu *c, uint32_t dim_in, uint32_t dim_out)
{
	const struct gnn_cpu_shape *shape = find_shape(c, dim_in, dim_out);

	return shape != NULL && shape->own;
}

static void fill_random(float *to, uint64_t count, uint64_t stream)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = (float)(gnn_rng_unit(gnn_rng_u64(0, stream, i)) - 0.5);
}

/* Multiplies a panel of random rows, `row` at every place in [0, step, 2 step ...). */
static void multiply_probe(const struct gnn_rowop *op, struct gnn_cpu_panel *p, float *from,
	const float *row, uint64_t step, uint64_t stream)
{
	fill_random(from, GNN_PANEL_ROWS * p->from_pitch, stream);
	for (uint64_t r = 0; r < GNN_PANEL_ROWS; r += step)
		memcpy(from + r * p->from_pitch, row, op->dim_in * sizeof(float));
	p->from = from;
	gnn_cpu_dense_blas(op, p);
}

/* Whether `row` comes out as `wanted` at every place, among other rows, at other pitches. */
static bool is_row_alone(const struct gnn_rowop *op, float *scratch, const float *row,
	const float *wanted, uint64_t stream)
{
	const uint64_t steps[PROBE_PLACES] = {1, 3, 85}; /* all places; shifted; 0 85 170 255 */
	float *to = scratch + (uint64_t)GNN_PANEL_ROWS * (op->dim_in + PROBE_PLACES);

	for (uint64_t i = 0; i < PROBE_PLACES; i++) {
		struct gnn_cpu_panel p = {.to = to, .from_pitch = op->dim_in + i,
			.to_pitch = op->dim_out + i};

		multiply_probe(op, &p, scratch, row, steps[i], stream + i);
		for (uint64_t r = 0; r < GNN_PANEL_ROWS; r += steps[i])
			if (memcmp(to + r * p.to_pitch, wanted, op->dim_out * sizeof(float)) != 0)
				return false;
	}
	return true;
}

/* The same on every thread at once. */
static bool is_shape_alone(struct gnn_cpu *c, const struct gnn_rowop *op, const float *row,
	const float *wanted)
{
	const int saved = omp_get_max_threads();
	bool alone = true;

	omp_set_num_threads(1); /* see gnn_cpu_rows */
#pragma omp parallel num_threads(c->threads) reduction(&& : alone)
	{
		const uint64_t t = (uint64_t)omp_get_thread_num();

		alone = is_row_alone(op, c->scratch + t * c->scratch_floats, row, wanted,
			2 + t * PROBE_PLACES);
	}
	omp_set_num_threads(saved);
	return alone;
}

static int add_shape(struct gnn_cpu *c, uint32_t dim_in, uint32_t dim_out, bool own)
{
	void *grown = c->shapes;
	int rc = gnn_mem_resize(&grown, c->shape_count + 1, sizeof(*c->shapes), GNN_MEM_MISC);

	if (rc < 0)
		return rc;
	c->shapes = grown;
	c->shapes[c->shape_count++] = (struct gnn_cpu_shape){dim_in, dim_out, own};
	if (own)
		gnn_log(GNN_LOG_DEBUG, "op", "OpenBLAS rounds a row of a %u to %u product by its "
			"place in the panel: the own kernel multiplies", dim_in, dim_out);
	return GNN_OK;
}

int gnn_cpu_check_dense(struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out)
{
	struct gnn_cpu *c = (struct gnn_cpu *)b;
	struct gnn_rowop op = {.kind = GNN_ROW_DENSE, .dim_in = dim_in, .dim_out = dim_out};
	struct gnn_cpu_panel p = {.from_pitch = dim_in, .to_pitch = dim_out};
	float *weight = NULL, *row = NULL, *wanted = NULL;
	int rc = GNN_OK;

	if (dim_in == 0 || dim_out == 0 || find_shape(c, dim_in, dim_out) != NULL)
		return GNN_OK;
	GNN_NEW_ARRAY(weight, (uint64_t)dim_in * dim_out, GNN_MEM_MISC);
	GNN_NEW_ARRAY(row, dim_in, GNN_MEM_MISC);
	GNN_NEW_ARRAY(wanted, dim_out, GNN_MEM_MISC);
	GNN_TRY(gnn_cpu_reserve(c,
		(uint64_t)GNN_PANEL_ROWS * ((uint64_t)dim_in + dim_out + 2 * PROBE_PLACES)));
	fill_random(weight, (uint64_t)dim_in * dim_out, 0);
	fill_random(row, dim_in, 1);
	op.weight = weight;
	p.to = c->scratch + (uint64_t)GNN_PANEL_ROWS * dim_in;
	multiply_probe(&op, &p, c->scratch, row, GNN_PANEL_ROWS, 2);
	memcpy(wanted, p.to, dim_out * sizeof(float));
	GNN_TRY(add_shape(c, dim_in, dim_out, !is_shape_alone(c, &op, row, wanted)));
out:
	gnn_mem_free(weight);
	gnn_mem_free(row);
	gnn_mem_free(wanted);
	return rc;
}
