/*
 * io/import_marius.c - MariusGNN's preprocessed node classification: dataset.yaml and headerless
 * files of int32 and float32. Its ids are remapped unless --no_remap_ids was given there.
 */
#include "io/dataset.h"

#include "io/yaml.h"

#include <stdio.h>

static bool detect(const char *path)
{
	return gnn_part_is(path, "dataset.yaml") && gnn_part_is(path, "edges/train_edges.bin");
}

static int read_sizes(struct gnn_dataset *d, const char *path, uint64_t *width)
{
	static const char *const later[] = {"edges/validation_edges.bin", "edges/test_edges.bin"};
	struct gnn_part file = {0};
	struct gnn_yaml *y = NULL;
	uint64_t relations = 1;
	int root, rc = GNN_OK;

	GNN_TRY(gnn_part_set(&file, path, "dataset.yaml", true));
	GNN_TRY(gnn_yaml_open(&y, file.path));
	root = gnn_yaml_root(y);
	if (!gnn_yaml_number(y, gnn_yaml_get(y, root, "num_nodes"), &d->vertices))
		GNN_FAIL(GNN_EDATA, "%s: no num_nodes in it", file.path);
	gnn_yaml_number(y, gnn_yaml_get(y, root, "num_edges"), &d->edges_stated);
	gnn_yaml_number(y, gnn_yaml_get(y, root, "num_relations"), &relations);
	gnn_yaml_number(y, gnn_yaml_get(y, root, "node_feature_dim"), width);
	if (relations > 1)
		GNN_FAIL(GNN_EDATA, "%s: edges of %llu relations; wanted one", file.path,
			(unsigned long long)relations);
	for (size_t i = 0; i < GNN_COUNT_OF(later); i++) {
		if (gnn_part_is(path, later[i]))
			GNN_FAIL(GNN_EDATA,
				"%s: edges in several sets (%s), for link prediction; wanted one "
				"set",
				path, later[i]);
	}
out:
	gnn_yaml_close(y);
	return rc;
}

static int set_raw(struct gnn_part *p, const char *path, const char *at, uint64_t cols,
	enum gnn_num type)
{
	int rc = GNN_OK;

	GNN_TRY(gnn_part_set(p, path, at, false));
	if (p->path[0] != '\0')
		GNN_TRY(gnn_part_raw(p, cols, type));
out:
	return rc;
}

static int open_marius(struct gnn_dataset *d, const char *path)
{
	static const char *const splits[GNN_SPLIT_COUNT] = {"nodes/train_nodes.bin",
		"nodes/validation_nodes.bin", "nodes/test_nodes.bin"};
	uint64_t width = 0;
	int rc = GNN_OK;

	GNN_TRY(read_sizes(d, path, &width));
	GNN_TRY(set_raw(&d->edges, path, "edges/train_edges.bin", 2, GNN_NUM_I4));
	if (width > 0)
		GNN_TRY(set_raw(&d->features, path, "nodes/features.bin", width, GNN_NUM_F4));
	GNN_TRY(set_raw(&d->labels, path, "nodes/labels.bin", 1, GNN_NUM_I4));
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		GNN_TRY(set_raw(&d->split[k], path, splits[k], 1, GNN_NUM_I4));
out:
	return rc;
}

const struct gnn_layout gnn_layout_marius = {
	.name = "marius",
	.what = "MariusGNN, node classification: dataset.yaml, edges/train_edges.bin, nodes/*.bin",
	.detect = detect,
	.open = open_marius,
};
