/* train/net.c - see net.h. */
#include "train/net.h"

#include "base/mem.h"
#include "train/net_parts.h"

#include <string.h>

void gnn_net_trim(struct gnn_net *n)
{
	const struct gnn_backend_ops *ops = n->backend->ops;

	for (uint32_t l = 0; l < GNN_NET_LAYERS_MAX; l++)
		for (uint32_t s = 0; s < GNN_SLOTS; s++) {
			ops->free(n->backend, n->buffer[l][s].data);
			n->buffer[l][s] = (struct gnn_buffer){0};
		}
}

void gnn_net_destroy(struct gnn_net *n)
{
	if (n == NULL)
		return;
	gnn_net_trim(n);
	n->backend->ops->free(n->backend, n->weights);
	n->backend->ops->free(n->backend, n->gradient);
	n->backend->ops->free(n->backend, n->row);
	gnn_params_fini(&n->params);
	gnn_mem_free(n);
}

int gnn_net_create(struct gnn_net **out, const struct gnn_net_opts *o)
{
	const struct gnn_backend_ops *ops = o->backend->ops;
	struct gnn_net *n = NULL;
	float *initial = NULL;
	void *block;
	int rc;

	*out = NULL;
	GNN_NEW(n, GNN_MEM_MODEL);
	n->backend = o->backend;
	n->shape = o->shape;
	n->dropout = o->dropout;
	n->seed = o->seed;
	GNN_TRY(gnn_params_init(&n->params, &o->shape));
	GNN_TRY(ops->alloc(o->backend, &block, n->params.floats * sizeof(float)));
	n->weights = block;
	GNN_TRY(ops->alloc(o->backend, &block, n->params.learned * sizeof(float)));
	n->gradient = block;
	GNN_NEW_ARRAY(initial, n->params.floats, GNN_MEM_MODEL);
	gnn_params_draw(&n->params, o->seed, initial);
	GNN_TRY(ops->copy(o->backend, n->weights, n->params.floats * sizeof(float), initial,
		n->params.floats * sizeof(float), n->params.floats * sizeof(float), 1));
	*out = n;
	n = NULL;
out:
	gnn_mem_free(initial);
	gnn_net_destroy(n);
	return rc;
}

int gnn_net_create_like(struct gnn_net **out, const struct gnn_net *n)
{
	return gnn_net_create(out, &(struct gnn_net_opts){.backend = n->backend,
		.shape = n->shape, .dropout = n->dropout, .seed = n->seed});
}

const struct gnn_params *gnn_net_params(const struct gnn_net *n)
{
	return &n->params;
}

const struct gnn_net_shape *gnn_net_shape_of(const struct gnn_net *n)
{
	return &n->shape;
}

float *gnn_net_weights(struct gnn_net *n)
{
	return n->weights;
}

float *gnn_net_gradient(struct gnn_net *n)
{
	return n->gradient;
}

void gnn_net_join(struct gnn_net *n, const struct gnn_net_ranks *r)
{
	n->ranks = r != NULL ? *r : (struct gnn_net_ranks){0};
	n->counts = NULL;
}

void gnn_net_count(struct gnn_net *n, const uint32_t *counts)
{
	n->counts = counts;
}

int gnn_net_take(struct gnn_net *n, uint32_t layer, enum gnn_slot slot, uint64_t floats,
	float **out)
{
	struct gnn_buffer *b = &n->buffer[layer][slot];
	void *block;
	int rc;

	*out = b->data;
	if (floats <= b->floats && b->data != NULL)
		return GNN_OK;
	n->backend->ops->free(n->backend, b->data);
	*b = (struct gnn_buffer){0};
	floats = gnn_max_u64(floats + floats / 4, 1);
	rc = n->backend->ops->alloc(n->backend, &block, floats * sizeof(float));
	if (rc < 0)
		return rc;
	b->data = *out = block;
	b->floats = floats;
	return rc;
}

float *gnn_net_at(struct gnn_net *n, uint32_t layer, enum gnn_param_role role)
{
	GNN_ASSERT(n->params.at[layer][role] < n->params.floats);
	return n->weights + n->params.at[layer][role];
}

float *gnn_net_grad(struct gnn_net *n, uint32_t layer, enum gnn_param_role role)
{
	GNN_ASSERT(n->params.at[layer][role] < n->params.learned);
	return n->gradient + n->params.at[layer][role];
}

struct gnn_drop gnn_net_drop(const struct gnn_pass_layer *p, uint32_t part)
{
	const uint64_t stream = (p->step << 8 | p->layer << 1 | part) ^
		UINT64_C(0x64726f7000000000); /* "drop" */

	return gnn_drop_of(p->training ? p->n->dropout : 0.0, p->n->seed, stream);
}

struct gnn_drop gnn_net_input_drop(const struct gnn_net *n, uint64_t step)
{
	return gnn_net_drop(&(struct gnn_pass_layer){.n = (struct gnn_net *)n, .step = step,
		.training = true}, 0);
}

/* 0, 1, 2 ... up to the largest block so far: which state row a group of edges adds to. */
static int number_rows(struct gnn_net *n, uint64_t count)
{
	const struct gnn_backend_ops *ops = n->backend->ops;
	uint64_t *row = NULL;
	void *block;
	int rc = GNN_OK;

	if (count <= n->row_count)
		return GNN_OK;
	count += count / 4;
	GNN_NEW_ARRAY(row, count, GNN_MEM_MISC);
	for (uint64_t i = 0; i < count; i++)
		row[i] = i;
	ops->free(n->backend, n->row);
	n->row = NULL;
	n->row_count = 0;
	GNN_TRY(ops->alloc(n->backend, &block, count * sizeof(*row)));
	n->row = block;
	n->row_count = count;
	GNN_TRY(ops->copy(n->backend, n->row, count * sizeof(*row), row, count * sizeof(*row),
		count * sizeof(*row), 1));
out:
	gnn_mem_free(row);
	return rc;
}

int gnn_net_aggregate(const struct gnn_pass_layer *p, const float *x, float *y, uint32_t width,
	bool back)
{
	struct gnn_backend *backend = p->n->backend;
	const struct gnn_block *b = p->b;
	const uint64_t groups = back ? b->src_count : b->dst_count;
	int rc;

	GNN_ASSERT(!back || b->back_first != NULL);
	GNN_TRY(number_rows(p->n, groups));
	GNN_TRY(backend->ops->fill(backend, y, 0.0f, groups * width));
	GNN_TRY(backend->ops->aggregate(backend, &(struct gnn_aggregate_args){
		.combine = GNN_COMBINE_SUM, .width = width, .message = x, .message_pitch = width,
		.own_factor = 1.0f, .state = y, .state_pitch = width,
		.batch = {.group_count = groups, .entry_count = b->entry_count,
			.vertex = p->n->row, .slot = p->n->row,
			.first = back ? b->back_first : b->first,
			.src = back ? b->back_dst : b->src,
			.weight = back ? b->back_weight : b->weight}}));
out:
	return rc;
}

struct gnn_edge_rule gnn_net_rule(enum gnn_arch arch)
{
	static const struct gnn_edge_rule rules[] = {
		[GNN_ARCH_GCN] = {true, true, GNN_WEIGH_GCN},
		[GNN_ARCH_SAGE] = {false, false, GNN_WEIGH_MEAN},
		[GNN_ARCH_GIN] = {false, true, GNN_WEIGH_SUM},
		[GNN_ARCH_GAT] = {true, true, GNN_WEIGH_NONE},
	};

	GNN_ASSERT(arch < GNN_COUNT_OF(rules));
	return rules[arch];
}

uint32_t gnn_net_parts(enum gnn_arch arch)
{
	return arch == GNN_ARCH_SAGE ? 2 : 1;
}

bool gnn_net_turns(const struct gnn_net *n, uint32_t layer, const struct gnn_block *b)
{
	return layer > 0 || n->shape.arch == GNN_ARCH_GAT ||
		gnn_conv_sum_transforms(n, layer, b);
}

static enum gnn_act activation_of(const struct gnn_net *n, uint32_t layer)
{
	if (layer + 1 == n->shape.layers)
		return GNN_ACT_NONE;
	return n->shape.arch == GNN_ARCH_GAT ? GNN_ACT_ELU : GNN_ACT_RELU;
}

static struct gnn_pass_layer pass_of(struct gnn_net *n, uint32_t layer,
	const struct gnn_layer_input *in)
{
	return (struct gnn_pass_layer){.n = n, .layer = layer, .b = in->block, .id = in->id,
		.step = in->step, .training = in->training,
		.dim_in = gnn_shape_in(&n->shape, layer),
		.dim_out = gnn_shape_out(&n->shape, layer)};
}

/* Tables of rows that come into a layer, one behind the other. */
static uint32_t parts_of(const struct gnn_net *n, const struct gnn_layer_input *in)
{
	return gnn_block_is_bare(in->block) ? gnn_net_parts(n->shape.arch) : 1;
}

/* Points the pass at its rows: `x`, and own rows in the same or in the table behind it. */
static void set_rows(struct gnn_pass_layer *p, const struct gnn_layer_input *in, const float *x)
{
	p->x = x;
	p->own = parts_of(p->n, in) == 1 ? x : x + in->block->src_count * p->dim_in;
}

/* The rows behind dropout, each table by draws of its own. */
static int drop_rows(struct gnn_pass_layer *p, const struct gnn_layer_input *in)
{
	const uint64_t floats = in->block->src_count * p->dim_in;
	const uint32_t parts = parts_of(p->n, in);
	float *x;
	int rc;

	GNN_TRY(gnn_net_take(p->n, p->layer, GNN_SLOT_X, parts * floats, &x));
	for (uint32_t i = 0; i < parts; i++)
		GNN_TRY(p->n->backend->ops->grad->dropout(p->n->backend,
			&(struct gnn_dropout_args){.from = in->x + i * floats, .to = x + i * floats,
			.id = in->id, .rows = in->block->src_count, .width = p->dim_in,
			.drop = gnn_net_drop(p, i)}));
	set_rows(p, in, x);
out:
	return rc;
}

int gnn_net_layer(struct gnn_net *n, uint32_t layer, const struct gnn_layer_input *in, float **y)
{
	const struct gnn_grad_ops *grad = n->backend->ops->grad;
	struct gnn_pass_layer p = pass_of(n, layer, in);
	int rc;

	GNN_ASSERT(!gnn_block_is_bare(in->block) ||
		(layer == 0 && n->shape.arch != GNN_ARCH_GAT));
	set_rows(&p, in, in->x);
	if (!in->dropped && gnn_net_drop(&p, 0).below > 0)
		GNN_TRY(drop_rows(&p, in));
	GNN_TRY(gnn_net_take(n, layer, GNN_SLOT_Y, in->block->dst_count * p.dim_out, y));
	if (n->shape.arch == GNN_ARCH_GAT)
		GNN_TRY(gnn_conv_gat_forward(&p, *y));
	else
		GNN_TRY(gnn_conv_sum_forward(&p, *y));
	GNN_TRY(grad->activate(n->backend, &(struct gnn_activate_args){
		.act = activation_of(n, layer), .y = *y,
		.count = in->block->dst_count * p.dim_out}));
out:
	return rc;
}

const float *gnn_net_dropped(struct gnn_net *n, uint32_t layer, const struct gnn_layer_input *in)
{
	const struct gnn_pass_layer p = pass_of(n, layer, in);

	return !in->dropped && gnn_net_drop(&p, 0).below > 0 ? n->buffer[layer][GNN_SLOT_X].data
		: in->x;
}

static struct gnn_layer_input layer_input(struct gnn_net *n, const struct gnn_net_input *in,
	uint32_t layer)
{
	const struct gnn_sample *s = in->sample;
	const bool mixed = layer == 0 && s->mix != NULL;

	return (struct gnn_layer_input){.block = mixed ? &s->mix->block : &s->block[layer],
		.id = mixed ? s->mix->id : s->id, .step = in->step, .training = true,
		.dropped = layer == 0 && in->dropped,
		.x = layer == 0 ? in->x : n->buffer[layer - 1][s->mix != NULL && layer == 1
			? GNN_SLOT_MIXED : GNN_SLOT_Y].data};
}

/* to (rows, width) = table[id]. */
static int gather(struct gnn_net *n, const float *table, uint32_t width, const uint64_t *id,
	uint64_t rows, float *to)
{
	if (rows == 0)
		return GNN_OK;
	return n->backend->ops->grad->gather(n->backend, &(struct gnn_gather_args){
		.table = table, .dtype = GNN_F32, .width = width, .id = id, .rows = rows,
		.to = to});
}

/* The first layer of the cold rows, hot ones behind them, and all in the second layer's order. */
static int mix_forward(struct gnn_net *n, const struct gnn_layer_input *in,
	const struct gnn_mix *m)
{
	const uint32_t width = gnn_shape_out(&n->shape, 0);
	const uint64_t rows = m->cold + m->hot;
	float *y, *cold, *mixed;
	int rc;

	GNN_TRY(gnn_net_take(n, 0, GNN_SLOT_Y, rows * width, &y));
	GNN_TRY(gnn_net_take(n, 0, GNN_SLOT_MIXED, rows * width, &mixed));
	if (m->cold > 0) {
		GNN_TRY(gnn_net_layer(n, 0, in, &cold));
		GNN_ASSERT(cold == y);
	}
	GNN_TRY(gather(n, m->kept, width, m->kept_row, m->hot, y + m->cold * width));
	GNN_TRY(gather(n, y, width, m->from, rows, mixed));
out:
	return rc;
}

int gnn_net_forward(struct gnn_net *n, const struct gnn_net_input *input, float **y)
{
	const struct gnn_sample *s = input->sample;
	int rc = GNN_OK;

	GNN_ASSERT(s->mix == NULL || n->shape.layers > 1);
	for (uint32_t l = 0; l < n->shape.layers; l++) {
		const struct gnn_layer_input in = layer_input(n, input, l);

		GNN_TRY(l == 0 && s->mix != NULL ? mix_forward(n, &in, s->mix) :
			gnn_net_layer(n, l, &in, y));
	}
out:
	return rc;
}

static int activate_back(struct gnn_net *n, uint32_t layer, const float *y, float *dy,
	uint64_t count)
{
	return n->backend->ops->grad->activate_back(n->backend, &(struct gnn_activate_args){
		.act = activation_of(n, layer), .y = (float *)y, .dy = dy, .count = count});
}

/* From dy of a layer's output to the gradients of its weights and to dx, NULL at the bottom. */
static int back_layer(struct gnn_net *n, uint32_t layer, const struct gnn_layer_input *in,
	float *dy, float *dx)
{
	const struct gnn_grad_ops *grad = n->backend->ops->grad;
	struct gnn_pass_layer p = pass_of(n, layer, in);
	const struct gnn_drop drop = gnn_net_drop(&p, 0);
	int rc;

	set_rows(&p, in, gnn_net_dropped(n, layer, in));
	GNN_TRY(activate_back(n, layer, n->buffer[layer][GNN_SLOT_Y].data, dy,
		in->block->dst_count * p.dim_out));
	if (n->shape.arch == GNN_ARCH_GAT)
		GNN_TRY(gnn_conv_gat_backward(&p, dy, dx));
	else
		GNN_TRY(gnn_conv_sum_backward(&p, dy, dx));
	if (dx != NULL && drop.below > 0)
		GNN_TRY(grad->dropout(n->backend, &(struct gnn_dropout_args){.from = dx,
			.to = dx, .id = in->id, .rows = in->block->src_count, .width = p.dim_in,
			.drop = drop}));
out:
	return rc;
}

/* What the gradient dy of hot rows is to the weights, by the aggregates they were made of. */
static int back_hot(struct gnn_net *n, const struct gnn_mix *m, uint64_t step, float *dy)
{
	const uint32_t parts = gnn_net_parts(n->shape.arch);
	const uint32_t in = gnn_shape_in(&n->shape, 0), out = gnn_shape_out(&n->shape, 0);
	struct gnn_block bare = {0};
	struct gnn_layer_input input = {.block = &bare, .step = step, .training = true};
	struct gnn_pass_layer p;
	float *held;
	int rc;

	GNN_ASSERT(n->shape.arch == GNN_ARCH_GCN || n->shape.arch == GNN_ARCH_SAGE);
	gnn_block_bare(&bare, m->hot);
	GNN_TRY(gnn_net_take(n, 0, GNN_SLOT_HELD, parts * m->hot * in, &held));
	for (uint32_t i = 0; i < parts; i++)
		GNN_TRY(gather(n, m->aggregate + i * m->kept_count * in, in, m->kept_row, m->hot,
			held + i * m->hot * in));
	GNN_TRY(activate_back(n, 0, n->buffer[0][GNN_SLOT_Y].data + m->cold * out, dy,
		m->hot * out));
	p = pass_of(n, 0, &input);
	set_rows(&p, &input, held);
	GNN_TRY(gnn_conv_sum_backward(&p, dy, NULL));
out:
	return rc;
}

/* From dy of the second layer's rows to the weights of the first. */
static int mix_backward(struct gnn_net *n, const struct gnn_layer_input *in,
	const struct gnn_mix *m, const float *dy)
{
	const uint32_t width = gnn_shape_out(&n->shape, 0);
	const uint64_t rows = m->cold + (m->aggregate != NULL ? m->hot : 0);
	float *sorted;
	int rc;

	GNN_TRY(gnn_net_take(n, 0, GNN_SLOT_DMIXED, rows * width, &sorted));
	GNN_TRY(gather(n, dy, width, m->row, rows, sorted));
	if (m->cold > 0)
		GNN_TRY(back_layer(n, 0, in, sorted, NULL));
	if (rows > m->cold)
		GNN_TRY(back_hot(n, m, in->step, sorted + m->cold * width));
out:
	return rc;
}

int gnn_net_backward(struct gnn_net *n, const struct gnn_net_input *input, float *dy)
{
	const struct gnn_sample *s = input->sample;
	int rc;

	GNN_TRY(n->backend->ops->fill(n->backend, n->gradient, 0.0f, n->params.learned));
	for (uint32_t l = n->shape.layers; l-- > 0;) {
		const struct gnn_layer_input in = layer_input(n, input, l);
		float *dx = NULL;

		if (l > 0)
			GNN_TRY(gnn_net_take(n, l, GNN_SLOT_DX, s->block[l].src_count *
				gnn_shape_in(&n->shape, l), &dx));
		GNN_TRY(l == 0 && s->mix != NULL ? mix_backward(n, &in, s->mix, dy) :
			back_layer(n, l, &in, dy, dx));
		if (n->ranks.ready != NULL)
			GNN_TRY(n->ranks.ready(n->ranks.arg, l));
		dy = dx;
	}
out:
	return rc;
}
