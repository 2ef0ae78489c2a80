/* op/cpu/elementwise.c - the row operations that look at one row only, on a panel in cache. */
#include "op/cpu/simd.h"

#include "op/expf.h"

/* One row: x (dim_in) to y (dim_out), never the same place; `v` is the row's own factor. */
typedef void (*row_fn)(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v);

GNN_CPU_CLONES
static void row_bias(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = x[j] + op->bias[j];
}

GNN_CPU_CLONES
static void row_affine(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = fmaf(x[j], op->scale[j], op->shift[j]);
}

/* NaN passes through each: it fails every comparison. */
GNN_CPU_CLONES
static void row_relu(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = x[j] < 0.0f ? 0.0f : x[j];
}

GNN_CPU_CLONES
static void row_elu(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = x[j] > 0.0f ? x[j] : gnn_expm1f(x[j]);
}

GNN_CPU_CLONES
static void row_leaky(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	const float slope = op->slope;

	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = x[j] > 0.0f ? x[j] : slope * x[j];
}

GNN_CPU_CLONES
static void row_tanh(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = gnn_tanhf(x[j]);
}

static void row_copy(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	(void)v;
	memcpy(y, x, op->dim_out * sizeof(float));
}

GNN_CPU_CLONES
static void row_scale(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	row_copy(op, x, y, v);
	for (uint32_t j = op->first; j < op->first + op->count; j++)
		y[j] = v * x[j];
}

static void row_empty(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	row_copy(op, x, y, v);
	if (v == 0.0f)
		memset(y + op->first, 0, op->count * sizeof(float));
}

GNN_CPU_CLONES
static void row_divide(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	const uint32_t width = op->dim_out - op->tail, channels = width / op->heads;

	(void)v;
	for (uint32_t k = 0; k < op->heads; k++) {
		const float denominator = x[width + k] + op->epsilon;

		for (uint32_t j = k * channels; j < (k + 1) * channels; j++)
			y[j] = x[j] / denominator;
	}
	memcpy(y + width, x + width + op->heads, op->tail * sizeof(float));
}

GNN_CPU_CLONES
static void row_head_mean(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	const uint32_t channels = op->dim_out - op->tail;
	const float heads = (float)op->heads;

	(void)v;
	memcpy(y, x, channels * sizeof(float));
	for (uint32_t k = 1; k < op->heads; k++)
		for (uint32_t j = 0; j < channels; j++)
			y[j] += x[k * channels + j];
	for (uint32_t j = 0; j < channels; j++)
		y[j] /= heads;
	memcpy(y + channels, x + op->heads * channels, op->tail * sizeof(float));
}

GNN_CPU_CLONES
static void row_add(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = x[j] + x[op->dim_out + j];
}

/* Eight partial sums, added in pairs at the end: the same order on every machine. */
GNN_CPU_INLINE float dot(const float *restrict x, const float *restrict w, uint32_t n)
{
	float part[GNN_LANES] = {0};
	uint32_t j = 0;

	for (; j + GNN_LANES <= n; j += GNN_LANES)
		for (uint32_t i = 0; i < GNN_LANES; i++)
			part[i] = fmaf(x[j + i], w[j + i], part[i]);
	for (uint32_t i = 0; j + i < n; i++)
		part[i] = fmaf(x[j + i], w[j + i], part[i]);
	for (uint32_t step = GNN_LANES / 2; step > 0; step /= 2)
		for (uint32_t i = 0; i < step; i++)
			part[i] += part[i + step];
	return part[0];
}

GNN_CPU_CLONES
static void row_scores(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	const uint32_t channels = op->dim_in / op->heads;

	(void)v;
	for (uint32_t k = 0; k < op->heads; k++) {
		const uint64_t at = (uint64_t)k * channels;

		y[k] = dot(x + at, op->weight + at, channels);
		y[op->heads + k] = dot(x + at, op->bias + at, channels);
	}
}

GNN_CPU_CLONES
static void row_l2norm(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	const float norm = sqrtf(dot(x, x, op->dim_in));
	const float by = norm < op->epsilon ? op->epsilon : norm;

	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = x[j] / by;
}

/* Sums as in dot: eight partial ones. */
GNN_CPU_CLONES
static void row_layernorm(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	const float n = (float)op->dim_in;
	float part[GNN_LANES] = {0}, mean, by;

	(void)v;
	for (uint32_t j = 0; j < op->dim_in; j++)
		part[j % GNN_LANES] += x[j];
	for (uint32_t step = GNN_LANES / 2; step > 0; step /= 2)
		for (uint32_t i = 0; i < step; i++)
			part[i] += part[i + step];
	mean = part[0] / n;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = x[j] - mean;
	by = sqrtf(dot(y, y, op->dim_out) / n + op->epsilon);
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] /= by;
}

GNN_CPU_CLONES
static void row_standard(const struct gnn_rowop *op, const float *restrict x, float *restrict y,
	float v)
{
	const float center = op->center, factor = op->factor;

	(void)v;
	for (uint32_t j = 0; j < op->dim_out; j++)
		y[j] = (x[j] - center) * factor;
}

static const row_fn acts[] = {
	[GNN_ACT_NONE] = row_copy,
	[GNN_ACT_RELU] = row_relu,
	[GNN_ACT_ELU] = row_elu,
	[GNN_ACT_LEAKY_RELU] = row_leaky,
	[GNN_ACT_TANH] = row_tanh,
};

static const row_fn kinds[] = {
	[GNN_ROW_BIAS] = row_bias,
	[GNN_ROW_AFFINE] = row_affine,
	[GNN_ROW_SCALE] = row_scale,
	[GNN_ROW_EMPTY] = row_empty,
	[GNN_ROW_DIVIDE] = row_divide,
	[GNN_ROW_HEAD_MEAN] = row_head_mean,
	[GNN_ROW_ADD] = row_add,
	[GNN_ROW_SCORES] = row_scores,
	[GNN_ROW_L2NORM] = row_l2norm,
	[GNN_ROW_LAYERNORM] = row_layernorm,
	[GNN_ROW_STANDARD] = row_standard,
};

void gnn_cpu_elementwise(const struct gnn_rowop *op, const struct gnn_cpu_panel *p)
{
	const bool has_factor = op->kind == GNN_ROW_SCALE || op->kind == GNN_ROW_EMPTY;
	const float *factor = has_factor ? p->vec[op->vector] : NULL;
	const row_fn run = op->kind == GNN_ROW_ACT ? acts[op->act] : kinds[op->kind];

	GNN_ASSERT(run != NULL && p->from != p->to);
	GNN_ASSERT(!has_factor || factor != NULL);
	for (uint64_t r = 0; r < p->rows; r++)
		run(op, p->from + r * p->from_pitch, p->to + r * p->to_pitch,
			factor == NULL ? 1.0f : factor[r]);
}

GNN_CPU_CLONES
void gnn_cpu_bias(const struct gnn_rowop *op, const struct gnn_cpu_panel *p)
{
	for (uint64_t r = 0; r < p->rows; r++) {
		float *restrict y = p->to + r * p->to_pitch;

		for (uint32_t j = 0; j < op->dim_out; j++)
			y[j] += op->bias[j];
	}
}
