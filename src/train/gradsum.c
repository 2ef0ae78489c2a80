/* train/gradsum.c - see gradsum.h. */
#include "train/gradsum.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"
#include "base/trace.h"

#include <string.h>

enum { TAG_SHARE = 100, TAG_SUM };

/* Floats [first, first + count) of the gradient: the layers from `lowest` up to the one before. */
struct bucket {
	uint64_t first, count;
	uint32_t lowest;
};

struct gnn_gradsum {
	struct gnn_gradsum_opts   o;
	uint32_t                  rank, size;
	uint64_t                  floats;
	struct bucket            *bucket; /* from the top down */
	uint32_t                  bucket_count;
	float                    *mine;   /* (floats) own gradient, then the sum */
	float                    *taken;  /* (size, slice) what others have of this rank's slice */
	float                    *sum;    /* (slice) */
	uint64_t                  slice;  /* floats, the largest */
	struct gnn_comm_request **request; /* (2, size) */
	struct gnn_queue         *todo, *done;
	struct gnn_stage         *stage;
};

static uint64_t cut(const struct gnn_gradsum *g, const struct bucket *b, uint32_t rank)
{
	return b->first + b->count * rank / g->size;
}

static uint64_t slice_of(const struct gnn_gradsum *g, const struct bucket *b, uint32_t rank)
{
	return cut(g, b, rank + 1) - cut(g, b, rank);
}

static int copy(struct gnn_gradsum *g, float *to, const float *from, uint64_t floats)
{
	const uint64_t bytes = floats * sizeof(float);

	return g->o.backend->ops->copy(g->o.backend, to, bytes, from, bytes, bytes, 1);
}

/* Waits for all that was posted; behind a failure `rc`, which the others hear of first. */
static int wait_all(struct gnn_gradsum *g, int rc)
{
	if (rc < 0)
		(void)gnn_comm_agree(g->o.comm, rc);
	for (uint32_t i = 0; i < 2 * g->size; i++) {
		const int one = gnn_comm_wait(g->o.comm, &g->request[i]);

		rc = rc < 0 ? rc : one;
	}
	return rc;
}

/* Every rank gets from all others what they have of its slice. */
static int deal_out(struct gnn_gradsum *g, const struct bucket *b)
{
	const uint64_t own = slice_of(g, b, g->rank);
	int rc = GNN_OK;

	for (uint32_t r = 0; r < g->size; r++) {
		if (r == g->rank)
			continue;
		if (own > 0)
			GNN_TRY(gnn_comm_recv(g->o.comm, r, TAG_SHARE, g->taken + r * g->slice,
				own * sizeof(float), &g->request[r]));
		if (slice_of(g, b, r) > 0)
			GNN_TRY(gnn_comm_send(g->o.comm, r, TAG_SHARE, g->mine + cut(g, b, r),
				slice_of(g, b, r) * sizeof(float), &g->request[g->size + r]));
	}
out:
	return rc;
}

static void add_up(struct gnn_gradsum *g, const struct bucket *b)
{
	const float *own = g->mine + cut(g, b, g->rank);
	const uint64_t count = slice_of(g, b, g->rank);

	for (uint64_t i = 0; i < count; i++) {
		double sum = 0.0;

		for (uint32_t r = 0; r < g->size; r++)
			sum += r == g->rank ? own[i] : g->taken[r * g->slice + i];
		g->sum[i] = (float)sum;
	}
}

static int hand_round(struct gnn_gradsum *g, const struct bucket *b)
{
	const uint64_t own = slice_of(g, b, g->rank);
	int rc = GNN_OK;

	memcpy(g->mine + cut(g, b, g->rank), g->sum, own * sizeof(float));
	for (uint32_t r = 0; r < g->size; r++) {
		if (r == g->rank)
			continue;
		if (slice_of(g, b, r) > 0)
			GNN_TRY(gnn_comm_recv(g->o.comm, r, TAG_SUM, g->mine + cut(g, b, r),
				slice_of(g, b, r) * sizeof(float), &g->request[r]));
		if (own > 0)
			GNN_TRY(gnn_comm_send(g->o.comm, r, TAG_SUM, g->sum, own * sizeof(float),
				&g->request[g->size + r]));
	}
out:
	return rc;
}

static int reduce(struct gnn_gradsum *g, const struct bucket *b)
{
	const bool unified = g->o.backend->ops->unified;
	const uint64_t span = gnn_trace_begin();
	int rc;

	if (unified)
		memcpy(g->mine + b->first, g->o.gradient + b->first, b->count * sizeof(float));
	GNN_TRY(wait_all(g, deal_out(g, b)));
	add_up(g, b);
	GNN_TRY(wait_all(g, hand_round(g, b)));
	if (unified)
		memcpy(g->o.gradient + b->first, g->mine + b->first, b->count * sizeof(float));
	gnn_trace_end(span, "add gradients");
out:
	return rc;
}

/* The body of the thread. */
static int work(void *arg)
{
	struct gnn_gradsum *g = arg;
	void *b;
	int rc;

	while ((rc = gnn_queue_pop(g->todo, &b)) == GNN_OK) {
		GNN_TRY(reduce(g, b));
		GNN_TRY(gnn_queue_push(g->done, b));
	}
out:
	if (rc < 0)
		gnn_queue_cancel(g->done); /* finish finds the reason where it joins */
	return rc < 0 ? rc : GNN_OK;
}

/* From the top layer down, each as long as it must be. */
static int cut_buckets(struct gnn_gradsum *g)
{
	const uint64_t *first = g->o.layer_first;
	uint64_t end = g->floats;
	int rc;

	GNN_NEW_ARRAY(g->bucket, g->o.layers, GNN_MEM_MISC);
	for (uint32_t l = g->o.layers; l-- > 0;) {
		struct bucket *b = &g->bucket[g->bucket_count];

		if (l > 0 && (end - first[l]) * sizeof(float) < g->o.bucket_bytes)
			continue;
		*b = (struct bucket){first[l], end - first[l], l};
		g->slice = gnn_max_u64(g->slice, slice_of(g, b, g->rank));
		g->bucket_count++;
		end = first[l];
	}
out:
	return rc;
}

int gnn_gradsum_create(struct gnn_gradsum **out, const struct gnn_gradsum_opts *o)
{
	struct gnn_gradsum *g = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->layers > 0 && o->layer_first[0] == 0);
	GNN_NEW(g, GNN_MEM_MODEL);
	g->o = *o;
	g->rank = gnn_comm_rank(o->comm);
	g->size = gnn_comm_size(o->comm);
	g->floats = o->layer_first[o->layers];
	GNN_TRY(cut_buckets(g));
	g->o.layer_first = NULL;
	GNN_NEW_ARRAY(g->mine, g->floats, GNN_MEM_MODEL);
	GNN_NEW_ARRAY(g->taken, g->size * g->slice, GNN_MEM_MODEL);
	GNN_NEW_ARRAY(g->sum, g->slice, GNN_MEM_MODEL);
	GNN_NEW_ARRAY(g->request, 2 * (uint64_t)g->size, GNN_MEM_MISC);
	GNN_TRY(gnn_queue_create(&g->todo, g->bucket_count));
	GNN_TRY(gnn_queue_create(&g->done, g->bucket_count));
	GNN_TRY(gnn_stage_start(&g->stage, "gradients", work, g));
	*out = g;
	g = NULL;
out:
	gnn_gradsum_destroy(g);
	return rc;
}

/* As a stage that has failed is found: the reason is where it ended. */
static int reason(struct gnn_gradsum *g, int rc)
{
	return rc == GNN_ESTOP ? gnn_stage_join(&g->stage) : rc;
}

int gnn_gradsum_ready(struct gnn_gradsum *g, uint32_t layer)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < g->bucket_count && g->o.backend->ops->unified; i++)
		if (g->bucket[i].lowest == layer)
			GNN_TRY(gnn_queue_push(g->todo, &g->bucket[i]));
out:
	return reason(g, rc);
}

int gnn_gradsum_finish(struct gnn_gradsum *g)
{
	const bool unified = g->o.backend->ops->unified;
	void *b;
	int rc = GNN_OK;

	if (!unified) {
		GNN_TRY(copy(g, g->mine, g->o.gradient, g->floats));
		GNN_TRY(g->o.backend->ops->sync(g->o.backend));
		for (uint32_t i = 0; i < g->bucket_count; i++)
			GNN_TRY(gnn_queue_push(g->todo, &g->bucket[i]));
	}
	for (uint32_t i = 0; i < g->bucket_count; i++)
		GNN_TRY(gnn_queue_pop(g->done, &b));
	if (!unified)
		GNN_TRY(copy(g, g->o.gradient, g->mine, g->floats));
out:
	return reason(g, rc);
}

void gnn_gradsum_destroy(struct gnn_gradsum *g)
{
	struct gnn_err_state kept;

	if (g == NULL)
		return;
	gnn_err_save(&kept, GNN_OK); /* what ends the thread is no news */
	if (g->todo != NULL)
		gnn_queue_cancel(g->todo);
	(void)gnn_stage_join(&g->stage);
	gnn_queue_destroy(g->todo);
	gnn_queue_destroy(g->done);
	gnn_comm_keep(g->o.comm, g->mine);
	gnn_comm_keep(g->o.comm, g->taken);
	gnn_comm_keep(g->o.comm, g->sum);
	gnn_mem_free(g->request);
	gnn_mem_free(g->bucket);
	gnn_mem_free(g);
	(void)gnn_err_restore(&kept);
}
