/* op/cpu/grad_linear.c - products of training: y = x W^T, and the gradients of x, W and bias. */
#include "op/cpu/grad.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

/* Multiplications of a product that take as long as one elementary operation. */
enum { PRODUCTS = 8 };

/* Where row i comes from; NULL: from nowhere. */
static const char *gathered_from(const struct gnn_gather_args *a, uint64_t i, uint64_t row_bytes)
{
	const uint64_t id = a->id != NULL ? a->id[i] : i;
	const uint32_t place = a->place != NULL ? a->place[id] : GNN_NO_PLACE;

	if (place != GNN_NO_PLACE)
		return (const char *)a->cache + place * row_bytes;
	return a->table == NULL ? NULL : (const char *)a->table + id * row_bytes;
}

static uint64_t count_missed(const struct gnn_gather_args *a)
{
	uint64_t missed = 0;

	for (uint64_t i = 0; i < a->rows; i++)
		missed += a->place == NULL ||
			a->place[a->id != NULL ? a->id[i] : i] == GNN_NO_PLACE;
	return missed;
}

static void gather_row(const struct gnn_gather_args *a, uint64_t i, const char *from)
{
	const uint64_t row = a->row != NULL ? a->row[i] : i;
	float *to = a->to + row * a->width;

	gnn_cpu_widen(to, a->width, from, a->dtype, a->width, a->width, 1);
	if (a->drop.below > 0)
		gnn_cpu_drop_row(to, to, a->width, a->name[row], &a->drop);
}

int gnn_cpu_gather(struct gnn_backend *b, const struct gnn_gather_args *a)
{
	const uint64_t row_bytes = (uint64_t)a->width * gnn_dtype_bytes(a->dtype);

	GNN_ASSERT(a->drop.below == 0 || a->name != NULL);
#pragma omp parallel for num_threads(gnn_cpu_team(b, a->rows * a->width)) schedule(static)
	for (uint64_t i = 0; i < a->rows; i++) {
		const char *from = gathered_from(a, i, row_bytes);

		if (from != NULL)
			gather_row(a, i, from);
	}
	if (a->missed != NULL)
		*a->missed += count_missed(a);
	return GNN_OK;
}

/* The rows of one panel. */
static void multiply_panel(const struct gnn_linear_args *a, uint64_t first)
{
	const uint64_t rows = gnn_min_u64(GNN_PANEL_ROWS, a->rows - first);
	float *y = a->y + first * a->dim_out;

	for (uint64_t r = 0; a->bias != NULL && r < rows; r++)
		memcpy(y + r * a->dim_out, a->bias, a->dim_out * sizeof(float));
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)a->dim_out,
		(int)a->dim_in, 1.0f, a->x + first * a->dim_in, (int)a->dim_in, a->w,
		(int)a->dim_in, a->add || a->bias != NULL ? 1.0f : 0.0f, y, (int)a->dim_out);
}

int gnn_cpu_linear(struct gnn_backend *b, const struct gnn_linear_args *a)
{
	const int team = gnn_cpu_team(b,
		a->rows * a->dim_in * a->dim_out / PRODUCTS);
	const int saved = omp_get_max_threads();

	GNN_ASSERT(!a->add || a->bias == NULL);
	/*
	 * The openmp flavour of OpenBLAS asks OpenMP how many threads a call may use, and a team
	 * of one does not count as a parallel region: the threads of the team inherit this 1.
	 */
	omp_set_num_threads(1);
#pragma omp parallel for num_threads(team) schedule(dynamic)
	for (uint64_t r = 0; r < a->rows; r += GNN_PANEL_ROWS)
		multiply_panel(a, r);
	omp_set_num_threads(saved);
	return GNN_OK;
}

static void back_panel(const struct gnn_linear_back_args *a, uint64_t first)
{
	const uint64_t rows = gnn_min_u64(GNN_PANEL_ROWS, a->rows - first);

	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)a->dim_in,
		(int)a->dim_out, 1.0f, a->dy + first * a->dim_out, (int)a->dim_out, a->w,
		(int)a->dim_in, a->add ? 1.0f : 0.0f, a->dx + first * a->dim_in,
		(int)a->dim_in);
}

/* One slab's share of dW (dim_out, dim_in) and, behind it, of the bias. */
static void weigh_slab(const struct gnn_linear_back_args *a, float *part, uint64_t first,
	uint64_t rows)
{
	const uint64_t weights = (uint64_t)a->dim_out * a->dim_in;
	const float *dy = a->dy + first * a->dim_out;
	float *bias = part + weights;

	if (a->dw != NULL)
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)a->dim_out,
			(int)a->dim_in, (int)rows, 1.0f, dy, (int)a->dim_out,
			a->x + first * a->dim_in, (int)a->dim_in, 0.0f, part, (int)a->dim_in);
	memset(bias, 0, a->dim_out * sizeof(float));
	for (uint64_t r = 0; a->dbias != NULL && r < rows; r++)
		for (uint32_t j = 0; j < a->dim_out; j++)
			bias[j] += dy[r * a->dim_out + j];
}

static void add_slabs(float *to, const float *part, uint64_t pitch, uint64_t slabs, uint64_t count,
	const struct gnn_cpu *c)
{
#pragma omp parallel for num_threads(gnn_cpu_team(&c->base, slabs * count)) schedule(static)
	for (uint64_t i = 0; i < count; i++) {
		float sum = part[i];

		for (uint64_t s = 1; s < slabs; s++)
			sum += part[s * pitch + i];
		to[i] += sum;
	}
}

static int add_weights(struct gnn_cpu *c, const struct gnn_linear_back_args *a, int team)
{
	const uint64_t height = gnn_cpu_slab_rows(a->rows);
	const uint64_t slabs = gnn_ceil_div(a->rows, height);
	const uint64_t weights = (uint64_t)a->dim_out * a->dim_in, pitch = weights + a->dim_out;
	float *part;
	int rc = gnn_cpu_reserve(c, gnn_ceil_div(slabs * pitch, c->threads));

	if (rc < 0)
		return rc;
	part = c->scratch; /* of all threads, one behind the other */
#pragma omp parallel for num_threads(team) schedule(dynamic)
	for (uint64_t s = 0; s < slabs; s++)
		weigh_slab(a, part + s * pitch, s * height,
			gnn_min_u64(height, a->rows - s * height));
	if (a->dw != NULL)
		add_slabs(a->dw, part, pitch, slabs, weights, c);
	if (a->dbias != NULL)
		add_slabs(a->dbias, part + weights, pitch, slabs, a->dim_out, c);
	return rc;
}

int gnn_cpu_linear_back(struct gnn_backend *b, const struct gnn_linear_back_args *a)
{
	struct gnn_cpu *c = (struct gnn_cpu *)b;
	const int team = gnn_cpu_team(&c->base, a->rows * gnn_max_u64(a->dim_in, 1) * a->dim_out /
		PRODUCTS);
	const int saved = omp_get_max_threads();
	int rc = GNN_OK;

	if (a->rows == 0)
		return GNN_OK;
	omp_set_num_threads(1); /* for OpenBLAS: as above */
	if (a->dw != NULL || a->dbias != NULL)
		rc = add_weights(c, a, team);
#pragma omp parallel for num_threads(team) schedule(dynamic)
	for (uint64_t r = 0; r < (a->dx != NULL ? a->rows : 0); r += GNN_PANEL_ROWS)
		back_panel(a, r);
	omp_set_num_threads(saved);
	return rc;
}
