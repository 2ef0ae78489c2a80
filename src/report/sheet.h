/*
 * report/sheet.h - lines of one kind as a table, of bounded length.
 *
 * Flow     record -> [sheet] -> html
 * Owns     its cells
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS no memory
 *
 * Of more than GNN_SHEET_ROWS rows every second, fourth ... is kept, the first and the last among
 * them; the table says so. A column that no row has, or that is 0 in all, is
 * not shown.
 */
#ifndef GNN_REPORT_SHEET_H
#define GNN_REPORT_SHEET_H

#include "report/axis.h"
#include "report/html.h"

struct cJSON;

enum { GNN_SHEET_ROWS = 256, GNN_SHEET_COLUMNS = 24, GNN_CELL_BYTES = 48 };

struct gnn_column {
	const char   *key;   /* of the line; NULL ends the columns */
	const char   *title;
	enum gnn_unit unit;
};

struct gnn_sheet {
	const struct gnn_column *column;
	struct gnn_cell *cell; /* rows of `columns`, and one more: the last that came */
	uint32_t columns, rows;
	uint64_t seen, each;
};

GNN_BEGIN_DECLS

int  gnn_sheet_add (struct gnn_sheet *t, const struct gnn_column *column, const struct cJSON *line);
/* The same, but in the place of a row whose first column is equal. */
int  gnn_sheet_set (struct gnn_sheet *t, const struct gnn_column *column, const struct cJSON *line);
void gnn_sheet_draw(const struct gnn_sheet *t, const char *title, struct gnn_html *h);
void gnn_sheet_fini(struct gnn_sheet *t); /* of a zeroed one too, which it is again then */

GNN_END_DECLS

#endif
