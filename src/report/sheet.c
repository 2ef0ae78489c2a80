/* report/sheet.c - see sheet.h. */
#include "report/sheet.h"

#include "base/mem.h"

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct gnn_cell {
	bool   there;
	double number;
	char   text[GNN_CELL_BYTES];
};

static struct gnn_cell *row_at(const struct gnn_sheet *t, uint32_t row)
{
	return t->cell + (size_t)row * t->columns;
}

static int begin(struct gnn_sheet *t, const struct gnn_column *column)
{
	int rc = GNN_OK;

	if (t->cell != NULL)
		return GNN_OK;
	t->column = column;
	while (column[t->columns].key != NULL)
		t->columns++;
	GNN_ASSERT(t->columns <= GNN_SHEET_COLUMNS);
	t->each = 1;
	GNN_NEW_ARRAY(t->cell, (GNN_SHEET_ROWS + 1) * t->columns, GNN_MEM_MISC);
out:
	return rc;
}

static void fill(const struct gnn_sheet *t, struct gnn_cell *row, const cJSON *line)
{
	for (uint32_t i = 0; i < t->columns; i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, t->column[i].key);

		row[i] = (struct gnn_cell){0};
		if (t->column[i].unit == GNN_UNIT_TEXT && cJSON_IsString(item)) {
			row[i].there = true;
			snprintf(row[i].text, GNN_CELL_BYTES, "%s", item->valuestring);
		} else if (t->column[i].unit != GNN_UNIT_TEXT && cJSON_IsNumber(item)) {
			row[i].there = isfinite(item->valuedouble);
			row[i].number = item->valuedouble;
		}
	}
}

static void thin(struct gnn_sheet *t)
{
	for (uint32_t i = 0; i < t->rows / 2; i++)
		memcpy(row_at(t, i), row_at(t, 2 * i), t->columns * sizeof(*t->cell));
	t->rows /= 2;
	t->each *= 2;
}

int gnn_sheet_add(struct gnn_sheet *t, const struct gnn_column *column, const cJSON *line)
{
	int rc = GNN_OK;

	GNN_TRY(begin(t, column));
	if (t->seen % t->each == 0 && t->rows == GNN_SHEET_ROWS)
		thin(t);
	if (t->seen++ % t->each == 0)
		fill(t, row_at(t, t->rows++), line);
	else
		fill(t, row_at(t, t->rows), line);
out:
	return rc;
}

int gnn_sheet_set(struct gnn_sheet *t, const struct gnn_column *column, const cJSON *line)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(line, column[0].key);
	char text[GNN_CELL_BYTES];

	if (t->cell != NULL && cJSON_IsString(name)) {
		snprintf(text, sizeof(text), "%s", name->valuestring);
		for (uint32_t i = t->rows; i-- > 0;)
			if (strcmp(row_at(t, i)->text, text) == 0) {
				fill(t, row_at(t, i), line);
				return GNN_OK;
			}
	}
	return gnn_sheet_add(t, column, line);
}

/* Rows that are drawn: the kept ones, and the last when it is none of these. */
static uint32_t rows_of(const struct gnn_sheet *t)
{
	return t->rows + (t->seen > 0 && (t->seen - 1) % t->each != 0 ? 1 : 0);
}

/* The first column names the rows. */
static bool is_shown(const struct gnn_sheet *t, uint32_t column)
{
	for (uint32_t i = 0; i < rows_of(t); i++) {
		const struct gnn_cell *c = &row_at(t, i)[column];

		if (c->there && (column == 0 || c->number != 0 || c->text[0] != '\0'))
			return true;
	}
	return false;
}

/* The figure for people, the number itself where the mouse rests. */
static void draw_cell(const struct gnn_cell *c, enum gnn_unit unit, struct gnn_html *h)
{
	char figure[GNN_FIGURE_BYTES];

	if (!c->there) {
		gnn_html_put(h, "<td>\xe2\x80\x93</td>");
	} else if (unit == GNN_UNIT_TEXT) {
		gnn_html_put(h, "<td class=\"text\">");
		gnn_html_text(h, c->text);
		gnn_html_put(h, "</td>");
	} else {
		gnn_html_form(h, "<td title=\"%.17g\">%s</td>", c->number,
			gnn_figure(figure, c->number, unit));
	}
}

void gnn_sheet_draw(const struct gnn_sheet *t, const char *title, struct gnn_html *h)
{
	bool shown[GNN_SHEET_COLUMNS];

	if (t->seen == 0)
		return;
	gnn_html_put(h, "<h3>");
	gnn_html_text(h, title);
	gnn_html_put(h, "</h3>\n<div class=\"wide\"><table>\n<thead><tr>");
	for (uint32_t i = 0; i < t->columns; i++) {
		shown[i] = is_shown(t, i);
		if (!shown[i])
			continue;
		gnn_html_form(h, "<th%s>",
			t->column[i].unit == GNN_UNIT_TEXT ? " class=\"text\"" : "");
		gnn_html_text(h, t->column[i].title);
		gnn_html_put(h, "</th>");
	}
	gnn_html_put(h, "</tr></thead>\n<tbody>\n");
	for (uint32_t row = 0; row < rows_of(t); row++) {
		gnn_html_put(h, "<tr>");
		for (uint32_t i = 0; i < t->columns; i++)
			if (shown[i])
				draw_cell(&row_at(t, row)[i], t->column[i].unit, h);
		gnn_html_put(h, "</tr>\n");
	}
	gnn_html_put(h, "</tbody></table></div>\n");
	if (t->each > 1)
		gnn_html_form(h, "<p class=\"note\">Of %llu rows every %lluth, and the last.</p>\n",
			(unsigned long long)t->seen, (unsigned long long)t->each);
}

void gnn_sheet_fini(struct gnn_sheet *t)
{
	gnn_mem_free(t->cell);
	*t = (struct gnn_sheet){0};
}
