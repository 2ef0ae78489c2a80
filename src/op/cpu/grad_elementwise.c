/* op/cpu/grad_elementwise.c - dropout, activations and batch norm, forward and backward. */
#include "op/cpu/grad.h"

#include "base/mem.h"
#include "base/rng.h"
#include "op/expf.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 1 << 14 };

/* As torch's BatchNorm1d. */
#define NORM_EPSILON  1e-5
#define NORM_MOMENTUM 0.1

GNN_CPU_CLONES
static void drop_row(float *to, const float *from, uint32_t width, uint64_t key,
	const struct gnn_drop *d)
{
	const uint32_t below = d->below;
	const float scale = d->scale;

	for (uint32_t j = 0; j < width; j++)
		to[j] = gnn_drop_draw(key, j) < below ? 0.0f : from[j] * scale;
}

void gnn_cpu_drop_row(float *to, const float *from, uint32_t width, uint64_t name,
	const struct gnn_drop *d)
{
	drop_row(to, from, width, gnn_rng_u64(d->seed, d->stream, name), d);
}

int gnn_cpu_dropout(struct gnn_backend *b, const struct gnn_dropout_args *a)
{
#pragma omp parallel for num_threads(gnn_cpu_team(b, 4 * a->rows * a->width)) schedule(static)
	for (uint64_t r = 0; r < a->rows; r++)
		gnn_cpu_drop_row(a->to + r * a->width, a->from + r * a->width, a->width, a->id[r],
			&a->drop);
	return GNN_OK;
}

GNN_CPU_CLONES
static void activate_block(enum gnn_act act, float *y, uint64_t count)
{
	if (act == GNN_ACT_RELU)
		for (uint64_t i = 0; i < count; i++)
			y[i] = y[i] < 0.0f ? 0.0f : y[i];
	else if (act == GNN_ACT_ELU)
		for (uint64_t i = 0; i < count; i++)
			y[i] = y[i] > 0.0f ? y[i] : gnn_expm1f(y[i]);
}

/* relu' = [y > 0]; elu' = 1 or y + 1. */
GNN_CPU_CLONES
static void activate_back_block(enum gnn_act act, const float *y, float *dy, uint64_t count)
{
	if (act == GNN_ACT_RELU)
		for (uint64_t i = 0; i < count; i++)
			dy[i] = y[i] > 0.0f ? dy[i] : 0.0f;
	else if (act == GNN_ACT_ELU)
		for (uint64_t i = 0; i < count; i++)
			dy[i] *= y[i] > 0.0f ? 1.0f : y[i] + 1.0f;
}

int gnn_cpu_activate(struct gnn_backend *b, const struct gnn_activate_args *a)
{
#pragma omp parallel for num_threads(gnn_cpu_team(b, a->count)) schedule(static)
	for (uint64_t i = 0; i < a->count; i += BLOCK)
		activate_block(a->act, a->y + i, gnn_min_u64(BLOCK, a->count - i));
	return GNN_OK;
}

int gnn_cpu_activate_back(struct gnn_backend *b, const struct gnn_activate_args *a)
{
#pragma omp parallel for num_threads(gnn_cpu_team(b, a->count)) schedule(static)
	for (uint64_t i = 0; i < a->count; i += BLOCK)
		activate_back_block(a->act, a->y + i, a->dy + i, gnn_min_u64(BLOCK, a->count - i));
	return GNN_OK;
}

/* Of several ranks that have this row one counts it. */
static bool is_counted(const struct gnn_batch_norm_args *a, uint64_t row)
{
	return a->ranks == NULL || (a->counts[row] >> a->bit & 1) != 0;
}

/* Two sums per column over the rows of a slab: of x and (x - mean)^2, or of dy and dy xhat. */
static void sum_columns(const struct gnn_batch_norm_args *a, double *part, uint64_t first,
	uint64_t rows, const double *mean)
{
	const uint32_t n = a->width;

	memset(part, 0, 2 * (uint64_t)n * sizeof(*part));
	for (uint64_t r = first; r < first + rows; r++) {
		const float *x = a->x + r * n, *dy = a->dy == NULL ? NULL : a->dy + r * n;

		if (dy == NULL && !is_counted(a, r))
			continue;
		for (uint32_t j = 0; j < n; j++) {
			if (dy != NULL) {
				part[j] += dy[j];
				part[n + j] += (double)dy[j] * (x[j] - a->mean[j]) * a->rstd[j];
			} else if (mean != NULL) {
				part[n + j] += (x[j] - mean[j]) * (x[j] - mean[j]);
			} else {
				part[j] += x[j];
			}
		}
	}
}

/* The sums over all rows into `sum` (2, width); `part` has a share for each slab. */
static void sum_rows(struct gnn_backend *b, const struct gnn_batch_norm_args *a, double *part,
	double *sum, const double *mean)
{
	const uint64_t height = gnn_cpu_slab_rows(a->rows);
	const uint64_t slabs = gnn_ceil_div(a->rows, height), pitch = 2 * (uint64_t)a->width;

#pragma omp parallel for num_threads(gnn_cpu_team(b, a->rows * a->width)) schedule(dynamic)
	for (uint64_t s = 0; s < slabs; s++)
		sum_columns(a, part + s * pitch, s * height,
			gnn_min_u64(height, a->rows - s * height), mean);
	memset(sum, 0, pitch * sizeof(*sum));
	for (uint64_t s = 0; s < slabs; s++)
		for (uint64_t i = 0; i < pitch; i++)
			sum[i] += part[s * pitch + i];
}

/* The sums (2, width) of all ranks, and how many rows those are. */
static int add_ranks(const struct gnn_batch_norm_args *a, double *sum, double *n)
{
	const uint32_t count = 2 * a->width;
	int rc;

	*n = (double)a->rows;
	if (a->ranks == NULL)
		return GNN_OK;
	sum[count] = 0.0;
	for (uint64_t r = 0; r < a->rows; r++)
		sum[count] += is_counted(a, r) ? 1.0 : 0.0;
	rc = a->ranks->add(a->ranks->arg, sum, count + 1);
	*n = sum[count];
	return rc;
}

/* Mean and variance of the rows; the running variance is the unbiased one. */
static int take_moments(struct gnn_backend *b, const struct gnn_batch_norm_args *a, double *part,
	double *sum)
{
	double *mean = sum + 3 * (uint64_t)a->width, n;
	int rc;

	sum_rows(b, a, part, sum, NULL);
	GNN_TRY(add_ranks(a, sum, &n));
	for (uint32_t j = 0; j < a->width; j++)
		mean[j] = sum[j] / n;
	sum_rows(b, a, part, sum, mean);
	GNN_TRY(add_ranks(a, sum, &n));
	for (uint32_t j = 0; j < a->width; j++) {
		const double var = sum[a->width + j] / n;
		const double unbiased = n > 1 ? var * n / (n - 1) : var;

		a->mean[j] = (float)mean[j];
		a->rstd[j] = (float)(1.0 / sqrt(var + NORM_EPSILON));
		a->running_mean[j] += (float)(NORM_MOMENTUM * (mean[j] - a->running_mean[j]));
		a->running_var[j] += (float)(NORM_MOMENTUM * (unbiased - a->running_var[j]));
	}
out:
	return rc;
}

/* Room for the shares of all slabs, the sums and, one width behind them, the means. */
static int new_sums(double **part, double **sum, const struct gnn_batch_norm_args *a)
{
	const uint64_t pitch = 2 * (uint64_t)a->width;
	void *block;
	int rc = gnn_mem_new(&block, (GNN_CPU_SLABS + 2) * pitch, sizeof(double), GNN_MEM_STATE);

	*part = block;
	*sum = rc < 0 ? NULL : *part + GNN_CPU_SLABS * pitch;
	return rc;
}

int gnn_cpu_batch_norm(struct gnn_backend *b, const struct gnn_batch_norm_args *a)
{
	double *part = NULL, *sum;
	int rc = GNN_OK;

	if (a->training) {
		GNN_TRY(new_sums(&part, &sum, a));
		GNN_TRY(take_moments(b, a, part, sum));
	} else {
		for (uint32_t j = 0; j < a->width; j++) {
			a->mean[j] = a->running_mean[j];
			a->rstd[j] = (float)(1.0 / sqrt(a->running_var[j] + NORM_EPSILON));
		}
	}
#pragma omp parallel for num_threads(gnn_cpu_team(b, a->rows * a->width)) schedule(static)
	for (uint64_t r = 0; r < a->rows; r++)
		for (uint32_t j = 0; j < a->width; j++)
			a->y[r * a->width + j] = (a->x[r * a->width + j] - a->mean[j]) *
				(a->rstd[j] * a->gamma[j]) + a->beta[j];
out:
	gnn_mem_free(part);
	return rc;
}

/*
 * dx = gamma rstd (dy - mean(dy) - xhat mean(dy xhat)). The means are of the whole batch: a row
 * that other ranks have too takes them where it counts.
 */
int gnn_cpu_batch_norm_back(struct gnn_backend *b, const struct gnn_batch_norm_args *a)
{
	double *part = NULL, *sum, n;
	int rc;

	GNN_TRY(new_sums(&part, &sum, a));
	sum_rows(b, a, part, sum, NULL);
	for (uint32_t j = 0; j < a->width; j++) {
		a->dbeta[j] += (float)sum[j];
		a->dgamma[j] += (float)sum[a->width + j];
	}
	GNN_TRY(add_ranks(a, sum, &n));
#pragma omp parallel for num_threads(gnn_cpu_team(b, a->rows * a->width)) schedule(static)
	for (uint64_t r = 0; r < a->rows; r++)
		for (uint32_t j = 0; j < a->width; j++) {
			const uint64_t i = r * a->width + j;
			const float xhat = (a->x[i] - a->mean[j]) * a->rstd[j];
			const float mean_dy = (float)(sum[j] / n);
			const float mean_dyx = (float)(sum[a->width + j] / n);

			a->dx[i] = a->gamma[j] * a->rstd[j] * (is_counted(a, r) ?
				a->dy[i] - mean_dy - xhat * mean_dyx : a->dy[i]);
		}
out:
	gnn_mem_free(part);
	return rc;
}
