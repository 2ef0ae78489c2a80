/* train/params.c - see params.h. */
#include "train/params.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum init { ZERO, ONE, GLOROT, FAN_IN };

/*
 * Letters of a shape: i columns in, o columns of all heads, h heads, c columns of a head, b columns
 * of the layer's output. FAN_IN is uniform within 1 / sqrt(columns in of its weight), as torch's
 * Linear; fan names them.
 */
static const struct row {
	enum gnn_arch       arch;
	enum gnn_param_role role;
	const char         *ending;
	const char         *shape;
	enum init           init;
	char                fan;
} rows[] = {
	{GNN_ARCH_GCN, GNN_PARAM_BIAS, "bias", "b", ZERO, 0},
	{GNN_ARCH_GCN, GNN_PARAM_W, "lin.weight", "oi", GLOROT, 0},
	{GNN_ARCH_SAGE, GNN_PARAM_W, "lin_l.weight", "oi", FAN_IN, 'i'},
	{GNN_ARCH_SAGE, GNN_PARAM_BIAS, "lin_l.bias", "b", FAN_IN, 'i'},
	{GNN_ARCH_SAGE, GNN_PARAM_W_OWN, "lin_r.weight", "oi", FAN_IN, 'i'},
	{GNN_ARCH_GIN, GNN_PARAM_W, "nn.lins.0.weight", "oi", FAN_IN, 'i'},
	{GNN_ARCH_GIN, GNN_PARAM_BIAS, "nn.lins.0.bias", "b", FAN_IN, 'i'},
	{GNN_ARCH_GIN, GNN_PARAM_W2, "nn.lins.1.weight", "oo", FAN_IN, 'o'},
	{GNN_ARCH_GIN, GNN_PARAM_BIAS2, "nn.lins.1.bias", "b", FAN_IN, 'o'},
	{GNN_ARCH_GIN, GNN_PARAM_GAMMA, "nn.norms.0.module.weight", "b", ONE, 0},
	{GNN_ARCH_GIN, GNN_PARAM_BETA, "nn.norms.0.module.bias", "b", ZERO, 0},
	{GNN_ARCH_GAT, GNN_PARAM_ATT_SRC, "att_src", "1hc", GLOROT, 0},
	{GNN_ARCH_GAT, GNN_PARAM_ATT_DST, "att_dst", "1hc", GLOROT, 0},
	{GNN_ARCH_GAT, GNN_PARAM_BIAS, "bias", "b", ZERO, 0},
	{GNN_ARCH_GAT, GNN_PARAM_W, "lin.weight", "oi", GLOROT, 0},
	{GNN_ARCH_GIN, GNN_PARAM_MEAN, "nn.norms.0.module.running_mean", "b", ZERO, 0},
	{GNN_ARCH_GIN, GNN_PARAM_VAR, "nn.norms.0.module.running_var", "b", ONE, 0},
};

enum { DIM_MAX = 1 << 24 };

bool gnn_shape_concat(const struct gnn_net_shape *s, uint32_t layer)
{
	return layer + 1 < s->layers;
}

uint32_t gnn_shape_out(const struct gnn_net_shape *s, uint32_t layer)
{
	return s->channels[layer] * (gnn_shape_concat(s, layer) ? s->heads[layer] : 1);
}

uint32_t gnn_shape_in(const struct gnn_net_shape *s, uint32_t layer)
{
	return layer == 0 ? s->dim_in : gnn_shape_out(s, layer - 1);
}

static uint64_t side_of(const struct gnn_net_shape *s, uint32_t layer, char letter)
{
	switch (letter) {
	case 'i':
		return gnn_shape_in(s, layer);
	case 'o':
		return (uint64_t)s->channels[layer] * s->heads[layer];
	case 'h':
		return s->heads[layer];
	case 'c':
		return s->channels[layer];
	case 'b':
		return gnn_shape_out(s, layer);
	default:
		return 1;
	}
}

static bool is_kept(const struct row *r)
{
	return r->role == GNN_PARAM_MEAN || r->role == GNN_PARAM_VAR;
}

static void add(struct gnn_params *p, const struct gnn_net_shape *s, const struct row *r,
	uint32_t layer)
{
	struct gnn_param *t = &p->param[p->count++];

	snprintf(t->name, sizeof(t->name), "convs.%u.%s", layer, r->ending);
	t->role = r->role;
	t->layer = layer;
	t->rank = (uint32_t)strlen(r->shape);
	t->first = p->floats;
	t->count = 1;
	for (uint32_t d = 0; d < t->rank; d++) {
		t->shape[d] = side_of(s, layer, r->shape[d]);
		t->count *= t->shape[d];
	}
	t->value = r->init == ONE ? 1.0f : 0.0f;
	if (r->init == GLOROT)
		t->range = sqrt(6.0 / (double)(t->shape[t->rank - 2] + t->shape[t->rank - 1]));
	else if (r->init == FAN_IN)
		t->range = 1.0 / sqrt((double)side_of(s, layer, r->fan));
	p->at[layer][r->role] = t->first;
	p->floats += t->count;
}

/* The tensors of all layers that are learned, or those that are not. */
static void add_all(struct gnn_params *p, const struct gnn_net_shape *s, bool kept)
{
	for (uint32_t l = 0; l < s->layers; l++) {
		if (!kept)
			p->layer_first[l] = p->floats;
		for (uint32_t i = 0; i < GNN_COUNT_OF(rows); i++)
			if (rows[i].arch == s->arch && is_kept(&rows[i]) == kept)
				add(p, s, &rows[i], l);
	}
	if (!kept)
		p->layer_first[s->layers] = p->learned = p->floats;
}

int gnn_params_init(struct gnn_params *p, const struct gnn_net_shape *s)
{
	int rc;

	memset(p, 0, sizeof(*p));
	memset(p->at, 0xff, sizeof(p->at));
	for (uint32_t l = 0; l < s->layers; l++)
		if (side_of(s, l, 'i') - 1 >= DIM_MAX || side_of(s, l, 'o') - 1 >= DIM_MAX)
			return gnn_err(GNN_ECONFIG, "layer %u is %llu to %llu columns wide, at "
				"most %d", l + 1, (unsigned long long)side_of(s, l, 'i'),
				(unsigned long long)side_of(s, l, 'o'), DIM_MAX);
	GNN_NEW_ARRAY(p->param, s->layers * GNN_COUNT_OF(rows), GNN_MEM_MODEL);
	add_all(p, s, false);
	add_all(p, s, true);
out:
	return rc;
}

void gnn_params_fini(struct gnn_params *p)
{
	gnn_mem_free(p->param);
	p->param = NULL;
}

void gnn_params_draw(const struct gnn_params *p, uint64_t seed, float *to)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct gnn_param *t = &p->param[i];

		for (uint64_t k = 0; k < t->count; k++)
			to[t->first + k] = t->value + (float)(t->range *
				(2 * gnn_rng_unit(gnn_rng_u64(seed, i, k)) - 1));
	}
}
