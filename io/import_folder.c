/*
 * io/import_folder.c - a folder of named parts:
 * edges.{npy,npz,txt,csv}[.gz], and feat.* label.* weight.* {train,valid,test}_idx.* if there.
 */
#include "io/dataset.h"

#include <stdio.h>

static bool detect(const char *path)
{
	struct gnn_part p = {0};

	/* Two files of edges are found too: open says which. */
	return gnn_part_find(&p, path, "edges") < 0 || p.path[0] != '\0';
}

static int open_folder(struct gnn_dataset *d, const char *path)
{
	char name[32];
	int rc = GNN_OK;

	GNN_TRY(gnn_part_find(&d->edges, path, "edges"));
	if (d->edges.path[0] == '\0')
		GNN_FAIL(GNN_ENOENT,
			"%s: no edges.npy, edges.npz, edges.txt or edges.csv (with .gz too) in it",
			path);
	GNN_TRY(gnn_part_find(&d->features, path, "feat"));
	GNN_TRY(gnn_part_find(&d->labels, path, "label"));
	GNN_TRY(gnn_part_find(&d->weights, path, "weight"));
	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		snprintf(name, sizeof(name), "%s_idx", gnn_split_name((enum gnn_split)k));
		GNN_TRY(gnn_part_find(&d->split[k], path, name));
	}
out:
	return rc;
}

const struct gnn_layout gnn_layout_folder = {
	.name = "folder",
	.what = "edges.*, feat.*, label.*, weight.*, train_idx.*, valid_idx.*, test_idx.*",
	.detect = detect,
	.open = open_folder,
};
