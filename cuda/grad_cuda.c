/* cuda/grad_cuda.c - the operations of training on the device: fills op/grad.h's vtable. */
#include "cuda/backend.h"
#include "cuda/gnn_cuda_grad.h"

#include <limits.h>
#include <stddef.h>

static struct gnn_cuda *cuda_of(struct gnn_backend *b)
{
	struct gnn_cuda *c = (struct gnn_cuda *)b;

	gnn_cuda_here(&c->device);
	return c;
}

void gnn_cuda_grad_fini(struct gnn_cuda *c)
{
	gnn_cuda_free(&c->device, c->grad.scratch);
	gnn_cuda_free(&c->device, c->grad.there);
	if (c->grad.answer != NULL)
		cudaFreeHost(c->grad.answer);
	c->grad = (struct gnn_cuda_grad){0};
}

static int take_scratch(struct gnn_cuda *c, uint64_t items)
{
	struct gnn_cuda_grad *g = &c->grad;
	void *block;
	int rc = GNN_OK;

	if (items <= g->scratch_items)
		return GNN_OK;
	gnn_cuda_free(&c->device, g->scratch);
	g->scratch = NULL;
	g->scratch_items = 0;
	GNN_TRY(gnn_cuda_alloc(&c->device, &block, items * sizeof(double)));
	g->scratch = block;
	g->scratch_items = items;
out:
	return rc;
}

/* Room for what an operation answers, on the device and on the host: each sets its own part. */
static int take_answer(struct gnn_cuda *c)
{
	void *block;
	int rc = GNN_OK;

	if (c->grad.answer != NULL)
		return GNN_OK;
	GNN_TRY(gnn_cuda_alloc(&c->device, &block, sizeof(*c->grad.there)));
	c->grad.there = block;
	GNN_TRY_CUDA(cudaMemsetAsync(block, 0, sizeof(*c->grad.there), c->device.compute));
	GNN_TRY_CUDA(cudaHostAlloc((void **)&c->grad.answer, sizeof(*c->grad.answer),
		cudaHostAllocDefault));
out:
	return rc;
}

/* The answer of what was issued, waited for. */
static int read_answer(struct gnn_cuda *c)
{
	int rc = GNN_OK;

	GNN_TRY_CUDA(cudaMemcpyAsync(c->grad.answer, c->grad.there, sizeof(*c->grad.answer),
		cudaMemcpyDeviceToHost, c->device.compute));
	GNN_TRY(gnn_cuda_settle(&c->device));
out:
	return rc;
}

static int gather(struct gnn_backend *b, const struct gnn_gather_args *a)
{
	return gnn_cuda_run_gather(a, cuda_of(b)->device.compute);
}

/* cuBLAS is column-major: it sees every matrix turned round. Y^T = W X^T. */
static int linear(struct gnn_backend *b, const struct gnn_linear_args *a)
{
	struct gnn_cuda_device *d = &cuda_of(b)->device;
	const float one = 1.0f, beta = a->add || a->bias != NULL ? 1.0f : 0.0f;
	int rc = GNN_OK;

	GNN_ASSERT((!a->add || a->bias == NULL) && a->rows <= INT_MAX);
	if (a->rows == 0)
		return GNN_OK;
	if (a->bias != NULL)
		GNN_TRY(gnn_cuda_run_repeat(a->y, a->bias, a->rows, a->dim_out, d->compute));
	GNN_TRY_BLAS(d, d->blas.sgemm(d->blas_handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)a->dim_out,
		(int)a->rows, (int)a->dim_in, &one, a->w, (int)a->dim_in, a->x, (int)a->dim_in,
		&beta, a->y, (int)a->dim_out));
out:
	return rc;
}

/* dW^T += X^T dY, dX^T = W^T dY^T. */
static int linear_back(struct gnn_backend *b, const struct gnn_linear_back_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	struct gnn_cuda_device *d = &c->device;
	const float one = 1.0f, beta = a->add ? 1.0f : 0.0f;
	int rc = GNN_OK;

	GNN_ASSERT(a->rows <= INT_MAX);
	if (a->rows == 0)
		return GNN_OK;
	if (a->dbias != NULL) {
		GNN_TRY(take_scratch(c, gnn_cuda_scratch_items(a->dim_out)));
		GNN_TRY(gnn_cuda_run_column_sums(a->dy, a->dbias, a->rows, a->dim_out,
			c->grad.scratch, d->compute));
	}
	if (a->dw != NULL)
		GNN_TRY_BLAS(d, d->blas.sgemm(d->blas_handle, CUBLAS_OP_N, CUBLAS_OP_T,
			(int)a->dim_in, (int)a->dim_out, (int)a->rows, &one, a->x, (int)a->dim_in,
			a->dy, (int)a->dim_out, &one, a->dw, (int)a->dim_in));
	if (a->dx != NULL)
		GNN_TRY_BLAS(d, d->blas.sgemm(d->blas_handle, CUBLAS_OP_N, CUBLAS_OP_N,
			(int)a->dim_in, (int)a->rows, (int)a->dim_out, &one, a->w, (int)a->dim_in,
			a->dy, (int)a->dim_out, &beta, a->dx, (int)a->dim_in));
out:
	return rc;
}

static int dropout(struct gnn_backend *b, const struct gnn_dropout_args *a)
{
	return gnn_cuda_run_dropout(a, cuda_of(b)->device.compute);
}

static int activate(struct gnn_backend *b, const struct gnn_activate_args *a)
{
	return gnn_cuda_run_activate(a, false, cuda_of(b)->device.compute);
}

static int activate_back(struct gnn_backend *b, const struct gnn_activate_args *a)
{
	return gnn_cuda_run_activate(a, true, cuda_of(b)->device.compute);
}

static int batch_norm(struct gnn_backend *b, const struct gnn_batch_norm_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc = take_scratch(c, gnn_cuda_scratch_items(a->width));

	return rc < 0 ? rc : gnn_cuda_run_batch_norm(a, c->grad.scratch, c->device.compute);
}

static int batch_norm_back(struct gnn_backend *b, const struct gnn_batch_norm_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc = take_scratch(c, gnn_cuda_scratch_items(a->width));

	return rc < 0 ? rc : gnn_cuda_run_batch_norm_back(a, c->grad.scratch, c->device.compute);
}

static int attend(struct gnn_backend *b, const struct gnn_attend_args *a)
{
	return gnn_cuda_run_attend(a, cuda_of(b)->device.compute);
}

static int attend_back(struct gnn_backend *b, const struct gnn_attend_args *a)
{
	return gnn_cuda_run_attend_back(a, cuda_of(b)->device.compute);
}

static int score(struct gnn_backend *b, const struct gnn_score_args *a)
{
	return gnn_cuda_run_score(a, cuda_of(b)->device.compute);
}

static int finish(struct gnn_backend *b, const struct gnn_finish_args *a)
{
	return gnn_cuda_run_finish(a, cuda_of(b)->device.compute);
}

static int score_back(struct gnn_backend *b, const struct gnn_score_back_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc = take_scratch(c, gnn_cuda_scratch_items((uint64_t)a->heads * a->channels));

	return rc < 0 ? rc : gnn_cuda_run_score_back(a, c->grad.scratch, c->device.compute);
}

static int loss(struct gnn_backend *b, struct gnn_loss_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc;

	GNN_TRY(take_answer(c));
	GNN_TRY(take_scratch(c, a->rows));
	GNN_TRY(gnn_cuda_run_loss(a, c->grad.scratch, &c->grad.there->sum, &c->grad.there->count,
		c->device.compute));
	GNN_TRY(read_answer(c));
	a->loss = c->grad.answer->sum;
	a->counted = c->grad.answer->count;
out:
	return rc;
}

static int sum_squares(struct gnn_backend *b, const float *x, uint64_t count, double *sum)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc;

	GNN_TRY(take_answer(c));
	GNN_TRY(take_scratch(c, GNN_CUDA_REDUCE_BLOCKS));
	GNN_TRY(gnn_cuda_run_sum_squares(x, count, c->grad.scratch, &c->grad.there->sum,
		c->device.compute));
	GNN_TRY(read_answer(c));
	*sum = c->grad.answer->sum;
out:
	return rc;
}

static int update(struct gnn_backend *b, struct gnn_update_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc;

	GNN_TRY(take_answer(c));
	GNN_TRY_CUDA(cudaMemsetAsync(&c->grad.there->most, 0, sizeof(c->grad.there->most),
		c->device.compute));
	GNN_TRY(gnn_cuda_run_update(a, &c->grad.there->most, c->device.compute));
	GNN_TRY(read_answer(c));
	if (c->grad.answer->most > a->change)
		a->change = c->grad.answer->most;
out:
	return rc;
}

const struct gnn_grad_ops gnn_grad_cuda = {
	.gather = gather,
	.linear = linear,
	.linear_back = linear_back,
	.dropout = dropout,
	.activate = activate,
	.activate_back = activate_back,
	.batch_norm = batch_norm,
	.batch_norm_back = batch_norm_back,
	.attend = attend,
	.attend_back = attend_back,
	.score = score,
	.finish = finish,
	.score_back = score_back,
	.loss = loss,
	.sum_squares = sum_squares,
	.update = update,
};
