/*
 * report/page.h - one HTML file that needs no other: frame, and a section for each run.
 *
 * Flow     record -> [page] -> html
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    as html: kept there
 *
 * Curves are SVG, colours follow prefers-color-scheme, there are no scripts. The file is also XML.
 */
#ifndef GNN_REPORT_PAGE_H
#define GNN_REPORT_PAGE_H

#include "report/record.h"

struct gnn_page_totals {
	uint64_t runs, cut; /* lines that were cut off */
};

GNN_BEGIN_DECLS

void gnn_page_begin(struct gnn_html *h, const char *path); /* of the metrics */
void gnn_page_run  (struct gnn_html *h, const struct gnn_record *r);
void gnn_page_end  (struct gnn_html *h, const struct gnn_page_totals *t);

GNN_END_DECLS

#endif
