/* cmd/cmd_info.c - gnnrun info: what a store or a result holds, and whether it is whole. */
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "io/store_schema.h"
#include "io/survey.h"

#include <inttypes.h>
#include <string.h>

/* What was opened and counted. */
struct view {
	struct gnn_container   *container; /* of the store, when it is one */
	struct gnn_store       *store;     /* NULL: a result */
	struct gnn_store_counts counts;
	bool                    verified;
};

/* --- looking --- */

static void close_view(struct view *v)
{
	if (v->store == NULL)
		gnn_container_close(v->container);
	gnn_store_close(v->store);
}

static int open_view(struct view *v, const struct gnn_config *c)
{
	const struct gnn_container_opts o = {
		.path = c->args[0],
		.engine = (enum gnn_dio_engine)c->io,
	};
	int rc = GNN_OK;

	GNN_TRY(gnn_container_open(&v->container, &o));
	if (strcmp(gnn_container_format(v->container), GNN_FORMAT_STORE) != 0)
		goto out;
	gnn_container_close(v->container);
	v->container = NULL;
	GNN_TRY(gnn_store_open(&v->store, &o));
	v->container = v->store->container;
out:
	return rc;
}

static int count(struct view *v, bool verify)
{
	v->verified = verify;
	if (v->store == NULL)
		return verify ? gnn_container_verify(v->container) : GNN_OK;
	return verify ? gnn_store_verify(v->store, &v->counts)
		      : gnn_store_count(v->store, &v->counts);
}

/* The attributes of /order say which; without them the rows are in the order of the import. */
static const char *order_of(const struct gnn_container *c)
{
	const char *name = gnn_container_text(c, GNN_ATTR_ORDER);

	for (uint32_t i = 0; i < gnn_container_attr_count(c) && name == NULL; i++)
		if (strncmp(gnn_container_attr_at(c, i).name, "order/", strlen("order/")) == 0)
			name = "unnamed";
	return name != NULL ? name : "original";
}

/* --- text --- */

static void print_arrays(const struct gnn_container *c)
{
	char size[GNN_UNITS_BYTES];

	for (uint32_t i = 0; i < gnn_container_count(c); i++) {
		const struct gnn_array *a = gnn_container_at(c, i);

		gnn_out("  %-24s %-5s %12" PRIu64 " x %-6" PRIu64 " %12s at %" PRIu64 "\n", a->name,
			gnn_dtype_name(a->dtype), a->rows, a->cols,
			gnn_units_bytes(size, (double)a->bytes), a->offset);
	}
}

static void print_store(const struct view *v)
{
	const struct gnn_store *s = v->store;
	const struct gnn_store_counts *n = &v->counts;

	gnn_out("vertices     %" PRIu64 ", %" PRIu64 " isolated\n", s->vertices, n->isolated);
	gnn_out("edges        %" PRIu64 ", %" PRIu64 " self-loops, %" PRIu64 " duplicates%s\n",
		s->edges, n->self_loops, n->duplicates,
		s->out.weights != NULL ? ", weighted" : "");
	gnn_out("degrees      in at most %" PRIu64 ", out at most %" PRIu64 "\n", n->max_in_degree,
		n->max_out_degree);
	if (s->features != NULL)
		gnn_out("features     %" PRIu64 " x %s\n", s->features->cols,
			gnn_dtype_name(s->features->dtype));
	if (s->feature_rank != NULL)
		gnn_out("features     in the order of %s, which has them\n",
			gnn_container_text(v->container, GNN_ATTR_FEATURES_STORE));
	if (s->labels != NULL)
		gnn_out("classes      %" PRIu64 "%s\n", n->classes,
			s->labels->dtype == GNN_U8 ? ", several a vertex" : "");
	for (int i = 0; i < GNN_SPLIT_COUNT; i++)
		if (s->split[i] != NULL)
			gnn_out("%-12s %" PRIu64 "\n", gnn_split_name(i), s->split[i]->rows);
	gnn_out("order        %s\n", order_of(v->container));
}

static void print_result(const struct view *v)
{
	const struct gnn_array *a = gnn_container_find(v->container, GNN_RESULT_EMBEDDINGS);

	if (a != NULL)
		gnn_out("embeddings   %" PRIu64 " x %" PRIu64 " %s\n", a->rows, a->cols,
			gnn_dtype_name(a->dtype));
}

static void print_text(const struct view *v)
{
	char size[GNN_UNITS_BYTES];

	gnn_out("%s: %s, %u arrays, %s\n", gnn_container_path(v->container),
		gnn_container_format(v->container), gnn_container_count(v->container),
		gnn_units_bytes(size, (double)gnn_container_bytes(v->container)));
	if (v->store != NULL)
		print_store(v);
	else
		print_result(v);
	gnn_out("provenance   %s\n", gnn_container_provenance(v->container));
	gnn_out("arrays\n");
	print_arrays(v->container);
	if (v->verified)
		gnn_out("verified     every block and value\n");
}

/* --- JSON --- */

static void json_arrays(struct gnn_json *j, const struct gnn_container *c)
{
	gnn_json_open_array(j, "arrays");
	for (uint32_t i = 0; i < gnn_container_count(c); i++) {
		const struct gnn_array *a = gnn_container_at(c, i);

		gnn_json_open_object(j, NULL);
		gnn_json_text(j, "name", a->name);
		gnn_json_text(j, "dtype", gnn_dtype_name(a->dtype));
		gnn_json_u64(j, "rows", a->rows);
		gnn_json_u64(j, "cols", a->cols);
		gnn_json_u64(j, "bytes", a->bytes);
		gnn_json_u64(j, "offset", a->offset);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
}

static void json_store(struct gnn_json *j, const struct view *v)
{
	const struct gnn_store *s = v->store;
	const struct gnn_store_counts *n = &v->counts;

	gnn_json_u64(j, "vertices", s->vertices);
	gnn_json_u64(j, "edges", s->edges);
	gnn_json_u64(j, "feature_dim", s->features != NULL ? s->features->cols : 0);
	gnn_json_text(j, "feature_dtype",
		s->features != NULL ? gnn_dtype_name(s->features->dtype) : NULL);
	gnn_json_text(j, "features_store",
		gnn_container_text(v->container, GNN_ATTR_FEATURES_STORE));
	gnn_json_u64(j, "classes", n->classes);
	gnn_json_text(j, "order", order_of(v->container));
	gnn_json_u64(j, "max_in_degree", n->max_in_degree);
	gnn_json_u64(j, "max_out_degree", n->max_out_degree);
	gnn_json_u64(j, "isolated", n->isolated);
	gnn_json_u64(j, "self_loops", n->self_loops);
	gnn_json_u64(j, "duplicates", n->duplicates);
	gnn_json_open_object(j, "splits");
	for (int i = 0; i < GNN_SPLIT_COUNT; i++)
		if (s->split[i] != NULL)
			gnn_json_u64(j, gnn_split_name(i), s->split[i]->rows);
	gnn_json_shut(j);
	gnn_json_bool(j, "weighted", s->out.weights != NULL);
	gnn_json_bool(j, "multi_label", s->labels != NULL && s->labels->dtype == GNN_U8);
	gnn_json_bool(j, "external_id", s->external_id != NULL);
}

static void json_result(struct gnn_json *j, const struct view *v)
{
	const struct gnn_array *a = gnn_container_find(v->container, GNN_RESULT_EMBEDDINGS);

	if (a != NULL) {
		gnn_json_u64(j, "vertices", a->rows);
		gnn_json_u64(j, "dim", a->cols);
		gnn_json_text(j, "dtype", gnn_dtype_name(a->dtype));
	}
	gnn_json_bool(j, "external_id",
		gnn_container_find(v->container, GNN_RESULT_EXTERNAL_ID) != NULL);
}

static int print_json(const struct view *v)
{
	struct gnn_json *j = NULL;
	int rc = GNN_OK;

	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "command", "info");
	gnn_json_text(j, "format", gnn_container_format(v->container));
	if (v->store != NULL)
		json_store(j, v);
	else
		json_result(j, v);
	gnn_json_u64(j, "bytes", gnn_container_bytes(v->container));
	gnn_json_text(j, "provenance", gnn_container_provenance(v->container));
	json_arrays(j, v->container);
	gnn_json_bool(j, "verified", v->verified);
	rc = gnn_json_print(j);
out:
	gnn_json_destroy(j);
	return rc;
}

int gnn_cmd_info(const struct gnn_config *c)
{
	struct view v = {0};
	int rc = GNN_OK;

	GNN_TRY(open_view(&v, c));
	GNN_TRY(count(&v, c->verify));
	if (c->json)
		GNN_TRY(print_json(&v));
	else
		print_text(&v);
out:
	close_view(&v);
	return rc;
}
