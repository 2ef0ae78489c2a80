/* train/lists.c - see lists.h. */
#include "train/lists.h"

#include "base/mem.h"
#include "io/stream.h"

static int load(void **to, const struct gnn_store *s, const struct gnn_array *a)
{
	int rc = gnn_mem_pages(to, gnn_max_u64(a->bytes, 1), GNN_MEM_TOPOLOGY);

	return rc < 0 ? rc : gnn_array_load(s->container, a, 0, a->bytes, *to);
}

/* Whether every list lies within the edges and names vertices of the graph. */
static int check(const struct gnn_lists *l, const struct gnn_store *s)
{
	uint64_t descents = 0, strangers = 0;

	for (gnn_vid v = 0; v < l->vertices; v++)
		descents += l->first[v] > l->first[v + 1];
	if (descents > 0 || l->first[0] != 0 || l->first[l->vertices] != l->edges)
		return gnn_err(GNN_EDATA, "%s: %s do not ascend from 0 to %llu",
			gnn_container_path(s->container), s->in.offsets->name,
			(unsigned long long)l->edges);
	for (gnn_eid e = 0; e < l->edges; e++)
		strangers += gnn_lists_at(l, e) >= l->vertices;
	if (strangers > 0)
		return gnn_err(GNN_EDATA, "%s: %s has %llu entries past the last of %llu vertices",
			gnn_container_path(s->container), s->in.neighbors->name,
			(unsigned long long)strangers, (unsigned long long)l->vertices);
	return GNN_OK;
}

int gnn_lists_load(struct gnn_lists **out, const struct gnn_store *s)
{
	struct gnn_lists *l = NULL;
	void *block;
	int rc;

	*out = NULL;
	GNN_NEW(l, GNN_MEM_TOPOLOGY);
	l->vertices = s->vertices;
	l->edges = s->edges;
	l->dtype = s->in.neighbors->dtype;
	GNN_TRY(load(&block, s, s->in.offsets));
	l->first = block;
	GNN_TRY(load(&l->neighbor, s, s->in.neighbors));
	if (s->self_loops != NULL) {
		GNN_TRY(load(&block, s, s->self_loops));
		l->loops = block;
	}
	GNN_TRY(check(l, s));
	*out = l;
	l = NULL;
out:
	gnn_lists_free(l);
	return rc;
}

void gnn_lists_free(struct gnn_lists *l)
{
	if (l == NULL)
		return;
	gnn_mem_free(l->first);
	gnn_mem_free(l->neighbor);
	gnn_mem_free(l->loops);
	gnn_mem_free(l);
}
