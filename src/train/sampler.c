/* train/sampler.c - see sampler.h. */
#include "train/sampler.h"

#include "base/mem.h"
#include "op/sample.h"

#include <string.h>

struct gnn_sampler {
	struct gnn_sampler_opts o;
	const struct gnn_sample_ops *ops;
	uint64_t        fanout[GNN_BLOCKS_MAX];
	uint32_t       *table; /* (V) rows of the batch at hand, clear between batches */
	struct gnn_room entry; /* ids of the entries of the hop at work */
	struct gnn_room norm;  /* GCN: deg^-1/2 of each row */
};

int gnn_sampler_create(struct gnn_sampler **out, const struct gnn_sampler_opts *o)
{
	const uint64_t vertices = o->lists->vertices;
	struct gnn_backend *b = o->backend;
	struct gnn_sampler *s = NULL;
	void *table;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->layers > 0 && o->layers <= GNN_BLOCKS_MAX && o->dependency > 0);
	GNN_ASSERT(o->lists->weight == NULL ||
		(o->rule.weighting == GNN_WEIGH_GCN && b->ops->unified));
	GNN_NEW(s, GNN_MEM_MISC);
	s->o = *o;
	s->ops = b->ops->sample;
	memcpy(s->fanout, o->fanout, o->layers * sizeof(*s->fanout));
	s->o.fanout = s->fanout;
	GNN_TRY(b->ops->alloc(b, &table, gnn_max_u64(vertices * sizeof(*s->table), 1)));
	s->table = table;
	GNN_TRY(s->ops->clear(b, s->table, vertices));
	*out = s;
	s = NULL;
out:
	gnn_sampler_destroy(s);
	return rc;
}

int gnn_sampler_create_last(struct gnn_sampler **out, const struct gnn_sampler_opts *net)
{
	struct gnn_sampler_opts one = *net;

	one.fanout += net->layers - 1;
	one.first_hop = net->layers - 1;
	one.layers = 1;
	one.bare = false;
	return gnn_sampler_create(out, &one);
}

void gnn_sampler_destroy(struct gnn_sampler *s)
{
	if (s == NULL)
		return;
	s->o.backend->ops->free(s->o.backend, s->table);
	gnn_room_fini(&s->entry);
	gnn_room_fini(&s->norm);
	gnn_mem_free(s);
}

void gnn_sample_fini(struct gnn_sample *s)
{
	for (uint32_t l = 0; l < GNN_BLOCKS_MAX; l++)
		gnn_block_fini(&s->block[l]);
	gnn_room_fini(&s->room);
}

/* The entries of every destination. */
static int list_hop(struct gnn_sampler *s, const struct gnn_hop *h, struct gnn_block *b,
	const struct gnn_sample *to)
{
	const bool weighted = s->o.rule.weighting != GNN_WEIGH_NONE;
	struct gnn_hop_rows rows = {.id = to->id, .dst_count = to->id_count};
	struct gnn_backend *backend = s->o.backend;
	uint64_t entries;
	int rc;

	GNN_TRY(gnn_block_size(b, backend, to->id_count, 0, weighted));
	rows.first = b->first;
	GNN_TRY(s->ops->count(backend, h, &rows, &entries));
	GNN_TRY(gnn_room_take_on(&s->entry, backend, entries, sizeof(gnn_vid)));
	GNN_TRY(gnn_block_size(b, backend, to->id_count, entries, weighted));
	if (h->lists.weight != NULL)
		rows.weight = b->weight;
	GNN_TRY(s->ops->list(backend, h, &rows, s->entry.data));
out:
	return rc;
}

/* Room for `count` ids, those that are there kept. */
static int grow_ids(struct gnn_sampler *s, struct gnn_sample *to, uint64_t count)
{
	const uint64_t bytes = to->id_count * sizeof(gnn_vid);
	struct gnn_backend *b = s->o.backend;
	struct gnn_room next = {0};
	int rc;

	if (count * sizeof(gnn_vid) <= to->room.bytes)
		return GNN_OK;
	GNN_TRY(gnn_room_take_on(&next, b, count, sizeof(gnn_vid)));
	if (bytes > 0)
		GNN_TRY(b->ops->copy(b, next.data, bytes, to->id, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
	gnn_room_fini(&to->room);
	to->room = next;
	to->id = next.data;
	next = (struct gnn_room){0};
out:
	gnn_room_fini(&next);
	return rc;
}

/* Numbers the sources: destinations are the first rows, others as they come. */
static int number_rows(struct gnn_sampler *s, struct gnn_block *b, struct gnn_sample *to)
{
	struct gnn_number_args a = {.entry_count = b->entry_count, .table = s->table,
		.src = b->src, .id_count = to->id_count};
	int rc;

	GNN_TRY(grow_ids(s, to, to->id_count + b->entry_count));
	a.entry = s->entry.data;
	a.id = to->id;
	GNN_TRY(s->ops->number(s->o.backend, &a));
	to->id_count = a.id_count;
	b->src_count = a.id_count;
	if (a.id_count >= GNN_OWN_BIT)
		GNN_FAIL(GNN_ECONFIG, "a batch of %llu vertices is too large: give a smaller "
			"--batch-size or --fanout", (unsigned long long)a.id_count);
out:
	return rc;
}

static int weigh(struct gnn_sampler *s, const struct gnn_hop *h, struct gnn_block *b,
	const struct gnn_sample *to)
{
	struct gnn_weigh_args a = {.rows = {.id = to->id, .dst_count = b->dst_count,
		.first = b->first}, .src = b->src, .src_count = b->src_count, .weight = b->weight};
	int rc = GNN_OK;

	if (h->rule.weighting == GNN_WEIGH_NONE)
		return GNN_OK;
	if (h->rule.weighting == GNN_WEIGH_GCN)
		GNN_TRY(gnn_room_take_on(&s->norm, s->o.backend, b->src_count, sizeof(float)));
	a.norm = s->norm.data;
	GNN_TRY(s->ops->weigh(s->o.backend, h, &a));
out:
	return rc;
}

static int draw_hop(struct gnn_sampler *s, uint32_t hop, uint64_t step, struct gnn_sample *to)
{
	struct gnn_block *b = &to->block[s->o.layers - 1 - hop];
	const uint64_t draw = s->o.sampling == GNN_SAMPLE_LABOR ? step / s->o.dependency : step;
	const struct gnn_hop h = {.lists = *s->o.lists, .rule = s->o.rule,
		.sampling = s->o.sampling, .k = s->fanout[hop], .seed = s->o.seed,
		.stream = gnn_draw_stream(draw, s->o.first_hop + hop)};
	int rc;

	GNN_TRY(list_hop(s, &h, b, to));
	GNN_TRY(number_rows(s, b, to));
	GNN_TRY(weigh(s, &h, b, to));
out:
	return rc;
}

static int enter_seeds(struct gnn_sampler *s, const gnn_vid *seeds, uint64_t count,
	struct gnn_sample *to)
{
	struct gnn_backend *b = s->o.backend;
	const uint64_t bytes = count * sizeof(*seeds);
	int rc;

	GNN_TRY(grow_ids(s, to, count));
	GNN_TRY(b->ops->copy(b, to->id, bytes, seeds, bytes, bytes, 1));
	to->id_count = count;
	GNN_TRY(s->ops->enter(b, s->table, to->id, count));
out:
	return rc;
}

int gnn_sampler_draw(struct gnn_sampler *s, const gnn_vid *seeds, uint64_t count, uint64_t step,
	struct gnn_sample *to)
{
	const uint32_t hops = s->o.layers - (s->o.bare ? 1 : 0);
	struct gnn_err_state kept;
	int rc;

	for (uint64_t i = 0; i < count; i++)
		GNN_ASSERT(seeds[i] < s->o.lists->vertices);
	to->layers = s->o.layers;
	to->id_count = 0;
	to->mix = NULL;
	GNN_TRY(enter_seeds(s, seeds, count, to));
	for (uint32_t hop = 0; hop < hops; hop++)
		GNN_TRY(draw_hop(s, hop, step, to));
	if (s->o.bare)
		gnn_block_bare(&to->block[0], to->id_count);
out:
	gnn_err_save(&kept, rc);
	rc = s->ops->forget(s->o.backend, s->table, to->id, to->id_count);
	return kept.status < 0 ? gnn_err_restore(&kept) : rc;
}
