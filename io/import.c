/* io/import.c - see import.h. One straight line; each step is a function. */
#include "io/import.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "io/builder_memory.h"
#include "io/dataset.h"
#include "io/file.h"
#include "io/import_check.h"
#include "io/provenance.h"
#include "io/splits.h"

#include <string.h>

enum { RESERVE_BYTES = 16 << 20 }; /* for labels, splits, conversion of features */

struct import {
	const struct gnn_import_opts *o;
	struct gnn_import_report *report;
	struct gnn_dataset data;
	const struct gnn_layout *layout;
	struct gnn_edge_source *edges;
	struct gnn_matrix *features, *weights;
	struct gnn_labels *labels;
	struct gnn_splits splits;
	struct gnn_builder *builder;
	struct gnn_idrows ids;
	char *provenance;
};

/* The next entry of the provenance; a file that serves twice is hashed once. */
static struct gnn_input_record *record_of(struct import *m, const char *role, const char *path)
{
	struct gnn_import_report *r = m->report;

	for (uint32_t i = 0; i < r->file_count; i++) {
		if (strcmp(r->file[i].record.path, path) == 0)
			return &r->file[i].record;
	}
	GNN_ASSERT(r->file_count < GNN_IMPORT_FILES_MAX);
	r->file[r->file_count].role = role;
	strncpy(r->file[r->file_count].record.path, path, GNN_DATASET_PATH_MAX - 1);
	return &r->file[r->file_count++].record;
}

static const char *member_of(const struct gnn_part *p)
{
	return p->member[0] != '\0' ? p->member : NULL;
}

static int open_edges(struct import *m)
{
	const struct gnn_part *p = &m->data.edges;
	int rc = GNN_OK;

	GNN_TRY(gnn_edges_open(&m->edges, &(struct gnn_edges_opts){
		.path = p->path, .member = member_of(p), .record = record_of(m, "edges", p->path),
		.raw = p->raw, .rows = p->rows, .type = p->type,
		.layout = m->o->edge_layout != GNN_EDGES_AUTO ? m->o->edge_layout :
			m->data.edge_layout, .weight_column = m->o->weight_column,
		.id_limit = m->o->remap ? 0 : m->data.vertices, .threads = m->o->threads,
		.memory_bytes = m->o->memory_bytes}));
	p = &m->data.weights;
	if (p->path[0] == '\0')
		goto out;
	GNN_TRY(gnn_matrix_open(&m->weights, &(struct gnn_rows_opts){
		.path = p->path, .member = member_of(p), .raw = p->raw, .rows = p->rows,
		.cols = p->cols, .type = p->type, .target = GNN_F32,
		.record = record_of(m, "weights", p->path)}, false));
	if (m->weights->source.cols != 1)
		GNN_FAIL(GNN_EDATA, "%s: weights in %llu columns; wanted one", p->path,
			(unsigned long long)m->weights->source.cols);
	GNN_TRY(gnn_edges_weigh(&m->edges, m->edges, m->weights));
	m->weights = NULL; /* taken */
out:
	return rc;
}

/* Of all vertices in one file, or of the vertices of each split in a file of its own. */
static int open_labels(struct import *m)
{
	const struct gnn_part *p = &m->data.labels;
	struct gnn_labels_opts o = {.path = p->path, .member = member_of(p), .raw = p->raw,
		.rows = p->rows, .type = p->type, .text_matrix = p->text_matrix};

	if (p->path[0] != '\0')
		o.record = record_of(m, "labels", p->path);
	for (int k = 0; k < GNN_SPLIT_COUNT && p->path[0] == '\0'; k++) {
		const char *path = m->data.split_labels[k].path;

		if (path[0] != '\0')
			o.pair[o.pairs++] = (struct gnn_label_pair){
				m->data.split[k].path, path, record_of(m, "labels", path)};
	}
	return p->path[0] != '\0' || o.pairs > 0 ? gnn_labels_open(&m->labels, &o) : GNN_OK;
}

static int open_parts(struct import *m)
{
	const struct gnn_part *p = &m->data.features;
	int rc = GNN_OK;

	if (p->path[0] != '\0')
		GNN_TRY(gnn_matrix_open(&m->features, &(struct gnn_rows_opts){
			.path = p->path, .member = member_of(p), .raw = p->raw, .rows = p->rows,
			.cols = p->cols, .type = p->type, .target = m->o->feature_dtype,
			.memory_bytes = m->o->memory_bytes / 8,
			.record = record_of(m, "features", p->path)}, m->o->normalize_row));
	GNN_TRY(open_labels(m));
out:
	return rc;
}

static int create_builder(struct import *m)
{
	const struct gnn_import_opts *o = m->o;
	struct gnn_mem_stats mem;
	uint64_t taken;

	gnn_mem_stats(&mem);
	taken = mem.held_bytes + gnn_min_u64(RESERVE_BYTES, o->memory_bytes / 8);
	return gnn_builder_create(&m->builder, &(struct gnn_builder_opts){
		.out_path = o->out_path, .scratch = o->scratch, .threads = o->threads,
		.memory_bytes = o->memory_bytes - gnn_min_u64(taken, o->memory_bytes),
		.weighted = m->edges->weighted, .undirected = o->undirected, .dedup = o->dedup,
		.remap = o->remap, .engine = o->engine});
}

/* The number of edges that is stated somewhere; 0: nobody did. */
static int check_edges(const struct import *m, uint64_t stated, const char *who)
{
	uint64_t found = m->report->edges.edges;

	if (stated == 0 || stated == found)
		return GNN_OK;
	return gnn_err(GNN_EDATA, "%s: %llu edges found, %s %llu: %s", m->data.edges.path,
		(unsigned long long)found, who, (unsigned long long)stated,
		found < stated ? "some are missing" : "there are more");
}

static int add_edges(struct import *m)
{
	struct gnn_progress *progress = gnn_progress_begin("edges", "edges", 0);
	uint64_t start = gnn_clock_ns();
	struct gnn_edge_batch batch;
	int rc = GNN_OK;

	for (;;) {
		GNN_TRY(m->edges->next(m->edges, &batch));
		if (rc == GNN_EOF)
			break;
		rc = gnn_builder_add_batch(m->builder, &batch);
		if (rc == GNN_EDATA)
			gnn_err_place(rc, "%s", m->data.edges.path);
		GNN_TRY(rc);
		gnn_progress_add(progress, batch.count, 0);
	}
	rc = GNN_OK;
	m->report->edges = m->edges->counts;
	m->report->edges.each_once |= m->data.each_once;
	m->report->read_s = gnn_clock_s_since(start);
	GNN_TRY(check_edges(m, m->data.edges_stated, "the data set states"));
	GNN_TRY(check_edges(m, m->o->expect_edges, "--expect-edges is"));
	if (m->edges->settle == NULL) {
		gnn_edges_close(m->edges);
		m->edges = NULL;
	}
out:
	gnn_progress_end(progress);
	return rc;
}

static int row_of(void *builder, uint64_t id, uint64_t *row)
{
	return gnn_builder_row_of(builder, id, row);
}

/* V is the largest of what is stated and what is there. */
static int settle_vertices(struct import *m)
{
	uint64_t least = gnn_max_u64(m->o->vertices, m->data.vertices);
	int rc = GNN_OK;

	if (m->features != NULL)
		least = gnn_max_u64(least, m->features->source.rows);
	if (m->labels != NULL && m->labels->by_id && !m->o->remap)
		least = gnn_max_u64(least, m->labels->id_max + 1);
	else if (m->labels != NULL)
		least = gnn_max_u64(least, m->labels->source.rows);
	GNN_TRY(gnn_builder_seal(m->builder, least, &m->ids.vertices));
	m->ids.row_of = m->o->remap ? row_of : NULL;
	m->ids.arg = m->builder;
	if (m->ids.vertices == 0)
		GNN_FAIL(GNN_EDATA, "%s: a graph without vertices: no edges, features or labels; "
			"--vertices N states how many there are", m->o->source);
	if (m->features != NULL)
		GNN_TRY(gnn_import_check_rows(m->features->name, m->features->source.rows,
			m->ids.vertices));
	if (m->labels != NULL && !m->labels->by_id)
		GNN_TRY(gnn_import_check_rows(m->labels->name, m->labels->source.rows,
			m->ids.vertices));
out:
	return rc;
}

static int load_splits(struct import *m)
{
	struct gnn_split_file files[GNN_SPLIT_COUNT] = {0};
	int rc = GNN_OK;

	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		const struct gnn_part *p = &m->data.split[k];

		if (p->path[0] != '\0')
			files[k] = (struct gnn_split_file){.path = p->path, .member = member_of(p),
				.raw = p->raw, .rows = p->rows, .type = p->type,
				.record = record_of(m, gnn_split_name((enum gnn_split)k), p->path)};
		files[k].range_first = p->range_first;
		files[k].range_count = p->range_count;
	}
	GNN_TRY(gnn_splits_load(&m->splits, files, &m->ids));
	if (m->labels != NULL) {
		GNN_TRY(gnn_labels_settle(m->labels, &m->ids));
		m->labels->train = m->splits.bits[GNN_TRAIN];
	}
out:
	return rc;
}

/* Hashes are complete when all has been read, which the builder does. */
static int provenance_at_end(void *with, const char **json)
{
	struct import *m = with;
	int rc;

	GNN_TRY(gnn_edges_settle(m->edges));
	GNN_TRY(gnn_provenance_text(&m->provenance, m->o, m->report));
	*json = m->provenance;
out:
	return rc;
}

static int write_store(struct import *m)
{
	struct gnn_builder_parts parts = {
		.vertices_min = m->ids.vertices,
		.provenance_at_end = provenance_at_end,
		.with = m,
		.features = m->features != NULL ? &m->features->source : NULL,
		.labels = m->labels != NULL ? &m->labels->source : NULL,
	};
	int rc = GNN_OK;

	for (int k = 0; k < GNN_SPLIT_COUNT; k++) {
		parts.split[k] = m->splits.rows[k];
		parts.split_count[k] = m->splits.count[k];
	}
	GNN_TRY(gnn_builder_finish(m->builder, &parts, &m->report->build));
out:
	return rc;
}

static void fill_report(struct import *m)
{
	struct gnn_import_report *r = m->report;

	r->has_features = m->features != NULL;
	r->has_labels = m->labels != NULL;
	if (m->features != NULL) {
		r->feature_dim = m->features->source.cols;
		r->feature_dtype = m->features->source.dtype;
		r->features = m->features->counts;
	}
	if (m->labels != NULL) {
		r->multi_label = m->labels->multi;
		r->labels = m->labels->counts;
	}
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		r->split[k] = m->splits.count[k];
	gnn_import_warn(r, m->o, m->labels != NULL && m->labels->bytes);
}

int gnn_import_run(const struct gnn_import_opts *o, struct gnn_import_report *report)
{
	struct import *m = NULL;
	uint64_t start = gnn_clock_ns();
	int rc = GNN_OK;

	*report = (struct gnn_import_report){0};
	GNN_NEW(m, GNN_MEM_MISC);
	m->o = o;
	m->report = report;
	GNN_TRY(gnn_builder_check_memory(o->memory_bytes, "an import"));
	GNN_TRY(gnn_dataset_open(&m->data, o->source, o->format, &m->layout));
	report->layout = m->layout->name;
	GNN_TRY(gnn_import_check(o, &m->data));
	GNN_TRY(open_edges(m));
	GNN_TRY(open_parts(m));
	GNN_TRY(create_builder(m));
	GNN_TRY(add_edges(m));
	GNN_TRY(settle_vertices(m));
	GNN_TRY(load_splits(m));
	GNN_TRY(write_store(m));
	fill_report(m);
	report->wall_s = gnn_clock_s_since(start);
out:
	if (m != NULL) {
		gnn_builder_destroy(m->builder);
		gnn_edges_close(m->edges);
		gnn_matrix_close(m->weights);
		gnn_matrix_close(m->features);
		gnn_labels_close(m->labels);
		gnn_splits_fini(&m->splits);
		gnn_mem_free(m->provenance);
		gnn_mem_free(m);
	}
	return rc;
}
