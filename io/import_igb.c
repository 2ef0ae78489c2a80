/*
 * io/import_igb.c - the papers of IGB and of MAG240M: processed/paper and the citations.
 *
 * IGB: pairs (E, 2); of the sizes large and full features and labels are headerless float32 under
 * npy names. The splits are 60/20/20 by id order over the labelled papers, as its own loader cuts.
 * MAG240M: (2, E), float16, labels float with NaN; its splits are pickles, which are not read.
 */
#include "io/dataset.h"

#include "io/ndarray.h"
#include "io/part.h"

#include <stdio.h>

enum { IGB_WIDTH = 1024 };

/* Papers in all, and the first so many of them that have one of the 19 classes. */
static const uint64_t full_papers = 269346174, full_labelled = 227130858;

/* The folder itself, or the one that holds processed/. */
static const char *const roots[] = {"processed/", ""};

static const char *find_root(const char *path, const char *edges)
{
	char at[128];

	for (size_t i = 0; i < GNN_COUNT_OF(roots); i++) {
		snprintf(at, sizeof(at), "%s%s/edge_index.npy", roots[i], edges);
		if (gnn_part_is(path, at))
			return roots[i];
	}
	return NULL;
}

static int set_below(struct gnn_part *p, const char *path, const char *root, const char *name)
{
	char at[128];

	snprintf(at, sizeof(at), "%s%s", root, name);
	return gnn_part_set(p, path, at, false);
}

/* npy, or headerless float32 of this width. */
static int see_header(struct gnn_part *p, uint64_t cols)
{
	bool has = true;
	int rc = GNN_OK;

	if (p->path[0] != '\0')
		GNN_TRY(gnn_part_has_header(p->path, &has));
	if (!has)
		GNN_TRY(gnn_part_raw(p, cols, GNN_NUM_F4));
out:
	return rc;
}

static int count_rows(const struct gnn_part *p, uint64_t *rows)
{
	struct gnn_ndarray *a = NULL;
	int rc = GNN_OK;

	*rows = p->rows;
	if (p->raw || p->path[0] == '\0')
		return GNN_OK;
	GNN_TRY(gnn_ndarray_open(&a, &(struct gnn_ndarray_opts){.path = p->path}));
	*rows = a->head.rank > 0 ? a->head.shape[0] : 0;
out:
	gnn_ndarray_close(a);
	return rc;
}

static void cut_splits(struct gnn_dataset *d, uint64_t papers)
{
	uint64_t labelled = papers == full_papers ? full_labelled : papers;
	uint64_t train = labelled / 10 * 6 + labelled % 10 * 6 / 10, valid = labelled / 5;
	uint64_t count[GNN_SPLIT_COUNT] = {train, valid, labelled - train - valid};

	for (uint64_t k = 0, first = 0; k < GNN_SPLIT_COUNT; first += count[k], k++) {
		d->split[k].range_first = first;
		d->split[k].range_count = count[k];
	}
}

static bool detect_igb(const char *path)
{
	return find_root(path, "paper__cites__paper") != NULL;
}

static int open_igb(struct gnn_dataset *d, const char *path)
{
	const char *root = find_root(path, "paper__cites__paper");
	uint64_t papers = 0;
	int rc = GNN_OK;

	if (root == NULL)
		GNN_FAIL(GNN_ENOENT, "%s: no paper__cites__paper/edge_index.npy in it", path);
	GNN_TRY(set_below(&d->edges, path, root, "paper__cites__paper/edge_index.npy"));
	d->edge_layout = GNN_EDGES_EX2;
	GNN_TRY(set_below(&d->features, path, root, "paper/node_feat.npy"));
	GNN_TRY(see_header(&d->features, IGB_WIDTH));
	GNN_TRY(set_below(&d->labels, path, root, "paper/node_label_19.npy"));
	GNN_TRY(see_header(&d->labels, 1));
	GNN_TRY(count_rows(&d->labels, &papers));
	cut_splits(d, papers);
out:
	return rc;
}

static bool detect_mag240m(const char *path)
{
	return find_root(path, "paper___cites___paper") != NULL;
}

static int open_mag240m(struct gnn_dataset *d, const char *path)
{
	const char *root = find_root(path, "paper___cites___paper");
	int rc = GNN_OK;

	if (root == NULL)
		GNN_FAIL(GNN_ENOENT, "%s: no paper___cites___paper/edge_index.npy in it", path);
	GNN_TRY(set_below(&d->edges, path, root, "paper___cites___paper/edge_index.npy"));
	d->edge_layout = GNN_EDGES_2XE;
	GNN_TRY(set_below(&d->features, path, root, "paper/node_feat.npy"));
	GNN_TRY(set_below(&d->labels, path, root, "paper/node_label.npy"));
out:
	return rc;
}

const struct gnn_layout gnn_layout_igb = {
	.name = "igb",
	.what = "IGB, papers and citations: processed/paper/node_feat.npy, paper__cites__paper",
	.detect = detect_igb,
	.open = open_igb,
};

const struct gnn_layout gnn_layout_mag240m = {
	.name = "mag240m",
	.what = "MAG240M, papers and citations: processed/paper, paper___cites___paper",
	.detect = detect_mag240m,
	.open = open_mag240m,
};
