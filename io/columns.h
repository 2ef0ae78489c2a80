/*
 * io/columns.h - the columns of a text line.
 *
 * Flow     a line -> [columns] -> edgeline, labels, splits, text matrices
 * Owns     nothing
 * Lends    the bounds of a column, as long as the line lives
 * Thread   any thread; no state
 * Fails    never
 *
 * Columns are parted by blanks and tabs with at most one comma among them. What lies between two
 * commas, or behind a last one, is an empty column.
 */
#ifndef GNN_IO_COLUMNS_H
#define GNN_IO_COLUMNS_H

#include "base/decl.h"

struct gnn_columns {
	const char *p, *line_end;
	bool        more;
	const char *begin, *end; /* the current column */
};

static inline const char *gnn_columns_skip(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static inline struct gnn_columns gnn_columns_of(const char *line, const char *end)
{
	const char *p = gnn_columns_skip(line, end);
	struct gnn_columns c = {p, end, p < end, p, p};

	return c;
}

/* Steps to the next column; false behind the last one. */
static inline bool gnn_columns_next(struct gnn_columns *c)
{
	const char *p = c->p;

	if (!c->more)
		return false;
	c->begin = p;
	while (p < c->line_end && *p != ' ' && *p != '\t' && *p != ',')
		p++;
	c->end = p;
	p = gnn_columns_skip(p, c->line_end);
	c->more = p < c->line_end;
	c->p = c->more && *p == ',' ? gnn_columns_skip(p + 1, c->line_end) : p;
	return true;
}

#endif
