/* cuda/rows.c - runs row programs: dense panels by cuBLAS, what is between them in fused passes. */
#include "cuda/rows.h"

#include <string.h>

/* Rows on their way through a program. */
struct walk {
	const struct gnn_rows_args *a;
	const void     *from;
	enum gnn_dtype  dtype;
	uint64_t        pitch;
	uint32_t        width;
	struct gnn_cuda_steps steps; /* not yet applied */
};

static bool is_step(const struct gnn_rowop *op)
{
	return op->kind == GNN_ROW_BIAS || op->kind == GNN_ROW_AFFINE || op->kind == GNN_ROW_ACT ||
		op->kind == GNN_ROW_SCALE || op->kind == GNN_ROW_EMPTY ||
		op->kind == GNN_ROW_STANDARD;
}

int gnn_cuda_rows_weight(struct gnn_cuda_rows *r, const float *host, uint64_t count,
	const float **out)
{
	struct gnn_cuda_weight *w;
	void *block;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < r->weight_count; i++)
		if (r->weight[i].host == host && r->weight[i].count == count) {
			*out = r->weight[i].there;
			return GNN_OK;
		}
	if (r->weight_count == GNN_CUDA_WEIGHTS_MAX)
		GNN_FAIL(GNN_EBUG, "a model of more than %d weights", GNN_CUDA_WEIGHTS_MAX);
	GNN_TRY(gnn_cuda_alloc(r->device, &block, count * sizeof(float)));
	w = &r->weight[r->weight_count++];
	*w = (struct gnn_cuda_weight){host, count, block};
	GNN_TRY_CUDA(cudaMemcpyAsync(block, host, count * sizeof(float), cudaMemcpyHostToDevice,
		r->device->compute));
	*out = w->there;
out:
	return rc;
}

/* A buffer that is not `busy`, of at least `floats`. */
static int scratch(struct gnn_cuda_rows *r, const void *busy, uint64_t floats, float **out)
{
	int k = busy == r->scratch[0] && busy != NULL;
	void *block;
	int rc = GNN_OK;

	if (floats > r->scratch_floats[k]) {
		gnn_cuda_free(r->device, r->scratch[k]);
		r->scratch[k] = NULL;
		r->scratch_floats[k] = 0;
		GNN_TRY(gnn_cuda_alloc(r->device, &block, floats * sizeof(float)));
		r->scratch[k] = block;
		r->scratch_floats[k] = floats;
	}
	*out = r->scratch[k];
out:
	return rc;
}

static int push_step(struct gnn_cuda_rows *r, struct walk *w, const struct gnn_rowop *op)
{
	struct gnn_cuda_step *s = &w->steps.step[w->steps.count];
	int rc = GNN_OK;

	*s = (struct gnn_cuda_step){.kind = (int)op->kind, .act = (int)op->act,
		.slope = op->slope, .center = op->center, .factor = op->factor,
		.first = op->first, .count = op->count};
	if (op->kind == GNN_ROW_BIAS)
		GNN_TRY(gnn_cuda_rows_weight(r, op->bias, op->dim_out, &s->a));
	if (op->kind == GNN_ROW_AFFINE) {
		GNN_TRY(gnn_cuda_rows_weight(r, op->scale, op->dim_out, &s->a));
		GNN_TRY(gnn_cuda_rows_weight(r, op->shift, op->dim_out, &s->b));
	}
	if (op->kind == GNN_ROW_SCALE || op->kind == GNN_ROW_EMPTY)
		s->a = w->a->vec[op->vector];
	w->steps.count++;
out:
	return rc;
}

/* Applies what is pending, into `to`. */
static int flush(struct gnn_cuda_rows *r, struct walk *w, float *to, uint64_t to_pitch)
{
	int rc;

	GNN_TRY(gnn_cuda_run_elementwise(&(struct gnn_cuda_elementwise){.from = w->from,
		.dtype = w->dtype, .from_pitch = w->pitch, .to_pitch = to_pitch,
		.rows = w->a->rows, .width = w->width, .to = to, .steps = w->steps},
		r->device->compute));
	w->from = to;
	w->dtype = GNN_F32;
	w->pitch = to_pitch;
	w->steps.count = 0;
out:
	return rc;
}

static int run_dense(struct gnn_cuda_rows *r, struct walk *w, const struct gnn_rowop *op,
	float *to, uint64_t to_pitch)
{
	const float *weight;
	struct gnn_rowop bias = {.kind = GNN_ROW_BIAS, .dim_in = op->dim_out,
		.dim_out = op->dim_out, .bias = op->bias};
	int rc;

	GNN_TRY(gnn_cuda_rows_weight(r, op->weight, (uint64_t)op->dim_in * op->dim_out, &weight));
	GNN_TRY(gnn_cuda_dense_run(&r->dense, &(struct gnn_cuda_dense_args){.x = w->from,
		.x_pitch = w->pitch, .weight = weight, .y = to, .y_pitch = to_pitch,
		.rows = w->a->rows, .dim_in = op->dim_in, .dim_out = op->dim_out}));
	w->from = to;
	w->pitch = to_pitch;
	w->width = op->dim_out;
	if (op->bias != NULL)
		GNN_TRY(push_step(r, w, &bias));
out:
	return rc;
}

static int run_rowwise(struct gnn_cuda_rows *r, struct walk *w, const struct gnn_rowop *op,
	float *to, uint64_t to_pitch)
{
	struct gnn_cuda_rowwise k = {.kind = (int)op->kind, .from = w->from, .from_pitch = w->pitch,
		.to_pitch = to_pitch, .rows = w->a->rows, .dim_in = op->dim_in,
		.dim_out = op->dim_out, .heads = op->heads, .tail = op->tail,
		.epsilon = op->epsilon, .to = to};
	int rc;

	if (op->kind == GNN_ROW_SCORES) {
		GNN_TRY(gnn_cuda_rows_weight(r, op->weight, op->dim_in, &k.att_src));
		GNN_TRY(gnn_cuda_rows_weight(r, op->bias, op->dim_in, &k.att_dst));
	}
	GNN_TRY(gnn_cuda_run_rowwise(&k, r->device->compute));
	w->from = to;
	w->pitch = to_pitch;
	w->width = op->dim_out;
out:
	return rc;
}

/* Whether only column-wise operations come behind operation i: its rows may go to the end. */
static bool is_last_shape(const struct gnn_rowprog *p, uint32_t i)
{
	for (uint32_t k = i + 1; k < p->count; k++)
		if (!is_step(&p->op[k]))
			return false;
	return true;
}

/* An operation that takes whole rows: f32 input with nothing pending, output elsewhere. */
static int run_whole(struct gnn_cuda_rows *r, struct walk *w, uint32_t i)
{
	const struct gnn_rowop *op = &w->a->prog->op[i];
	uint64_t to_pitch = op->dim_out;
	float *to;
	int rc;

	if (w->dtype != GNN_F32 || w->steps.count > 0) {
		GNN_TRY(scratch(r, w->from, w->a->rows * w->width, &to));
		GNN_TRY(flush(r, w, to, w->width));
	}
	if (is_last_shape(w->a->prog, i) && w->from != w->a->to) {
		to = w->a->to;
		to_pitch = w->a->to_pitch;
	} else {
		GNN_TRY(scratch(r, w->from, w->a->rows * op->dim_out, &to));
	}
	rc = op->kind == GNN_ROW_DENSE ? run_dense(r, w, op, to, to_pitch)
		: run_rowwise(r, w, op, to, to_pitch);
out:
	return rc;
}

void gnn_cuda_rows_init(struct gnn_cuda_rows *r, struct gnn_cuda_device *d)
{
	memset(r, 0, sizeof(*r));
	r->device = d;
	r->dense.device = d;
}

int gnn_cuda_rows_run(struct gnn_cuda_rows *r, const struct gnn_rows_args *a)
{
	struct walk w = {.a = a, .from = a->from, .dtype = a->from_dtype, .pitch = a->from_pitch,
		.width = a->prog->dim_in};
	float *to;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < a->prog->count && a->rows > 0; i++) {
		const struct gnn_rowop *op = &a->prog->op[i];

		/* One place is kept for the bias of a dense operation. */
		if (w.steps.count >= GNN_CUDA_STEPS_MAX - 1) {
			GNN_TRY(scratch(r, w.from, a->rows * w.width, &to));
			GNN_TRY(flush(r, &w, to, w.width));
		}
		if (is_step(op))
			GNN_TRY(push_step(r, &w, op));
		else
			GNN_TRY(run_whole(r, &w, i));
	}
	if (a->rows > 0 && (w.from != a->to || w.steps.count > 0))
		GNN_TRY(flush(r, &w, a->to, a->to_pitch));
out:
	return rc;
}

void gnn_cuda_rows_fini(struct gnn_cuda_rows *r)
{
	if (r->device == NULL)
		return;
	for (int k = 0; k < 2; k++)
		gnn_cuda_free(r->device, r->scratch[k]);
	gnn_cuda_dense_fini(&r->dense);
	for (uint32_t i = 0; i < r->weight_count; i++)
		gnn_cuda_free(r->device, r->weight[i].there);
	memset(r, 0, sizeof(*r));
}
