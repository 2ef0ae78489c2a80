/* train/net_load.c - see net_load.h. */
#include "train/net_load.h"

#include "op/cpu/grad.h"
#include "train/net_parts.h"

_Static_assert(GNN_SLOTS <= GNN_COUNT_OF(((struct gnn_net_load *)NULL)->bytes[0]), "a place each");

/* One layer and its sizes. */
struct sizes {
	struct gnn_net_load *load;
	uint32_t layer;
	uint64_t dst, src, entries, in, out, width, heads;
	bool     bare, training, transforms, bottom;
};

static void take(const struct sizes *s, enum gnn_slot slot, uint64_t floats)
{
	uint64_t *at = &s->load->bytes[s->layer][slot];

	*at = gnn_max_u64(*at, floats * sizeof(float));
}

/* A product of `rows` rows whose weight gradient is summed by slabs. */
static void weigh(const struct sizes *s, uint64_t rows, uint64_t in, uint64_t out)
{
	const uint64_t slabs = gnn_ceil_div(rows, gnn_cpu_slab_rows(rows));
	struct gnn_net_load *l = s->load;

	l->panel = gnn_max_u64(l->panel, GNN_PANEL_ROWS * (in + out) * sizeof(float));
	if (s->training)
		l->sums = gnn_max_u64(l->sums, slabs * (in + 1) * out * sizeof(float));
}

static void linear(const struct sizes *s)
{
	if (s->transforms) {
		take(s, GNN_SLOT_MID, s->src * s->out);
		if (s->training)
			take(s, GNN_SLOT_DMID, s->src * s->out);
	} else if (!s->bare) {
		take(s, GNN_SLOT_MID, s->dst * s->in);
		if (s->training && !s->bottom)
			take(s, GNN_SLOT_DMID, s->dst * s->in);
	}
	weigh(s, s->transforms ? s->src : s->dst, s->in, s->out);
}

static void gin(const struct sizes *s)
{
	take(s, GNN_SLOT_HIDDEN, s->dst * s->out);
	take(s, GNN_SLOT_NORMED, s->dst * s->out);
	take(s, GNN_SLOT_MOMENTS, 2 * s->out);
	if (s->training)
		take(s, GNN_SLOT_DHIDDEN, s->dst * s->out);
	weigh(s, s->dst, s->out, s->out);
	linear(s);
}

static void gat(const struct sizes *s)
{
	take(s, GNN_SLOT_MID, s->src * s->width);
	take(s, GNN_SLOT_SCORE, s->src * 2 * s->heads);
	take(s, GNN_SLOT_HIDDEN, s->dst * s->width);
	take(s, GNN_SLOT_ALPHA, s->entries * s->heads);
	weigh(s, s->src, s->in, s->width);
	if (!s->training)
		return;
	take(s, GNN_SLOT_DMID, s->src * s->width);
	take(s, GNN_SLOT_DSCORE, s->src * 2 * s->heads);
	take(s, GNN_SLOT_DLOGIT, s->entries * s->heads);
}

void gnn_net_load_layer(struct gnn_net_load *l, const struct gnn_net *n, uint32_t layer,
	const struct gnn_block *b, bool training)
{
	const enum gnn_arch arch = n->shape.arch;
	const struct sizes s = {.load = l, .layer = layer, .dst = b->dst_count,
		.src = b->src_count, .entries = b->entry_count,
		.in = gnn_shape_in(&n->shape, layer), .out = gnn_shape_out(&n->shape, layer),
		.width = (uint64_t)n->shape.heads[layer] * n->shape.channels[layer],
		.heads = n->shape.heads[layer], .bare = gnn_block_is_bare(b),
		.training = training, .bottom = layer == 0,
		.transforms = arch != GNN_ARCH_GAT && gnn_conv_sum_transforms(n, layer, b)};

	l->rows = gnn_max_u64(l->rows, gnn_max_u64(s.dst, s.src));
	take(&s, GNN_SLOT_Y, s.dst * s.out);
	if (training && n->dropout > 0 && !(layer == 0 && l->dropped))
		take(&s, GNN_SLOT_X, (s.bare ? gnn_net_parts(arch) : 1) * s.src * s.in);
	if (training && layer > 0)
		take(&s, GNN_SLOT_DX, s.src * s.in);
	if (arch == GNN_ARCH_GAT)
		gat(&s);
	else if (arch == GNN_ARCH_GIN)
		gin(&s);
	else
		linear(&s);
}

void gnn_net_load_mix(struct gnn_net_load *l, const struct gnn_net *n, uint64_t rows, uint64_t hot)
{
	const struct sizes s = {.load = l};
	const uint64_t in = gnn_shape_in(&n->shape, 0), out = gnn_shape_out(&n->shape, 0);

	take(&s, GNN_SLOT_Y, rows * out);
	take(&s, GNN_SLOT_MIXED, rows * out);
	take(&s, GNN_SLOT_DMIXED, rows * out);
	take(&s, GNN_SLOT_HELD, gnn_net_parts(n->shape.arch) * hot * in);
}

uint64_t gnn_net_load_bytes(const struct gnn_net_load *l)
{
	uint64_t bytes = l->rows * sizeof(uint64_t);

	for (uint32_t i = 0; i < GNN_NET_LAYERS_MAX; i++)
		for (uint32_t s = 0; s < GNN_SLOTS; s++)
			bytes += l->bytes[i][s];
	return bytes + bytes / 4;
}

uint64_t gnn_net_load_scratch(const struct gnn_net_load *l, uint32_t threads)
{
	const uint64_t panels = threads * l->panel;

	return gnn_max_u64(l->sums, panels) + gnn_min_u64(l->sums, panels);
}
