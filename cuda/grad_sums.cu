/*
 * cuda/grad_sums.cu - sums over rows and what is made of them: bias gradients, batch norm, losses.
 *
 *   column sums   share[slab][j] = sum over the slab's rows of f(r, j), then over the slabs
 *   loss          a thread a row; the rows' losses are added by one block
 *
 * Shares and sums are doubles. A slab's height follows from the number of rows alone, threads of a
 * block take rows in turn and are added by a fixed tree: deterministic. Block 32 columns x 8 rows.
 */
#include "cuda/common.cuh"
#include "cuda/gnn_cuda_grad.h"
#include "op/expf.h"

enum { COLUMNS = 32, ROWS = 8, REDUCE_THREADS = 256, SLAB_ROWS = 256 };

/* As torch's BatchNorm1d. */
#define NORM_EPSILON  1e-5
#define NORM_MOMENTUM 0.1

struct values { /* x */
	const float *x;
	uint32_t     width;
	__device__ double operator()(uint64_t r, uint32_t j) const { return x[r * width + j]; }
};

struct squares { /* (x - mean)^2 */
	const float  *x;
	const double *mean;
	uint32_t      width;
	__device__ double operator()(uint64_t r, uint32_t j) const
	{
		const double d = x[r * width + j] - mean[j];

		return d * d;
	}
};

struct normed { /* dy xhat */
	const float *dy, *x, *mean, *rstd;
	uint32_t     width;
	__device__ double operator()(uint64_t r, uint32_t j) const
	{
		const uint64_t i = r * width + j;

		return (double)dy[i] * (x[i] - mean[j]) * rstd[j];
	}
};

struct scored { /* dscore of the column's head, z */
	const float *dscore, *z;
	uint32_t     stride, channels, width;
	__device__ double operator()(uint64_t r, uint32_t j) const
	{
		return (double)dscore[r * stride + j / channels] * z[r * width + j];
	}
};

template <typename F>
static __global__ void share_kernel(F f, double *share, uint64_t rows, uint32_t width,
	uint64_t height)
{
	__shared__ double part[ROWS][COLUMNS];
	const uint32_t j = blockIdx.x * COLUMNS + threadIdx.x;
	const uint64_t first = blockIdx.y * height;
	const uint64_t end = first + height < rows ? first + height : rows;
	double sum = 0.0;

	for (uint64_t r = first + threadIdx.y; j < width && r < end; r += ROWS)
		sum += f(r, j);
	part[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.y > 0 || j >= width)
		return;
	for (int k = 1; k < ROWS; k++)
		sum += part[k][threadIdx.x];
	share[blockIdx.y * (uint64_t)width + j] = sum;
}

/* sum[j] = scale times the sum of the shares; with `to`, to[j] += it. */
static __global__ void add_kernel(const double *share, uint32_t slabs, uint32_t width, double scale,
	double *sum, float *to)
{
	for (uint64_t j = gnn_grid_first(); j < width; j += gnn_grid_stride()) {
		double s = 0.0;

		for (uint32_t k = 0; k < slabs; k++)
			s += share[k * (uint64_t)width + j];
		if (sum != NULL)
			sum[j] = scale * s;
		if (to != NULL)
			to[j] += (float)s;
	}
}

/* Scaled sums of f's columns into sums[which], behind the shares. */
template <typename F>
static int sum_columns(const F &f, uint64_t rows, uint32_t width, double scale, double *scratch,
	uint32_t which, float *to, cudaStream_t s)
{
	const uint64_t even = (rows + GNN_CUDA_SLABS - 1) / GNN_CUDA_SLABS;
	const uint64_t height = even < SLAB_ROWS ? SLAB_ROWS : even;
	const uint32_t slabs = (uint32_t)((rows + height - 1) / height);
	const dim3 grid((width + COLUMNS - 1) / COLUMNS, slabs), block(COLUMNS, ROWS);

	share_kernel<<<grid, block, 0, s>>>(f, scratch, rows, width, height);
	GNN_RET_LAUNCH("shares of columns");
	add_kernel<<<gnn_grid(width, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0, s>>>(scratch, slabs,
		width, scale, scratch + (GNN_CUDA_SLABS + which) * (uint64_t)width, to);
	GNN_RET_LAUNCH("sums of columns");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_column_sums(const float *dy, float *to, uint64_t rows, uint32_t width,
	double *scratch, void *stream)
{
	const values f = {dy, width};

	if (rows == 0 || width == 0)
		return GNN_OK;
	return sum_columns(f, rows, width, 1.0, scratch, 0, to, (cudaStream_t)stream);
}

/* --- batch norm --- */

/* Mean and variance of the rows at hand, or the running ones. */
static __global__ void moments_kernel(gnn_batch_norm_args a, const double *mean, const double *var)
{
	const double n = (double)a.rows;

	for (uint64_t j = gnn_grid_first(); j < a.width; j += gnn_grid_stride()) {
		if (a.training) {
			const double unbiased = a.rows > 1 ? var[j] * n / (n - 1) : var[j];

			a.mean[j] = (float)mean[j];
			a.rstd[j] = (float)(1.0 / sqrt(var[j] + NORM_EPSILON));
			a.running_mean[j] += (float)(NORM_MOMENTUM * (mean[j] - a.running_mean[j]));
			a.running_var[j] += (float)(NORM_MOMENTUM * (unbiased - a.running_var[j]));
		} else {
			a.mean[j] = a.running_mean[j];
			a.rstd[j] = (float)(1.0 / sqrt(a.running_var[j] + NORM_EPSILON));
		}
	}
}

static __global__ void norm_kernel(gnn_batch_norm_args a)
{
	for (uint64_t i = gnn_grid_first(); i < a.rows * a.width; i += gnn_grid_stride()) {
		const uint32_t j = (uint32_t)(i % a.width);

		a.y[i] = (a.x[i] - a.mean[j]) * (a.rstd[j] * a.gamma[j]) + a.beta[j];
	}
}

static __global__ void norm_back_kernel(gnn_batch_norm_args a, const double *mean_dy,
	const double *mean_dyx)
{
	for (uint64_t i = gnn_grid_first(); i < a.rows * a.width; i += gnn_grid_stride()) {
		const uint32_t j = (uint32_t)(i % a.width);
		const float xhat = (a.x[i] - a.mean[j]) * a.rstd[j];

		a.dx[i] = a.gamma[j] * a.rstd[j] *
			(a.dy[i] - (float)mean_dy[j] - xhat * (float)mean_dyx[j]);
	}
}

extern "C" int gnn_cuda_run_batch_norm(const struct gnn_batch_norm_args *a, double *scratch,
	void *stream)
{
	double *mean = scratch + GNN_CUDA_SLABS * (uint64_t)a->width, *var = mean + a->width;
	const unsigned grid = gnn_grid(a->rows * a->width, GNN_BLOCK_THREADS);
	const values x = {a->x, a->width};
	const squares deviations = {a->x, mean, a->width};
	cudaStream_t s = (cudaStream_t)stream;
	int rc = GNN_OK;

	if (a->rows == 0)
		return GNN_OK;
	if (a->training)
		rc = sum_columns(x, a->rows, a->width, 1.0 / (double)a->rows, scratch, 0, NULL, s);
	if (a->training && rc == GNN_OK)
		rc = sum_columns(deviations, a->rows, a->width, 1.0 / (double)a->rows, scratch, 1,
			NULL, s);
	if (rc < 0)
		return rc;
	moments_kernel<<<gnn_grid(a->width, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0, s>>>(*a, mean,
		var);
	GNN_RET_LAUNCH("moments");
	norm_kernel<<<grid, GNN_BLOCK_THREADS, 0, s>>>(*a);
	GNN_RET_LAUNCH("batch norm");
	return GNN_OK;
}

extern "C" int gnn_cuda_run_batch_norm_back(const struct gnn_batch_norm_args *a, double *scratch,
	void *stream)
{
	double *mean_dy = scratch + GNN_CUDA_SLABS * (uint64_t)a->width;
	const values dy = {a->dy, a->width};
	const normed dyx = {a->dy, a->x, a->mean, a->rstd, a->width};
	cudaStream_t s = (cudaStream_t)stream;
	const double scale = 1.0 / (double)a->rows;
	int rc;

	if (a->rows == 0)
		return GNN_OK;
	rc = sum_columns(dy, a->rows, a->width, scale, scratch, 0, a->dbeta, s);
	if (rc == GNN_OK)
		rc = sum_columns(dyx, a->rows, a->width, scale, scratch, 1, a->dgamma, s);
	if (rc < 0)
		return rc;
	norm_back_kernel<<<gnn_grid(a->rows * a->width, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		s>>>(*a, mean_dy, mean_dy + a->width);
	GNN_RET_LAUNCH("batch norm, backward");
	return GNN_OK;
}

/* --- scores of attention, backward --- */

static __global__ void score_back_kernel(gnn_score_back_args a)
{
	const uint64_t width = (uint64_t)a.heads * a.channels;

	for (uint64_t i = gnn_grid_first(); i < a.rows * width; i += gnn_grid_stride()) {
		const uint64_t r = i / width, j = i % width;

		a.dz[i] = fmaf(a.dscore[r * a.stride + j / a.channels], a.att[j], a.dz[i]);
	}
}

extern "C" int gnn_cuda_run_score_back(const struct gnn_score_back_args *a, double *scratch,
	void *stream)
{
	const uint32_t width = a->heads * a->channels;
	const scored f = {a->dscore, a->z, a->stride, a->channels, width};
	cudaStream_t s = (cudaStream_t)stream;

	if (a->rows == 0)
		return GNN_OK;
	score_back_kernel<<<gnn_grid(a->rows * width, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0,
		s>>>(*a);
	GNN_RET_LAUNCH("scores, backward");
	return sum_columns(f, a->rows, width, 1.0, scratch, 0, a->datt, s);
}

/* --- losses --- */

/* The sum of the block's values by a fixed tree, in thread 0. */
static __device__ double block_sum(double x)
{
	__shared__ double part[REDUCE_THREADS];

	part[threadIdx.x] = x;
	__syncthreads();
	for (int k = REDUCE_THREADS / 2; k > 0; k /= 2) {
		if (threadIdx.x < k)
			part[threadIdx.x] += part[threadIdx.x + k];
		__syncthreads();
	}
	return part[0];
}

static __global__ void count_kernel(const int64_t *label, uint64_t rows, uint64_t *count)
{
	double mine = 0.0;

	for (uint64_t r = threadIdx.x; r < rows; r += REDUCE_THREADS)
		mine += label[r] >= 0;
	mine = block_sum(mine);
	if (threadIdx.x == 0)
		*count = (uint64_t)mine;
}

static __device__ double class_loss(const float *y, float *dy, uint32_t width, int64_t label,
	float share)
{
	float most = y[0];
	double sum = 0.0;

	for (uint32_t j = 1; j < width; j++)
		most = y[j] > most ? y[j] : most;
	for (uint32_t j = 0; j < width; j++) {
		dy[j] = gnn_expf(y[j] - most);
		sum += dy[j];
	}
	for (uint32_t j = 0; j < width; j++)
		dy[j] = share * ((float)(dy[j] / sum) - (j == label ? 1.0f : 0.0f));
	return log(sum) - ((double)y[label] - most);
}

static __device__ double cell_loss(const float *y, float *dy, uint32_t width, const uint8_t *label,
	float share)
{
	double sum = 0.0;

	for (uint32_t j = 0; j < width; j++) {
		const float e = gnn_expf(-fabsf(y[j]));
		const float p = y[j] > 0.0f ? 1.0f / (1.0f + e) : e / (1.0f + e);

		sum += (y[j] > 0.0f ? y[j] : 0.0f) - (double)y[j] * label[j] + log1p((double)e);
		dy[j] = share * (p - (float)label[j]);
	}
	return sum;
}

static __global__ void loss_kernel(gnn_loss_args a, double *loss, const uint64_t *count)
{
	const uint64_t total = a.total > 0 ? a.total : *count;
	const float share = total > 0 ? (float)(1.0 / (double)total) : 0.0f;

	for (uint64_t r = gnn_grid_first(); r < a.rows; r += gnn_grid_stride()) {
		const float *y = a.y + r * a.width;
		float *dy = a.dy + r * a.width;

		if (a.labels != NULL) {
			loss[r] = cell_loss(y, dy, a.width, a.labels + r * a.width, share);
		} else if (a.label[r] >= 0) {
			loss[r] = class_loss(y, dy, a.width, a.label[r], share);
		} else {
			loss[r] = 0.0;
			for (uint32_t j = 0; j < a.width; j++)
				dy[j] = 0.0f;
		}
	}
}

static __global__ void total_kernel(const double *x, uint64_t count, double *sum)
{
	double mine = 0.0;

	for (uint64_t i = threadIdx.x; i < count; i += REDUCE_THREADS)
		mine += x[i];
	mine = block_sum(mine);
	if (threadIdx.x == 0)
		*sum = mine;
}

static __global__ void set_kernel(uint64_t *to, uint64_t value)
{
	*to = value;
}

extern "C" int gnn_cuda_run_loss(const struct gnn_loss_args *a, double *scratch, double *sum,
	uint64_t *count, void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;

	if (a->labels != NULL)
		set_kernel<<<1, 1, 0, s>>>(count, a->rows * a->width);
	else
		count_kernel<<<1, REDUCE_THREADS, 0, s>>>(a->label, a->rows, count);
	GNN_RET_LAUNCH("labels");
	loss_kernel<<<gnn_grid(a->rows, GNN_BLOCK_THREADS), GNN_BLOCK_THREADS, 0, s>>>(*a, scratch,
		count);
	GNN_RET_LAUNCH("loss");
	total_kernel<<<1, REDUCE_THREADS, 0, s>>>(scratch, a->rows, sum);
	GNN_RET_LAUNCH("total loss");
	return GNN_OK;
}

static __global__ void squares_kernel(const float *x, uint64_t count, double *share)
{
	double mine = 0.0;

	for (uint64_t i = gnn_grid_first(); i < count; i += gnn_grid_stride())
		mine += (double)x[i] * x[i];
	mine = block_sum(mine);
	if (threadIdx.x == 0)
		share[blockIdx.x] = mine;
}

extern "C" int gnn_cuda_run_sum_squares(const float *x, uint64_t count, double *scratch,
	double *sum, void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;

	squares_kernel<<<GNN_CUDA_REDUCE_BLOCKS, REDUCE_THREADS, 0, s>>>(x, count, scratch);
	GNN_RET_LAUNCH("squares");
	total_kernel<<<1, REDUCE_THREADS, 0, s>>>(scratch, GNN_CUDA_REDUCE_BLOCKS, sum);
	GNN_RET_LAUNCH("sum of squares");
	return GNN_OK;
}
