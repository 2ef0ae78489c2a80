/* infer/sampling.c - see sampling.h. */
#include "infer/sampling.h"

#include "base/mem.h"
#include "base/trace.h"
#include "infer/inlist.h"
#include "infer/pick.h"
#include "io/stream.h"

#include <omp.h>

enum { TASK_EDGES = 1 << 13, TASKS_MAX = GNN_INLIST_EDGES / TASK_EDGES + 1 };

/* Whole lists of a part: those of vertices [first, end), the first at `edge`. */
struct task {
	gnn_vid  first, end;
	uint64_t edge;
};

struct gnn_sampling {
	struct gnn_sampling_opts o;
	uint64_t           in_max;    /* the largest in-degree */
	uint64_t          *threshold; /* (V of all ranks) of the layer at hand */
	uint64_t          *original;  /* (V of all ranks) or NULL */
	const void        *threshold_there, *original_there;
	struct gnn_draw  here;
	struct gnn_pick   *pick;      /* (threads + 1); the last is of the list that goes on */
	uint64_t           left;      /* edges to come of that list */
	struct task        task[TASKS_MAX];
	uint32_t           tasks;
	gnn_vid            broken;    /* whose list was not understood, or GNN_PICK_FINE */
};

static uint64_t largest_degree(const struct gnn_degrees *d)
{
	uint64_t most = 0;

	for (gnn_vid v = 0; v < d->vertices; v++)
		most = gnn_max_u64(most, d->in[v]);
	return most;
}

/* Whether a layer leaves out edges anywhere. */
static bool samples(const struct gnn_sampling *s, uint64_t fanout)
{
	return fanout != 0 && fanout < s->in_max;
}

static int load_original(struct gnn_sampling *s)
{
	const struct gnn_store *store = s->o.store;
	int rc = GNN_OK;

	if (store->original_id == NULL)
		return GNN_OK;
	GNN_NEW_ARRAY(s->original, store->whole_vertices, GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_array_load(store->container, store->original_id, 0, store->original_id->bytes,
		s->original));
	GNN_TRY(gnn_backend_mirror(s->o.backend, &s->original_there, s->original,
		store->original_id->bytes));
out:
	return rc;
}

/* Buffers for the largest fanout of any layer; GNN_SKIPPED where none leaves out an edge. */
static int make_picks(struct gnn_sampling *s)
{
	uint64_t fanout = 0;
	int rc;

	for (uint32_t l = 0; l < s->o.layers; l++)
		if (samples(s, s->o.fanout[l]))
			fanout = gnn_max_u64(fanout, s->o.fanout[l]);
	if (fanout == 0)
		return GNN_SKIPPED;
	GNN_NEW_ARRAY(s->pick, s->o.threads + 1, GNN_MEM_TOPOLOGY);
	for (uint32_t t = 0; t < s->o.threads; t++)
		GNN_TRY(gnn_pick_init(&s->pick[t], gnn_min_u64(fanout, GNN_INLIST_EDGES)));
	GNN_TRY(gnn_pick_init(&s->pick[s->o.threads], fanout));
out:
	return rc;
}

int gnn_sampling_create(struct gnn_sampling **out, const struct gnn_sampling_opts *o)
{
	struct gnn_sampling *s = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->threads > 0);
	GNN_NEW(s, GNN_MEM_TOPOLOGY);
	s->o = *o;
	s->in_max = largest_degree(o->degrees);
	if (o->share != NULL)
		GNN_TRY(gnn_comm_reduce_u64(o->share->comm, GNN_REDUCE_MAX, &s->in_max, 1));
	rc = make_picks(s);
	if (rc != GNN_OK)
		goto out;
	GNN_NEW_ARRAY(s->threshold, o->store->whole_vertices, GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_backend_mirror(o->backend, &s->threshold_there, s->threshold,
		o->store->whole_vertices * sizeof(*s->threshold)));
	GNN_TRY(load_original(s));
	*out = s;
	s = NULL;
out:
	gnn_sampling_destroy(s);
	return rc == GNN_SKIPPED ? GNN_OK : rc;
}

void gnn_sampling_destroy(struct gnn_sampling *s)
{
	if (s == NULL)
		return;
	gnn_backend_unmirror(s->o.backend, s->threshold_there);
	gnn_backend_unmirror(s->o.backend, s->original_there);
	for (uint32_t t = 0; s->pick != NULL && t <= s->o.threads; t++)
		gnn_pick_fini(&s->pick[t]);
	gnn_mem_free(s->pick);
	gnn_mem_free(s->threshold);
	gnn_mem_free(s->original);
	gnn_mem_free(s);
}

/* Edges [i, i + count) of the part to the pick of their destination, row v. */
static void draw(struct gnn_sampling *s, struct gnn_pick *p, const struct gnn_inlist_part *part,
	gnn_vid v, uint64_t i, uint64_t count)
{
	gnn_vid broken = gnn_pick_edges(p, &s->here, s->o.store->whole_vertices,
		s->o.store->first + v, part, i, count);

	if (broken != GNN_PICK_FINE) {
#pragma omp atomic write
		s->broken = broken; /* any of them will do */
	}
}

static void run_task(struct gnn_sampling *s, struct gnn_pick *p,
	const struct gnn_inlist_part *part, const struct task *t)
{
	uint64_t i = t->edge;

	for (gnn_vid v = t->first; v < t->end; v++) {
		uint64_t count = s->here.in[v];

		if (gnn_draw_population(&s->here, v) > s->here.fanout) {
			gnn_pick_begin(p, s->here.fanout);
			draw(s, p, part, v, i, count);
			s->threshold[s->o.store->first + v] = gnn_pick_end(p);
		}
		i += count;
	}
}

/* The edges at the front of a part that end or go on with the list that was open; how many. */
static uint64_t go_on(struct gnn_sampling *s, const struct gnn_inlist_part *part, gnn_vid v,
	uint64_t i)
{
	struct gnn_pick *p = &s->pick[s->o.threads];
	uint64_t count = gnn_min_u64(s->left, part->count - i);

	s->left -= count;
	if (gnn_draw_population(&s->here, v) <= s->here.fanout)
		return count;
	draw(s, p, part, v, i, count);
	if (s->left == 0)
		s->threshold[s->o.store->first + v] = gnn_pick_end(p);
	return count;
}

/* Cuts the whole lists from *v, at edge i of the part, into tasks; the edge behind them. */
static uint64_t cut_tasks(struct gnn_sampling *s, const struct gnn_inlist_part *part, gnn_vid *v,
	uint64_t i)
{
	const uint32_t *in = s->here.in;

	for (s->tasks = 0; i < part->count && i + in[*v] <= part->count; s->tasks++) {
		struct task *t = &s->task[s->tasks];
		uint64_t until = gnn_min_u64(i + TASK_EDGES, part->count);

		GNN_ASSERT(s->tasks < TASKS_MAX);
		*t = (struct task){.first = *v, .edge = i};
		while (i < until && i + in[*v] <= part->count)
			i += in[(*v)++];
		t->end = *v;
	}
	return i;
}

static void run_part(struct gnn_sampling *s, const struct gnn_inlist_part *part)
{
	gnn_vid v = part->first;
	uint64_t i = 0;

	if (part->skipped > 0) {
		i = go_on(s, part, v, 0);
		v += s->left == 0;
	}
	i = cut_tasks(s, part, &v, i);
#pragma omp parallel for num_threads(s->o.threads) schedule(dynamic)
	for (uint32_t t = 0; t < s->tasks; t++)
		run_task(s, &s->pick[omp_get_thread_num()], part, &s->task[t]);
	if (i == part->count)
		return;
	gnn_pick_begin(&s->pick[s->o.threads], s->here.fanout);
	s->left = s->here.in[v];
	go_on(s, part, v, i);
}

static int run_pass(struct gnn_sampling *s, uint64_t *read_bytes)
{
	struct gnn_inlist *list = NULL;
	struct gnn_inlist_part part;
	int rc;

	for (gnn_vid v = 0; v < s->o.store->whole_vertices; v++)
		s->threshold[v] = UINT64_MAX;
	s->broken = GNN_PICK_FINE;
	GNN_TRY(gnn_inlist_open(&list, &(struct gnn_inlist_opts){.store = s->o.store,
		.degrees = s->o.degrees, .neighbors = true, .verify = s->o.verify}));
	while ((rc = gnn_inlist_next(list, &part)) == GNN_OK && s->broken == GNN_PICK_FINE)
		run_part(s, &part);
	if (rc < 0)
		goto out;
	rc = GNN_OK;
	*read_bytes += gnn_inlist_read_bytes(list);
	if (s->broken != GNN_PICK_FINE)
		rc = gnn_err(GNN_EDATA, "topology/in/neighbors: the list of vertex %llu has a "
			"neighbour outside the graph, or too many copies of one edge",
			(unsigned long long)s->broken);
out:
	gnn_inlist_close(list);
	return rc;
}

/* At least 32 bits, so that samples of small graphs do not change with the number of vertices. */
static uint32_t id_bits(uint64_t vertices)
{
	return vertices <= UINT64_C(1) << 32 ? 32 :
		64 - (uint32_t)__builtin_clzll(vertices - 1);
}

int gnn_sampling_begin(struct gnn_sampling *s, uint32_t layer, const struct gnn_conv *c,
	uint64_t *read_bytes)
{
	uint64_t span = gnn_trace_begin();
	int rc = GNN_OK;

	if (s == NULL)
		return GNN_OK;
	GNN_ASSERT(layer < s->o.layers && c->fanout == s->o.fanout[layer]);
	s->here = (struct gnn_draw){.fanout = 0};
	if (!samples(s, c->fanout))
		return GNN_OK;
	s->here = (struct gnn_draw){.fanout = c->fanout,
		.key = gnn_draw_key(s->o.seed, layer),
		.id_bits = id_bits(s->o.store->whole_vertices),
		.scaled = c->scales_sums, .threshold = s->threshold, .original = s->original,
		.in = s->o.degrees->in, .loops = c->drop_loops ? s->o.degrees->loops : NULL};
	GNN_TRY(run_pass(s, read_bytes));
	if (s->o.share != NULL)
		GNN_TRY(gnn_share_spread(s->o.share, s->threshold, sizeof(*s->threshold)));
	if (s->threshold_there != s->threshold)
		GNN_TRY(s->o.backend->ops->copy(s->o.backend,
			(void *)(uintptr_t)s->threshold_there,
			s->o.store->whole_vertices * sizeof(*s->threshold), s->threshold,
			s->o.store->whole_vertices * sizeof(*s->threshold),
			s->o.store->whole_vertices * sizeof(*s->threshold), 1));
out:
	gnn_trace_end(span, "sample");
	return rc;
}

struct gnn_draw gnn_sampling_here(const struct gnn_sampling *s)
{
	return s != NULL ? s->here : (struct gnn_draw){.fanout = 0};
}

struct gnn_draw gnn_sampling_there(const struct gnn_sampling *s)
{
	struct gnn_draw there = gnn_sampling_here(s);

	if (there.fanout == 0)
		return there;
	there.threshold = s->threshold_there;
	there.original = s->original_there;
	there.in = s->o.degrees->in_there;
	there.loops = there.loops != NULL ? s->o.degrees->loops_there : NULL;
	return there;
}

uint64_t gnn_sampling_messages(const struct gnn_degrees *d, const struct gnn_conv *c)
{
	bool own = c->own == GNN_OWN_MESSAGE || c->own == GNN_OWN_ROW;
	uint64_t messages = own ? d->vertices : 0;

	for (gnn_vid v = 0; v < d->vertices; v++) {
		uint64_t edges = d->in[v] - (c->drop_loops ? gnn_degrees_loops(d, v) : 0);

		messages += c->fanout != 0 ? gnn_min_u64(edges, c->fanout) : edges;
	}
	return messages;
}

int gnn_sampling_agree(uint64_t out, uint64_t in)
{
	if (out == in)
		return GNN_OK;
	return gnn_err(GNN_EDATA, "topology/out has %llu messages for this layer, topology/in has "
		"%llu: the two differ", (unsigned long long)out, (unsigned long long)in);
}
