/* train/optim.c - see optim.h. */
#include "train/optim.h"

#include "base/mem.h"

#include <math.h>

struct gnn_optim {
	struct gnn_optim_opts o;
	struct gnn_net       *net;
	struct gnn_backend   *backend;
	float                *moment[2];
};

double gnn_schedule_factor(enum gnn_schedule s, uint64_t step, uint64_t steps)
{
	const double t = (double)step / (double)gnn_max_u64(steps, 1);

	switch (s) {
	case GNN_SCHEDULE_LINEAR:
		return 1.0 - t;
	case GNN_SCHEDULE_COSINE:
		return 0.5 * (1.0 + cos(M_PI * t));
	case GNN_SCHEDULE_STEP:
		return pow(0.1, (double)(3 * step / gnn_max_u64(steps, 1)));
	case GNN_SCHEDULE_CONSTANT:
		break;
	}
	return 1.0;
}

int gnn_optim_create(struct gnn_optim **out, const struct gnn_optim_opts *o, struct gnn_net *n,
	struct gnn_backend *b)
{
	const uint64_t floats = gnn_net_params(n)->learned;
	struct gnn_optim *p = NULL;
	void *block;
	int rc;

	*out = NULL;
	GNN_NEW(p, GNN_MEM_MODEL);
	p->o = *o;
	p->net = n;
	p->backend = b;
	for (int i = 0; i < 2; i++) {
		GNN_TRY(b->ops->alloc(b, &block, floats * sizeof(float)));
		p->moment[i] = block;
		GNN_TRY(b->ops->fill(b, p->moment[i], 0.0f, floats));
	}
	*out = p;
	p = NULL;
out:
	gnn_optim_destroy(p);
	return rc;
}

void gnn_optim_destroy(struct gnn_optim *p)
{
	if (p == NULL)
		return;
	for (int i = 0; i < 2; i++)
		p->backend->ops->free(p->backend, p->moment[i]);
	gnn_mem_free(p);
}

float *gnn_optim_moment(struct gnn_optim *p, uint32_t which)
{
	GNN_ASSERT(which < 2);
	return p->moment[which];
}

/* What brings the norm of the gradient under the limit, as torch's clip_grad_norm_. */
static int clip_scale(struct gnn_optim *p, float *scale)
{
	double squares;
	int rc = GNN_OK;

	*scale = 1.0f;
	if (p->o.clip == 0.0)
		return GNN_OK;
	GNN_TRY(p->backend->ops->grad->sum_squares(p->backend, gnn_net_gradient(p->net),
		gnn_net_params(p->net)->learned, &squares));
	if (sqrt(squares) > p->o.clip)
		*scale = (float)(p->o.clip / (sqrt(squares) + 1e-6));
out:
	return rc;
}

int gnn_optim_step(struct gnn_optim *p, uint64_t step, uint64_t steps, double *change)
{
	const struct gnn_params *params = gnn_net_params(p->net);
	struct gnn_update_args a = {.kind = p->o.kind, .momentum = p->o.momentum,
		.step = step + 1, .lr = p->o.lr * gnn_schedule_factor(p->o.schedule, step, steps)};
	int rc;

	GNN_TRY(clip_scale(p, &a.scale));
	for (uint32_t l = 0; l < gnn_net_shape_of(p->net)->layers; l++) {
		const uint64_t first = params->layer_first[l];

		a.w = gnn_net_weights(p->net) + first;
		a.g = gnn_net_gradient(p->net) + first;
		a.m = p->moment[0] + first;
		a.v = p->moment[1] + first;
		a.count = params->layer_first[l + 1] - first;
		a.weight_decay = p->o.weight_decay[l];
		GNN_TRY(p->backend->ops->grad->update(p->backend, &a));
	}
	*change = a.change;
out:
	return rc;
}
