/* op/cpu/whole.c - moments of blocks of rows, and two matrices merged into one. */
#include "op/cpu/simd.h"

#include "op/whole.h"

/* Eight partial sums, added in pairs at the end. */
GNN_CPU_INLINE double total(double *part)
{
	for (uint32_t step = GNN_LANES / 2; step > 0; step /= 2)
		for (uint32_t i = 0; i < step; i++)
			part[i] += part[i + step];
	return part[0];
}

/* The mean first, then the distances from it: no digits cancel. */
GNN_CPU_CLONES
static void block_moments(const struct gnn_moments_args *a, uint64_t block)
{
	const uint64_t first = block * GNN_MOMENT_ROWS;
	const uint64_t rows = gnn_min_u64(GNN_MOMENT_ROWS, a->rows - first);
	const float *from = a->from + first * a->from_pitch;
	struct gnn_moments *m = &a->to[block];
	double sum[GNN_LANES] = {0}, square[GNN_LANES] = {0};

	for (uint64_t r = 0; r < rows; r++)
		for (uint32_t j = 0; j < a->width; j++)
			sum[j % GNN_LANES] += (double)from[r * a->from_pitch + j];
	m->count = (double)(rows * a->width);
	m->mean = total(sum) / m->count;
	for (uint64_t r = 0; r < rows; r++)
		for (uint32_t j = 0; j < a->width; j++) {
			const double apart = (double)from[r * a->from_pitch + j] - m->mean;

			square[j % GNN_LANES] += apart * apart;
		}
	m->spread = total(square);
}

int gnn_cpu_moments(struct gnn_backend *b, const struct gnn_moments_args *a)
{
	const uint64_t blocks = gnn_ceil_div(a->rows, GNN_MOMENT_ROWS);

#pragma omp parallel for num_threads(((struct gnn_cpu *)b)->threads) schedule(static)
	for (uint64_t i = 0; i < blocks; i++)
		block_moments(a, i);
	return GNN_OK;
}

GNN_CPU_CLONES
static void merge_row(enum gnn_merge how, float *restrict to, const float *restrict from,
	uint32_t width)
{
	if (how == GNN_MERGE_SUM)
		for (uint32_t j = 0; j < width; j++)
			to[j] += from[j];
	else
		for (uint32_t j = 0; j < width; j++)
			to[j] = (from[j] > to[j]) | (from[j] != from[j]) ? from[j] : to[j];
}

int gnn_cpu_merge(struct gnn_backend *b, const struct gnn_merge_args *a)
{
#pragma omp parallel for num_threads(((struct gnn_cpu *)b)->threads) schedule(static)
	for (uint64_t r = 0; r < a->rows; r++)
		merge_row(a->how, a->to + r * a->to_pitch, a->from + r * a->from_pitch, a->width);
	return GNN_OK;
}
