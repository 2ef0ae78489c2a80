/* train/source.c - see source.h. */
#include "train/source.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/store_schema.h"
#include "io/stream.h"
#include "train/held.h"

#include <stdlib.h>

int gnn_source_check(const struct gnn_store *s)
{
	const char *path = gnn_container_path(s->container);

	if (s->features == NULL && s->feature_rank != NULL)
		return gnn_store_check_own(s);
	if (s->features == NULL || s->features->cols == 0 || s->vertices == 0)
		return gnn_err(GNN_ECONFIG, "%s has no features to train on", path);
	if (s->labels == NULL)
		return gnn_err(GNN_ECONFIG, "%s has no labels to train on", path);
	if (s->split[GNN_TRAIN] == NULL || s->split[GNN_TRAIN]->rows == 0)
		return gnn_err(GNN_ECONFIG, "%s has no training vertices: import it with --train",
			path);
	if (s->features->cols > UINT32_MAX || s->labels->cols > UINT32_MAX)
		return gnn_err(GNN_ECONFIG, "%s: rows of features or labels are too wide", path);
	return GNN_OK;
}

static int by_value(const void *a, const void *b)
{
	const gnn_vid x = *(const gnn_vid *)a, y = *(const gnn_vid *)b;

	return (x > y) - (x < y);
}

/* The rows of the split that have a label, ascending, each once. */
static int load_train(struct gnn_train_source *s)
{
	const struct gnn_array *a = s->store->split[GNN_TRAIN];
	uint64_t count = 0;
	void *block;
	int rc;

	GNN_TRY(gnn_mem_pages(&block, gnn_max_u64(a->bytes, 1), GNN_MEM_STATE));
	s->train = block;
	GNN_TRY(gnn_array_load(s->store->container, a, 0, a->bytes, s->train));
	qsort(s->train, a->rows, sizeof(*s->train), by_value);
	if (s->train[a->rows - 1] >= s->store->vertices)
		GNN_FAIL(GNN_EDATA, "%s: %s names vertex %llu of %llu",
			gnn_container_path(s->store->container), a->name,
			(unsigned long long)s->train[a->rows - 1],
			(unsigned long long)s->store->vertices);
	for (uint64_t i = 0; i < a->rows; i++)
		if ((i == 0 || s->train[i] != s->train[i - 1]) &&
			(s->label == NULL || s->label[s->train[i]] >= 0))
			s->train[count++] = s->train[i];
	s->train_count = count;
	if (count == 0)
		GNN_FAIL(GNN_ECONFIG, "%s: none of its %llu training vertices has a label",
			gnn_container_path(s->store->container), (unsigned long long)a->rows);
out:
	return rc;
}

/* Labels and how many classes there are. */
static int load_labels(struct gnn_train_source *s)
{
	const struct gnn_array *a = s->store->labels;
	const char *path = gnn_container_path(s->store->container);
	uint64_t classes = 0;
	void *block;
	int rc;

	GNN_TRY(gnn_held_load(&s->labelling, s->comm, s->store->container, a, GNN_MEM_STATE));
	block = gnn_window_data(s->labelling);
	if (a->rank == 2) {
		s->labels = block;
		s->classes = (uint32_t)a->cols;
		return GNN_OK;
	}
	s->label = block;
	GNN_TRY(gnn_container_number(s->store->container, GNN_ATTR_CLASSES, &classes));
	if (classes < 2 || classes > UINT32_MAX)
		GNN_FAIL(GNN_ECONFIG, "%s has %llu classes, training takes two or more", path,
			(unsigned long long)classes);
	s->classes = (uint32_t)classes;
	for (gnn_vid v = 0; v < s->store->vertices; v++)
		if (s->label[v] >= (int64_t)classes)
			GNN_FAIL(GNN_EDATA, "%s: %s: vertex %llu has class %lld of %llu", path,
				a->name, (unsigned long long)v, (long long)s->label[v],
				(unsigned long long)classes);
out:
	return rc;
}

/* Sizes and every checksum of what training depends on. */
static int identify(struct gnn_train_source *s)
{
	const struct gnn_store *st = s->store;
	const struct gnn_array *arrays[] = {st->in.offsets, st->in.neighbors, st->features,
		st->labels, st->split[GNN_TRAIN], st->split[GNN_VALID], st->in.weights};
	const uint64_t *sums;
	uint64_t count;
	int rc;

	s->identity = gnn_rng_u64(st->vertices, st->edges, s->dim);
	for (uint32_t i = 0; i < GNN_COUNT_OF(arrays); i++) {
		if (arrays[i] == NULL || arrays[i]->bytes == 0)
			continue;
		GNN_TRY(gnn_container_checksums(st->container, arrays[i], &sums, &count));
		for (uint64_t k = 0; k < count; k++)
			s->identity = gnn_rng_u64(s->identity, i, sums[k]);
	}
	rc = GNN_OK;
out:
	return rc;
}

/* The table, and its copy as floats where an evaluation has to widen it; or that of the bottom. */
static uint64_t table_bytes(const struct gnn_train_source *s)
{
	const struct gnn_array *a = s->store->features;

	if (s->bottom != NULL)
		return gnn_bottom_table_bytes(s->bottom);
	return a->bytes + (a->dtype == GNN_F32 ? 0 : a->rows * a->cols * sizeof(float));
}

/* Each rank's share in half of what it has free: of all, or of none. */
static int fits_memory(const struct gnn_train_source *s, bool *fits)
{
	const uint64_t share = gnn_ceil_div(table_bytes(s), gnn_window_sharers(s->comm));
	struct gnn_mem_stats mem;
	uint64_t good;
	int rc;

	gnn_mem_stats(&mem);
	good = mem.limit_bytes == 0 || share <=
		(mem.limit_bytes - gnn_min_u64(mem.limit_bytes, mem.held_bytes)) / 2;
	rc = gnn_comm_reduce_u64(s->comm, GNN_REDUCE_MIN, &good, 1);
	*fits = good > 0;
	return rc;
}

static int load_rows(struct gnn_train_source *s)
{
	const struct gnn_store *st = s->store;
	bool fits;
	int rc;

	GNN_TRY(fits_memory(s, &fits));
	if (!fits) {
		gnn_log(GNN_LOG_INFO, "train", "%.1f MiB of %s: rows are read for each batch, "
			"unverified", (double)table_bytes(s) / 0x1p20, s->bottom == NULL ?
			"features stay in the store" : "aggregates and own rows stay on the disk");
		return GNN_OK;
	}
	if (s->bottom != NULL)
		return gnn_bottom_load(s->bottom, st, s->comm);
	GNN_TRY(gnn_held_load(&s->rows, s->comm, st->container, st->features, GNN_MEM_STATE));
	s->table = gnn_window_data(s->rows);
out:
	return rc;
}

bool gnn_source_in_memory(const struct gnn_train_source *s)
{
	return s->bottom != NULL ? s->bottom->table != NULL : s->table != NULL;
}

uint64_t gnn_source_row_bytes(const struct gnn_train_source *s)
{
	const uint64_t wide = s->dim * sizeof(float);
	const uint64_t stored = s->dim * gnn_dtype_bytes(s->dtype);

	if (s->bottom == NULL)
		return stored;
	return wide + (s->bottom->parts - 1) * (s->bottom->table != NULL ? wide : stored);
}

int gnn_source_open(struct gnn_train_source **out, struct gnn_store *store,
	struct gnn_bottom *bottom, struct gnn_comm *comm, bool weighted)
{
	struct gnn_train_source *s = NULL;
	int rc;

	*out = NULL;
	GNN_TRY(gnn_source_check(store));
	GNN_NEW(s, GNN_MEM_MISC);
	s->bottom = bottom;
	s->parts = bottom != NULL ? bottom->parts : 1;
	bottom = NULL;
	s->store = store;
	s->comm = comm;
	s->dtype = store->features->dtype;
	s->dim = (uint32_t)store->features->cols;
	GNN_TRY(load_labels(s));
	GNN_TRY(load_train(s));
	GNN_TRY(gnn_lists_load(&s->lists, store, comm, weighted));
	GNN_TRY(load_rows(s));
	GNN_TRY(identify(s));
	*out = s;
	s = NULL;
out:
	gnn_bottom_close(bottom);
	gnn_source_close(s);
	return rc;
}

void gnn_source_close(struct gnn_train_source *s)
{
	if (s == NULL)
		return;
	gnn_bottom_close(s->bottom);
	gnn_lists_free(s->lists);
	gnn_window_close(s->rows);
	gnn_window_close(s->labelling);
	gnn_mem_free(s->train);
	gnn_mem_free(s);
}
