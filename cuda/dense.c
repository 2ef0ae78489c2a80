/* cuda/dense.c - see dense.h. */
#include "cuda/dense.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

/* cuBLAS is column-major: it sees W^T, X^T and Y^T. */
static int blas_panel(struct gnn_cuda_dense *d, const struct gnn_cuda_panel *p)
{
	const float one = 1.0f, zero = 0.0f;
	int rc = GNN_OK;

	GNN_TRY_BLAS(d->device, d->device->blas.sgemm(d->device->blas_handle, CUBLAS_OP_T,
		CUBLAS_OP_N, (int)p->dim_out, GNN_CUDA_PANEL_ROWS, (int)p->dim_in, &one, p->weight,
		(int)p->dim_in, p->x, (int)p->x_pitch, &zero, p->y, (int)p->y_pitch));
out:
	return rc;
}

static int run_panel(struct gnn_cuda_dense *d, const struct gnn_cuda_panel *p, bool own)
{
	/* cuBLAS takes no matrices of width 0. */
	return own || p->dim_in == 0 ? gnn_cuda_run_panel(p, d->device->compute)
		: blas_panel(d, p);
}

static bool is_own(const struct gnn_cuda_dense *d, uint32_t dim_in, uint32_t dim_out)
{
	for (uint32_t i = 0; i < d->shape_count; i++)
		if (d->shape[i].dim_in == dim_in && d->shape[i].dim_out == dim_out)
			return d->shape[i].own;
	return false;
}

/* The short panel at the end goes through buffers of a whole one, the rest zero. */
static int short_panel(struct gnn_cuda_dense *d, const struct gnn_cuda_panel *p, uint64_t rows,
	bool own)
{
	uint64_t in_bytes = p->dim_in * sizeof(float), out_bytes = p->dim_out * sizeof(float);
	uint64_t need = (uint64_t)GNN_CUDA_PANEL_ROWS * gnn_max_u64(p->dim_in, p->dim_out);
	struct gnn_cuda_panel whole = *p;
	cudaStream_t s = d->device->compute;
	void *block;
	int rc = GNN_OK;

	for (int k = 0; k < 2 && need > d->panel_floats; k++) {
		gnn_cuda_free(d->device, d->panel[k]);
		d->panel[k] = NULL;
		GNN_TRY(gnn_cuda_alloc(d->device, &block, need * sizeof(float)));
		d->panel[k] = block;
	}
	d->panel_floats = gnn_max_u64(d->panel_floats, need);
	whole.x = d->panel[0];
	whole.x_pitch = p->dim_in;
	whole.y = d->panel[1];
	whole.y_pitch = p->dim_out;
	GNN_TRY_CUDA(cudaMemsetAsync(d->panel[0], 0, GNN_CUDA_PANEL_ROWS * in_bytes, s));
	GNN_TRY_CUDA(cudaMemcpy2DAsync(d->panel[0], in_bytes, p->x, p->x_pitch * sizeof(float),
		in_bytes, rows, cudaMemcpyDeviceToDevice, s));
	GNN_TRY(run_panel(d, &whole, own));
	GNN_TRY_CUDA(cudaMemcpy2DAsync(p->y, p->y_pitch * sizeof(float), d->panel[1], out_bytes,
		out_bytes, rows, cudaMemcpyDeviceToDevice, s));
out:
	return rc;
}

int gnn_cuda_dense_run(struct gnn_cuda_dense *d, const struct gnn_cuda_dense_args *a)
{
	bool own = is_own(d, a->dim_in, a->dim_out);
	int rc = GNN_OK;

	for (uint64_t row = 0; row < a->rows; row += GNN_CUDA_PANEL_ROWS) {
		struct gnn_cuda_panel p = {.x = a->x + row * a->x_pitch, .weight = a->weight,
			.x_pitch = a->x_pitch, .y_pitch = a->y_pitch,
			.y = a->y + row * a->y_pitch, .dim_in = a->dim_in, .dim_out = a->dim_out};

		if (a->rows - row >= GNN_CUDA_PANEL_ROWS)
			GNN_TRY(run_panel(d, &p, own));
		else
			GNN_TRY(short_panel(d, &p, a->rows - row, own));
	}
out:
	return rc;
}

/* --- the check --- */

enum { CHECK_SHIFT = 389 }; /* rows move so far: past tiles of any size, no multiple of one */

/* What the check compares: a panel as it is, and with every row at another place. */
struct check {
	float   *x, *moved_x, *y, *moved_y; /* host */
	float   *there_x, *there_w, *there_y;
	uint64_t x_bytes, y_bytes, w_bytes;
};

static void fill_panels(struct check *c, uint32_t dim_in)
{
	for (uint64_t r = 0; r < GNN_CUDA_PANEL_ROWS; r++) {
		uint64_t to = (r + CHECK_SHIFT) % GNN_CUDA_PANEL_ROWS;

		for (uint64_t k = 0; k < dim_in; k++)
			c->x[r * dim_in + k] = (float)(gnn_rng_unit(
				gnn_rng_u64(1, r, k)) - 0.5);
		memcpy(c->moved_x + to * dim_in, c->x + r * dim_in, dim_in * sizeof(float));
	}
}

static int multiply(struct gnn_cuda_dense *d, const struct check *c, const float *x, float *y,
	uint32_t dim_in, uint32_t dim_out)
{
	struct gnn_cuda_panel p = {.x = c->there_x, .weight = c->there_w, .x_pitch = dim_in,
		.y = c->there_y, .y_pitch = dim_out, .dim_in = dim_in, .dim_out = dim_out};
	cudaStream_t s = d->device->compute;
	int rc;

	GNN_TRY_CUDA(cudaMemcpyAsync(c->there_x, x, c->x_bytes, cudaMemcpyHostToDevice, s));
	GNN_TRY(blas_panel(d, &p));
	GNN_TRY_CUDA(cudaMemcpyAsync(y, c->there_y, c->y_bytes, cudaMemcpyDeviceToHost, s));
	GNN_TRY_CUDA(cudaStreamSynchronize(s));
out:
	return rc;
}

static bool rows_agree(const struct check *c, uint32_t dim_out)
{
	for (uint64_t r = 0; r < GNN_CUDA_PANEL_ROWS; r++) {
		uint64_t to = (r + CHECK_SHIFT) % GNN_CUDA_PANEL_ROWS;

		if (memcmp(c->y + r * dim_out, c->moved_y + to * dim_out,
			dim_out * sizeof(float)) != 0)
			return false;
	}
	return true;
}

static int alloc_check(struct gnn_cuda_dense *d, struct check *c, uint32_t dim_in,
	uint32_t dim_out)
{
	void *block;
	int rc;

	c->x_bytes = (uint64_t)GNN_CUDA_PANEL_ROWS * dim_in * sizeof(float);
	c->y_bytes = (uint64_t)GNN_CUDA_PANEL_ROWS * dim_out * sizeof(float);
	c->w_bytes = (uint64_t)dim_in * dim_out * sizeof(float);
	GNN_NEW_ARRAY(c->x, c->x_bytes / 4, GNN_MEM_MISC);
	GNN_NEW_ARRAY(c->moved_x, c->x_bytes / 4, GNN_MEM_MISC);
	GNN_NEW_ARRAY(c->y, c->y_bytes / 4, GNN_MEM_MISC);
	GNN_NEW_ARRAY(c->moved_y, c->y_bytes / 4, GNN_MEM_MISC);
	GNN_TRY(gnn_cuda_alloc(d->device, &block, c->x_bytes));
	c->there_x = block;
	GNN_TRY(gnn_cuda_alloc(d->device, &block, c->w_bytes));
	c->there_w = block;
	GNN_TRY(gnn_cuda_alloc(d->device, &block, c->y_bytes));
	c->there_y = block;
out:
	return rc;
}

static void free_check(struct gnn_cuda_dense *d, struct check *c)
{
	gnn_mem_free(c->x);
	gnn_mem_free(c->moved_x);
	gnn_mem_free(c->y);
	gnn_mem_free(c->moved_y);
	gnn_cuda_free(d->device, c->there_x);
	gnn_cuda_free(d->device, c->there_w);
	gnn_cuda_free(d->device, c->there_y);
}

static bool is_known(const struct gnn_cuda_dense *d, uint32_t dim_in, uint32_t dim_out)
{
	for (uint32_t i = 0; i < d->shape_count; i++)
		if (d->shape[i].dim_in == dim_in && d->shape[i].dim_out == dim_out)
			return true;
	return false;
}

int gnn_cuda_dense_check(struct gnn_cuda_dense *d, uint32_t dim_in, uint32_t dim_out)
{
	struct check c = {0};
	bool own;
	int rc;

	if (is_known(d, dim_in, dim_out) || dim_in == 0 || dim_out == 0)
		return GNN_OK;
	if (d->shape_count == GNN_CUDA_SHAPES_MAX)
		return gnn_err(GNN_EBUG, "a model of more than %d dense shapes",
			GNN_CUDA_SHAPES_MAX);
	GNN_TRY(alloc_check(d, &c, dim_in, dim_out));
	fill_panels(&c, dim_in);
	/* Any weight does: rows of x, repeated. */
	for (uint64_t at = 0; at < c.w_bytes; at += c.x_bytes)
		GNN_TRY_CUDA(cudaMemcpy((char *)c.there_w + at, c.x,
			gnn_min_u64(c.x_bytes, c.w_bytes - at), cudaMemcpyHostToDevice));
	GNN_TRY(multiply(d, &c, c.x, c.y, dim_in, dim_out));
	GNN_TRY(multiply(d, &c, c.moved_x, c.moved_y, dim_in, dim_out));
	own = !rows_agree(&c, dim_out);
	if (own)
		gnn_log(GNN_LOG_INFO, "cuda", "cuBLAS gives other bits at other places for %u x "
			"%u: own kernel", dim_in, dim_out);
	d->shape[d->shape_count].dim_in = dim_in;
	d->shape[d->shape_count].dim_out = dim_out;
	d->shape[d->shape_count++].own = own;
out:
	free_check(d, &c);
	return rc;
}

void gnn_cuda_dense_fini(struct gnn_cuda_dense *d)
{
	gnn_cuda_free(d->device, d->panel[0]);
	gnn_cuda_free(d->device, d->panel[1]);
	*d = (struct gnn_cuda_dense){.device = d->device};
}
