/* infer/hood.c - see hood.h. */
#include "infer/hood.h"

#include "base/mem.h"

int gnn_hood_maker_init(struct gnn_hood_maker *m, const struct gnn_store *s,
	const struct gnn_degrees *d, struct gnn_backend *b)
{
	const char *base;
	uint64_t bytes;
	int rc;

	*m = (struct gnn_hood_maker){.store = s, .degrees = d, .backend = b};
	GNN_TRY(gnn_container_map(s->container, &base, &bytes));
	m->offsets = (const uint64_t *)(base + s->in.offsets->offset);
	m->neighbors = base + s->in.neighbors->offset;
	if (s->in.weights != NULL)
		m->weights = (const float *)(base + s->in.weights->offset);
	GNN_NEW_ARRAY(m->number, s->vertices, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

void gnn_hood_maker_fini(struct gnn_hood_maker *m)
{
	gnn_mem_free(m->number);
	m->number = NULL;
}

/* Room for `count` items, twice what was there at least: blocks of a graph differ little. */
static int grow(void **block, uint64_t *room, uint64_t count, uint64_t item_bytes,
	enum gnn_mem_kind kind)
{
	uint64_t wanted = gnn_max_u64(count, 2 * *room);
	int rc = GNN_OK;

	if (count <= *room)
		return GNN_OK;
	GNN_TRY(gnn_mem_resize(block, wanted, item_bytes, kind));
	*room = wanted;
out:
	return rc;
}

static gnn_vid neighbor_at(const struct gnn_hood_maker *m, gnn_eid e)
{
	return m->store->in.neighbors->dtype == GNN_U32 ? ((const uint32_t *)m->neighbors)[e] :
		((const uint64_t *)m->neighbors)[e];
}

/* The number of v, which joins the block when it is new. */
static int number_of(struct gnn_hood *b, struct gnn_hood_maker *m, gnn_vid v, uint32_t *out)
{
	void *block = b->id;
	int rc = GNN_OK;

	if (m->number[v] == 0) {
		if (b->count == GNN_OWN_BIT)
			return gnn_err(GNN_EOS, "a neighbourhood has over 2^31 vertices");
		rc = grow(&block, &b->id_room, b->count + 1, sizeof(*b->id), GNN_MEM_TOPOLOGY);
		b->id = block;
		if (rc < 0)
			return rc;
		b->id[b->count++] = v;
		m->number[v] = (uint32_t)b->count;
	}
	*out = m->number[v] - 1;
	return GNN_OK;
}

/* Entries of all in-lists of the destinations, own rows included, at most. */
static int count_entries(const struct gnn_hood_maker *m, const gnn_vid *dst, uint64_t dst_count,
	uint64_t *entries)
{
	*entries = dst_count;
	for (uint64_t i = 0; i < dst_count; i++) {
		gnn_eid begin = m->offsets[dst[i]], end = m->offsets[dst[i] + 1];

		if (end < begin || end > m->store->edges)
			return gnn_err(GNN_EDATA, "topology/in/offsets: row %llu is [%llu, %llu) "
				"of %llu edges", (unsigned long long)dst[i],
				(unsigned long long)begin, (unsigned long long)end,
				(unsigned long long)m->store->edges);
		*entries += end - begin;
	}
	return GNN_OK;
}

static int make_room(struct gnn_hood *b, uint64_t entries, uint64_t dst_count, bool weighted)
{
	int rc = GNN_OK;

	if (entries <= b->entry_room)
		return GNN_OK;
	gnn_program_fini(&b->program);
	b->entry_room = 0;
	GNN_TRY(gnn_program_init(&b->program, entries, gnn_max_u64(entries, dst_count)));
	if (weighted)
		GNN_TRY(gnn_program_weigh(&b->program, entries));
	b->entry_room = entries;
out:
	return rc;
}

static void add_entry(struct gnn_program *p, uint64_t *at, uint32_t src, float weight)
{
	if (p->weight != NULL)
		p->weight[*at] = weight;
	p->src[(*at)++] = src;
}

/* The edges into destination `row`, in source order, with its own row where it stands. */
static int add_list(struct gnn_hood *b, struct gnn_hood_maker *m, const struct gnn_conv *c,
	uint32_t row, uint64_t *at)
{
	bool own = c->own == GNN_OWN_MESSAGE || c->own == GNN_OWN_ROW;
	const float *loop_weights = m->degrees->loop_weights;
	gnn_vid v = b->id[row];
	int rc = GNN_OK;

	for (gnn_eid e = m->offsets[v]; e < m->offsets[v + 1]; e++) {
		gnn_vid u = neighbor_at(m, e);
		uint32_t src;

		if (u >= m->store->vertices)
			return gnn_err(GNN_EDATA, "topology/in/neighbors: vertex %llu has a "
				"neighbour %llu, the graph has %llu vertices",
				(unsigned long long)v, (unsigned long long)u,
				(unsigned long long)m->store->vertices);
		if (own && u >= v) {
			add_entry(&b->program, at, GNN_OWN_BIT | row,
				loop_weights != NULL ? loop_weights[v] : 1.0f);
			own = false;
		}
		if (u == v && c->drop_loops)
			continue;
		GNN_TRY(number_of(b, m, u, &src));
		add_entry(&b->program, at, src, m->weights != NULL ? m->weights[e] : 1.0f);
	}
	if (own)
		add_entry(&b->program, at, GNN_OWN_BIT | row,
			loop_weights != NULL ? loop_weights[v] : 1.0f);
out:
	return rc;
}

static int add_edges(struct gnn_hood *b, struct gnn_hood_maker *m, const struct gnn_conv *c)
{
	struct gnn_program *p = &b->program;
	uint64_t groups = 0, at = 0;
	int rc = GNN_OK;

	for (uint32_t row = 0; row < b->dst_count; row++) {
		uint64_t before = at;

		GNN_TRY(add_list(b, m, c, row, &at));
		if (at == before)
			continue;
		p->vertex[groups] = row;
		p->first[groups++] = before;
	}
	p->first[groups] = at;
	p->batch = (struct gnn_edge_batch){.group_count = groups, .entry_count = at,
		.vertex = p->vertex, .slot = p->vertex, .carry = p->carry, .first = p->first,
		.src = p->src, .weight = p->weight};
out:
	return rc;
}

int gnn_hood_make(struct gnn_hood *b, struct gnn_hood_maker *m, const struct gnn_conv *c,
	const gnn_vid *dst, uint64_t dst_count)
{
	bool weighted = c->edge_weights && m->weights != NULL;
	uint64_t entries;
	uint32_t number;
	int rc;

	GNN_ASSERT(dst_count <= GNN_OWN_BIT);
	b->count = 0;
	b->dst_count = dst_count;
	GNN_TRY(count_entries(m, dst, dst_count, &entries));
	GNN_TRY(make_room(b, entries, dst_count, weighted));
	for (uint64_t i = 0; i < dst_count; i++)
		GNN_TRY(number_of(b, m, dst[i], &number));
	GNN_ASSERT(b->count == dst_count);
	GNN_TRY(add_edges(b, m, c));
	gnn_degrees_free(b->degrees);
	GNN_TRY(gnn_degrees_pick(&b->degrees, m->degrees, b->id, b->count, b->dst_count));
	GNN_TRY(gnn_degrees_mirror(b->degrees, m->backend));
	for (uint64_t g = 0; g < b->program.batch.group_count; g++)
		b->program.carry[g] = gnn_degrees_carry(b->degrees, b->program.vertex[g]);
out:
	for (uint64_t i = 0; i < b->count; i++)
		m->number[b->id[i]] = 0;
	return rc;
}

void gnn_hood_fini(struct gnn_hood *b)
{
	gnn_mem_free(b->id);
	gnn_program_fini(&b->program);
	gnn_degrees_free(b->degrees);
	*b = (struct gnn_hood){0};
}
