/* cmd/cmd_import.c - gnnrun import SOURCE STORE.h5: a user's files into a store, and a report. */
#include "cmd/cmd.h"

#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/units.h"
#include "io/import.h"

#include <stdarg.h>
#include <stdio.h>

_Static_assert((int)GNN_OPT_LAYOUT_AUTO == (int)GNN_EDGES_AUTO &&
	(int)GNN_OPT_LAYOUT_2XE == (int)GNN_EDGES_2XE &&
	(int)GNN_OPT_LAYOUT_EX2 == (int)GNN_EDGES_EX2, "the option's choices are the layouts");

static struct gnn_import_opts options_of(const struct gnn_config *c)
{
	return (struct gnn_import_opts){
		.source = c->args[0], .out_path = c->args[1], .format = c->format,
		.features = c->features, .labels = c->labels, .weights = c->weights,
		.split = {c->train, c->valid, c->test}, .vertices = c->vertices,
		.expect_edges = c->expect_edges,
		.undirected = c->undirected, .dedup = c->dedup, .remap = c->remap,
		.weight_column = (uint32_t)c->weight_column,
		.edge_layout = (enum gnn_edge_layout)c->edge_layout,
		.normalize_row = c->normalize == GNN_OPT_NORMALIZE_ROW,
		.shape = c->shape, .dtype = c->dtype,
		.feature_dtype = (enum gnn_dtype)c->feature_dtype,
		.scratch = c->scratch, .memory_bytes = c->host_memory,
		.threads = (uint32_t)c->threads, .engine = (enum gnn_dio_engine)c->io,
	};
}

static double per_second(uint64_t count, double seconds)
{
	return seconds > 0.0 ? (double)count / seconds : 0.0;
}

static void print_row(const char *name, const char *fmt, ...) GNN_PRINTF(2, 3);

static void print_row(const char *name, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gnn_out("%-14s %s\n", name, text);
}

static void print_files(const struct gnn_import_report *r)
{
	char size[GNN_UNITS_BYTES];

	for (uint32_t i = 0; i < r->file_count; i++)
		print_row(r->file[i].role, "%s, %s", r->file[i].record.path,
			gnn_units_bytes(size, (double)r->file[i].record.bytes));
}

static void print_graph(const struct gnn_import_report *r)
{
	const struct gnn_build_report *b = &r->build;

	if (r->edges.lines > 0)
		print_row("lines", "%llu read; %llu comments and %llu blank lines skipped",
			(unsigned long long)r->edges.lines, (unsigned long long)r->edges.comments,
			(unsigned long long)r->edges.blanks);
	print_row("edges read", "%llu", (unsigned long long)r->edges.edges);
	print_row("vertices", "%llu, %llu of them without edges", (unsigned long long)b->vertices,
		(unsigned long long)b->isolated);
	print_row("edges stored", "%llu: %llu self-loops at %llu vertices, %llu duplicates",
		(unsigned long long)b->edges_stored, (unsigned long long)b->self_loops,
		(unsigned long long)b->loop_vertices, (unsigned long long)b->duplicates);
	print_row("max degree", "%llu in, %llu out", (unsigned long long)b->max_in_degree,
		(unsigned long long)b->max_out_degree);
}

/* The rows of the smallest and of the largest class. */
static void class_sizes(const struct gnn_labels_counts *c, uint64_t *least, uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 0;
	for (uint64_t k = 0; k < c->classes; k++) {
		*least = gnn_min_u64(*least, c->rows_of[k]);
		*most = gnn_max_u64(*most, c->rows_of[k]);
	}
}

static void print_labels(const struct gnn_import_report *r)
{
	const struct gnn_labels_counts *c = &r->labels;
	uint64_t least, most;

	if (r->multi_label) {
		print_row("labels", "%llu rows of %llu classes, any number of them at a vertex",
			(unsigned long long)c->labelled, (unsigned long long)c->classes);
		return;
	}
	print_row("labels", "%llu labelled, %llu unlabelled, %llu classes",
		(unsigned long long)c->labelled, (unsigned long long)c->unlabelled,
		(unsigned long long)c->classes);
	if (c->classes == 0 || c->classes > GNN_LABELS_CLASSES_COUNTED)
		return;
	class_sizes(c, &least, &most);
	print_row("class sizes", "%llu to %llu", (unsigned long long)least,
		(unsigned long long)most);
}

static void print_parts(const struct gnn_import_report *r)
{
	if (r->has_features)
		print_row("features", "%llu x %s", (unsigned long long)r->feature_dim,
			gnn_dtype_name(r->feature_dtype));
	if (r->has_labels)
		print_labels(r);
	if (r->split[GNN_TRAIN] + r->split[GNN_VALID] + r->split[GNN_TEST] > 0)
		print_row("splits", "%llu train, %llu valid, %llu test",
			(unsigned long long)r->split[GNN_TRAIN],
			(unsigned long long)r->split[GNN_VALID],
			(unsigned long long)r->split[GNN_TEST]);
}

static void print_report(const struct gnn_import_report *r, const char *store)
{
	char a[GNN_UNITS_BYTES], b[GNN_UNITS_BYTES], c[GNN_UNITS_BYTES];

	print_row("layout", "%s", r->layout);
	print_files(r);
	print_graph(r);
	print_parts(r);
	print_row("scratch", "%s in %llu runs",
		gnn_units_bytes(a, (double)r->build.scratch_bytes),
		(unsigned long long)r->build.run_count);
	print_row("time", "%s, %s of it reading edges; %s", gnn_units_time(a, r->wall_s),
		gnn_units_time(b, r->read_s),
		gnn_units_rate(c, per_second(r->edges.edges, r->wall_s), "edges"));
	print_row("peak memory", "%s", gnn_units_bytes(a, (double)gnn_machine_peak()));
	print_row("store", "%s", store);
}

static void put_files(struct gnn_json *j, const struct gnn_import_report *r)
{
	char hash[20];

	gnn_json_open_array(j, "inputs");
	for (uint32_t i = 0; i < r->file_count; i++) {
		snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)r->file[i].record.xxh3);
		gnn_json_open_object(j, NULL);
		gnn_json_text(j, "role", r->file[i].role);
		gnn_json_text(j, "path", r->file[i].record.path);
		gnn_json_u64(j, "bytes", r->file[i].record.bytes);
		gnn_json_text(j, "xxh3", hash);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
}

static void put_graph(struct gnn_json *j, const struct gnn_import_report *r)
{
	const struct gnn_build_report *b = &r->build;

	gnn_json_u64(j, "lines", r->edges.lines);
	gnn_json_u64(j, "comment_lines", r->edges.comments);
	gnn_json_u64(j, "blank_lines", r->edges.blanks);
	gnn_json_u64(j, "edges_read", r->edges.edges);
	gnn_json_u64(j, "vertices", b->vertices);
	gnn_json_u64(j, "edges", b->edges_stored);
	gnn_json_u64(j, "self_loops", b->self_loops);
	gnn_json_u64(j, "self_loop_vertices", b->loop_vertices);
	gnn_json_u64(j, "duplicates", b->duplicates);
	gnn_json_u64(j, "isolated", b->isolated);
	gnn_json_u64(j, "max_in_degree", b->max_in_degree);
	gnn_json_u64(j, "max_out_degree", b->max_out_degree);
	gnn_json_u64(j, "scratch_bytes", b->scratch_bytes);
}

static void put_parts(struct gnn_json *j, const struct gnn_import_report *r)
{
	const struct gnn_labels_counts *l = &r->labels;

	if (r->has_features) {
		gnn_json_u64(j, "feature_dim", r->feature_dim);
		gnn_json_text(j, "feature_dtype", gnn_dtype_name(r->feature_dtype));
		gnn_json_u64(j, "feature_nan", r->features.nan);
		gnn_json_u64(j, "feature_inf", r->features.inf);
		gnn_json_u64(j, "feature_zero_rows", r->features.zero_rows);
	}
	if (r->has_labels) {
		gnn_json_u64(j, "classes", l->classes);
		gnn_json_bool(j, "multi_label", r->multi_label);
		gnn_json_u64(j, "labelled", l->labelled);
		gnn_json_u64(j, "unlabelled", l->unlabelled);
		gnn_json_u64(j, "unlabelled_train", l->unlabelled_train);
	}
	if (r->has_labels && !r->multi_label && l->classes <= GNN_LABELS_CLASSES_COUNTED) {
		gnn_json_open_array(j, "class_rows");
		for (uint64_t k = 0; k < l->classes; k++)
			gnn_json_u64(j, NULL, l->rows_of[k]);
		gnn_json_shut(j);
	}
	gnn_json_open_object(j, "splits");
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		gnn_json_u64(j, gnn_split_name((enum gnn_split)k), r->split[k]);
	gnn_json_shut(j);
}

static int print_json(const struct gnn_import_report *r, const char *store)
{
	struct gnn_json *j = NULL;
	int rc = GNN_OK;

	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "command", "import");
	gnn_json_text(j, "store", store);
	gnn_json_text(j, "layout", r->layout);
	put_files(j, r);
	put_graph(j, r);
	put_parts(j, r);
	gnn_json_open_array(j, "warnings");
	for (uint32_t i = 0; i < r->warning_count; i++)
		gnn_json_text(j, NULL, r->warning[i]);
	gnn_json_shut(j);
	gnn_json_real(j, "read_s", r->read_s);
	gnn_json_real(j, "wall_s", r->wall_s);
	gnn_json_real(j, "edges_per_s", per_second(r->edges.edges, r->wall_s));
	gnn_json_u64(j, "peak_host_bytes", gnn_machine_peak());
	GNN_TRY(gnn_json_print(j));
out:
	gnn_json_destroy(j);
	return rc;
}

int gnn_cmd_import(const struct gnn_config *c)
{
	struct gnn_import_opts o = options_of(c);
	struct gnn_import_report *r = NULL;
	int rc = GNN_OK;

	GNN_NEW(r, GNN_MEM_MISC);
	GNN_TRY(gnn_import_run(&o, r));
	for (uint32_t i = 0; i < r->warning_count; i++)
		gnn_log(GNN_LOG_WARN, "import", "%s", r->warning[i]);
	if (c->json)
		GNN_TRY(print_json(r, o.out_path));
	else
		print_report(r, o.out_path);
out:
	gnn_mem_free(r);
	return rc;
}
