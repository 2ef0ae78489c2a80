/* report/chart.c - see chart.h. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

/* In units of the drawing. A figure is about 7 wide: text of 12 high. */
enum { WIDTH = 640, HEIGHT = 250, TOP = 26, BOTTOM = 208, RIGHT = 616, FIGURE = 7, GAP = 8 };
enum { X_TICKS = 7, Y_TICKS = 5 };

struct frame {
	const struct gnn_chart *chart;
	struct gnn_html *html;
	struct gnn_axis x, y;
	double left;
};

bool gnn_chart_filled(const struct gnn_chart *c)
{
	for (uint32_t i = 0; i < c->lines; i++)
		if (c->line[i].series->count > 1)
			return true;
	return false;
}

static void fit(struct frame *f)
{
	const struct gnn_chart *c = f->chart;
	double x[2], y[2], left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
	char label[GNN_TICK_BYTES];
	size_t longest = 0;

	for (uint32_t i = 0; i < c->lines; i++) {
		if (!gnn_series_range(c->line[i].series, x, y))
			continue;
		left = fmin(left, x[0]);
		right = fmax(right, x[1]);
		low = fmin(low, y[0]);
		high = fmax(high, y[1]);
	}
	if (c->from_zero) {
		low = fmin(low, 0);
		high = fmax(high, 0);
	}
	if (c->x_unit == GNN_UNIT_TIME)
		left = fmin(left, 0);
	gnn_axis_fit(&f->x, left, right, c->x_unit, X_TICKS, false);
	gnn_axis_fit(&f->y, low, high, c->y_unit, Y_TICKS, true);
	for (uint32_t i = 0; i < f->y.ticks; i++)
		longest = gnn_max_u64(longest, strlen(gnn_axis_label(&f->y, i, label)));
	f->left = (double)longest * FIGURE + 2 * GAP;
}

static double at_x(const struct frame *f, double x)
{
	return f->left + (x - f->x.low) / (f->x.high - f->x.low) * (RIGHT - f->left);
}

static double at_y(const struct frame *f, double y)
{
	return BOTTOM - (y - f->y.low) / (f->y.high - f->y.low) * (BOTTOM - TOP);
}

static void draw_axes(const struct frame *f)
{
	struct gnn_html *h = f->html;
	char label[GNN_TICK_BYTES];

	for (uint32_t i = 0; i < f->y.ticks; i++) {
		double y = at_y(f, gnn_axis_tick(&f->y, i));

		gnn_html_form(h, "<line class=\"grid\" x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" "
			"y2=\"%.1f\"/><text class=\"y\" x=\"%.1f\" "
			"y=\"%.1f\">%s</text>\n", f->left, RIGHT, y, y,
			f->left - GAP, y + 4, gnn_axis_label(&f->y, i, label));
	}
	for (uint32_t i = 0; i < f->x.ticks; i++) {
		double x = at_x(f, gnn_axis_tick(&f->x, i));

		gnn_html_form(h, "<line class=\"tick\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
			"y2=\"%d\"/><text class=\"x\" x=\"%.1f\" y=\"%d\">%s</text>\n", x, x,
			BOTTOM, BOTTOM + 5, x, BOTTOM + 19, gnn_axis_label(&f->x, i, label));
	}
	gnn_html_form(h, "<line class=\"axis\" x1=\"%.1f\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
		f->left, RIGHT, BOTTOM, BOTTOM);
	gnn_html_form(h, "<text class=\"unit\" x=\"2\" y=\"13\">%s</text><text class=\"y unit\" "
		"x=\"%d\" y=\"%d\">", f->y.unit, RIGHT, HEIGHT - 6);
	gnn_html_text(h, f->chart->x_title);
	gnn_html_form(h, "%s%s</text>\n", f->x.unit[0] != '\0' ? ", " : "", f->x.unit);
}

static void draw_line(const struct frame *f, const struct gnn_series *s, uint32_t color)
{
	struct gnn_html *h = f->html;

	if (s->count < 2)
		return;
	gnn_html_form(h, "<path class=\"c%u\" d=\"", color);
	for (uint32_t i = 0; i < s->count; i++)
		gnn_html_form(h, "%c%.1f %.1f", i == 0 ? 'M' : 'L', at_x(f, s->sample[i].x),
			at_y(f, s->sample[i].mean));
	gnn_html_put(h, "\"/>\n");
}

/* From the highest values to the right, back along the lowest. */
static void draw_band(const struct frame *f, const struct gnn_series *s, uint32_t color)
{
	struct gnn_html *h = f->html;

	if (s->each < 2)
		return;
	gnn_html_form(h, "<path class=\"band d%u\" d=\"", color);
	for (uint32_t i = 0; i < s->count; i++)
		gnn_html_form(h, "%c%.1f %.1f", i == 0 ? 'M' : 'L', at_x(f, s->sample[i].x),
			at_y(f, s->sample[i].high));
	for (uint32_t i = s->count; i-- > 0;)
		gnn_html_form(h, "L%.1f %.1f", at_x(f, s->sample[i].x), at_y(f, s->sample[i].low));
	gnn_html_put(h, "Z\"/>\n");
}

static void draw_dots(const struct frame *f, uint32_t line)
{
	const struct gnn_chart *c = f->chart;
	const struct gnn_series *s = c->line[line].series;
	char x[GNN_FIGURE_BYTES], y[GNN_FIGURE_BYTES];

	if (s->count > GNN_CHART_DOTS)
		return;
	for (uint32_t i = 0; i < s->count; i++) {
		gnn_html_form(f->html, "<circle class=\"d%u\" cx=\"%.1f\" cy=\"%.1f\" "
			"r=\"2.6\"><title>", line, at_x(f, s->sample[i].x),
			at_y(f, s->sample[i].mean));
		gnn_html_text(f->html, c->line[line].name);
		gnn_html_form(f->html, " %s at ", gnn_figure(y, s->sample[i].mean, c->y_unit));
		gnn_html_text(f->html, c->x_title);
		gnn_html_form(f->html, " %s</title></circle>\n",
			gnn_figure(x, s->sample[i].x, c->x_unit));
	}
}

static void put_title(const struct gnn_chart *c, struct gnn_html *h)
{
	gnn_html_text(h, c->title);
	if (c->title_tail != NULL)
		gnn_html_text(h, c->title_tail);
}

/* The names stand in the caption, where the page breaks lines: none lies on a curve. */
static void draw_caption(const struct gnn_chart *c, struct gnn_html *h)
{
	gnn_html_put(h, "<figcaption><b>");
	put_title(c, h);
	gnn_html_put(h, "</b>");
	for (uint32_t i = 0; i < c->lines; i++) {
		if (c->line[i].series->count == 0)
			continue;
		gnn_html_form(h, " <span class=\"key\"><svg width=\"26\" height=\"8\" "
			"aria-hidden=\"true\"><path class=\"c%u\" d=\"M0 4H26\"/></svg> ", i);
		gnn_html_text(h, c->line[i].name);
		gnn_html_put(h, "</span>");
	}
	gnn_html_put(h, "</figcaption>\n");
}

void gnn_chart_draw(const struct gnn_chart *c, struct gnn_html *h)
{
	struct frame f = {.chart = c, .html = h};

	if (!gnn_chart_filled(c))
		return;
	fit(&f);
	gnn_html_put(h, "<figure>\n");
	draw_caption(c, h);
	gnn_html_form(h, "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
		WIDTH, HEIGHT);
	put_title(c, h);
	gnn_html_put(h, "\">\n");
	draw_axes(&f);
	for (uint32_t i = 0; i < c->lines; i++)
		draw_band(&f, c->line[i].series, i);
	for (uint32_t i = 0; i < c->lines; i++)
		draw_line(&f, c->line[i].series, i);
	for (uint32_t i = 0; i < c->lines; i++)
		draw_dots(&f, i);
	gnn_html_put(h, "</svg>\n</figure>\n");
}
