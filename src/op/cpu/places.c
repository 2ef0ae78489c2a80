/* op/cpu/places.c - orders of vertices measured and moved on the CPU; see op/places.h. */
#include "op/places.h"

#include "base/mem.h"
#include "op/argsort.h"
#include "op/cpu/cpu.h"
#include "op/places_fold.h"

#include <string.h>

struct places {
	struct gnn_places      base; /* first */
	uint32_t              threads;
	uint64_t             *place;   /* (V) the caller's */
	uint64_t             *best;   /* (V) */
	int64_t              *change; /* (V + 1) of active vertices at each place; or in spare */
	struct gnn_centre    *centre; /* (V) */
	struct gnn_sort_pair *pair;   /* (V) in the order of the places */
	struct gnn_sort_pair *spare;  /* (V + 1) */
	double               *block;  /* dispersion of each */
	struct gnn_spread     spread;
};

enum {
	MEASURE_BYTES = sizeof(int64_t),
	MOVE_BYTES = sizeof(uint64_t) + sizeof(struct gnn_centre) +
		2 * sizeof(struct gnn_sort_pair),
};

static struct places *places_of(struct gnn_places *r)
{
	return (struct places *)r;
}

static uint64_t blocks_of(const struct places *r)
{
	return gnn_ceil_div(r->base.o.vertices, GNN_PLACE_BLOCK);
}

static uint64_t neighbor_at(const struct gnn_place_lists *l, uint64_t i)
{
	return l->narrow != NULL ? l->narrow[i] : l->wide[i];
}

/* --- its life --- */

static int fits(struct gnn_backend *b, const struct gnn_places_opts *o)
{
	(void)b;
	(void)o;
	return GNN_OK;
}

static void destroy(struct gnn_places *base)
{
	struct places *r = places_of(base);

	if (r == NULL)
		return;
	gnn_mem_free(r->best);
	gnn_mem_free(r->change);
	gnn_mem_free(r->centre);
	gnn_mem_free(r->pair);
	gnn_mem_free(r->spare);
	gnn_mem_free(r->block);
	gnn_mem_free(r);
}

/* Gathered from at random: of huge pages where it is large; not zeroed. */
static int take(void *to, uint64_t count, uint64_t item_bytes)
{
	void *block;
	int rc = gnn_mem_pages(&block, gnn_max_u64(count, 1) * item_bytes, GNN_MEM_TOPOLOGY);

	if (rc == GNN_OK)
		memcpy(to, &block, sizeof(block));
	return rc;
}

static int create(struct gnn_places **out, struct gnn_backend *b, const struct gnn_places_opts *o)
{
	struct places *r = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(r, GNN_MEM_MISC);
	r->base = (struct gnn_places){.ops = &gnn_places_cpu, .o = *o};
	r->threads = ((const struct gnn_cpu *)b)->threads;
	GNN_TRY(take(&r->change, o->vertices + 1, sizeof(*r->change)));
	GNN_NEW_ARRAY(r->block, blocks_of(r), GNN_MEM_TOPOLOGY);
	*out = &r->base;
	r = NULL;
out:
	destroy((struct gnn_places *)r);
	return rc;
}

static int prepare(struct gnn_places *base)
{
	struct places *r = places_of(base);
	uint64_t v = base->o.vertices;
	int rc = GNN_OK;

	_Static_assert(sizeof(*r->spare) >= sizeof(*r->change), "changes fit the spare pairs");
	gnn_mem_free(r->change);
	r->change = NULL;
	GNN_TRY(take(&r->best, v, sizeof(*r->best)));
	GNN_TRY(take(&r->centre, v, sizeof(*r->centre)));
	GNN_TRY(take(&r->pair, v, sizeof(*r->pair)));
	GNN_TRY(take(&r->spare, v + 1, sizeof(*r->spare)));
out:
	return rc;
}

static int put(struct gnn_places *base, uint64_t *place)
{
	places_of(base)->place = place;
	return GNN_OK;
}

static int keep(struct gnn_places *base)
{
	struct places *r = places_of(base);

	memcpy(r->best, r->place, base->o.vertices * sizeof(*r->best));
	return GNN_OK;
}

static int get(struct gnn_places *base, uint64_t *place)
{
	memcpy(place, places_of(base)->best, base->o.vertices * sizeof(*place));
	return GNN_OK;
}

/*
 * What a list gathers is asked for while the list before it is folded; a lock on a line that is
 * far away would hold up everything behind it, so changes of activity wait in a few steps too.
 */
enum { AHEAD = 48, WAITING = 32 };

/* --- measuring --- */

static int64_t *changes(struct places *r)
{
	return r->change != NULL ? r->change : (int64_t *)r->spare;
}

static int begin(struct gnn_places *base)
{
	struct places *r = places_of(base);

	r->spread = (struct gnn_spread){0};
	memset(changes(r), 0, (base->o.vertices + 1) * sizeof(int64_t));
	memset(r->block, 0, blocks_of(r) * sizeof(*r->block));
	return GNN_OK;
}

static struct gnn_place_fold fold_list(const struct gnn_place_lists *l, uint64_t first,
	uint64_t end, const uint64_t *place, uint64_t own)
{
	const uint64_t last = l->offsets[l->end] - l->offsets[l->first];
	struct gnn_place_fold f = {0};

	for (uint64_t i = first; i < end; i++) {
		if (i + AHEAD < last)
			__builtin_prefetch(&place[neighbor_at(l, i + AHEAD)]);
		gnn_place_take(&f, (int64_t)(place[neighbor_at(l, i)] - own));
	}
	return f;
}

/* Changes that are to be made, the places of which are on their way. */
struct changes {
	int64_t *change;
	uint64_t at[2 * WAITING]; /* begins and ends in turn */
	uint32_t count;
};

static void make_changes(struct changes *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		const int64_t n = i % 2 == 0 ? 1 : -1;

#pragma omp atomic
		c->change[c->at[i]] += n;
	}
	c->count = 0;
}

static void change_at(struct changes *c, uint64_t begin, uint64_t end)
{
	__builtin_prefetch(&c->change[begin], 1);
	__builtin_prefetch(&c->change[end], 1);
	c->at[c->count++] = begin;
	c->at[c->count++] = end;
	if (c->count == 2 * WAITING)
		make_changes(c);
}

/* Vertices [first, end), all of one block. */
static void measure_block(struct places *r, const struct gnn_place_lists *l, gnn_vid first,
	gnn_vid end, struct gnn_spread *out)
{
	const uint64_t *offsets = l->offsets, before = offsets[l->first];
	double *dispersion = &r->block[first / GNN_PLACE_BLOCK];
	struct changes waiting = {.change = changes(r)};

	for (gnn_vid v = first; v < end; v++) {
		const uint64_t own = r->place[v], entries = offsets[v + 1] - offsets[v];
		const struct gnn_place_fold f = fold_list(l, offsets[v] - before,
			offsets[v + 1] - before, r->place, own);

		out->span += (uint64_t)(f.high - f.low);
		out->bandwidth = gnn_max_u64(out->bandwidth,
			gnn_max_u64((uint64_t)f.high, (uint64_t)-f.low));
		*dispersion += gnn_place_dispersion(&f, entries);
		if (r->centre != NULL)
			r->centre[v] = gnn_place_centre(&f, entries, own);
		if (f.low != f.high)
			change_at(&waiting, own + (uint64_t)f.low, own + (uint64_t)f.high);
	}
	make_changes(&waiting);
}

static int spread(struct gnn_places *base, const struct gnn_place_lists *in)
{
	struct places *r = places_of(base);
	uint64_t first = in->first / GNN_PLACE_BLOCK, end = gnn_ceil_div(in->end, GNN_PLACE_BLOCK);
	uint64_t span = 0, bandwidth = 0;

#pragma omp parallel for schedule(dynamic) num_threads((int)r->threads) \
	reduction(+ : span) reduction(max : bandwidth)
	for (uint64_t b = first; b < end; b++) {
		struct gnn_spread one = {0};

		measure_block(r, in, gnn_max_u64(b * GNN_PLACE_BLOCK, in->first),
			gnn_min_u64((b + 1) * GNN_PLACE_BLOCK, in->end), &one);
		span += one.span;
		bandwidth = gnn_max_u64(bandwidth, one.bandwidth);
	}
	r->spread.span += span;
	r->spread.bandwidth = gnn_max_u64(r->spread.bandwidth, bandwidth);
	return GNN_OK;
}

static int end(struct gnn_places *base, struct gnn_spread *out)
{
	struct places *r = places_of(base);
	const int64_t *change = changes(r);
	const uint64_t vertices = base->o.vertices;
	uint64_t sum = 0;
	int64_t active = 0;

	*out = r->spread;
	for (uint64_t t = 0; t < vertices; t++) {
		active += change[t];
		GNN_ASSERT(active >= 0);
		sum += (uint64_t)active;
		out->peak_active = gnn_max_u64(out->peak_active, (uint64_t)active);
	}
	GNN_ASSERT(active == 0 && sum == out->span); /* occupancy is span, counted two ways */
	for (uint64_t b = 0; b < blocks_of(r); b++)
		out->dispersion += r->block[b];
	out->mean_active = vertices == 0 ? 0.0 : (double)out->span / (double)vertices;
	return GNN_OK;
}

/* --- moving --- */

static struct gnn_centre sum_centres(const struct gnn_place_lists *l, uint64_t first, uint64_t end,
	const struct gnn_centre *centre)
{
	const uint64_t last = l->offsets[l->end] - l->offsets[l->first];
	struct gnn_centre lane[GNN_PLACE_LANES] = {{0.0, 0.0}};

	for (uint64_t i = first; i < end; i++) {
		const struct gnn_centre *c = &centre[neighbor_at(l, i)];

		if (i + AHEAD < last)
			__builtin_prefetch(&centre[neighbor_at(l, i + AHEAD)]);
		lane[(i - first) % GNN_PLACE_LANES].pull += c->pull;
		lane[(i - first) % GNN_PLACE_LANES].weight += c->weight;
	}
	for (uint32_t half = GNN_PLACE_LANES / 2; half > 0; half /= 2)
		for (uint32_t k = 0; k < half; k++) {
			lane[k].pull += lane[k + half].pull;
			lane[k].weight += lane[k + half].weight;
		}
	return lane[0];
}

static void pull_block(struct places *r, const struct gnn_place_lists *l, gnn_vid first,
	gnn_vid end)
{
	const uint64_t *offsets = l->offsets, before = offsets[l->first];

	for (gnn_vid w = first; w < end; w++) {
		const struct gnn_centre own = r->centre[w];
		const struct gnn_centre sum = sum_centres(l, offsets[w] - before,
			offsets[w + 1] - before, r->centre);

		r->pair[r->place[w]] = (struct gnn_sort_pair){gnn_sort_key(
			(own.pull + sum.pull) / (own.weight + sum.weight)), w};
	}
}

static int pull(struct gnn_places *base, const struct gnn_place_lists *out)
{
	struct places *r = places_of(base);
	uint64_t tasks = gnn_ceil_div(out->end - out->first, GNN_PLACE_BLOCK);

#pragma omp parallel for schedule(dynamic) num_threads((int)r->threads)
	for (uint64_t b = 0; b < tasks; b++)
		pull_block(r, out, out->first + b * GNN_PLACE_BLOCK,
			gnn_min_u64(out->first + (b + 1) * GNN_PLACE_BLOCK, out->end));
	return GNN_OK;
}

static int sort(struct gnn_places *base, bool *changed)
{
	struct places *r = places_of(base);
	uint64_t count = 0;

	gnn_argsort(r->pair, r->spare, base->o.vertices, r->threads);
#pragma omp parallel for schedule(static) num_threads((int)r->threads) reduction(+ : count)
	for (uint64_t i = 0; i < base->o.vertices; i++) {
		count += r->place[r->pair[i].id] != i;
		r->place[r->pair[i].id] = i;
	}
	*changed = count != 0;
	return GNN_OK;
}

const struct gnn_place_ops gnn_places_cpu = {
	.measure_bytes = MEASURE_BYTES,
	.move_bytes = MOVE_BYTES,
	.fits = fits,
	.create = create,
	.destroy = destroy,
	.put = put,
	.begin = begin,
	.spread = spread,
	.end = end,
	.prepare = prepare,
	.keep = keep,
	.get = get,
	.pull = pull,
	.sort = sort,
};
