/* order/spread.c - see spread.h. */
#include "order/spread.h"

#include <string.h>

/*
 * Ranks are integers, so the sums over a list are exact. Sums of real numbers over vertices go
 * block by block of absolute ids, each in order, then over the blocks: the same bits however the
 * lists are cut into parts and whatever the threads.
 */
enum { BLOCK = 2048 };

uint64_t gnn_spread_blocks(uint64_t vertices)
{
	return gnn_ceil_div(vertices, BLOCK);
}

/* Of one list, relative to the rank of its vertex, which is in it with 0. */
struct fold {
	int64_t  low, high, sum;
	unsigned __int128 squares;
};

static struct fold fold_list(const struct gnn_list *l, const uint64_t *rank, uint64_t own)
{
	struct fold f = {0};

	for (uint64_t i = 0; i < l->count; i++) {
		int64_t x = (int64_t)(rank[gnn_list_at(l, i)] - own);
		uint64_t size = (uint64_t)(x < 0 ? -x : x);

		f.low = x < f.low ? x : f.low;
		f.high = x > f.high ? x : f.high;
		f.sum += x;
		f.squares += (unsigned __int128)size * size;
	}
	return f;
}

/* Vertices [first, end), all of one block. */
static void measure_block(struct gnn_spread *out, const struct gnn_spread_work *w,
	const struct gnn_lists_part *p, gnn_vid first, gnn_vid end)
{
	double *dispersion = &w->block[first / BLOCK];

	for (gnn_vid v = first; v < end; v++) {
		struct gnn_list l = gnn_lists_in_part(p, v);
		uint64_t own = w->rank[v];
		struct fold f = fold_list(&l, w->rank, own);
		double weight = 1.0 / (double)(l.count + 1), mean = (double)f.sum * weight;

		out->span += (uint64_t)(f.high - f.low);
		out->bandwidth = gnn_max_u64(out->bandwidth,
			gnn_max_u64((uint64_t)f.high, (uint64_t)-f.low));
		*dispersion += ((double)f.squares - (double)f.sum * mean) * weight;
		if (w->centre != NULL)
			w->centre[v] = (struct gnn_centre){((double)own + mean) * weight, weight};
		if (f.low == f.high)
			continue;
#pragma omp atomic
		w->change[own + (uint64_t)f.low]++;
#pragma omp atomic
		w->change[own + (uint64_t)f.high]--;
	}
}

static void measure_part(struct gnn_spread *out, const struct gnn_spread_work *w,
	const struct gnn_lists_part *p)
{
	uint64_t first = p->first / BLOCK, end = gnn_ceil_div(p->end, BLOCK);
	uint64_t span = 0, bandwidth = 0;

#pragma omp parallel for schedule(dynamic) num_threads((int)w->threads) \
	reduction(+ : span) reduction(max : bandwidth)
	for (uint64_t b = first; b < end; b++) {
		struct gnn_spread one = {0};

		measure_block(&one, w, p, gnn_max_u64(b * BLOCK, p->first),
			gnn_min_u64((b + 1) * BLOCK, p->end));
		span += one.span;
		bandwidth = gnn_max_u64(bandwidth, one.bandwidth);
	}
	out->span += span;
	out->bandwidth = gnn_max_u64(out->bandwidth, bandwidth);
}

static void sum_up(struct gnn_spread *out, uint64_t vertices, const struct gnn_spread_work *w)
{
	uint64_t sum = 0;
	int64_t active = 0;

	for (uint64_t t = 0; t < vertices; t++) {
		active += w->change[t];
		GNN_ASSERT(active >= 0);
		sum += (uint64_t)active;
		out->peak_active = gnn_max_u64(out->peak_active, (uint64_t)active);
	}
	GNN_ASSERT(active == 0 && sum == out->span); /* occupancy is span, counted two ways */
	for (uint64_t b = 0; b < gnn_spread_blocks(vertices); b++)
		out->dispersion += w->block[b];
	out->mean_active = vertices == 0 ? 0.0 : (double)out->span / (double)vertices;
}

int gnn_spread_measure(struct gnn_spread *out, struct gnn_lists *l, uint64_t vertices,
	const struct gnn_spread_work *w)
{
	struct gnn_lists_part part;
	int rc;

	*out = (struct gnn_spread){0};
	memset(w->change, 0, (vertices + 1) * sizeof(*w->change));
	memset(w->block, 0, gnn_spread_blocks(vertices) * sizeof(*w->block));
	GNN_TRY(gnn_lists_begin(l, GNN_IN));
	while ((rc = gnn_lists_next(l, &part)) == GNN_OK)
		measure_part(out, w, &part);
	if (rc == GNN_EOF) {
		sum_up(out, vertices, w);
		rc = GNN_OK;
	}
out:
	return rc;
}
