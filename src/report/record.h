/*
 * report/record.h - what a page shows of one run, gathered line by line in bounded memory.
 *
 * Flow     reader -> [record] -> page
 * Owns     curves, tables, and the facts of the start
 * Lends    all of it
 * Thread   one caller
 * Fails    GNN_EOS no memory
 *
 * Events and keys that are not known here, from a newer version, are left out.
 */
#ifndef GNN_REPORT_RECORD_H
#define GNN_REPORT_RECORD_H

#include "report/views.h"

enum { GNN_RECORD_NAME_BYTES = 64 };

struct gnn_record {
	char     run_id[GNN_RECORD_NAME_BYTES], command[GNN_RECORD_NAME_BYTES];
	char     metric[GNN_RECORD_NAME_BYTES];
	uint64_t lines;                 /* of the run; 0: there is none */
	uint64_t events[GNN_SHEET_COUNT], usages;
	struct cJSON *start;            /* the line; NULL: it was not there */
	bool     ended;
	double   exit_code, wall_s, peak_bytes; /* of the end */
	double   seconds;               /* time of the last line */
	/* Sums and peaks of usage. */
	double   used_s, core_s, read_bytes, written_bytes, rss_bytes;
	/* Of the best epoch on the validation split; NaN: none was scored. */
	double   best, best_epoch, best_s;
	/* Before, and of the last line about an order; NaN: there was none. */
	double   span_before, span_after;
	/* The line of progress before. */
	char     phase[GNN_RECORD_NAME_BYTES];
	double   phase_bytes, phase_s;
	struct gnn_series series[GNN_PLOT_COUNT][GNN_CHART_LINES];
	struct gnn_sheet  table[GNN_SHEET_COUNT];
};

GNN_BEGIN_DECLS

/* Whether the line is of another run than those before. */
bool gnn_record_differs(const struct gnn_record *r, const struct cJSON *line);
int  gnn_record_add  (struct gnn_record *r, const struct cJSON *line);
/* When the validation score first came to `share` of the best, in seconds; NaN: never. */
double gnn_record_reached(const struct gnn_record *r, double share);
void gnn_record_clear(struct gnn_record *r); /* of a zeroed one too, which it is again then */

GNN_END_DECLS

#endif
