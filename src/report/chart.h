/*
 * report/chart.h - curves over one axis as a figure: a caption with the names, and SVG.
 *
 * Flow     record -> [chart] -> html
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    as html: kept there
 *
 * Up to GNN_CHART_DOTS values a curve each is a dot that shows its figures; more are a line, and
 * where samples stand for several values, that of the means in a band from lowest to highest.
 */
#ifndef GNN_REPORT_CHART_H
#define GNN_REPORT_CHART_H

#include "report/axis.h"
#include "report/html.h"
#include "report/series.h"

enum { GNN_CHART_LINES = 6, GNN_CHART_DOTS = 64 };

struct gnn_chart {
	const char *title, *title_tail; /* shown behind each other; foreign text is fine */
	const char *x_title;
	enum gnn_unit x_unit, y_unit;
	bool from_zero;                 /* the upright axis holds 0 */
	uint32_t lines;
	struct {
		const char *name;
		const struct gnn_series *series;
	} line[GNN_CHART_LINES];
};

GNN_BEGIN_DECLS

/* Whether a curve has two values at least: one alone stands among the figures. */
bool gnn_chart_filled(const struct gnn_chart *c);
void gnn_chart_draw  (const struct gnn_chart *c, struct gnn_html *h);

GNN_END_DECLS

#endif
