/* io/edgeline.c - see edgeline.h. */
#include "io/edgeline.h"

#include "io/columns.h"
#include "io/quote.h"
#include "io/scan.h"

#include <math.h>
#include <string.h>

static enum gnn_line_kind bad(struct gnn_line *line, enum gnn_line_kind kind, const char *field,
	const char *end)
{
	line->field = field;
	line->field_end = end;
	return kind;
}

static enum gnn_line_kind parse_id(const char *p, const char *end, uint64_t limit, uint64_t *id,
	struct gnn_line *line)
{
	const char *stop = gnn_scan_u64(p, id);

	if (stop == NULL)
		return bad(line, GNN_LINE_BAD_LARGE, p, end);
	if (stop != end)
		return bad(line, GNN_LINE_BAD_ID, p, end);
	if (*id >= limit)
		return bad(line, GNN_LINE_BAD_LIMIT, p, end);
	return GNN_LINE_EDGE;
}

static enum gnn_line_kind parse_weight(const char *p, const char *end, struct gnn_line *line)
{
	double w;

	if (gnn_scan_f64(p, end, &w) != end || !isfinite((float)w))
		return bad(line, GNN_LINE_BAD_WEIGHT, p, end);
	line->weight = (float)w;
	return GNN_LINE_EDGE;
}

static enum gnn_line_kind parse_column(const char *p, const char *end,
	const struct gnn_line_rules *rules, struct gnn_line *line)
{
	uint32_t column = ++line->columns;

	if (p == end)
		return bad(line, GNN_LINE_BAD_EMPTY, p, end);
	if (column > rules->columns_max)
		return bad(line, GNN_LINE_BAD_MORE, p, end);
	if (column == rules->weight_column)
		return parse_weight(p, end, line);
	if (column == 1)
		return parse_id(p, end, rules->id_limit, &line->src, line);
	if (column == 2)
		return parse_id(p, end, rules->id_limit, &line->dst, line);
	return GNN_LINE_EDGE;
}

enum gnn_line_kind gnn_edgeline_parse(const char *p, const char *end,
	const struct gnn_line_rules *rules, struct gnn_line *line)
{
	enum gnn_line_kind kind = GNN_LINE_EDGE;
	struct gnn_columns c;

	line->columns = 0;
	if (end > p && end[-1] == '\r')
		end--;
	if (p < end && (*p == '#' || *p == '%'))
		return GNN_LINE_COMMENT;
	c = gnn_columns_of(p, end);
	if (!c.more)
		return GNN_LINE_BLANK;
	while (kind == GNN_LINE_EDGE && gnn_columns_next(&c))
		kind = parse_column(c.begin, c.end, rules, line);
	if (kind == GNN_LINE_EDGE && line->columns < 2)
		return bad(line, GNN_LINE_BAD_ONE, p, end);
	if (kind == GNN_LINE_EDGE && line->columns < rules->weight_column)
		return bad(line, GNN_LINE_BAD_NO_WEIGHT, p, end);
	return kind;
}

int gnn_edgeline_explain(enum gnn_line_kind kind, const struct gnn_line *line,
	const struct gnn_line_rules *rules, const char *path, uint64_t number)
{
	char text[GNN_QUOTE_MAX];
	unsigned long long n = number;

	gnn_quote(line->field, (uint64_t)(line->field_end - line->field), text);
	switch (kind) {
	case GNN_LINE_BAD_ID:
		return gnn_err(GNN_EDATA,
			"%s:%llu: %s is no vertex id; wanted a plain decimal integer from 0 (a "
			"heading is skipped when it begins with #)",
			path, n, text);
	case GNN_LINE_BAD_LARGE:
		return gnn_err(GNN_EDATA, "%s:%llu: %s is too large for a vertex id; wanted less "
			"than 2^64 - 1", path, n, text);
	case GNN_LINE_BAD_LIMIT:
		return gnn_err(GNN_EDATA, "%s:%llu: vertex id %s is out of range; wanted less than "
			"%llu", path, n, text, (unsigned long long)rules->id_limit);
	case GNN_LINE_BAD_EMPTY:
		return gnn_err(GNN_EDATA, "%s:%llu: column %u is empty; wanted two vertex ids",
			path, n, line->columns);
	case GNN_LINE_BAD_ONE:
		return gnn_err(GNN_EDATA, "%s:%llu: %s is one column; wanted two vertex ids", path,
			n, text);
	case GNN_LINE_BAD_WEIGHT:
		return gnn_err(GNN_EDATA, "%s:%llu: column %u, %s, is no weight; wanted a finite "
			"decimal number", path, n, line->columns, text);
	case GNN_LINE_BAD_NO_WEIGHT:
		return gnn_err(GNN_EDATA, "%s:%llu: %u columns, and the weight is wanted in column "
			"%u", path, n, line->columns, rules->weight_column);
	default:
		return gnn_err(GNN_EDATA,
			"%s:%llu: %s in column %u; wanted %u columns; --weight-column %u reads it "
			"as the weight, else remove the column",
			path, n, text, line->columns, rules->columns_max, line->columns);
	}
}
