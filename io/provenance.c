/* io/provenance.c - see provenance.h. */
#include "io/provenance.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void put_inputs(struct gnn_json *j, const struct gnn_import_report *r)
{
	char hash[20];

	gnn_json_open_array(j, "inputs");
	for (uint32_t i = 0; i < r->file_count; i++) {
		const struct gnn_import_file *f = &r->file[i];

		gnn_json_open_object(j, NULL);
		gnn_json_text(j, "role", f->role);
		gnn_json_text(j, "name", base_name(f->record.path));
		gnn_json_u64(j, "bytes", f->record.bytes);
		snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)f->record.xxh3);
		gnn_json_text(j, "xxh3", hash);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
}

static void put_options(struct gnn_json *j, const struct gnn_import_opts *o)
{
	static const char *const layouts[] = {"auto", "2xE", "Ex2"};

	gnn_json_open_object(j, "options");
	if (o->undirected)
		gnn_json_bool(j, "undirected", true);
	if (o->dedup)
		gnn_json_bool(j, "dedup", true);
	if (o->remap)
		gnn_json_bool(j, "remap", true);
	if (o->vertices != 0)
		gnn_json_u64(j, "vertices", o->vertices);
	if (o->weight_column != 0)
		gnn_json_u64(j, "weight-column", o->weight_column);
	if (o->edge_layout != GNN_EDGES_AUTO)
		gnn_json_text(j, "edge-layout", layouts[o->edge_layout]);
	if (o->normalize_row)
		gnn_json_text(j, "normalize", "row");
	if (o->shape != NULL)
		gnn_json_text(j, "shape", o->shape);
	if (o->dtype != NULL)
		gnn_json_text(j, "dtype", o->dtype);
	if (o->feature_dtype != GNN_DTYPE_COUNT)
		gnn_json_text(j, "feature-dtype", gnn_dtype_name(o->feature_dtype));
	gnn_json_shut(j);
}

int gnn_provenance_text(char **text, const struct gnn_import_opts *o,
	const struct gnn_import_report *r)
{
	struct gnn_json *j = NULL;
	int rc = GNN_OK;

	*text = NULL;
	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "command", "import");
	gnn_json_text(j, "layout", r->layout);
	put_inputs(j, r);
	put_options(j, o);
	GNN_TRY(gnn_json_line(j, text));
out:
	gnn_json_destroy(j);
	return rc;
}
