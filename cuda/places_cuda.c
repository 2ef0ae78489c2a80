/* cuda/places_cuda.c - orders of vertices on the device: fills op/places.h's vtable. */
#include "base/mem.h"
#include "cuda/backend.h"
#include "cuda/gnn_cuda_places.h"

#include <inttypes.h>
#include <string.h>

/*
 * Lists stay on the device from the first pass over them on when they fit there beside all else;
 * otherwise each pass brings them in slices, copied while the slice before is worked on.
 */
enum {
	SLICE_SHARE = 8, /* of what is left of the device's memory, for each of four slots */
	SLICE_BYTES_MIN = 64 << 10,
	SLICE_BYTES_MAX = 128 << 20,
	SLACK_BYTES = 1 << 20,
	MEASURE_BYTES = 4 + 2 * 8,
	MOVE_BYTES = 4 + 16 + 2 * 4, /* a vertex, on the device */
};

struct places {
	struct gnn_places          base; /* first */
	struct gnn_cuda_device   *device;
	struct gnn_cuda_place_work work;
	struct gnn_centre        *centre; /* (V) what prepare gives to work */
	uint32_t                 *best;   /* (V) */
	uint64_t                 *offsets[GNN_DIRECTIONS];   /* (V + 1) held, or NULL */
	uint32_t                 *neighbors[GNN_DIRECTIONS]; /* (E) */
	uint64_t                  slice_rows, slice_edges;
	double                   *block;  /* host */
};

typedef int (*launch_fn)(const struct gnn_cuda_place_work *w, const struct gnn_cuda_place_lists *l,
	void *stream);

static struct places *places_of(struct gnn_places *r)
{
	return (struct places *)r;
}

static uint64_t blocks_of(const struct gnn_places_opts *o)
{
	return gnn_ceil_div(o->vertices, GNN_PLACE_BLOCK);
}

/* --- its life --- */

static int fits(struct gnn_backend *b, const struct gnn_places_opts *o)
{
	const uint64_t room = gnn_cuda_room(&((struct gnn_cuda *)b)->device);
	uint64_t bytes = 0, scratch = 0;
	int rc;

	if (o->wide || o->vertices > UINT32_MAX)
		return gnn_err(GNN_EOS, "backend cuda orders fewer than 2^32 vertices, not %"
			PRIu64, o->vertices);
	GNN_TRY(gnn_cuda_places_scratch(o->vertices, o->moves, &scratch));
	bytes = o->vertices * MEASURE_BYTES + scratch + SLACK_BYTES;
	if (o->moves)
		bytes += o->vertices * MOVE_BYTES;
	if (bytes > room)
		GNN_FAIL(GNN_EOS, "device memory: ordering %" PRIu64 " vertices takes %.1f MiB, "
			"%.1f are free or allowed", o->vertices, (double)bytes / 1048576.0,
			(double)room / 1048576.0);
out:
	return rc;
}

static void free_blocks(struct places *r)
{
	struct gnn_cuda_place_work *w = &r->work;
	void *const block[] = {w->place, w->key[0], w->key[1], w->id[0], w->id[1], w->block,
		w->totals, w->scratch, r->centre, r->best, r->offsets[GNN_OUT], r->offsets[GNN_IN],
		r->neighbors[GNN_OUT], r->neighbors[GNN_IN]};

	cudaStreamSynchronize(r->device->copy);
	cudaStreamSynchronize(r->device->compute);
	for (uint32_t i = 0; i < GNN_COUNT_OF(block); i++)
		gnn_cuda_free(r->device, block[i]);
}

static void destroy(struct gnn_places *base)
{
	struct places *r = places_of(base);

	if (r == NULL)
		return;
	free_blocks(r);
	gnn_mem_free(r->block);
	gnn_mem_free(r);
}

static int take(struct places *r, void *to, uint64_t bytes)
{
	void *block;
	int rc = gnn_cuda_alloc(r->device, &block, bytes);

	if (rc == GNN_OK)
		memcpy(to, &block, sizeof(block));
	return rc;
}

static int take_vertices(struct places *r)
{
	const struct gnn_places_opts *o = &r->base.o;
	const uint64_t v = o->vertices;
	struct gnn_cuda_place_work *w = &r->work;
	int rc;

	w->vertices = v;
	GNN_TRY(gnn_cuda_places_scratch(v, o->moves, &w->scratch_bytes));
	GNN_TRY(take(r, &w->scratch, w->scratch_bytes));
	GNN_TRY(take(r, &w->totals, sizeof(*w->totals)));
	GNN_TRY(take(r, &w->block, blocks_of(o) * sizeof(*w->block)));
	GNN_TRY(take(r, &w->place, v * sizeof(*w->place)));
	for (int i = 0; i < 2; i++)
		GNN_TRY(take(r, &w->key[i], v * sizeof(*w->key[i])));
	if (!o->moves)
		goto out;
	GNN_TRY(take(r, &r->centre, v * sizeof(*r->centre)));
	GNN_TRY(take(r, &r->best, v * sizeof(*r->best)));
	for (int i = 0; i < 2; i++)
		GNN_TRY(take(r, &w->id[i], v * sizeof(*w->id[i])));
out:
	return rc;
}

/* Room for the lists of a direction, or none: a device that refuses has not the memory. */
static int take_lists(struct places *r)
{
	const struct gnn_places_opts *o = &r->base.o;
	const uint64_t offsets = (o->vertices + 1) * sizeof(uint64_t);
	const uint64_t neighbors = o->edges * sizeof(uint32_t), left = gnn_cuda_room(r->device);
	uint64_t slot;
	int rc = GNN_OK;

	r->base.reads = left < (o->moves ? 2 : 1) * (offsets + neighbors) + SLACK_BYTES;
	for (int d = o->moves ? GNN_OUT : GNN_IN; d < GNN_DIRECTIONS && !r->base.reads; d++) {
		GNN_TRY(take(r, &r->offsets[d], offsets));
		GNN_TRY(take(r, &r->neighbors[d], neighbors));
	}
	if (!r->base.reads)
		goto out;
	slot = gnn_min_u64(gnn_max_u64(left / SLICE_SHARE, SLICE_BYTES_MIN), SLICE_BYTES_MAX);
	r->slice_rows = slot / sizeof(uint64_t) - 1;
	r->slice_edges = gnn_max_u64(slot / sizeof(uint32_t), o->longest);
	GNN_TRY(gnn_cuda_reserve(r->device, GNN_STAGE_OFFSETS, slot));
	GNN_TRY(gnn_cuda_reserve(r->device, GNN_STAGE_EDGES, r->slice_edges * sizeof(uint32_t)));
out:
	return rc;
}

static int create(struct gnn_places **out, struct gnn_backend *b, const struct gnn_places_opts *o)
{
	struct places *r = NULL;
	int rc;

	*out = NULL;
	GNN_TRY(fits(b, o));
	GNN_NEW(r, GNN_MEM_MISC);
	r->base = (struct gnn_places){.ops = &gnn_places_cuda, .o = *o};
	r->device = &((struct gnn_cuda *)b)->device;
	GNN_NEW_ARRAY(r->block, blocks_of(o), GNN_MEM_TOPOLOGY);
	GNN_TRY(take_vertices(r));
	GNN_TRY(take_lists(r));
	*out = &r->base;
	r = NULL;
out:
	destroy((struct gnn_places *)r);
	return rc;
}

static int prepare(struct gnn_places *base)
{
	struct places *r = places_of(base);

	GNN_ASSERT(base->o.moves);
	r->work.centre = r->centre;
	return GNN_OK;
}

/* --- places --- */

static int put(struct gnn_places *base, uint64_t *place)
{
	struct places *r = places_of(base);
	cudaStream_t s = r->device->compute;
	int rc = GNN_OK;

	GNN_TRY_CUDA(cudaMemcpyAsync(r->work.key[0], place, base->o.vertices * sizeof(*place),
		cudaMemcpyHostToDevice, s));
	GNN_TRY(gnn_cuda_run_place_narrow(&r->work, s));
	GNN_TRY_CUDA(cudaStreamSynchronize(s));
out:
	return rc;
}

static int keep(struct gnn_places *base)
{
	struct places *r = places_of(base);
	int rc = GNN_OK;

	GNN_TRY_CUDA(cudaMemcpyAsync(r->best, r->work.place, base->o.vertices * sizeof(*r->best),
		cudaMemcpyDeviceToDevice, r->device->compute));
out:
	return rc;
}

static int get(struct gnn_places *base, uint64_t *place)
{
	struct places *r = places_of(base);
	cudaStream_t s = r->device->compute;
	int rc;

	GNN_TRY(gnn_cuda_run_place_widen(&r->work, r->best, s));
	GNN_TRY_CUDA(cudaMemcpyAsync(place, r->work.key[0], base->o.vertices * sizeof(*place),
		cudaMemcpyDeviceToHost, s));
	GNN_TRY_CUDA(cudaStreamSynchronize(s));
out:
	return rc;
}

/* --- lists --- */

static int run_held(struct places *r, enum gnn_direction d, launch_fn launch)
{
	return launch(&r->work, &(struct gnn_cuda_place_lists){.end = r->base.o.vertices,
		.offsets = r->offsets[d], .neighbors = r->neighbors[d]}, r->device->compute);
}

/* Lists that will stay. */
static int run_kept(struct places *r, enum gnn_direction d, const struct gnn_place_lists *l,
	launch_fn launch)
{
	const uint64_t rows = l->end - l->first, begin = l->offsets[l->first];
	const uint64_t bytes = (l->offsets[l->end] - begin) * sizeof(uint32_t);
	const struct gnn_cuda_place_lists there = {.first = l->first, .end = l->end,
		.offsets = r->offsets[d] + l->first, .neighbors = r->neighbors[d] + begin};
	cudaStream_t s = r->device->compute;
	int rc = GNN_OK;

	GNN_TRY_CUDA(cudaMemcpyAsync(r->offsets[d] + l->first, l->offsets + l->first,
		(rows + 1) * sizeof(uint64_t), cudaMemcpyHostToDevice, s));
	if (bytes > 0)
		GNN_TRY_CUDA(cudaMemcpyAsync(r->neighbors[d] + begin, l->narrow, bytes,
			cudaMemcpyHostToDevice, s));
	GNN_TRY(launch(&r->work, &there, s));
	GNN_TRY_CUDA(cudaStreamSynchronize(s)); /* the part is the caller's again */
	r->base.holds[d] = l->end == r->base.o.vertices;
out:
	return rc;
}

/* The last vertex up to which lists from `first` on fit a slice: one list always does. */
static gnn_vid slice_end(const struct places *r, const struct gnn_place_lists *l, gnn_vid first)
{
	const uint64_t fits_to = l->offsets[first] + r->slice_edges;
	uint64_t low = first + 1, high = gnn_min_u64(l->end, first + r->slice_rows);

	while (low < high) {
		const uint64_t middle = low + (high - low + 1) / 2;

		if (l->offsets[middle] <= fits_to)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static int run_slices(struct places *r, const struct gnn_place_lists *l, launch_fn launch)
{
	struct gnn_cuda_device *d = r->device;
	int rc = GNN_OK;

	for (gnn_vid first = l->first, end; first < l->end; first = end) {
		const uint64_t begin = l->offsets[first];
		const void *offsets, *neighbors;

		end = slice_end(r, l, first);
		GNN_TRY(gnn_cuda_stage(d, GNN_STAGE_OFFSETS, l->offsets + first,
			(end - first + 1) * sizeof(uint64_t), &offsets));
		GNN_TRY(gnn_cuda_stage(d, GNN_STAGE_EDGES,
			l->narrow + (begin - l->offsets[l->first]),
			(l->offsets[end] - begin) * sizeof(uint32_t), &neighbors));
		GNN_TRY(launch(&r->work, &(struct gnn_cuda_place_lists){.first = first, .end = end,
			.offsets = offsets, .neighbors = neighbors}, d->compute));
	}
	GNN_TRY_CUDA(cudaStreamSynchronize(d->copy)); /* the part is the caller's again */
out:
	return rc;
}

static int run(struct places *r, enum gnn_direction d, const struct gnn_place_lists *l,
	launch_fn launch)
{
	if (r->base.holds[d])
		return run_held(r, d, launch);
	GNN_ASSERT(l->narrow != NULL || l->offsets[l->first] == l->offsets[l->end]);
	return r->base.reads ? run_slices(r, l, launch) : run_kept(r, d, l, launch);
}

/* --- measuring and moving --- */

static int begin(struct gnn_places *base)
{
	struct places *r = places_of(base);
	cudaStream_t s = r->device->compute;
	int rc = GNN_OK;

	GNN_TRY_CUDA(cudaMemsetAsync(r->work.totals, 0, sizeof(*r->work.totals), s));
	GNN_TRY_CUDA(cudaMemsetAsync(r->work.key[0], 0,
		base->o.vertices * sizeof(*r->work.key[0]), s));
out:
	return rc;
}

static int spread(struct gnn_places *base, const struct gnn_place_lists *in)
{
	return run(places_of(base), GNN_IN, in, gnn_cuda_run_spread);
}

static int read_totals(struct places *r, struct gnn_cuda_place_totals *to)
{
	int rc = GNN_OK;

	GNN_TRY_CUDA(cudaMemcpyAsync(to, r->work.totals, sizeof(*to), cudaMemcpyDeviceToHost,
		r->device->compute));
	GNN_TRY_CUDA(cudaStreamSynchronize(r->device->compute));
out:
	return rc;
}

static int end(struct gnn_places *base, struct gnn_spread *out)
{
	struct places *r = places_of(base);
	const uint64_t vertices = base->o.vertices, blocks = blocks_of(&base->o);
	struct gnn_cuda_place_totals t;
	int rc;

	GNN_TRY(gnn_cuda_run_spread_end(&r->work, r->device->compute));
	GNN_TRY_CUDA(cudaMemcpyAsync(r->block, r->work.block, blocks * sizeof(*r->block),
		cudaMemcpyDeviceToHost, r->device->compute));
	GNN_TRY(read_totals(r, &t));
	GNN_ASSERT((uint64_t)t.active_sum == t.span && t.active_peak >= 0);
	*out = (struct gnn_spread){.span = t.span, .bandwidth = t.bandwidth,
		.peak_active = (uint64_t)t.active_peak};
	for (uint64_t b = 0; b < blocks; b++)
		out->dispersion += r->block[b];
	out->mean_active = vertices == 0 ? 0.0 : (double)out->span / (double)vertices;
out:
	return rc;
}

static int pull(struct gnn_places *base, const struct gnn_place_lists *out)
{
	return run(places_of(base), GNN_OUT, out, gnn_cuda_run_pull);
}

static int sort(struct gnn_places *base, bool *changed)
{
	struct places *r = places_of(base);
	struct gnn_cuda_place_totals t;
	int rc = GNN_OK;

	GNN_TRY_CUDA(cudaMemsetAsync(r->work.totals, 0, sizeof(*r->work.totals),
		r->device->compute));
	GNN_TRY(gnn_cuda_run_place_sort(&r->work, r->device->compute));
	GNN_TRY(read_totals(r, &t));
	*changed = t.changed != 0;
out:
	return rc;
}

const struct gnn_place_ops gnn_places_cuda = {
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
