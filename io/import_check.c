/* io/import_check.c - see import_check.h. */
#include "io/import_check.h"

#include "io/file.h"
#include "io/part.h"
#include "io/scan.h"

#include <stdio.h>
#include <string.h>

enum { SHAPE_TEXT_MAX = 64 };

static int replace(struct gnn_part *p, const char *path)
{
	if (path == NULL)
		return GNN_OK;
	*p = (struct gnn_part){.type = GNN_NUM_COUNT};
	if (!gnn_file_exists(path))
		return gnn_err(GNN_ENOENT, "%s: no such file", path);
	if (snprintf(p->path, sizeof(p->path), "%s", path) >= (int)sizeof(p->path))
		return gnn_err(
			GNN_EDATA, "%s: a path of over %zu bytes", path, sizeof(p->path) - 1);
	return GNN_OK;
}

/* "ROWSxCOLUMNS", or "ROWS" for one column. */
static int parse_shape(const char *shape, uint64_t *rows, uint64_t *cols)
{
	char text[SHAPE_TEXT_MAX + GNN_SCAN_SLACK] = "";
	const char *p = NULL;

	if (strlen(shape) < SHAPE_TEXT_MAX) {
		memcpy(text, shape, strlen(shape));
		p = gnn_scan_u64(text, rows);
	}
	*cols = 1;
	if (p != NULL && p > text && (*p == 'x' || *p == ',')) {
		const char *second = p + 1;

		p = gnn_scan_u64(second, cols);
		p = p == second ? NULL : p;
	}
	if (p == NULL || p == text || *p != '\0' || *cols == 0)
		return gnn_err(GNN_EUSAGE, "--shape %s: wanted ROWSxCOLUMNS, as 1000x128", shape);
	return GNN_OK;
}

/* --shape and --dtype describe features without a header; --dtype bf16 also explains u2. */
static int check_raw(const struct gnn_import_opts *o, struct gnn_part *p)
{
	bool npy = false;
	int rc = GNN_OK;

	if (o->shape == NULL && o->dtype == NULL)
		goto out;
	if (p->path[0] == '\0')
		GNN_FAIL(GNN_EUSAGE, "--%s describes features, and there are none; name them with "
			"--features FILE", o->shape != NULL ? "shape" : "dtype");
	if (o->dtype != NULL) {
		p->type = gnn_num_parse(o->dtype);
		if (p->type == GNN_NUM_COUNT)
			GNN_FAIL(GNN_EUSAGE, "--dtype %s is not known; known are %s", o->dtype,
				gnn_num_names());
	}
	GNN_TRY(gnn_part_has_header(p->path, &npy));
	if (npy && o->shape != NULL)
		GNN_FAIL(GNN_EUSAGE,
			"--shape is for headerless files; %s has a header that states its shape",
			p->path);
	if (npy && p->type != GNN_NUM_BF16)
		GNN_FAIL(GNN_EUSAGE,
			"--dtype is for headerless files, or bf16 for 16-bit words; %s has a "
			"header that states its type",
			p->path);
	if (npy)
		goto out;
	if (o->shape == NULL || o->dtype == NULL)
		GNN_FAIL(GNN_EUSAGE,
			"%s is headerless: --shape ROWSxCOLUMNS and --dtype TYPE are wanted both",
			p->path);
	p->raw = true;
	GNN_TRY(parse_shape(o->shape, &p->rows, &p->cols));
out:
	return rc;
}

static int check_options(const struct gnn_import_opts *o, const struct gnn_dataset *d)
{
	bool features = d->features.path[0] != '\0';

	if (o->normalize_row && !features)
		return gnn_err(GNN_EUSAGE,
			"--normalize row scales features, and there are none; name them with "
			"--features FILE");
	if (o->feature_dtype != GNN_DTYPE_COUNT && !features)
		return gnn_err(GNN_EUSAGE,
			"--feature-dtype converts features, and there are none; name them with "
			"--features FILE");
	if (o->weight_column != 0 && d->weights.path[0] != '\0')
		return gnn_err(GNN_EUSAGE, "weights from two places: --weight-column %u, and %s",
			o->weight_column, d->weights.path);
	if (o->weight_column == 1 || o->weight_column == 2)
		return gnn_err(GNN_EUSAGE, "--weight-column %u: columns 1 and 2 are the vertex ids",
			o->weight_column);
	return GNN_OK;
}

static int check_output(const struct gnn_import_opts *o, const struct gnn_dataset *d)
{
	const struct gnn_part *parts[] = {&d->edges, &d->weights, &d->features, &d->labels,
		&d->split[GNN_TRAIN], &d->split[GNN_VALID], &d->split[GNN_TEST]};
	const char *inputs[GNN_COUNT_OF(parts)];

	for (size_t i = 0; i < GNN_COUNT_OF(parts); i++)
		inputs[i] = parts[i]->path[0] != '\0' ? parts[i]->path : NULL;
	return gnn_file_check_output(o->out_path, inputs, GNN_COUNT_OF(inputs));
}

int gnn_import_check(const struct gnn_import_opts *o, struct gnn_dataset *d)
{
	int rc = GNN_OK;

	GNN_TRY(replace(&d->features, o->features));
	GNN_TRY(replace(&d->labels, o->labels));
	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		if (o->split[k] != NULL) /* its labels went with the split that is replaced */
			d->split_labels[k].path[0] = '\0';
	}
	GNN_TRY(replace(&d->weights, o->weights));
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		GNN_TRY(replace(&d->split[k], o->split[k]));
	GNN_TRY(check_options(o, d));
	GNN_TRY(check_raw(o, &d->features));
	GNN_TRY(check_output(o, d));
out:
	return rc;
}

int gnn_import_check_rows(const char *name, uint64_t rows, uint64_t vertices)
{
	if (rows >= vertices)
		return GNN_OK;
	return gnn_err(GNN_EDATA,
		"%s: %llu rows, but the graph has %llu vertices (the largest of feature rows, "
		"label rows, --vertices, and the largest id + 1); wanted a row for each",
		name, (unsigned long long)rows, (unsigned long long)vertices);
}
