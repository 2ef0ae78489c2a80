/* train/embed.c - see embed.h. */
#include "train/embed.h"

#include "base/mem.h"

enum { ROWS_AT_ONCE = 8192 };

struct gnn_embed {
	struct gnn_embed_opts o;
	struct gnn_collect  collect;
	struct gnn_net     *net;
	struct gnn_onehop  *onehop;   /* gcn, sage, gin: the layer takes aggregates */
	struct gnn_sampler *sampler;  /* gat: it takes rows */
	struct gnn_sample   sample;
	struct gnn_collect_room x;
	struct gnn_block    bare;
};

static int open_hop(struct gnn_embed *e)
{
	struct gnn_sampler_opts one = e->o.sampler;

	if (e->o.shape.arch != GNN_ARCH_GAT)
		return gnn_onehop_create(&e->onehop, &(struct gnn_onehop_opts){.super_batch = 1},
			&e->o.sampler, &e->collect);
	one.backend = e->collect.cpu;
	return gnn_sampler_create_last(&e->sampler, &one);
}

int gnn_embed_create(struct gnn_embed **out, const struct gnn_embed_opts *o)
{
	struct gnn_embed *e = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(e, GNN_MEM_MISC);
	e->o = *o;
	GNN_TRY(gnn_collect_init(&e->collect, o->source, o->device, o->threads));
	GNN_TRY(gnn_net_create(&e->net, &(struct gnn_net_opts){.backend = e->collect.cpu,
		.shape = o->shape, .dropout = o->dropout, .seed = o->sampler.seed}));
	GNN_TRY(open_hop(e));
	*out = e;
	e = NULL;
out:
	gnn_embed_destroy(e);
	return rc;
}

void gnn_embed_destroy(struct gnn_embed *e)
{
	if (e == NULL)
		return;
	gnn_onehop_destroy(e->onehop);
	gnn_sampler_destroy(e->sampler);
	gnn_sample_fini(&e->sample);
	gnn_net_destroy(e->net);
	if (e->collect.device != NULL)
		gnn_collect_free(&e->collect, &e->x);
	gnn_collect_fini(&e->collect);
	gnn_mem_free(e);
}

struct gnn_net *gnn_embed_net(struct gnn_embed *e)
{
	return e->net;
}

struct gnn_collect *gnn_embed_collect(struct gnn_embed *e)
{
	return &e->collect;
}

uint32_t gnn_embed_width(const struct gnn_embed *e)
{
	return gnn_shape_out(&e->o.shape, 0);
}

/* What the layer takes of some vertices: aggregates, or one hop and its rows. */
static int collect(struct gnn_embed *e, const gnn_vid *id, uint64_t count, uint64_t version,
	struct gnn_layer_input *in, struct gnn_onehop_counts *counts)
{
	struct gnn_sample *s = &e->sample;
	float *x;
	int rc;

	*in = (struct gnn_layer_input){.step = version,
		.training = e->o.shape.arch != GNN_ARCH_GIN};
	if (e->onehop != NULL) {
		GNN_TRY(gnn_onehop_rows(e->onehop, id, count, version, &e->x, &x, counts));
		gnn_block_bare(&e->bare, count);
		in->block = &e->bare;
		in->id = id;
	} else {
		GNN_TRY(gnn_sampler_draw(e->sampler, id, count, version, s));
		GNN_TRY(gnn_collect_take(&e->collect, &e->x, s->id_count * e->o.source->dim));
		x = e->x.room.data;
		GNN_TRY(gnn_collect_features(&e->collect, s->id, s->id_count, x));
		*counts = (struct gnn_onehop_counts){.gathered = s->id_count, .computed = count};
		in->block = &s->block[0];
		in->id = s->id;
	}
	in->x = x;
out:
	return rc;
}

/* Rows, close together, by all threads. */
static int hand_on(struct gnn_embed *e, float *to, const float *from, uint64_t rows,
	uint64_t width)
{
	struct gnn_backend *cpu = e->collect.cpu;
	const uint64_t bytes = width * sizeof(float);

	return cpu->ops->copy(cpu, to, bytes, from, bytes, bytes, rows);
}

int gnn_embed_rows(struct gnn_embed *e, const gnn_vid *id, uint64_t count, uint64_t version,
	float *y, float *aggregate, uint64_t pitch, struct gnn_onehop_counts *counts)
{
	const uint64_t width = gnn_embed_width(e), dim = e->o.source->dim;
	int rc = GNN_OK;

	for (uint64_t first = 0; first < count; first += ROWS_AT_ONCE) {
		const uint64_t rows = gnn_min_u64(count - first, ROWS_AT_ONCE);
		struct gnn_onehop_counts some;
		struct gnn_layer_input in;
		const float *held;
		float *made;

		GNN_TRY(collect(e, id + first, rows, version, &in, &some));
		GNN_TRY(gnn_net_layer(e->net, 0, &in, &made));
		GNN_TRY(hand_on(e, y + first * width, made, rows, width));
		held = gnn_net_dropped(e->net, 0, &in);
		for (uint32_t p = 0; e->o.aggregates && p < e->o.source->parts; p++)
			GNN_TRY(hand_on(e, aggregate + p * pitch + first * dim,
				held + p * rows * dim, rows, dim));
		counts->gathered += some.gathered;
		counts->computed += some.computed;
	}
out:
	return rc;
}
