/* layer/seeded.c - see seeded.h. */
#include "layer/seeded.h"

#include "base/mem.h"
#include "base/rng.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX = 48, TENSORS_A_LAYER = 5, DIM_MAX = 1 << 24 };

/*
 * The tensors of a layer. Letters of a shape: i columns in, o columns of all heads, h heads,
 * c columns of a head, b columns of the layer's bias, 1 one.
 */
static const struct key {
	enum gnn_arch arch;
	const char   *ending;
	const char   *shape;
} keys[] = {
	{GNN_ARCH_GCN, "bias", "b"},
	{GNN_ARCH_GCN, "lin.weight", "oi"},
	{GNN_ARCH_SAGE, "lin_l.bias", "b"},
	{GNN_ARCH_SAGE, "lin_l.weight", "oi"},
	{GNN_ARCH_SAGE, "lin_r.weight", "oi"},
	{GNN_ARCH_GIN, "eps", "1"},
	{GNN_ARCH_GIN, "nn.0.bias", "b"},
	{GNN_ARCH_GIN, "nn.0.weight", "oi"},
	{GNN_ARCH_GIN, "nn.2.bias", "b"},
	{GNN_ARCH_GIN, "nn.2.weight", "oo"},
	{GNN_ARCH_GAT, "att_dst", "1hc"},
	{GNN_ARCH_GAT, "att_src", "1hc"},
	{GNN_ARCH_GAT, "bias", "b"},
	{GNN_ARCH_GAT, "lin.weight", "oi"},
};

struct seeded {
	const struct gnn_seeded_opts *o;
	struct gnn_tensor_out        *tensor;
	char                        (*name)[NAME_MAX];
	float                       **data;
	uint32_t                      count;
};

static uint64_t heads_of(const struct gnn_seeded_opts *o, uint32_t layer)
{
	return o->head_count > 0 ? o->heads[layer] : 1;
}

/* What a letter of a shape stands for in one layer. Heads are averaged on the last. */
static uint64_t side_of(const struct gnn_seeded_opts *o, uint32_t layer, char letter)
{
	uint64_t heads = heads_of(o, layer), channels = o->dims[layer + 1];

	switch (letter) {
	case 'i':
		return o->dims[layer] * (layer > 0 ? heads_of(o, layer - 1) : 1);
	case 'o':
		return channels * heads;
	case 'h':
		return heads;
	case 'c':
		return channels;
	case 'b':
		return layer + 2 < o->dim_count ? channels * heads : channels;
	default:
		return 1;
	}
}

/* Uniform in +-range; eps stays 0. */
static void fill(float *to, uint64_t count, double range, const struct gnn_seeded_opts *o,
	uint64_t stream)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = (float)(range *
			(2 * gnn_rng_unit(gnn_rng_u64(o->seed, stream, i)) - 1));
}

static double range_of(const struct gnn_tensor_out *t, const char *shape)
{
	if (t->rank == 1)
		return shape[0] == 'b' ? 0.1 : 0;
	return sqrt(6.0 / (double)(t->shape[t->rank - 2] + t->shape[t->rank - 1]));
}

static int add_tensor(struct seeded *s, uint32_t layer, const struct key *key)
{
	struct gnn_tensor_out *t = &s->tensor[s->count];
	uint64_t count = 1;
	int rc;

	snprintf(s->name[s->count], NAME_MAX, "convs.%u.%s", layer, key->ending);
	t->name = s->name[s->count];
	t->dtype = GNN_F32;
	t->rank = (uint32_t)strlen(key->shape);
	for (uint32_t d = 0; d < t->rank; d++) {
		t->shape[d] = side_of(s->o, layer, key->shape[d]);
		count *= t->shape[d];
	}
	GNN_NEW_ARRAY(s->data[s->count], count, GNN_MEM_MODEL);
	t->data = s->data[s->count];
	fill(s->data[s->count], count, range_of(t, key->shape), s->o, s->count);
	s->count++;
out:
	return rc;
}

static int check(const struct gnn_seeded_opts *o)
{
	uint32_t layers = o->dim_count - 1;

	if (o->dim_count < 2 || layers > GNN_SETTING_LIST_MAX)
		return gnn_err(GNN_EUSAGE, "a seeded model takes 2 to %d widths, features first",
			GNN_SETTING_LIST_MAX + 1);
	if (o->head_count > 0 && o->arch != GNN_ARCH_GAT)
		return gnn_err(GNN_EUSAGE, "%s has no heads", gnn_arch_name(o->arch));
	if (o->head_count > 0 && o->head_count != layers)
		return gnn_err(GNN_EUSAGE, "%u numbers of heads for %u layers", o->head_count,
			layers);
	for (uint32_t l = 0; l < layers; l++)
		if (side_of(o, l, 'i') - 1 >= DIM_MAX || side_of(o, l, 'o') - 1 >= DIM_MAX)
			return gnn_err(GNN_EUSAGE, "layer %u: widths must be 1 to %d", l, DIM_MAX);
	return GNN_OK;
}

static int write_model(const struct seeded *s)
{
	const struct gnn_seeded_opts *o = s->o;
	char layers[16], heads[GNN_SETTING_TEXT_MAX] = "";
	size_t used = 0;
	const struct gnn_tensor_text texts[] = {
		{"gnnrun.library", gnn_library_name(GNN_LIBRARY_PYG)},
		{"gnnrun.arch", gnn_arch_name(o->arch)},
		{"gnnrun.layers", layers},
		{"gnnrun.activation", o->arch == GNN_ARCH_GAT ? "elu" : "relu"},
		{"gnnrun.heads", heads},
	};
	/* Heads come last: they are GAT's alone. */
	uint32_t told = o->arch == GNN_ARCH_GAT ? 5 : 4;
	const struct gnn_tensors_out content = {s->tensor, s->count, texts, told};

	snprintf(layers, sizeof(layers), "%u", o->dim_count - 1);
	for (uint32_t l = 0; l + 1 < o->dim_count && used < sizeof(heads); l++)
		used += (size_t)snprintf(heads + used, sizeof(heads) - used, "%s%u",
			l > 0 ? "," : "", (uint32_t)heads_of(o, l));
	if (used >= sizeof(heads))
		return gnn_err(GNN_EUSAGE, "the list of heads is too long");
	return gnn_safetensors_write(o->path, &content);
}

int gnn_model_seeded(const struct gnn_seeded_opts *o)
{
	struct seeded s = {.o = o};
	uint64_t most;
	int rc;

	GNN_TRY(check(o));
	most = (uint64_t)TENSORS_A_LAYER * (o->dim_count - 1);
	GNN_NEW_ARRAY(s.tensor, most, GNN_MEM_MODEL);
	GNN_NEW_ARRAY(s.name, most, GNN_MEM_MODEL);
	GNN_NEW_ARRAY(s.data, most, GNN_MEM_MODEL);
	for (uint32_t l = 0; l + 1 < o->dim_count; l++)
		for (uint32_t k = 0; k < GNN_COUNT_OF(keys); k++)
			if (keys[k].arch == o->arch)
				GNN_TRY(add_tensor(&s, l, &keys[k]));
	GNN_ASSERT(s.count > 0 && s.count <= most);
	GNN_TRY(write_model(&s));
out:
	for (uint32_t i = 0; i < s.count; i++)
		gnn_mem_free(s.data[i]);
	gnn_mem_free(s.data);
	gnn_mem_free(s.name);
	gnn_mem_free(s.tensor);
	return rc;
}
