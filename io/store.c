/* io/store.c - see store.h. */
#define XXH_STATIC_LINKING_ONLY /* the state of a hash in place */
#include "io/store.h"

#include "base/mem.h"
#include "io/store_schema.h"
#include "io/stream.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

/* What a dimension of an array must be. */
enum extent { ANY, VERTICES, VERTICES_AND_ONE, EDGES };

static const char *const extent_names[] = {"any", "V", "V + 1", "E"};

#define TYPE(t) (1u << (t))

/* One row an array: the contract of docs/formats.md as a table. */
static const struct schema_row {
	const char *name;
	size_t field; /* in struct gnn_store */
	unsigned types;
	uint32_t rank; /* 0: as the type says, see below */
	enum extent rows;
	bool required;
} schema[] = {
#define FIELD(f) offsetof(struct gnn_store, f)
	{GNN_STORE_OUT_OFFSETS, FIELD(out.offsets), TYPE(GNN_U64), 1, VERTICES_AND_ONE, true},
	{GNN_STORE_OUT_NEIGHBORS, FIELD(out.neighbors), TYPE(GNN_U32) | TYPE(GNN_U64), 1, EDGES,
		true},
	{GNN_STORE_OUT_WEIGHTS, FIELD(out.weights), TYPE(GNN_F32), 1, EDGES, false},
	{GNN_STORE_IN_OFFSETS, FIELD(in.offsets), TYPE(GNN_U64), 1, VERTICES_AND_ONE, true},
	{GNN_STORE_IN_NEIGHBORS, FIELD(in.neighbors), TYPE(GNN_U32) | TYPE(GNN_U64), 1, EDGES,
		true},
	{GNN_STORE_IN_WEIGHTS, FIELD(in.weights), TYPE(GNN_F32), 1, EDGES, false},
	{GNN_STORE_SELF_LOOPS, FIELD(self_loops), TYPE(GNN_U32), 1, VERTICES, false},
	{GNN_STORE_FEATURES, FIELD(features),
		TYPE(GNN_F32) | TYPE(GNN_F16) | TYPE(GNN_BF16) | TYPE(GNN_U8), 2, VERTICES, false},
	{GNN_STORE_LABELS, FIELD(labels), TYPE(GNN_I64) | TYPE(GNN_U8), 0, VERTICES, false},
	{GNN_STORE_SPLIT_TRAIN, FIELD(split[GNN_TRAIN]), TYPE(GNN_U64), 1, ANY, false},
	{GNN_STORE_SPLIT_VALID, FIELD(split[GNN_VALID]), TYPE(GNN_U64), 1, ANY, false},
	{GNN_STORE_SPLIT_TEST, FIELD(split[GNN_TEST]), TYPE(GNN_U64), 1, ANY, false},
	{GNN_STORE_ORIGINAL_ID, FIELD(original_id), TYPE(GNN_U64), 1, VERTICES, false},
	{GNN_STORE_EXTERNAL_ID, FIELD(external_id), TYPE(GNN_U64), 1, VERTICES, false},
	{GNN_STORE_FEATURE_RANK, FIELD(feature_rank), TYPE(GNN_U64), 1, VERTICES, false},
#undef FIELD
};

const char *gnn_split_name(enum gnn_split s)
{
	static const char *const names[GNN_SPLIT_COUNT] = {"train", "valid", "test"};

	GNN_ASSERT(s < GNN_SPLIT_COUNT);
	return names[s];
}

/* Labels: one class a vertex is i64 [V], several are u8 [V, C]. */
static uint32_t wanted_rank(const struct schema_row *row, const struct gnn_array *a)
{
	return row->rank != 0 ? row->rank : a->dtype == GNN_U8 ? 2 : 1;
}

static int check_array(
	const struct gnn_store *s, const struct schema_row *row, const struct gnn_array *a)
{
	const uint64_t extents[] = {a->rows, s->vertices, s->vertices + 1, s->edges};
	const char *path = gnn_container_path(s->container);

	if ((row->types & TYPE(a->dtype)) == 0)
		return gnn_err(GNN_EDATA, "%s: dataset %s is %s, which it may not be", path,
			row->name, gnn_dtype_name(a->dtype));
	if (a->rank != wanted_rank(row, a))
		return gnn_err(GNN_EDATA, "%s: dataset %s has %u dimensions, %u wanted", path,
			row->name, a->rank, wanted_rank(row, a));
	if (a->rows != extents[row->rows])
		return gnn_err(GNN_EDATA,
			"%s: dataset %s has %" PRIu64 " rows, %" PRIu64 " wanted (%s)", path,
			row->name, a->rows, extents[row->rows], extent_names[row->rows]);
	return GNN_OK;
}

static int find_arrays(struct gnn_store *s)
{
	int rc = GNN_OK;

	for (size_t i = 0; i < GNN_COUNT_OF(schema); i++) {
		const struct gnn_array *a = gnn_container_find(s->container, schema[i].name);

		if (a == NULL && schema[i].required)
			GNN_FAIL(GNN_EDATA, "%s: dataset %s is missing",
				gnn_container_path(s->container), schema[i].name);
		if (a != NULL)
			GNN_TRY(check_array(s, &schema[i], a));
		*(const struct gnn_array **)((char *)s + schema[i].field) = a;
	}
	if ((s->out.weights == NULL) != (s->in.weights == NULL))
		GNN_FAIL(GNN_EDATA, "%s: only one of %s and %s is there",
			gnn_container_path(s->container), GNN_STORE_OUT_WEIGHTS,
			GNN_STORE_IN_WEIGHTS);
	if (s->features != NULL && s->feature_rank != NULL)
		GNN_FAIL(GNN_EDATA, "%s: %s is there beside %s, which says that another store "
			"has them", gnn_container_path(s->container), GNN_STORE_FEATURES,
			GNN_STORE_FEATURE_RANK);
	s->features_in = s->features != NULL ? s->container : NULL;
out:
	return rc;
}

int gnn_store_open(struct gnn_store **out, const struct gnn_container_opts *o)
{
	struct gnn_container_opts store = *o;
	struct gnn_store *s = NULL;
	int rc = GNN_OK;

	*out = NULL;
	store.format = GNN_FORMAT_STORE;
	GNN_NEW(s, GNN_MEM_MISC);
	GNN_TRY(gnn_container_open(&s->container, &store));
	GNN_TRY(gnn_container_number(s->container, GNN_ATTR_VERTICES, &s->vertices));
	GNN_TRY(gnn_container_number(s->container, GNN_ATTR_EDGES, &s->edges));
	if (s->vertices >= INT64_MAX || s->edges >= INT64_MAX)
		GNN_FAIL(GNN_EDATA,
			"%s: claims %" PRIu64 " vertices and %" PRIu64
			" edges, which no file holds",
			o->path, s->vertices, s->edges);
	GNN_TRY(find_arrays(s));
	s->whole_vertices = s->vertices;
	s->whole_edges = s->in_edges = s->edges;
	*out = s;
	s = NULL;
out:
	gnn_store_close(s);
	return rc;
}

void gnn_store_close(struct gnn_store *s)
{
	if (s == NULL)
		return;
	if (s->features_in != s->container)
		gnn_container_close(s->features_in);
	gnn_container_close(s->container);
	gnn_mem_free(s);
}

int gnn_store_list_begin(const struct gnn_store *s, const struct gnn_topology *t, gnn_vid v,
	gnn_eid *edge)
{
	int rc;

	GNN_TRY(gnn_array_load(s->container, t->offsets, v * sizeof(*edge), sizeof(*edge), edge));
	if (*edge > s->whole_edges)
		return gnn_err(GNN_EDATA, "%s: row %" PRIu64 " begins at %" PRIu64 ", the store "
			"has %" PRIu64 " edges", t->offsets->name, v, *edge, s->whole_edges);
out:
	return rc;
}

/* The lists of rows [first, first + count) of one direction. */
static int find_lists(const struct gnn_store *s, const struct gnn_topology *t, gnn_vid first,
	uint64_t count, gnn_eid *begin, uint64_t *edges)
{
	gnn_eid end;
	int rc;

	GNN_TRY(gnn_store_list_begin(s, t, first, begin));
	GNN_TRY(gnn_store_list_begin(s, t, first + count, &end));
	if (end < *begin)
		return gnn_err(GNN_EDATA, "%s: row %" PRIu64 " begins at %" PRIu64 ", behind row %"
			PRIu64 " at %" PRIu64, t->offsets->name, first, *begin, first + count,
			end);
	*edges = end - *begin;
out:
	return rc;
}

int gnn_store_view(struct gnn_store *view, const struct gnn_store *s, gnn_vid first,
	uint64_t count)
{
	int rc;

	GNN_ASSERT(s->vertices == s->whole_vertices && first + count <= s->vertices);
	*view = *s;
	view->first = first;
	view->vertices = count;
	GNN_TRY(find_lists(s, &s->out, first, count, &view->first_out, &view->edges));
	GNN_TRY(find_lists(s, &s->in, first, count, &view->first_in, &view->in_edges));
out:
	return rc;
}

int gnn_store_hash(const struct gnn_store *s, uint64_t *hash)
{
	XXH3_state_t state;
	uint64_t features;
	int rc = GNN_OK;

	XXH3_64bits_reset(&state);
	if (s->feature_rank != NULL) {
		GNN_TRY(gnn_container_number(s->container, GNN_ATTR_FEATURES_HASH, &features));
		XXH3_64bits_update(&state, &features, sizeof(features));
	}
	for (uint32_t i = 0; i < gnn_container_count(s->container); i++) {
		const struct gnn_array *a = gnn_container_at(s->container, i);
		const uint64_t shape[] = {(uint64_t)a->dtype, a->rows, a->cols};
		const uint64_t *sums;
		uint64_t count;

		GNN_TRY(gnn_container_checksums(s->container, a, &sums, &count));
		XXH3_64bits_update(&state, a->name, strlen(a->name) + 1);
		XXH3_64bits_update(&state, shape, sizeof(shape));
		XXH3_64bits_update(&state, sums, count * sizeof(*sums));
	}
	*hash = XXH3_64bits_digest(&state);
out:
	return rc;
}
