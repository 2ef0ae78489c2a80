/* op/cpu/grad_update.c - losses, the norm of a gradient, and the step of the optimiser. */
#include "op/cpu/grad.h"

#include "op/expf.h"

#include <math.h>

enum { BLOCK = 1 << 12, LOSS_ROWS = 256, LOSS_BLOCKS = 1024 };

/* -log softmax(y)[label], and its gradient times `share`. */
static double class_loss(const float *y, float *dy, uint32_t width, int64_t label, float share)
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

/* max(y, 0) - y t + log(1 + e^-|y|) of each cell, and its gradient times `share`. */
static double cell_loss(const float *y, float *dy, uint32_t width, const uint8_t *label,
	float share)
{
	double sum = 0.0;

	for (uint32_t j = 0; j < width; j++) {
		const float e = gnn_expf(-fabsf(y[j]));
		const float p = y[j] > 0.0f ? 1.0f / (1.0f + e) : e / (1.0f + e);

		sum += (y[j] > 0.0f ? y[j] : 0.0f) - (double)y[j] * label[j] + log1p(e);
		dy[j] = share * (p - (float)label[j]);
	}
	return sum;
}

static double loss_block(const struct gnn_loss_args *a, uint64_t first, uint64_t rows, float share)
{
	double sum = 0.0;

	for (uint64_t r = first; r < first + rows; r++) {
		const float *y = a->y + r * a->width;
		float *dy = a->dy + r * a->width;

		if (a->labels != NULL)
			sum += cell_loss(y, dy, a->width, a->labels + r * a->width, share);
		else if (a->label[r] >= 0)
			sum += class_loss(y, dy, a->width, a->label[r], share);
		else
			for (uint32_t j = 0; j < a->width; j++)
				dy[j] = 0.0f;
	}
	return sum;
}

int gnn_cpu_loss(struct gnn_backend *b, struct gnn_loss_args *a)
{
	const uint64_t height = gnn_max_u64(LOSS_ROWS, gnn_ceil_div(a->rows, LOSS_BLOCKS));
	const uint64_t blocks = gnn_ceil_div(a->rows, height);
	double sum[LOSS_BLOCKS];
	uint64_t total;
	float share;

	a->counted = a->labels != NULL ? a->rows * a->width : 0;
	for (uint64_t r = 0; a->labels == NULL && r < a->rows; r++)
		a->counted += a->label[r] >= 0;
	total = a->total > 0 ? a->total : a->counted;
	share = total > 0 ? (float)(1.0 / (double)total) : 0.0f;
#pragma omp parallel for num_threads(gnn_cpu_team(b, 16 * a->rows * a->width)) schedule(static)
	for (uint64_t i = 0; i < blocks; i++)
		sum[i] = loss_block(a, i * height, gnn_min_u64(height, a->rows - i * height),
			share);
	a->loss = 0.0;
	for (uint64_t i = 0; i < blocks; i++)
		a->loss += sum[i];
	return GNN_OK;
}

int gnn_cpu_sum_squares(struct gnn_backend *b, const float *x, uint64_t count, double *sum)
{
	(void)b;
	*sum = 0.0;
	for (uint64_t i = 0; i < count; i++)
		*sum += (double)x[i] * x[i];
	return GNN_OK;
}

/* As torch.optim: g' = g + decay w (AdamW: w shrinks by itself), then the step. */
GNN_CPU_CLONES
static float adam_block(const struct gnn_update_args *a, uint64_t first, uint64_t count)
{
	const float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
	const float decay = a->kind == GNN_ADAM ? (float)a->weight_decay : 0.0f;
	const float shrink = a->kind == GNN_ADAMW ? (float)(a->lr * a->weight_decay) : 0.0f;
	const float step = (float)(a->lr / (1.0 - pow(0.9, (double)a->step)));
	const float root = (float)(1.0 / sqrt(1.0 - pow(0.999, (double)a->step)));
	float *restrict w = a->w + first, *restrict m = a->m + first, *restrict v = a->v + first;
	const float *restrict g = a->g + first;
	float most = 0.0f;

	for (uint64_t i = 0; i < count; i++) {
		const float d = a->scale * g[i] + decay * w[i];
		float change;

		m[i] = beta1 * m[i] + (1.0f - beta1) * d;
		v[i] = beta2 * v[i] + (1.0f - beta2) * d * d;
		change = shrink * w[i] + step * m[i] / (sqrtf(v[i]) * root + epsilon);
		w[i] -= change;
		most = fabsf(change) > most ? fabsf(change) : most;
	}
	return most;
}

GNN_CPU_CLONES
static float sgd_block(const struct gnn_update_args *a, uint64_t first, uint64_t count)
{
	const float decay = (float)a->weight_decay, lr = (float)a->lr, mu = (float)a->momentum;
	float most = 0.0f;

	for (uint64_t i = first; i < first + count; i++) {
		const float d = a->scale * a->g[i] + decay * a->w[i];

		a->m[i] = a->step == 1 ? d : mu * a->m[i] + d;
		a->w[i] -= lr * a->m[i];
		most = fabsf(lr * a->m[i]) > most ? fabsf(lr * a->m[i]) : most;
	}
	return most;
}

int gnn_cpu_update(struct gnn_backend *b, struct gnn_update_args *a)
{
	float most = a->change;

#pragma omp parallel for num_threads(gnn_cpu_team(b, 4 * a->count)) schedule(static) \
	reduction(max : most)
	for (uint64_t i = 0; i < a->count; i += BLOCK) {
		const uint64_t count = gnn_min_u64(BLOCK, a->count - i);
		const float block = a->kind == GNN_SGD ? sgd_block(a, i, count)
			: adam_block(a, i, count);

		most = block > most ? block : most;
	}
	a->change = most;
	return GNN_OK;
}

const struct gnn_grad_ops gnn_grad_cpu = {
	.gather = gnn_cpu_gather,
	.linear = gnn_cpu_linear,
	.linear_back = gnn_cpu_linear_back,
	.dropout = gnn_cpu_dropout,
	.activate = gnn_cpu_activate,
	.activate_back = gnn_cpu_activate_back,
	.batch_norm = gnn_cpu_batch_norm,
	.batch_norm_back = gnn_cpu_batch_norm_back,
	.attend = gnn_cpu_attend,
	.attend_back = gnn_cpu_attend_back,
	.score = gnn_cpu_score,
	.finish = gnn_cpu_finish,
	.score_back = gnn_cpu_score_back,
	.loss = gnn_cpu_loss,
	.sum_squares = gnn_cpu_sum_squares,
	.update = gnn_cpu_update,
};
