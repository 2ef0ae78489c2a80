/* train/lists.c - see lists.h. */
#include "train/lists.h"

#include "base/mem.h"
#include "train/held.h"

#include <math.h>

enum { FIRST, NEIGHBORS, LOOPS, WEIGHTS, ARRAYS };

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

int gnn_lists_weigh(const struct gnn_lists *l, float *degree, float *own)
{
	for (gnn_vid v = 0; v < l->vertices; v++) {
		double sum = 0;

		own[v] = 1.0f;
		for (gnn_eid e = l->first[v]; e < l->first[v + 1]; e++) {
			if (gnn_lists_at(l, e) == v)
				own[v] = l->weight[e];
			else
				sum += (double)l->weight[e];
		}
		degree[v] = (float)(sum + (double)own[v]);
		if (!isfinite(degree[v]) || degree[v] < 0)
			return gnn_err(GNN_EDATA, "vertex %llu: the weights of its in-edges and "
				"its self-loop add up to %g, and gcn layers divide by the root",
				(unsigned long long)v, (double)degree[v]);
	}
	return GNN_OK;
}

static int load_weights(struct loaded *loaded, const struct gnn_store *s,
	struct gnn_comm *comm)
{
	struct gnn_lists *l = &loaded->lists;
	int rc;

	GNN_TRY(load(loaded, WEIGHTS, &l->weight, s, s->in.weights, comm));
	GNN_NEW_ARRAY(l->degree, l->vertices, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(l->own, l->vertices, GNN_MEM_TOPOLOGY);
	rc = gnn_lists_weigh(l, l->degree, l->own);
	if (rc < 0)
		gnn_err_place(rc, "%s: %s", gnn_container_path(s->container),
			s->in.weights->name);
out:
	return rc;
}

int gnn_lists_load(struct gnn_lists **out, const struct gnn_store *s, struct gnn_comm *comm,
	bool weighted)
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
	if (weighted && s->in.weights != NULL)
		GNN_TRY(load_weights(loaded, s, comm));
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
	gnn_mem_free(l->degree);
	gnn_mem_free(l->own);
	for (int i = 0; i < ARRAYS; i++)
		gnn_window_close(((struct loaded *)l)->window[i]);
	gnn_mem_free(l);
}
