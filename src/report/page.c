/* report/page.c - see page.h. */
#include "report/page.h"

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const style =
	":root{color-scheme:light dark;--page:#fff;--ink:#1c1f24;--dim:#5d6570;--rule:#d9dde3;"
	"--0:#0b62b8;--1:#c4450c;--2:#11805a;--3:#8a3fa0;--4:#8f6a00;--5:#5d6570}\n"
	"@media(prefers-color-scheme:dark){:root{--page:#15181c;--ink:#e4e7eb;--dim:#9aa3ae;"
	"--rule:#343a42;--0:#6cb2f5;--1:#f58f5c;--2:#4fcf9d;--3:#d193e6;--4:#e0bd4e;"
	"--5:#aab3be}}\n"
	"body{margin:0 auto;padding:1.5rem;max-width:76rem;background:var(--page);"
	"color:var(--ink);font:15px/1.45 system-ui,sans-serif}\n"
	"h1{font-size:1.5rem;margin:0}h2{font-size:1.25rem;margin:2.2rem 0 .6rem;"
	"border-top:2px solid var(--rule);padding-top:.8rem}"
	"h3{font-size:1rem;margin:1.4rem 0 .4rem}\n"
	".note{color:var(--dim);margin:.3rem 0}.bad{color:var(--1);font-weight:600}\n"
	"dl{display:flex;flex-wrap:wrap;gap:.8rem 2rem;margin:.8rem 0}dl div{min-width:6rem}"
	"dt{color:var(--dim);font-size:.8rem}dd{margin:0;font-size:1.15rem;"
	"font-variant-numeric:tabular-nums}\n"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;"
	"font-variant-numeric:tabular-nums}th,td{padding:.2rem .7rem;text-align:right;"
	"white-space:nowrap;border-bottom:1px solid var(--rule)}th{color:var(--dim);"
	"font-weight:600}.text{text-align:left}.facts td{white-space:normal;"
	"overflow-wrap:anywhere}\n"
	".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,28rem),1fr));"
	"gap:1rem 2rem;margin-top:1rem}figure{margin:0;break-inside:avoid}"
	"figcaption{font-size:.85rem;line-height:1.7}figcaption b{display:inline-block}"
	"figcaption b::first-letter{text-transform:uppercase}"
	".key{white-space:nowrap;margin-left:.8rem;color:var(--dim)}\n"
	".chart{width:100%;height:auto;display:block}.chart text{fill:var(--dim);font-size:12px;"
	"font-variant-numeric:tabular-nums}.chart .x{text-anchor:middle}"
	".chart .y{text-anchor:end}\n"
	".grid{stroke:var(--rule)}.axis,.tick{stroke:var(--dim)}path{stroke-width:1.8;"
	"stroke-linejoin:round}path[class^=c]{fill:none}\n"
	".c0{stroke:var(--0)}.c1{stroke:var(--1);stroke-dasharray:7 3}"
	".c2{stroke:var(--2);stroke-dasharray:2 3}.c3{stroke:var(--3);"
	"stroke-dasharray:9 3 2 3}.c4{stroke:var(--4);stroke-dasharray:4 2}"
	".c5{stroke:var(--5);stroke-dasharray:1 2}\n"
	".d0{fill:var(--0)}.d1{fill:var(--1)}.d2{fill:var(--2)}.d3{fill:var(--3)}"
	".d4{fill:var(--4)}.d5{fill:var(--5)}\n"
	".chart .band{stroke:none;opacity:.3}\n"
	"@page{size:landscape;margin:12mm}@media print{:root{--page:#fff;--ink:#000;--dim:#444;"
	"--rule:#bbb;--0:#0b62b8;--1:#c4450c;--2:#11805a;--3:#8a3fa0;--4:#8f6a00;"
	"--5:#5d6570}body{max-width:none;padding:0}"
	".wide{overflow:visible}table{font-size:.7rem}th,td{padding:.1rem .3rem}"
	"tr{break-inside:avoid}}\n";

void gnn_page_begin(struct gnn_html *h, const char *path)
{
	gnn_html_put(h, "<!DOCTYPE html>\n<html lang=\"en\" "
		"xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
		"charset=\"utf-8\"/>\n<meta name=\"viewport\" "
		"content=\"width=device-width,initial-scale=1\"/>\n<title>gnnrun: ");
	gnn_html_text(h, path);
	gnn_html_put(h, "</title>\n<style>\n");
	gnn_html_put(h, style);
	gnn_html_put(h, "</style>\n</head>\n<body>\n<h1>");
	gnn_html_text(h, path);
	gnn_html_put(h, "</h1>\n");
}

void gnn_page_end(struct gnn_html *h, const struct gnn_page_totals *t)
{
	gnn_html_form(h, "<p class=\"note\">%llu run%s", (unsigned long long)t->runs,
		t->runs == 1 ? "" : "s");
	if (t->cut > 0)
		gnn_html_form(h, "; %llu line%s cut off and left out", (unsigned long long)t->cut,
			t->cut == 1 ? " was" : "s were");
	gnn_html_put(h, ". Drawn by gnnrun " GNN_VERSION "; exact numbers appear where the mouse "
		"rests on a figure.</p>\n</body>\n</html>\n");
}

/* --- how the run began --- */

static void fact_value(struct gnn_html *h, const cJSON *item, bool bytes)
{
	char figure[GNN_FIGURE_BYTES];
	const cJSON *part;

	if (cJSON_IsString(item)) {
		gnn_html_text(h, item->valuestring);
	} else if (cJSON_IsNumber(item)) {
		gnn_html_put(h, gnn_figure(figure, item->valuedouble,
			bytes ? GNN_UNIT_BYTES : GNN_UNIT_COUNT));
	} else if (cJSON_IsBool(item)) {
		gnn_html_put(h, cJSON_IsTrue(item) ? "yes" : "no");
	} else {
		cJSON_ArrayForEach(part, item) {
			if (part->string != NULL) {
				gnn_html_put(h, "--");
				gnn_html_text(h, part->string);
				gnn_html_put(h, " ");
			}
			fact_value(h, part, false);
			gnn_html_put(h, part->next != NULL ? " " : "");
		}
	}
}

static bool is_frame(const char *key)
{
	return strcmp(key, "schema") == 0 || strcmp(key, "event") == 0 ||
		strcmp(key, "run_id") == 0 || strcmp(key, "time_s") == 0 ||
		strcmp(key, "command") == 0;
}

/* "host memory" of host_memory_bytes; whether it is bytes. */
static bool fact_name(struct gnn_html *h, const char *key)
{
	char name[64];
	size_t len = strlen(key);
	bool bytes = len > 6 && strcmp(key + len - 6, "_bytes") == 0;

	snprintf(name, sizeof(name), "%.*s", (int)gnn_min_u64(bytes ? len - 6 : len, 63), key);
	for (char *p = name; (p = strchr(p, '_')) != NULL;)
		*p = ' ';
	gnn_html_text(h, name);
	return bytes;
}

static void draw_facts(struct gnn_html *h, const cJSON *start)
{
	const cJSON *item;
	bool bytes;

	if (start == NULL) {
		gnn_html_put(h, "<p class=\"note bad\">The beginning of the run is missing.</p>\n");
		return;
	}
	gnn_html_put(h, "<div class=\"wide\"><table class=\"facts\"><tbody>\n");
	cJSON_ArrayForEach(item, start) {
		if (is_frame(item->string))
			continue;
		gnn_html_put(h, "<tr><th class=\"text\">");
		bytes = fact_name(h, item->string);
		gnn_html_put(h, "</th><td class=\"text\">");
		fact_value(h, item, bytes);
		gnn_html_put(h, "</td></tr>\n");
	}
	gnn_html_put(h, "</tbody></table></div>\n");
}

/* --- figures of the whole --- */

static void tile(struct gnn_html *h, const char *name, double value, enum gnn_unit unit)
{
	char figure[GNN_FIGURE_BYTES];

	if (!isfinite(value))
		return;
	gnn_html_form(h, "<div><dt>%s</dt><dd title=\"%.17g\">%s</dd></div>\n", name, value,
		gnn_figure(figure, value, unit));
}

static void epoch_tiles(struct gnn_html *h, const struct gnn_record *r)
{
	static const struct {
		const char *name;
		double share;
	} reached[] = {{"90 % of the best after", .9}, {"99 % of the best after", .99}};

	tile(h, "epochs", (double)r->events[GNN_SHEET_EPOCHS], GNN_UNIT_COUNT);
	if (!isfinite(r->best))
		return;
	tile(h, "best on valid", r->best, GNN_UNIT_NUMBER);
	tile(h, "in epoch", r->best_epoch, GNN_UNIT_COUNT);
	tile(h, "best after", r->best_s, GNN_UNIT_TIME);
	for (size_t i = 0; r->best > 0 && i < GNN_COUNT_OF(reached); i++)
		tile(h, reached[i].name, gnn_record_reached(r, reached[i].share), GNN_UNIT_TIME);
}

static void draw_tiles(struct gnn_html *h, const struct gnn_record *r)
{
	gnn_html_put(h, "<dl>\n");
	tile(h, "time", r->ended ? r->wall_s : r->seconds, GNN_UNIT_TIME);
	if (r->events[GNN_SHEET_EPOCHS] > 0)
		epoch_tiles(h, r);
	if (r->events[GNN_SHEET_LAYERS] > 0)
		tile(h, "layers", (double)r->events[GNN_SHEET_LAYERS], GNN_UNIT_COUNT);
	tile(h, "span before", r->span_before, GNN_UNIT_COUNT);
	tile(h, "span after", r->span_after, GNN_UNIT_COUNT);
	if (r->ended)
		tile(h, "memory of the budget, at most", r->peak_bytes, GNN_UNIT_BYTES);
	if (r->usages > 0) {
		tile(h, "resident, at most", r->rss_bytes, GNN_UNIT_BYTES);
		tile(h, "read", r->read_bytes, GNN_UNIT_BYTES);
		tile(h, "written", r->written_bytes, GNN_UNIT_BYTES);
		if (r->used_s > 0)
			tile(h, "cores busy", r->core_s / r->used_s, GNN_UNIT_NUMBER);
	}
	gnn_html_put(h, "</dl>\n");
	if (!r->ended)
		gnn_html_put(h, "<p class=\"note bad\">The run was cut off: its end is "
			"missing.</p>\n");
	else if (r->exit_code > 0)
		gnn_html_form(h, "<p class=\"note bad\">The run failed: exit %.0f.</p>\n",
			fmin(r->exit_code, 255));
}

/* --- curves and tables --- */

static void chart_of(const struct gnn_record *r, int plot, struct gnn_chart *c)
{
	const struct gnn_plot_view *v = &gnn_plot_views[plot];
	const char *metric = r->metric[0] != '\0' ? r->metric : "score";

	*c = (struct gnn_chart){.title = v->of_metric ? metric : v->title,
		.title_tail = v->of_metric ? v->title : NULL, .x_title = v->x_title,
		.x_unit = v->x_unit, .y_unit = v->y_unit, .from_zero = v->from_zero};
	while (c->lines < GNN_CHART_LINES && v->line[c->lines].key != NULL) {
		c->line[c->lines].name = v->line[c->lines].name;
		c->line[c->lines].series = &r->series[plot][c->lines];
		c->lines++;
	}
}

static void draw_charts(struct gnn_html *h, const struct gnn_record *r)
{
	struct gnn_chart c;

	gnn_html_put(h, "<div class=\"charts\">\n");
	for (int i = 0; i < GNN_PLOT_COUNT; i++) {
		chart_of(r, i, &c);
		gnn_chart_draw(&c, h);
	}
	gnn_html_put(h, "</div>\n");
}

void gnn_page_run(struct gnn_html *h, const struct gnn_record *r)
{
	gnn_html_put(h, "<h2>");
	gnn_html_text(h, r->command[0] != '\0' ? r->command : "run");
	gnn_html_put(h, "</h2>\n<p class=\"note\">run ");
	gnn_html_text(h, r->run_id);
	gnn_html_put(h, "</p>\n");
	draw_tiles(h, r);
	draw_facts(h, r->start);
	draw_charts(h, r);
	for (int i = 0; i < GNN_SHEET_COUNT; i++)
		gnn_sheet_draw(&r->table[i], gnn_sheet_views[i].title, h);
}
