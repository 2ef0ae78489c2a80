/*
 * io/import_graphbolt.c - DGL GraphBolt's OnDiskDataset before its own preprocessing: metadata.yaml
 * with one type of vertices and one of edges, in numpy or CSV files.
 *
 * Labels belong to the seeds of each set; other vertices are unlabelled. Of several features of
 * vertices the one named feat is taken.
 */
#include "io/dataset.h"

#include "io/yaml.h"

#include <string.h>

static const char description[] = "metadata.yaml";

struct reader {
	struct gnn_yaml *y;
	struct gnn_dataset *d;
	const char *path;
};

static bool detect(const char *path)
{
	return gnn_part_is(path, description);
}

static bool text_is(struct gnn_yaml *y, int node, const char *want)
{
	const char *text = gnn_yaml_text(y, node);

	return text != NULL && strcmp(text, want) == 0;
}

/* path of an entry {format: numpy, path: ...}; absolute paths are not of this data set. */
static int set_file(const struct reader *r, struct gnn_part *p, int entry)
{
	const char *at = gnn_yaml_text(r->y, gnn_yaml_get(r->y, entry, "path"));
	int format = gnn_yaml_get(r->y, entry, "format");

	if (at == NULL)
		return gnn_err(GNN_EDATA, "%s/%s: an entry without a path", r->path, description);
	if (text_is(r->y, format, "torch"))
		return gnn_err(GNN_EDATA,
			"%s/%s: %s is a pickle of torch, which is not read; save it as numpy",
			r->path, description, at);
	return gnn_part_set(p, r->path, at, true);
}

/* The only entry of graph.nodes or graph.edges. */
static int only_entry(const struct reader *r, int graph, const char *key, int *entry)
{
	int list = gnn_yaml_get(r->y, graph, key);

	*entry = gnn_yaml_item(r->y, list, 0);
	if (*entry == 0)
		return gnn_err(GNN_EDATA, "%s/%s: no graph.%s in it%s", r->path, description, key,
			gnn_yaml_get(r->y, gnn_yaml_root(r->y), "graph_topology") != 0
				? ": a preprocessed data set, whose graph is a pickle of torch; "
				  "give the folder "
				  "that it was made from"
				: "");
	if (gnn_yaml_item(r->y, list, 1) != 0)
		return gnn_err(GNN_EDATA, "%s/%s: several types in graph.%s; wanted one", r->path,
			description, key);
	return GNN_OK;
}

static int read_graph(const struct reader *r)
{
	int graph = gnn_yaml_get(r->y, gnn_yaml_root(r->y), "graph"), entry;
	int rc = GNN_OK;

	GNN_TRY(only_entry(r, graph, "nodes", &entry));
	if (!gnn_yaml_number(r->y, gnn_yaml_get(r->y, entry, "num"), &r->d->vertices))
		GNN_FAIL(GNN_EDATA, "%s/%s: graph.nodes has no num", r->path, description);
	GNN_TRY(only_entry(r, graph, "edges", &entry));
	GNN_TRY(set_file(r, &r->d->edges, entry));
	if (text_is(r->y, gnn_yaml_get(r->y, entry, "format"), "numpy"))
		r->d->edge_layout = GNN_EDGES_2XE;
out:
	return rc;
}

static int read_features(const struct reader *r)
{
	int list = gnn_yaml_get(r->y, gnn_yaml_root(r->y), "feature_data"), found = 0;
	int rc = GNN_OK;

	for (uint32_t i = 0; gnn_yaml_item(r->y, list, i) != 0; i++) {
		int entry = gnn_yaml_item(r->y, list, i);

		if (!text_is(r->y, gnn_yaml_get(r->y, entry, "domain"), "node"))
			continue;
		if (found == 0 || text_is(r->y, gnn_yaml_get(r->y, entry, "name"), "feat"))
			found = entry;
	}
	if (found != 0)
		GNN_TRY(set_file(r, &r->d->features, found));
out:
	return rc;
}

/* {train,validation,test}_set: a list of {data: [{name: seeds, ...}, {name: labels, ...}]}. */
static int read_set(const struct reader *r, int set, int k)
{
	int data = gnn_yaml_get(r->y, gnn_yaml_item(r->y, set, 0), "data");
	int rc = GNN_OK;

	if (gnn_yaml_item(r->y, set, 1) != 0)
		GNN_FAIL(GNN_EDATA, "%s/%s: a set of several types; wanted one", r->path,
			description);
	for (uint32_t i = 0; gnn_yaml_item(r->y, data, i) != 0; i++) {
		int entry = gnn_yaml_item(r->y, data, i);
		int name = gnn_yaml_get(r->y, entry, "name");

		if (text_is(r->y, name, "seeds") || text_is(r->y, name, "seed_nodes"))
			GNN_TRY(set_file(r, &r->d->split[k], entry));
		else if (text_is(r->y, name, "labels"))
			GNN_TRY(set_file(r, &r->d->split_labels[k], entry));
	}
	if (r->d->split_labels[k].path[0] != '\0' && r->d->split[k].path[0] == '\0')
		GNN_FAIL(GNN_EDATA, "%s/%s: labels without seeds in a set", r->path, description);
out:
	return rc;
}

static int open_graphbolt(struct gnn_dataset *d, const char *path)
{
	static const char *const sets[GNN_SPLIT_COUNT] = {
		"train_set", "validation_set", "test_set"};
	struct reader r = {.d = d, .path = path};
	struct gnn_part file = {0};
	int task, rc = GNN_OK;

	GNN_TRY(gnn_part_set(&file, path, description, true));
	GNN_TRY(gnn_yaml_open(&r.y, file.path));
	GNN_TRY(read_graph(&r));
	GNN_TRY(read_features(&r));
	task = gnn_yaml_item(r.y, gnn_yaml_get(r.y, gnn_yaml_root(r.y), "tasks"), 0);
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		GNN_TRY(read_set(&r, gnn_yaml_get(r.y, task, sets[k]), k));
out:
	gnn_yaml_close(r.y);
	return rc;
}

const struct gnn_layout gnn_layout_graphbolt = {
	.name = "graphbolt",
	.what = "DGL GraphBolt, not preprocessed: metadata.yaml with numpy and CSV files",
	.detect = detect,
	.open = open_graphbolt,
};
