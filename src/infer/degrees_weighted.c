/*
 * infer/degrees_weighted.c - degrees that sum the weights of in-edges; see degrees.h.
 *
 * In the order of the list, in double precision. Where self-loops are replaced a vertex keeps the
 * weight of its loop, of the last where there are several, and gets 1 where there is none: PyG's
 * add_remaining_self_loops.
 */
#include "base/mem.h"
#include "infer/inlist.h"

/* The list that a walk over the parts is in. */
struct sum {
	gnn_vid  first;  /* of the rows: ids of neighbours count from 0 */
	gnn_vid  vertex;
	uint64_t left;   /* edges to come */
	double   weight;
	bool     any;    /* a list is open */
	float    own;    /* of every vertex, but where loops have weights */
};

/* deg(v), the weight of the own loop included where it counts. */
static void close_list(struct gnn_degrees *d, struct sum *s)
{
	float own = s->own;

	if (!s->any)
		return;
	if (d->loop_weights != NULL)
		own = d->loop_weights[s->vertex];
	d->weighted[s->vertex] = (float)(s->weight + (double)own);
	s->any = false;
}

static void open_list(struct sum *s, const struct gnn_degrees *d, gnn_vid v)
{
	*s = (struct sum){.first = s->first, .vertex = v, .left = d->in[v], .any = true,
		.own = s->own};
}

/* Edges [i, i + count) of a part, all of one list. */
static void add_edges(struct gnn_degrees *d, struct sum *s, const struct gnn_inlist_part *p,
	uint64_t i, uint64_t count)
{
	for (uint64_t k = i; k < i + count; k++) {
		if (d->loop_weights != NULL && gnn_inlist_neighbor(p, k) == s->first + s->vertex)
			d->loop_weights[s->vertex] = p->weights[k];
		else
			s->weight += (double)p->weights[k];
	}
	s->left -= count;
}

static void add_part(struct gnn_degrees *d, struct sum *s, const struct gnn_inlist_part *p)
{
	gnn_vid v = p->first;

	if (p->skipped == 0) {
		close_list(d, s);
		open_list(s, d, v);
	}
	for (uint64_t i = 0; i < p->count;) {
		uint64_t count = gnn_min_u64(s->left, p->count - i);

		add_edges(d, s, p, i, count);
		i += count;
		if (s->left > 0 || i == p->count)
			continue;
		close_list(d, s);
		open_list(s, d, ++v);
	}
}

static int sum_lists(struct gnn_degrees *d, const struct gnn_store *s, bool replace_loops,
	bool verify)
{
	struct gnn_inlist *list = NULL;
	struct gnn_inlist_part part;
	struct sum sum = {.first = s->first, .own = replace_loops ? 1.0f : 0.0f};
	int rc;

	GNN_TRY(gnn_inlist_open(&list, &(struct gnn_inlist_opts){.store = s, .degrees = d,
		.neighbors = d->loop_weights != NULL, .weights = true, .verify = verify}));
	while ((rc = gnn_inlist_next(list, &part)) == GNN_OK)
		add_part(d, &sum, &part);
	if (rc < 0)
		goto out;
	rc = GNN_OK;
	close_list(d, &sum);
	d->read_bytes += gnn_inlist_read_bytes(list);
out:
	gnn_inlist_close(list);
	return rc;
}

int gnn_degrees_load_weighted(struct gnn_degrees *d, const struct gnn_store *s,
	bool replace_loops, bool verify)
{
	int rc;

	GNN_ASSERT(d->backend == NULL && d->weighted == NULL && s->in.weights != NULL);
	GNN_NEW_ARRAY(d->weighted, d->vertices, GNN_MEM_TOPOLOGY);
	if (replace_loops && d->loops != NULL)
		GNN_NEW_ARRAY(d->loop_weights, d->vertices, GNN_MEM_TOPOLOGY);
	for (gnn_vid v = 0; v < d->vertices; v++) {
		d->weighted[v] = replace_loops ? 1.0f : 0.0f;
		if (d->loop_weights != NULL)
			d->loop_weights[v] = 1.0f;
	}
	GNN_TRY(sum_lists(d, s, replace_loops, verify));
out:
	return rc;
}
