/* train/lists.c - see lists.h. */
#include "train/lists.h"

#include "base/mem.h"
#include "train/held.h"

enum { FIRST, NEIGHBORS, LOOPS, ARRAYS };

/* The lists, and whose memory it is. */
struct loaded {
	struct gnn_lists   lists;
	struct gnn_window *window[ARRAYS];
};

static int load(struct loaded *l, int which, void *out, const struct gnn_store *s,
	const struct gnn_array *a, struct gnn_comm *comm)
{
	int rc;

	GNN_TRY(gnn_held_load(&l->window[which], comm, s->container, a, GNN_MEM_TOPOLOGY));
	*(void **)out = gnn_window_data(l->window[which]);
out:
	return rc;
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

int gnn_lists_load(struct gnn_lists **out, const struct gnn_store *s, struct gnn_comm *comm)
{
	struct loaded *loaded = NULL;
	struct gnn_lists *l = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(loaded, GNN_MEM_TOPOLOGY);
	l = &loaded->lists;
	l->vertices = s->vertices;
	l->edges = s->edges;
	l->dtype = s->in.neighbors->dtype;
	GNN_TRY(load(loaded, FIRST, &l->first, s, s->in.offsets, comm));
	GNN_TRY(load(loaded, NEIGHBORS, &l->neighbor, s, s->in.neighbors, comm));
	if (s->self_loops != NULL)
		GNN_TRY(load(loaded, LOOPS, &l->loops, s, s->self_loops, comm));
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
	for (int i = 0; i < ARRAYS; i++)
		gnn_window_close(((struct loaded *)l)->window[i]);
	gnn_mem_free(l);
}
