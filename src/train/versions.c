/* train/versions.c - see versions.h. */
#include "train/versions.h"

#include "base/fault.h"
#include "base/gate.h"
#include "base/mem.h"

#include <pthread.h>
#include <string.h>

enum { RANGES = 3 };

/* One version; `is` says which. */
struct slot {
	float   *data;
	uint64_t is;
};

struct gnn_versions {
	pthread_mutex_t     lock;   /* guards what a slot has, from a version 2 n later */
	struct gnn_net     *net;
	struct gnn_backend *backend;
	uint64_t            super_batch, slots, floats;
	uint64_t            at[RANGES], count[RANGES]; /* of the net's weights */
	struct slot        *slot;
	struct gnn_gate    *made;   /* 1 + the last version */
};

/* The learned weights of the layer, and what its norm keeps. */
static void find_ranges(struct gnn_versions *v)
{
	static const enum gnn_param_role kept[] = {GNN_PARAM_MEAN, GNN_PARAM_VAR};
	const struct gnn_params *p = gnn_net_params(v->net);

	v->at[0] = p->layer_first[0];
	v->count[0] = p->layer_first[1] - p->layer_first[0];
	for (uint32_t i = 0; i < GNN_COUNT_OF(kept); i++) {
		const bool there = p->at[0][kept[i]] != UINT64_MAX;

		v->at[1 + i] = there ? p->at[0][kept[i]] : 0;
		v->count[1 + i] = there ? gnn_net_shape_of(v->net)->channels[0] : 0;
	}
	for (uint32_t i = 0; i < RANGES; i++)
		v->floats += v->count[i];
}

int gnn_versions_create(struct gnn_versions **out, struct gnn_net *n, struct gnn_backend *b,
	uint64_t super_batch, uint64_t last)
{
	struct gnn_versions *v = NULL;
	int rc;

	*out = NULL;
	GNN_ASSERT(super_batch > 0);
	GNN_NEW(v, GNN_MEM_MISC);
	pthread_mutex_init(&v->lock, NULL);
	v->net = n;
	v->backend = b;
	v->super_batch = super_batch;
	v->slots = gnn_min_u64(2 * super_batch, last + 1);
	find_ranges(v);
	GNN_NEW_ARRAY(v->slot, v->slots, GNN_MEM_STATE);
	GNN_TRY(gnn_gate_create(&v->made, 0));
	*out = v;
	v = NULL;
out:
	gnn_versions_destroy(v);
	return rc;
}

void gnn_versions_destroy(struct gnn_versions *v)
{
	if (v == NULL)
		return;
	for (uint64_t i = 0; v->slot != NULL && i < v->slots; i++)
		gnn_mem_free(v->slot[i].data);
	gnn_mem_free(v->slot);
	gnn_gate_destroy(v->made);
	pthread_mutex_destroy(&v->lock);
	gnn_mem_free(v);
}

static int room_of(struct gnn_versions *v, uint64_t version, struct slot **out)
{
	struct slot *s = *out = &v->slot[version % v->slots];
	int rc = GNN_OK;

	if (s->data == NULL)
		GNN_NEW_ARRAY(s->data, v->floats, GNN_MEM_STATE);
out:
	return rc;
}

/* The net's weights into a slot. */
static int fill(struct gnn_versions *v, struct slot *s, uint64_t version)
{
	const struct gnn_backend_ops *ops = v->backend->ops;
	const float *from = gnn_net_weights(v->net);
	uint64_t at = 0;
	int rc;

	pthread_mutex_lock(&v->lock);
	for (uint32_t i = 0; i < RANGES; at += v->count[i++]) {
		const uint64_t bytes = v->count[i] * sizeof(float);

		if (bytes > 0)
			GNN_TRY(ops->copy(v->backend, s->data + at, bytes, from + v->at[i], bytes,
				bytes, 1));
	}
	GNN_TRY(ops->sync(v->backend));
	s->is = version;
out:
	pthread_mutex_unlock(&v->lock);
	return rc;
}

int gnn_versions_publish(struct gnn_versions *v, uint64_t version)
{
	struct slot *s;
	int rc;

	GNN_TRY(room_of(v, version, &s));
	if (gnn_fault_next(GNN_FAULT_REUSE).action != GNN_FAULT_STALE)
		GNN_TRY(fill(v, s, version));
	gnn_gate_raise(v->made, version + 1);
out:
	return rc;
}

int gnn_versions_wait(struct gnn_versions *v, uint64_t version)
{
	return gnn_gate_wait(v->made, version + 1);
}

int gnn_versions_read(struct gnn_versions *v, uint64_t version, struct gnn_net *to, uint64_t *is)
{
	const struct slot *s = &v->slot[version % v->slots];
	float *weights = gnn_net_weights(to);
	uint64_t at = 0;

	GNN_ASSERT(s->data != NULL);
	pthread_mutex_lock(&v->lock);
	for (uint32_t i = 0; i < RANGES; at += v->count[i++])
		memcpy(weights + v->at[i], s->data + at, v->count[i] * sizeof(float));
	*is = s->is;
	pthread_mutex_unlock(&v->lock);
	return *is > version ? GNN_SKIPPED : GNN_OK;
}

void gnn_versions_cancel(struct gnn_versions *v)
{
	gnn_gate_cancel(v->made);
}

/* The first version that a training at `step` still needs. */
static uint64_t first_needed(const struct gnn_versions *v, uint64_t step)
{
	const uint64_t k = step / v->super_batch;

	return k > 0 ? (k - 1) * v->super_batch : 0;
}

int gnn_versions_save(struct gnn_versions *v, uint64_t step, struct gnn_history *h)
{
	const uint64_t first = first_needed(v, step);
	int rc;

	*h = (struct gnn_history){.first = first, .count = step - first, .floats = v->floats};
	GNN_NEW_ARRAY(h->data, h->count * v->floats, GNN_MEM_STATE);
	for (uint64_t i = 0; i < h->count; i++)
		memcpy(h->data + i * v->floats, v->slot[(first + i) % v->slots].data,
			v->floats * sizeof(float));
out:
	return rc;
}

int gnn_versions_load(struct gnn_versions *v, uint64_t step, const struct gnn_history *h)
{
	const uint64_t first = first_needed(v, step);
	struct slot *s;
	int rc = GNN_OK;

	if (h->count != step - first || (h->count > 0 && h->floats != v->floats))
		GNN_FAIL(GNN_EDATA, "the checkpoint has %llu versions of %llu weights of the first "
			"layer: wanted %llu of %llu", (unsigned long long)h->count,
			(unsigned long long)h->floats, (unsigned long long)(step - first),
			(unsigned long long)v->floats);
	for (uint64_t i = 0; i < h->count; i++) {
		GNN_TRY(room_of(v, first + i, &s));
		memcpy(s->data, h->data + i * v->floats, v->floats * sizeof(float));
		s->is = first + i;
	}
	gnn_gate_raise(v->made, step);
out:
	return rc;
}
