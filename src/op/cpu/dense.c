/* op/cpu/dense.c - one panel times one weight matrix, in a fixed order for each row. */
#include "op/cpu/simd.h"

enum {
	TILE_ROWS = 6,    /* 12 vectors of sums, two of the weight and one of x: 15 registers */
	TILE_REST = GNN_PANEL_ROWS % TILE_ROWS,
	TILE_DEPTH = 512, /* of the packed weight at a time, 32 KiB */
	LINE_FLOATS = 16, /* of a cache line */
};

_Static_assert(GNN_CPU_TILE == 2 * GNN_LANES, "a tile is two vectors wide");
_Static_assert(GNN_CPU_TILE == sizeof(gnn_f16) / sizeof(float), "or one wide one");

/* y (rows, TILE) = x (rows, depth) times packed (depth, TILE), or the same added to y. */
struct product {
	float       *y;
	const float *x, *packed;
	uint64_t     y_pitch, x_pitch, depth;
	bool         add;
	bool         fresh; /* x was not read before */
};

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

/* Columns [line, line + LINE_FLOATS) of the rows of the next tile are asked for. */
GNN_CPU_INLINE void ask_ahead(const int rows, const struct product *p, const float *x,
	uint64_t line)
{
	for (int r = 0; p->fresh && r < rows; r++)
		__builtin_prefetch(x + (uint64_t)(rows + r) * p->x_pitch + line);
}

/* Rows [first, first + rows) of a product. */
GNN_CPU_INLINE void multiply_tile(const int rows, const struct product *p, uint64_t first)
{
	const float *restrict x = p->x + first * p->x_pitch, *restrict packed = p->packed;
	float *restrict y = p->y + first * p->y_pitch;
	gnn_f8 sum[TILE_ROWS][2] = {0};

	for (uint64_t line = 0; line < p->depth; line += LINE_FLOATS) {
		const uint64_t end = gnn_min_u64(p->depth, line + LINE_FLOATS);

		ask_ahead(rows, p, x, line);
		for (uint64_t k = line; k < end; k++, packed += GNN_CPU_TILE) {
			gnn_f8 left, right;

			gnn_f8_load(&left, packed);
			gnn_f8_load(&right, packed + GNN_LANES);
#pragma GCC unroll 6
			for (int r = 0; r < rows; r++) {
				const float w = x[(uint64_t)r * p->x_pitch + k];

				gnn_f8_fma(&sum[r][0], w, &left, &sum[r][0]);
				gnn_f8_fma(&sum[r][1], w, &right, &sum[r][1]);
			}
		}
	}
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		float *to = y + (uint64_t)r * p->y_pitch;
		gnn_f8 left = {0}, right = {0};

		if (p->add) {
			gnn_f8_load(&left, to);
			gnn_f8_load(&right, to + GNN_LANES);
			sum[r][0] += left;
			sum[r][1] += right;
		}
		gnn_f8_store(to, &sum[r][0]);
		gnn_f8_store(to + GNN_LANES, &sum[r][1]);
	}
}

/* The same with a row of the tile in one register. */
GNN_CPU_INLINE void multiply_wide_tile(const int rows, const struct product *p, uint64_t first)
{
	const float *restrict x = p->x + first * p->x_pitch, *restrict packed = p->packed;
	float *restrict y = p->y + first * p->y_pitch;
	gnn_f16 sum[TILE_ROWS] = {0};

	for (uint64_t line = 0; line < p->depth; line += LINE_FLOATS) {
		const uint64_t end = gnn_min_u64(p->depth, line + LINE_FLOATS);

		ask_ahead(rows, p, x, line);
		for (uint64_t k = line; k < end; k++, packed += GNN_CPU_TILE) {
			gnn_f16 weight;

			gnn_f16_load(&weight, packed);
#pragma GCC unroll 6
			for (int r = 0; r < rows; r++)
				gnn_f16_fma(&sum[r], x[(uint64_t)r * p->x_pitch + k], &weight,
					&sum[r]);
		}
	}
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		float *to = y + (uint64_t)r * p->y_pitch;
		gnn_f16 before;

		if (p->add) {
			gnn_f16_load(&before, to);
			sum[r] += before;
		}
		gnn_f16_store(to, &sum[r]);
	}
}

GNN_CPU_CLONES
static void multiply_narrow(const struct product *p)
{
	uint64_t r = 0;

	for (; r + TILE_ROWS <= GNN_PANEL_ROWS; r += TILE_ROWS)
		multiply_tile(TILE_ROWS, p, r);
	multiply_tile(TILE_REST, p, r);
}

GNN_CPU_WIDE
static void multiply_wide(const struct product *p)
{
	uint64_t r = 0;

	for (; r + TILE_ROWS <= GNN_PANEL_ROWS; r += TILE_ROWS)
		multiply_wide_tile(TILE_ROWS, p, r);
	multiply_wide_tile(TILE_REST, p, r);
}

static void zero_columns(const struct gnn_rowop *op, const struct gnn_cpu_panel *p)
{
	for (uint64_t r = 0; r < GNN_PANEL_ROWS; r++)
		memset(p->to + r * p->to_pitch, 0, op->dim_out * sizeof(float));
}

/* A piece of depth goes through all blocks of columns while its part of x is in cache. */
void gnn_cpu_dense(const struct gnn_rowop *op, const struct gnn_cpu_panel *p, const float *packed,
	bool wide)
{
	const uint64_t whole = gnn_align_down(op->dim_out, GNN_CPU_TILE);
	float edge[GNN_PANEL_ROWS * GNN_CPU_TILE]; /* of a last block that is not whole */

	if (op->dim_in == 0) {
		zero_columns(op, p);
		return;
	}
	for (uint64_t k = 0; k < op->dim_in; k += TILE_DEPTH)
		for (uint64_t first = 0; first < op->dim_out; first += GNN_CPU_TILE) {
			const struct product product = {.y = first < whole ? p->to + first : edge,
				.y_pitch = first < whole ? p->to_pitch : GNN_CPU_TILE,
				.x = p->from + k, .x_pitch = p->from_pitch,
				.packed = packed + first * op->dim_in + k * GNN_CPU_TILE,
				.depth = gnn_min_u64(TILE_DEPTH, op->dim_in - k), .add = k > 0,
				.fresh = first == 0};

			if (wide)
				multiply_wide(&product);
			else
				multiply_narrow(&product);
		}
	for (uint64_t r = 0; whole < op->dim_out && r < GNN_PANEL_ROWS; r++)
		memcpy(p->to + r * p->to_pitch + whole, edge + r * GNN_CPU_TILE,
			(op->dim_out - whole) * sizeof(float));
}
