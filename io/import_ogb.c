/*
 * io/import_ogb.c - OGB's node property data sets as they are downloaded: raw/ in CSV, or in npz
 * (papers100M), and split/<scheme>/{train,valid,test}.csv.gz.
 */
#include "io/dataset.h"

#include "io/npz.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { SCHEME_MAX = 256 }; /* a name of a folder */

/* Of these the raw files list each undirected edge once. */
static const char *const each_once_schemes[] = {"sales_ranking", "species"};

/* The only folder below split/; "" when there is none. */
static int find_scheme(const char *path, char scheme[SCHEME_MAX])
{
	char folder[GNN_DATASET_PATH_MAX], at[GNN_DATASET_PATH_MAX];
	struct dirent *e;
	DIR *dir;
	int rc = GNN_OK;

	scheme[0] = '\0';
	snprintf(folder, sizeof(folder), "%s/split", path);
	dir = opendir(folder);
	if (dir == NULL)
		return GNN_OK;
	while ((e = readdir(dir)) != NULL) {
		snprintf(at, sizeof(at), "%s/train.csv.gz", e->d_name);
		if (e->d_name[0] == '.' || !gnn_part_is(folder, at))
			continue;
		if (scheme[0] != '\0')
			GNN_FAIL(GNN_EDATA,
				"%s: the schemes %s and %s; name the files of one by --train, "
				"--valid and --test",
				folder, scheme, e->d_name);
		snprintf(scheme, SCHEME_MAX, "%s", e->d_name);
	}
out:
	closedir(dir);
	return rc;
}

static int set_splits(struct gnn_dataset *d, const char *path)
{
	char scheme[SCHEME_MAX], at[SCHEME_MAX + 64];
	int rc = GNN_OK;

	GNN_TRY(find_scheme(path, scheme));
	for (int k = 0; k < GNN_SPLIT_COUNT && scheme[0] != '\0'; k++) {
		snprintf(at, sizeof(at), "split/%s/%s.csv.gz", scheme,
			gnn_split_name((enum gnn_split)k));
		GNN_TRY(gnn_part_set(&d->split[k], path, at, true));
	}
	for (size_t i = 0; i < GNN_COUNT_OF(each_once_schemes); i++)
		d->each_once |= strcmp(scheme, each_once_schemes[i]) == 0;
out:
	return rc;
}

static bool detect_csv(const char *path)
{
	return gnn_part_is(path, "raw/num-node-list.csv.gz") ||
		gnn_part_is(path, "raw/triplet-type-list.csv.gz");
}

static int open_csv(struct gnn_dataset *d, const char *path)
{
	int rc = GNN_OK;

	if (gnn_part_is(path, "raw/triplet-type-list.csv.gz"))
		GNN_FAIL(GNN_EDATA,
			"%s: a graph of several types of vertices or edges; wanted one of each",
			path);
	GNN_TRY(gnn_part_number(path, "raw/num-node-list.csv.gz", &d->vertices));
	if (gnn_part_is(path, "raw/num-edge-list.csv.gz"))
		GNN_TRY(gnn_part_number(path, "raw/num-edge-list.csv.gz", &d->edges_stated));
	GNN_TRY(gnn_part_set(&d->edges, path, "raw/edge.csv.gz", true));
	GNN_TRY(gnn_part_set(&d->features, path, "raw/node-feat.csv.gz", false));
	GNN_TRY(gnn_part_set(&d->labels, path, "raw/node-label.csv.gz", false));
	d->labels.text_matrix = true;
	GNN_TRY(set_splits(d, path));
out:
	return rc;
}

static bool detect_binary(const char *path)
{
	return gnn_part_is(path, "raw/data.npz");
}

static int open_binary(struct gnn_dataset *d, const char *path)
{
	struct gnn_file *f = NULL;
	struct gnn_npz *z = NULL;
	int rc = GNN_OK;

	GNN_TRY(gnn_part_set(&d->edges, path, "raw/data.npz", true));
	GNN_TRY(gnn_file_open(&f, d->edges.path));
	GNN_TRY(gnn_npz_open(&z, f));
	snprintf(d->edges.member, sizeof(d->edges.member), "edge_index");
	d->edge_layout = GNN_EDGES_2XE;
	if (gnn_npz_find(z, "node_feat") != NULL) {
		GNN_TRY(gnn_part_set(&d->features, path, "raw/data.npz", true));
		snprintf(d->features.member, sizeof(d->features.member), "node_feat");
	}
	GNN_TRY(gnn_part_set(&d->labels, path, "raw/node-label.npz", false));
	snprintf(d->labels.member, sizeof(d->labels.member), "node_label");
	GNN_TRY(set_splits(d, path));
out:
	gnn_npz_close(z);
	gnn_file_close(f);
	return rc;
}

const struct gnn_layout gnn_layout_ogb = {
	.name = "ogb",
	.what = "OGB node property: raw/edge.csv.gz, raw/node-feat.csv.gz, split/*/train.csv.gz",
	.detect = detect_csv,
	.open = open_csv,
};

const struct gnn_layout gnn_layout_ogb_binary = {
	.name = "ogb-binary",
	.what = "OGB node property, binary: raw/data.npz, raw/node-label.npz, split/*/train.csv.gz",
	.detect = detect_binary,
	.open = open_binary,
};
