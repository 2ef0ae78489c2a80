/* train/model_file.c - see model_file.h. */
#include "train/model_file.h"

#include "base/mem.h"
#include "io/safetensors.h"

#include <stdio.h>

enum { EXTRA = 2 }; /* tensors of GIN that are no weights: eps, batches seen */

struct extra {
	char name[EXTRA][GNN_PARAM_NAME];
};

/* GIN's eps, which is not learned, and what torch's batch norm counts. */
static uint32_t add_extra(struct gnn_tensor_out *t, struct extra *e, uint32_t layer,
	const float *eps, const int64_t *steps)
{
	snprintf(e->name[0], GNN_PARAM_NAME, "convs.%u.eps", layer);
	snprintf(e->name[1], GNN_PARAM_NAME, "convs.%u.nn.norms.0.module.num_batches_tracked",
		layer);
	t[0] = (struct gnn_tensor_out){.name = e->name[0], .dtype = GNN_F32, .rank = 1,
		.shape = {1}, .data = eps};
	t[1] = (struct gnn_tensor_out){.name = e->name[1], .dtype = GNN_I64, .rank = 0,
		.data = steps};
	return EXTRA;
}

static void heads_text(const struct gnn_net_shape *s, char *to, size_t bytes)
{
	size_t used = 0;

	for (uint32_t l = 0; l < s->layers && used < bytes; l++)
		used += (size_t)snprintf(to + used, bytes - used, "%s%u", l > 0 ? "," : "",
			s->heads[l]);
}

int gnn_model_file_write(const char *path, const struct gnn_net_shape *s,
	const struct gnn_params *p, const float *weights, uint64_t steps)
{
	const int64_t batches = (int64_t)steps;
	const float eps = 0.0f;
	struct gnn_tensor_out *tensor = NULL;
	struct extra *extra = NULL;
	char layers[16], heads[GNN_SETTING_TEXT_MAX];
	uint32_t count = 0;
	const struct gnn_tensor_text texts[] = {
		{"gnnrun.library", gnn_library_name(GNN_LIBRARY_PYG)},
		{"gnnrun.arch", gnn_arch_name(s->arch)},
		{"gnnrun.layers", layers},
		{"gnnrun.activation", s->arch == GNN_ARCH_GAT ? "elu" : "relu"},
		/* Of one architecture each, and last. */
		{s->arch == GNN_ARCH_GAT ? "gnnrun.heads" : "gnnrun.mlp_activation",
			s->arch == GNN_ARCH_GAT ? heads : "relu"},
	};
	const bool last = s->arch == GNN_ARCH_GAT || s->arch == GNN_ARCH_GIN;
	int rc;

	snprintf(layers, sizeof(layers), "%u", s->layers);
	heads_text(s, heads, sizeof(heads));
	GNN_NEW_ARRAY(tensor, p->count + EXTRA * s->layers, GNN_MEM_MISC);
	GNN_NEW_ARRAY(extra, s->layers, GNN_MEM_MISC);
	for (; count < p->count; count++) {
		const struct gnn_param *t = &p->param[count];

		tensor[count] = (struct gnn_tensor_out){.name = t->name, .dtype = GNN_F32,
			.rank = t->rank, .data = weights + t->first};
		for (uint32_t d = 0; d < t->rank; d++)
			tensor[count].shape[d] = t->shape[d];
	}
	for (uint32_t l = 0; s->arch == GNN_ARCH_GIN && l < s->layers; l++)
		count += add_extra(tensor + count, &extra[l], l, &eps, &batches);
	GNN_TRY(gnn_safetensors_write(path, &(struct gnn_tensors_out){tensor, count, texts,
		GNN_COUNT_OF(texts) - !last}));
out:
	gnn_mem_free(tensor);
	gnn_mem_free(extra);
	return rc;
}
