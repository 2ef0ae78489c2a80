/* tier/inlists.c - see inlists.h. */
#include "tier/inlists.h"

#include "base/mem.h"
#include "io/stream.h"

static int alloc_array(void **out, const struct gnn_array *a)
{
	return gnn_mem_pages(out, gnn_max_u64(a->bytes, 1), GNN_MEM_TOPOLOGY);
}

static int read_lists(struct gnn_inlists *l, const struct gnn_store *s)
{
	const struct gnn_array *array[] = {s->in.offsets, s->in.neighbors};
	int rc = GNN_OK;

	for (uint32_t i = 0; i < GNN_COUNT_OF(array); i++) {
		GNN_TRY(gnn_array_load(s->container, array[i], 0, array[i]->bytes, l->owned_[i]));
		l->read_bytes += array[i]->bytes;
	}
	l->sampled = false;
out:
	return rc;
}

uint64_t gnn_inlists_bytes(const struct gnn_store *s)
{
	return s->in.offsets->bytes + s->in.neighbors->bytes;
}

int gnn_inlists_load(struct gnn_inlists *l, const struct gnn_store *s)
{
	int rc;

	*l = (struct gnn_inlists){0};
	GNN_TRY(alloc_array(&l->owned_[0], s->in.offsets));
	GNN_TRY(alloc_array(&l->owned_[1], s->in.neighbors));
	GNN_TRY(read_lists(l, s));
	l->offset = l->owned_[0];
	if (s->in.neighbors->dtype == GNN_U32)
		l->narrow = l->owned_[1];
	else
		l->wide = l->owned_[1];
out:
	if (rc < 0)
		gnn_inlists_fini(l);
	return rc;
}

static gnn_vid source_at(const struct gnn_inlists *l, uint64_t i)
{
	return l->narrow != NULL ? l->narrow[i] : l->wide[i];
}

static void put_source(struct gnn_inlists *l, uint64_t i, gnn_vid u)
{
	if (l->narrow != NULL)
		((uint32_t *)l->owned_[1])[i] = (uint32_t)u;
	else
		((uint64_t *)l->owned_[1])[i] = u;
}

/* The messages among edges [begin, end) of v move to `to`; returns where they end. */
static uint64_t keep_drawn(struct gnn_inlists *l, const struct gnn_draw *d, gnn_vid v,
	uint64_t begin, uint64_t end, uint64_t to)
{
	gnn_vid last = UINT64_MAX;
	uint64_t copy = 0;

	for (uint64_t i = begin; i < end; i++) {
		gnn_vid u = source_at(l, i);

		copy = u == last ? copy + 1 : 0;
		last = u;
		if ((u == v && d->loops != NULL) ||
			!gnn_draw_keeps(d, gnn_draw_source(d, u, copy), v))
			continue;
		put_source(l, to++, u);
	}
	return to;
}

int gnn_inlists_draw(struct gnn_inlists *l, const struct gnn_store *s, const struct gnn_draw *d)
{
	uint64_t *offset = l->owned_[0], begin = 0, to = 0;
	int rc = GNN_OK;

	if (l->sampled)
		GNN_TRY(read_lists(l, s));
	if (d->fanout == 0)
		return GNN_OK;
	for (gnn_vid v = 0; v < s->vertices; v++) {
		uint64_t end = offset[v + 1], first = to;

		if (end < begin || end > s->edges)
			GNN_FAIL(GNN_EDATA, "topology/in/offsets: the list of vertex %llu is not "
				"within the lists", (unsigned long long)v);
		to = keep_drawn(l, d, v, begin, end, to);
		offset[v] = first;
		begin = end;
	}
	offset[s->vertices] = to;
	l->sampled = true;
out:
	return rc;
}

void gnn_inlists_fini(struct gnn_inlists *l)
{
	gnn_mem_free(l->owned_[0]);
	gnn_mem_free(l->owned_[1]);
	*l = (struct gnn_inlists){0};
}
