/* layer/lower.c - see lower.h. */
#include "layer/lower.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

enum { SIDE_MAX = 1 << 24 };

#define BATCH_NORM_EPSILON 1e-5 /* torch's; the file does not say it */

const struct gnn_weight *gnn_lower_find(const struct gnn_lowering *l, enum gnn_role role,
	uint32_t item)
{
	for (uint32_t i = 0; i < l->weight_count; i++)
		if (l->weight[i].role == role && l->weight[i].item == item)
			return &l->weight[i];
	return NULL;
}

const float *gnn_lower_data(const struct gnn_lowering *l, enum gnn_role role, uint32_t item)
{
	const struct gnn_weight *w = gnn_lower_find(l, role, item);

	return w != NULL ? w->data : NULL;
}

const char *gnn_lower_shape_text(const struct gnn_tensor *t, char *to, size_t size)
{
	size_t used = (size_t)snprintf(to, size, "[");

	for (uint32_t d = 0; d < t->rank && used < size; d++)
		used += (size_t)snprintf(to + used, size - used, "%s%llu", d > 0 ? ", " : "",
			(unsigned long long)t->shape[d]);
	if (used < size)
		snprintf(to + used, size - used, "]");
	return to;
}

int gnn_lower_matrix(const struct gnn_weight *w, uint32_t *rows, uint32_t *cols)
{
	const struct gnn_tensor *t = w->tensor;
	char shape[128];

	*rows = *cols = 0;
	if (t->rank == 2 && t->shape[0] - 1 < SIDE_MAX && t->shape[1] - 1 < SIDE_MAX) {
		*rows = (uint32_t)t->shape[0];
		*cols = (uint32_t)t->shape[1];
		return GNN_OK;
	}
	return gnn_err(GNN_ECONFIG, "tensor %s is %s, wanted a matrix", t->name,
		gnn_lower_shape_text(t, shape, sizeof(shape)));
}

int gnn_lower_turned(struct gnn_conv *c, const struct gnn_weight *w, uint32_t *rows,
	uint32_t *cols, const float **out)
{
	float *turned;
	int rc;

	GNN_TRY(gnn_lower_matrix(w, cols, rows));
	GNN_TRY(gnn_conv_block(c, (uint64_t)*rows * *cols, &turned));
	for (uint64_t r = 0; r < *rows; r++)
		for (uint64_t k = 0; k < *cols; k++)
			turned[r * *cols + k] = w->data[k * *rows + r];
	*out = turned;
out:
	return rc;
}

int gnn_lower_vector_of(const struct gnn_weight *w, uint32_t count)
{
	char shape[128];

	if (w == NULL || (w->tensor->rank == 1 && w->tensor->shape[0] == count))
		return GNN_OK;
	return gnn_err(GNN_ECONFIG, "tensor %s is %s, wanted [%u]", w->tensor->name,
		gnn_lower_shape_text(w->tensor, shape, sizeof(shape)), count);
}

int gnn_lower_matrix_of(const struct gnn_weight *w, uint32_t rows, uint32_t cols)
{
	char shape[128];

	if (w == NULL || (w->tensor->rank == 2 && w->tensor->shape[0] == rows &&
				 w->tensor->shape[1] == cols))
		return GNN_OK;
	return gnn_err(GNN_ECONFIG, "tensor %s is %s, wanted [%u, %u]", w->tensor->name,
		gnn_lower_shape_text(w->tensor, shape, sizeof(shape)), rows, cols);
}

int gnn_lower_order(struct gnn_conv *c, const struct gnn_lowering *l, bool best,
	bool can_transform, bool can_aggregate)
{
	bool wanted = l->order != GNN_ORDER_AUTO ? l->order == GNN_ORDER_TRANSFORM_FIRST :
		l->published ? !can_aggregate : best;

	GNN_ASSERT(best ? can_transform : can_aggregate);
	if (wanted ? !can_transform : !can_aggregate)
		return gnn_err(GNN_ECONFIG, "--message-order %s: layer %u (%s) can only go %s",
			wanted ? "transform-first" : "aggregate-first", l->layer, c->arch,
			wanted ? "aggregate-first" : "transform-first");
	c->transform_first = wanted;
	return GNN_OK;
}

int gnn_lower_batch_norm(const struct gnn_batch_norm *n, uint32_t width, double **out)
{
	const struct gnn_weight *parts[] = {n->weight, n->bias, n->mean, n->var};
	double *scale = NULL;
	int rc;

	*out = NULL;
	for (uint32_t i = 0; i < GNN_COUNT_OF(parts); i++)
		GNN_TRY(gnn_lower_vector_of(parts[i], width));
	GNN_NEW_ARRAY(scale, 2 * (uint64_t)width, GNN_MEM_MODEL);
	for (uint32_t i = 0; i < width; i++) {
		scale[i] = (n->weight != NULL ? n->weight->data[i] : 1.0) /
			sqrt(n->var->data[i] + BATCH_NORM_EPSILON);
		scale[width + i] = (n->bias != NULL ? n->bias->data[i] : 0.0) -
			n->mean->data[i] * scale[i];
	}
	*out = scale;
out:
	return rc;
}
