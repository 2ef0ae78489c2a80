/*
 * io/edgeline.h - one line of an edge list: what it is, and if it is wrong, why.
 *
 * Flow     bytes -> [edgeline] -> edges_text
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread; no state
 * Fails    a kind of GNN_LINE_BAD_...; gnn_edgeline_explain makes the error of it
 *
 * A line is `src dst [further columns]`, columns parted by blanks and tabs with at most one comma
 * among them. Comments begin with # or % in the first column. CR before the newline is dropped.
 */
#ifndef GNN_IO_EDGELINE_H
#define GNN_IO_EDGELINE_H

#include "base/err.h"

enum gnn_line_kind {
	GNN_LINE_EDGE,
	GNN_LINE_BLANK,
	GNN_LINE_COMMENT,
	GNN_LINE_BAD, /* this and all behind it are errors */
	GNN_LINE_BAD_ID = GNN_LINE_BAD,
	GNN_LINE_BAD_LARGE,
	GNN_LINE_BAD_LIMIT,
	GNN_LINE_BAD_EMPTY,
	GNN_LINE_BAD_ONE,
	GNN_LINE_BAD_WEIGHT,
	GNN_LINE_BAD_NO_WEIGHT,
	GNN_LINE_BAD_MORE,
};

/* What the lines of a file may hold. */
struct gnn_line_rules {
	uint32_t weight_column; /* from 1; 0: none */
	uint32_t columns_max;   /* at least 2 and weight_column */
	uint64_t id_limit;      /* ids at and over it are refused */
};

struct gnn_line {
	uint64_t    src, dst;
	float       weight;
	uint32_t    columns;
	const char *field, *field_end; /* of an error: the offending text */
};

GNN_BEGIN_DECLS

/* `end` is the newline; GNN_SCAN_SLACK bytes behind it are readable. */
enum gnn_line_kind gnn_edgeline_parse(const char *p, const char *end,
	const struct gnn_line_rules *rules, struct gnn_line *line);

int gnn_edgeline_explain(enum gnn_line_kind kind, const struct gnn_line *line,
	const struct gnn_line_rules *rules, const char *path, uint64_t number);

GNN_END_DECLS

#endif
