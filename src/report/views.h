/*
 * report/views.h - what is drawn of which event: the curves and the tables of a page.
 *
 * Flow     [views] -> record, page
 * Owns     nothing; constants only
 * Lends    the tables, for ever
 * Thread   constant
 * Fails    never
 *
 * A new key of an event is one row here.
 */
#ifndef GNN_REPORT_VIEWS_H
#define GNN_REPORT_VIEWS_H

#include "report/chart.h"
#include "report/sheet.h"

/* In the order in which they are shown. */
enum gnn_plot_id {
	GNN_PLOT_LOSS,
	GNN_PLOT_SCORE,
	GNN_PLOT_SCORE_TIME,
	GNN_PLOT_PARTS,
	GNN_PLOT_SPAN,
	GNN_PLOT_ACTIVE,
	GNN_PLOT_DONE,
	GNN_PLOT_STORES,
	GNN_PLOT_EVICTIONS,
	GNN_PLOT_DISK,
	GNN_PLOT_CPU,
	GNN_PLOT_MEMORY,
	GNN_PLOT_GPU,
	GNN_PLOT_GPU_MEMORY,
	GNN_PLOT_COUNT,
};

enum gnn_sheet_id {
	GNN_SHEET_RESULT,
	GNN_SHEET_EPOCHS,
	GNN_SHEET_LAYERS,
	GNN_SHEET_ORDERS,
	GNN_SHEET_HYBRID,
	GNN_SHEET_LATE,
	GNN_SHEET_PHASES,
	GNN_SHEET_COUNT,
};

struct gnn_plot_view {
	const char *event, *title;
	bool of_metric;          /* the title begins with the name of the metric */
	bool from_zero;
	const char *x_key, *x_title;
	enum gnn_unit x_unit, y_unit;
	struct {
		const char *key; /* NULL ends the lines; "" is reckoned, not read */
		const char *name;
	} line[GNN_CHART_LINES];
};

struct gnn_sheet_view {
	const char *event, *title;
	bool by_name;            /* a line replaces the row of the same first column */
	const struct gnn_column *column;
};

extern const struct gnn_plot_view  gnn_plot_views[GNN_PLOT_COUNT];
extern const struct gnn_sheet_view gnn_sheet_views[GNN_SHEET_COUNT];

#endif
