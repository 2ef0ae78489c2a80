/* io/builder_parts.c - see builder_parts.h. */
#include "io/builder_parts.h"

#include "base/err.h"
#include "io/store_schema.h"
#include "io/topo.h"

#include <stdio.h>
#include <string.h>

const char *const gnn_builder_split_name[3] = {
	GNN_STORE_SPLIT_TRAIN, GNN_STORE_SPLIT_VALID, GNN_STORE_SPLIT_TEST,
};

static void declare(struct gnn_builder_arrays *to, const char *name, enum gnn_dtype dtype,
	uint64_t rows)
{
	struct gnn_array *a = &to->array[to->arrays++];

	GNN_ASSERT(to->arrays <= GNN_BUILDER_ARRAYS_MAX);
	*a = (struct gnn_array){.dtype = dtype, .rank = 1, .rows = rows, .cols = 1};
	snprintf(a->name, sizeof(a->name), "%s", name);
}

/* Labels and splits are vectors; features and multi-labels a matrix, of one column too. */
static void declare_rows(struct gnn_builder_arrays *to, const char *name,
	const struct gnn_rows_source *s)
{
	struct gnn_array *a;

	if (s == NULL)
		return;
	declare(to, name, s->dtype, s->rows);
	a = &to->array[to->arrays - 1];
	a->rank = s->dtype == GNN_I64 || s->dtype == GNN_U64 ? 1 : 2;
	a->cols = s->cols;
}

static void declare_topology(struct gnn_builder_arrays *to, const struct gnn_topo *t)
{
	enum gnn_dtype id = t->vertices <= UINT32_MAX ? GNN_U32 : GNN_U64;

	declare(to, GNN_STORE_OUT_OFFSETS, GNN_U64, t->vertices + 1);
	declare(to, GNN_STORE_OUT_NEIGHBORS, id, t->edges);
	if (t->weighted)
		declare(to, GNN_STORE_OUT_WEIGHTS, GNN_F32, t->edges);
	declare(to, GNN_STORE_IN_OFFSETS, GNN_U64, t->vertices + 1);
	declare(to, GNN_STORE_IN_NEIGHBORS, id, t->edges);
	if (t->weighted)
		declare(to, GNN_STORE_IN_WEIGHTS, GNN_F32, t->edges);
	if (t->loops_added > 0)
		declare(to, GNN_STORE_SELF_LOOPS, GNN_U32, t->vertices);
}

/* Numbers that are known at the end only are set then; here they get their place. */
static void declare_attrs(struct gnn_builder_arrays *to, const struct gnn_topo *t,
	const struct gnn_builder_parts *parts)
{
	const struct gnn_attr own[] = {
		{.name = GNN_ATTR_VERTICES, .number = t->vertices},
		{.name = GNN_ATTR_EDGES, .number = t->edges},
		{.name = GNN_ATTR_MAX_IN_DEGREE},
		{.name = GNN_ATTR_MAX_OUT_DEGREE},
		{.name = GNN_ATTR_ISOLATED},
		{.name = GNN_ATTR_SELF_LOOPS},
		{.name = GNN_ATTR_DUPLICATES},
		{.name = GNN_ATTR_CLASSES},
	};

	to->attrs = (uint32_t)GNN_COUNT_OF(own) - (parts->labels == NULL);
	GNN_ASSERT(to->attrs + parts->attr_count <= GNN_BUILDER_ATTRS_MAX);
	memcpy(to->attr, own, to->attrs * sizeof(*own));
	for (uint32_t i = 0; i < parts->attr_count; i++)
		to->attr[to->attrs++] = parts->attrs[i];
}

void gnn_builder_arrays(struct gnn_builder_arrays *out, const struct gnn_topo *t,
	const struct gnn_builder_parts *parts)
{
	out->arrays = 0;
	declare_topology(out, t);
	declare_rows(out, GNN_STORE_FEATURES, parts->features);
	declare_rows(out, GNN_STORE_LABELS, parts->labels);
	for (int k = 0; k < 3; k++) {
		declare_rows(out, gnn_builder_split_name[k], parts->split_source[k]);
		if (parts->split[k] != NULL)
			declare(out, gnn_builder_split_name[k], GNN_U64, parts->split_count[k]);
	}
	if (t->remap)
		declare(out, GNN_STORE_EXTERNAL_ID, GNN_U64, t->vertices);
	declare_rows(out, GNN_STORE_ORIGINAL_ID, parts->original_id);
	declare_rows(out, GNN_STORE_EXTERNAL_ID, parts->external_id);
	declare_rows(out, GNN_STORE_FEATURE_RANK, parts->feature_rank);
	declare_attrs(out, t, parts);
}
