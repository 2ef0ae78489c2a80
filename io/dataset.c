/* io/dataset.c - see dataset.h. */
#include "io/dataset.h"

#include "io/file.h"
#include "io/lines.h"
#include "io/scan.h"

#include <stdio.h>
#include <string.h>

/* The first that detects the source is taken: what is special stands before what is general. */
static const struct gnn_layout *const layouts[] = {
	&gnn_layout_folder,
	&gnn_layout_graphbolt,
	&gnn_layout_igb,
	&gnn_layout_mag240m,
	&gnn_layout_marius,
	&gnn_layout_ogb_binary,
	&gnn_layout_ogb,
	&gnn_layout_file,
};

uint32_t gnn_layout_count(void)
{
	return GNN_COUNT_OF(layouts);
}

const struct gnn_layout *gnn_layout_at(uint32_t i)
{
	GNN_ASSERT(i < GNN_COUNT_OF(layouts));
	return layouts[i];
}

static void layout_names(char *to, size_t bytes)
{
	size_t at = 0;

	for (uint32_t i = 0; i < GNN_COUNT_OF(layouts) && at < bytes; i++)
		at += (size_t)snprintf(to + at, bytes - at, " %s", layouts[i]->name);
}

int gnn_dataset_open(struct gnn_dataset *d, const char *path, const char *format,
	const struct gnn_layout **layout)
{
	bool automatic = format == NULL || strcmp(format, "auto") == 0;
	char names[256] = "";

	*d = (struct gnn_dataset){0};
	*layout = NULL;
	if (!gnn_file_exists(path))
		return gnn_err(GNN_ENOENT, "%s: no such file or folder", path);
	for (uint32_t i = 0; i < GNN_COUNT_OF(layouts); i++) {
		if (automatic ? layouts[i]->detect(path) : strcmp(layouts[i]->name, format) == 0) {
			*layout = layouts[i];
			return layouts[i]->open(d, path);
		}
	}
	layout_names(names, sizeof(names));
	if (!automatic)
		return gnn_err(
			GNN_EUSAGE, "--format %s is not known; known are auto%s", format, names);
	return gnn_err(GNN_EDATA, "%s: a folder of no known layout; wanted edges.npy, edges.npz, "
		"edges.txt or edges.csv (with .gz too) in it, or one of --format%s", path, names);
}

static int join(char *to, const char *folder, const char *at)
{
	size_t n = strlen(folder);
	const char *slash = n > 0 && folder[n - 1] == '/' ? "" : "/";

	if (snprintf(to, GNN_DATASET_PATH_MAX, "%s%s%s", folder, slash, at) >= GNN_DATASET_PATH_MAX)
		return gnn_err(GNN_EDATA, "%s: a path of over %d bytes", folder,
			GNN_DATASET_PATH_MAX - 1);
	return GNN_OK;
}

bool gnn_part_is(const char *folder, const char *at)
{
	char path[GNN_DATASET_PATH_MAX];

	return join(path, folder, at) == GNN_OK && gnn_file_exists(path);
}

int gnn_part_set(struct gnn_part *p, const char *folder, const char *at, bool needed)
{
	int rc = GNN_OK;

	GNN_TRY(join(p->path, folder, at));
	if (gnn_file_exists(p->path))
		goto out;
	if (needed)
		GNN_FAIL(GNN_ENOENT, "%s: is missing from the data set", p->path);
	p->path[0] = '\0';
out:
	return rc;
}

int gnn_part_find(struct gnn_part *p, const char *folder, const char *name)
{
	static const char *const suffixes[] = {".npy", ".npz", ".txt", ".csv", ".npy.gz", ".txt.gz",
		".csv.gz", ".bin"};
	char at[64], path[GNN_DATASET_PATH_MAX];
	int rc = GNN_OK;

	for (size_t i = 0; i < GNN_COUNT_OF(suffixes); i++) {
		snprintf(at, sizeof(at), "%s%s", name, suffixes[i]);
		if (!gnn_part_is(folder, at))
			continue;
		GNN_TRY(join(path, folder, at));
		if (p->path[0] != '\0')
			GNN_FAIL(GNN_EDATA,
				"%s and %s: two files of the same part; remove or rename one",
				p->path, path);
		memcpy(p->path, path, sizeof(path));
	}
out:
	return rc;
}

int gnn_part_number(const char *folder, const char *at, uint64_t *value)
{
	struct gnn_lines lines = {0};
	char path[GNN_DATASET_PATH_MAX];
	int rc = GNN_OK;

	GNN_TRY(join(path, folder, at));
	GNN_TRY(gnn_lines_open(&lines, path, NULL));
	GNN_TRY(gnn_lines_next(&lines));
	if (rc == GNN_EOF || gnn_scan_u64(lines.text, value) != lines.end)
		GNN_FAIL(GNN_EDATA, "%s: wanted one number in it", path);
	GNN_TRY(gnn_lines_next(&lines));
	if (rc != GNN_EOF)
		GNN_FAIL(GNN_EDATA, "%s: several numbers, so several graphs; wanted one", path);
	rc = GNN_OK;
out:
	gnn_lines_close(&lines);
	return rc;
}

int gnn_part_raw(struct gnn_part *p, uint64_t cols, enum gnn_num type)
{
	uint64_t row_bytes = cols * gnn_num_bytes(type), bytes;
	struct gnn_file *f = NULL;
	int rc = GNN_OK;

	GNN_TRY(gnn_file_open(&f, p->path));
	bytes = gnn_file_bytes(f);
	if (bytes % row_bytes != 0)
		GNN_FAIL(GNN_EDATA, "%s: %llu bytes are no whole rows of %llu x %s", p->path,
			(unsigned long long)bytes, (unsigned long long)cols, gnn_num_name(type));
	p->raw = true;
	p->rows = bytes / row_bytes;
	p->cols = cols;
	p->type = type;
out:
	gnn_file_close(f);
	return rc;
}
