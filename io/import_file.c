/* io/import_file.c - one file of edges: text, npy or npz. */
#include "io/dataset.h"

#include "io/file.h"

#include <stdio.h>

static bool detect(const char *path)
{
	return !gnn_file_is_dir(path);
}

static int open_file(struct gnn_dataset *d, const char *path)
{
	if (snprintf(d->edges.path, sizeof(d->edges.path), "%s", path) >=
		(int)sizeof(d->edges.path))
		return gnn_err(GNN_EDATA, "%s: a path of over %zu bytes", path,
			sizeof(d->edges.path) - 1);
	return GNN_OK;
}

const struct gnn_layout gnn_layout_file = {
	.name = "file",
	.what = "one file of edges: text (SNAP, KONECT, CSV), npy or npz",
	.detect = detect,
	.open = open_file,
};
