/*
 * io/import_report.h - what an import is asked for, and what it says at the end.
 *
 * Flow     options -> import -> [import_report] -> cmd
 * Owns     nothing but itself
 * Lends    nothing
 * Thread   one caller
 * Fails    never
 */
#ifndef GNN_IO_IMPORT_REPORT_H
#define GNN_IO_IMPORT_REPORT_H

#include "io/edges.h"
#include "io/labels.h"
#include "io/matrix.h"
#include "io/store.h"

enum { GNN_IMPORT_FILES_MAX = 12, GNN_IMPORT_WARNINGS_MAX = 16, GNN_IMPORT_WARNING_BYTES = 256 };

struct gnn_import_opts {
	const char *source, *out_path;
	const char *format;          /* "auto" or a layout's name; NULL: auto */
	const char *features, *labels, *weights; /* in place of the data set's; NULL: as it says */
	const char *split[GNN_SPLIT_COUNT];
	uint64_t    vertices;        /* 0: not given */
	uint64_t    expect_edges;  /* 0: any number of them */
	bool        undirected, dedup, remap;
	uint32_t    weight_column;   /* from 1; 0: none */
	enum gnn_edge_layout edge_layout;
	bool        normalize_row;
	const char *shape, *dtype;   /* of headerless features: "10x4", "f32"; NULL: not given */
	enum gnn_dtype feature_dtype; /* rounded to it; GNN_DTYPE_COUNT: without loss */
	const char *scratch;         /* NULL: beside the output */
	uint64_t    memory_bytes;    /* in all */
	uint32_t    threads;
	enum gnn_dio_engine engine;
};

struct gnn_import_file {
	const char *role;            /* "edges", "features" ... */
	struct gnn_input_record record;
};

struct gnn_import_report {
	const char *layout;
	struct gnn_import_file file[GNN_IMPORT_FILES_MAX];
	uint32_t file_count;
	struct gnn_edge_counts edges;
	struct gnn_build_report build;
	bool     has_features, has_labels, multi_label;
	uint64_t feature_dim;
	enum gnn_dtype feature_dtype;
	struct gnn_matrix_counts features;
	struct gnn_labels_counts labels;
	uint64_t split[GNN_SPLIT_COUNT];
	double   read_s, wall_s;     /* reading edges; all */
	char     warning[GNN_IMPORT_WARNINGS_MAX][GNN_IMPORT_WARNING_BYTES];
	uint32_t warning_count;
};

GNN_BEGIN_DECLS

/* Fills report->warning from what the report holds. */
void gnn_import_warn(struct gnn_import_report *r, const struct gnn_import_opts *o,
	bool byte_labels);

GNN_END_DECLS

#endif
