/* train/hot.c - see hot.h. */
#include "train/hot.h"

#include "base/log.h"
#include "base/mem.h"

enum { BINS = 1 << 16, PIECE = 1 << 16 }; /* counts from here on are equals; added at once */

/* The counts of all ranks. */
static int add_ranks(uint32_t *count, uint64_t vertices, struct gnn_comm *comm)
{
	uint64_t *sum = NULL;
	int rc;

	if (gnn_comm_size(comm) == 1)
		return GNN_OK;
	GNN_NEW_ARRAY(sum, gnn_min_u64(PIECE, vertices), GNN_MEM_STATE);
	for (uint64_t v = 0; v < vertices; v += PIECE) {
		const uint32_t n = (uint32_t)gnn_min_u64(PIECE, vertices - v);

		for (uint32_t i = 0; i < n; i++)
			sum[i] = count[v + i];
		GNN_TRY(gnn_comm_reduce_u64(comm, GNN_REDUCE_SUM, sum, n));
		for (uint32_t i = 0; i < n; i++)
			count[v + i] = (uint32_t)gnn_min_u64(sum[i], BINS - 1);
	}
out:
	gnn_mem_free(sum);
	return rc;
}

/*
 * How often each vertex is a row of the bottom layer in the batches of the first epoch. A rank
 * draws some of the steps, each whole.
 */
static int count_samples(uint32_t *count, const struct gnn_hot_opts *from)
{
	const uint64_t rank = gnn_comm_rank(from->comm), ranks = gnn_comm_size(from->comm);
	struct gnn_batches_opts o = *from->batches;
	uint64_t steps;
	struct gnn_batches *batches = NULL;
	struct gnn_batch *batch;
	int rc;

	steps = gnn_ceil_div(o.source->train_count, o.batch_size);
	o.first_step = steps * rank / ranks;
	o.last_step = steps * (rank + 1) / ranks;
	o.rank = o.ranks = 0;
	o.workers = 0;
	o.collect = false;
	o.onehop = NULL;
	GNN_TRY(gnn_batches_start(&batches, &o));
	while ((rc = gnn_batches_next(batches, &batch)) == GNN_OK) {
		for (uint64_t i = 0; i < batch->sample.id_count; i++)
			count[batch->sample.id[i]] += count[batch->sample.id[i]] < BINS - 1;
		gnn_batches_put(batches, batch);
	}
	rc = rc == GNN_EOF ? GNN_OK : rc;
	GNN_TRY(rc);
	GNN_TRY(add_ranks(count, o.source->lists->vertices, from->comm));
out:
	gnn_batches_stop(batches);
	return rc;
}

static void count_edges(uint32_t *count, const struct gnn_lists *l)
{
	for (gnn_eid e = 0; e < l->edges; e++) {
		const gnn_vid u = gnn_lists_at(l, e);

		count[u] += count[u] < BINS - 1;
	}
}

/* The `most` vertices of the highest counts, of equals in order of ids. */
static void place(struct gnn_hot *h, const uint32_t *count, uint64_t vertices, uint64_t most,
	uint64_t *bin)
{
	uint64_t above = 0;

	for (gnn_vid v = 0; v < vertices; v++)
		bin[count[v]]++;
	/* Each bin's first place; those of no count are not wanted. */
	for (uint32_t c = BINS - 1; c > 0; c--) {
		const uint64_t size = bin[c];

		bin[c] = above;
		above += size;
	}
	h->count = gnn_min_u64(above, most);
	for (gnn_vid v = 0; v < vertices; v++) {
		const uint64_t at = count[v] == 0 ? most : bin[count[v]]++;

		h->place[v] = at < most ? (uint32_t)at : GNN_NOT_HOT;
		if (at < most)
			h->id[at] = v;
	}
}

/* Every vertex, by its id. */
static void place_all(struct gnn_hot *h, uint64_t vertices, uint64_t most)
{
	for (gnn_vid v = 0; v < vertices; v++) {
		h->place[v] = v < most ? (uint32_t)v : GNN_NOT_HOT;
		if (v < most)
			h->id[v] = v;
	}
	h->count = most;
}

/* The hottest, by counts. */
static int place_hottest(struct gnn_hot *h, const struct gnn_hot_opts *o, uint64_t most)
{
	const struct gnn_lists *lists = o->batches->source->lists;
	uint64_t *bin = NULL;
	uint32_t *count = NULL;
	int rc;

	GNN_NEW_ARRAY(count, lists->vertices, GNN_MEM_STATE);
	GNN_NEW_ARRAY(bin, BINS, GNN_MEM_MISC);
	if (o->policy == GNN_HOT_DEGREE)
		count_edges(count, lists);
	else
		GNN_TRY(count_samples(count, o));
	place(h, count, lists->vertices, most, bin);
	GNN_ASSERT(h->count <= most);
	gnn_log(GNN_LOG_INFO, "train", "%llu of %llu vertices are hot",
		(unsigned long long)h->count, (unsigned long long)lists->vertices);
out:
	gnn_mem_free(count);
	gnn_mem_free(bin);
	return rc;
}

int gnn_hot_choose(struct gnn_hot **out, const struct gnn_hot_opts *o)
{
	const uint64_t vertices = o->batches->source->lists->vertices;
	const bool all = o->policy == GNN_HOT_WINDOW;
	const uint64_t most = gnn_min_u64(all ? vertices :
		(uint64_t)(o->ratio * (double)vertices), GNN_NOT_HOT - 1);
	struct gnn_hot *h = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->ratio >= 0 && o->ratio <= 1);
	GNN_NEW(h, GNN_MEM_STATE);
	GNN_NEW_ARRAY(h->place, vertices, GNN_MEM_STATE);
	GNN_NEW_ARRAY(h->id, most, GNN_MEM_STATE);
	if (all)
		place_all(h, vertices, most);
	else
		GNN_TRY(place_hottest(h, o, most));
	*out = h;
	h = NULL;
out:
	gnn_hot_free(h);
	return rc;
}

void gnn_hot_free(struct gnn_hot *h)
{
	if (h == NULL)
		return;
	gnn_mem_free(h->place);
	gnn_mem_free(h->id);
	gnn_mem_free(h);
}
