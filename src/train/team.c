/* train/team.c - see team.h. */
#include "train/team.h"

#include "base/mem.h"
#include "base/rng.h"
#include "train/gradsum.h"
#include "train/owners.h"

#include <string.h>

enum { BUCKET_BYTES = 256 << 10 };

struct gnn_team {
	struct gnn_comm    *comm;
	struct gnn_net     *net;
	struct gnn_backend *backend;
	struct gnn_gradsum *gradsum;
	struct gnn_owners  *owners; /* where the net has batch norms */
	struct gnn_tally   *tallies; /* (size) */
	float              *weights; /* (floats) in host memory */
};

static int add_sums(void *arg, double *sum, uint32_t count)
{
	struct gnn_team *t = arg;

	return gnn_comm_reduce_f64(t->comm, GNN_REDUCE_SUM, sum, count);
}

static int layer_is_ready(void *arg, uint32_t layer)
{
	struct gnn_team *t = arg;

	return gnn_gradsum_ready(t->gradsum, layer);
}

int gnn_team_open(struct gnn_team **out, struct gnn_comm *c, struct gnn_net *n,
	struct gnn_backend *b)
{
	const struct gnn_params *p = gnn_net_params(n);
	const struct gnn_net_shape *shape = gnn_net_shape_of(n);
	struct gnn_team *t = NULL;
	int rc = GNN_OK;

	*out = NULL;
	if (gnn_comm_size(c) == 1)
		return GNN_OK;
	GNN_NEW(t, GNN_MEM_MISC);
	t->comm = c;
	t->net = n;
	t->backend = b;
	GNN_NEW_ARRAY(t->tallies, gnn_comm_size(c), GNN_MEM_MISC);
	GNN_NEW_ARRAY(t->weights, p->floats, GNN_MEM_MODEL);
	GNN_TRY(gnn_gradsum_create(&t->gradsum, &(struct gnn_gradsum_opts){.comm = c,
		.backend = b, .gradient = gnn_net_gradient(n), .layer_first = p->layer_first,
		.layers = shape->layers, .bucket_bytes = BUCKET_BYTES}));
	if (shape->arch == GNN_ARCH_GIN)
		GNN_TRY(gnn_owners_create(&t->owners, c, b));
	gnn_net_join(n, &(struct gnn_net_ranks){.arg = t, .ready = layer_is_ready,
		.norm = {.add = add_sums, .arg = t}});
	*out = t;
	t = NULL;
out:
	gnn_team_close(t);
	return rc;
}

void gnn_team_close(struct gnn_team *t)
{
	if (t == NULL)
		return;
	gnn_net_join(t->net, NULL);
	gnn_gradsum_destroy(t->gradsum);
	gnn_owners_destroy(t->owners);
	gnn_mem_free(t->tallies);
	gnn_mem_free(t->weights);
	gnn_mem_free(t);
}

int gnn_team_begin(struct gnn_team *t, const struct gnn_sample *s)
{
	const uint32_t *counts;
	int rc = GNN_OK;

	if (t == NULL || t->owners == NULL)
		return GNN_OK;
	GNN_TRY(gnn_owners_find(t->owners, s, &counts));
	gnn_net_count(t->net, counts);
out:
	return rc;
}

/* In the order of ranks. */
static void add(struct gnn_tally *to, const struct gnn_tally *t)
{
	to->loss += t->loss;
	to->counted += t->counted;
	to->input_vertices += t->input_vertices;
	to->aggregated += t->aggregated;
	to->reused += t->reused;
	to->h2d_bytes += t->h2d_bytes;
	to->cache_hits += t->cache_hits;
	to->age = gnn_max_u64(to->age, t->age);
	to->stop = gnn_max_u64(to->stop, t->stop);
}

int gnn_team_tally(struct gnn_team *t, struct gnn_tally *tally)
{
	int rc = GNN_OK;

	if (t == NULL)
		return GNN_OK;
	GNN_TRY(gnn_comm_gather(t->comm, tally, sizeof(*tally), t->tallies));
	*tally = t->tallies[0];
	for (uint32_t r = 1; r < gnn_comm_size(t->comm); r++)
		add(tally, &t->tallies[r]);
out:
	return rc;
}

int gnn_team_finish(struct gnn_team *t)
{
	return t == NULL ? GNN_OK : gnn_gradsum_finish(t->gradsum);
}

int gnn_team_check(struct gnn_team *t)
{
	const uint64_t floats = t == NULL ? 0 : gnn_net_params(t->net)->floats;
	const uint64_t bytes = floats * sizeof(float);
	uint64_t hash[2] = {0, 0};
	uint32_t word;
	int rc;

	if (t == NULL)
		return GNN_OK;
	GNN_TRY(t->backend->ops->copy(t->backend, t->weights, bytes, gnn_net_weights(t->net), bytes,
		bytes, 1));
	GNN_TRY(t->backend->ops->sync(t->backend));
	for (uint64_t i = 0; i < floats; i++) {
		memcpy(&word, &t->weights[i], sizeof(word));
		hash[0] = gnn_rng_u64(hash[0], i, word);
	}
	hash[1] = ~hash[0]; /* of the least: how far the most is off */
	GNN_TRY(gnn_comm_reduce_u64(t->comm, GNN_REDUCE_MAX, hash, GNN_COUNT_OF(hash)));
	if (hash[0] != ~hash[1])
		GNN_FAIL(GNN_EBUG, "the ranks no longer have the same weights: machines that "
			"round differently, or a fault of one of them");
out:
	return rc;
}
