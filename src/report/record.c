/* report/record.c - see record.h. */
#include "report/record.h"

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALID_LINE = 1 }; /* of GNN_PLOT_SCORE_TIME */

static const char *text_of(const cJSON *line, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, key));

	return text != NULL ? text : "";
}

static double number_of(const cJSON *line, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static double number_or_zero(const cJSON *line, const char *key)
{
	double v = number_of(line, key);

	return isfinite(v) ? v : 0;
}

static void keep_name(char to[GNN_RECORD_NAME_BYTES], const char *text)
{
	snprintf(to, GNN_RECORD_NAME_BYTES, "%s", text);
}

bool gnn_record_differs(const struct gnn_record *r, const struct cJSON *line)
{
	char id[GNN_RECORD_NAME_BYTES];

	keep_name(id, text_of(line, "run_id"));
	return r->lines > 0 && strcmp(id, r->run_id) != 0;
}

static int add_to_plots(struct gnn_record *r, const char *event, const cJSON *line)
{
	int rc = GNN_OK;

	for (int i = 0; i < GNN_PLOT_COUNT; i++) {
		const struct gnn_plot_view *v = &gnn_plot_views[i];

		if (strcmp(v->event, event) != 0)
			continue;
		for (int l = 0; l < GNN_CHART_LINES && v->line[l].key != NULL; l++)
			GNN_TRY(gnn_series_add(&r->series[i][l], number_of(line, v->x_key),
				number_of(line, v->line[l].key)));
	}
out:
	return rc;
}

static int add_to_tables(struct gnn_record *r, const char *event, const cJSON *line)
{
	int rc = GNN_OK;

	for (int i = 0; i < GNN_SHEET_COUNT; i++) {
		const struct gnn_sheet_view *v = &gnn_sheet_views[i];

		if (strcmp(v->event, event) != 0)
			continue;
		r->events[i]++;
		GNN_TRY(v->by_name ? gnn_sheet_set(&r->table[i], v->column, line)
				   : gnn_sheet_add(&r->table[i], v->column, line));
	}
out:
	return rc;
}

static int take_start(struct gnn_record *r, const cJSON *line)
{
	keep_name(r->command, text_of(line, "command"));
	cJSON_Delete(r->start);
	r->start = cJSON_Duplicate(line, 1);
	return r->start != NULL ? GNN_OK : GNN_EOS; /* base/mem.h has said why */
}

static void take_end(struct gnn_record *r, const cJSON *line)
{
	r->ended = true;
	r->exit_code = number_of(line, "exit_code");
	r->wall_s = number_of(line, "wall_s");
	r->peak_bytes = number_of(line, "peak_host_bytes");
}

static void take_usage(struct gnn_record *r, const cJSON *line)
{
	double interval = number_or_zero(line, "interval_s");

	r->usages++;
	r->used_s += interval;
	r->core_s += interval * number_or_zero(line, "cpu_cores");
	r->read_bytes += interval * number_or_zero(line, "read_bytes_s");
	r->written_bytes += interval * number_or_zero(line, "written_bytes_s");
	r->rss_bytes = fmax(r->rss_bytes, number_or_zero(line, "rss_bytes"));
}

/* Bytes a second since the line before of the same phase. */
static int take_progress(struct gnn_record *r, const cJSON *line)
{
	double bytes = number_of(line, "done_bytes"), s = number_of(line, "wall_s"), rate;
	const char *phase = text_of(line, "phase");
	bool goes_on = strncmp(r->phase, phase, GNN_RECORD_NAME_BYTES - 1) == 0 && s > r->phase_s;

	rate = goes_on ? (bytes - r->phase_bytes) / (s - r->phase_s) : s > 0 ? bytes / s : NAN;
	keep_name(r->phase, phase);
	r->phase_bytes = bytes;
	r->phase_s = s;
	return gnn_series_add(&r->series[GNN_PLOT_DONE][0], number_of(line, "time_s"),
		rate >= 0 && (bytes > 0) ? rate : NAN);
}

static void take_epoch(struct gnn_record *r, const cJSON *line)
{
	double valid = number_of(line, "valid");

	keep_name(r->metric, text_of(line, "metric"));
	if (!isfinite(valid) || valid <= r->best)
		return;
	r->best = valid;
	r->best_epoch = number_of(line, "epoch");
	r->best_s = number_of(line, "time_s");
}

/* The order that a store came with: in the table, but no iteration. */
static bool is_before(const char *event, const cJSON *line)
{
	return strcmp(event, "order") == 0 && strcmp(text_of(line, "order"), "before") == 0;
}

static void take_order(struct gnn_record *r, const cJSON *line)
{
	r->span_after = number_of(line, "span");
	if (is_before("order", line))
		r->span_before = r->span_after;
}

int gnn_record_add(struct gnn_record *r, const struct cJSON *line)
{
	const char *event = text_of(line, "event");
	int rc = GNN_OK;

	if (r->lines++ == 0) {
		keep_name(r->run_id, text_of(line, "run_id"));
		r->best = r->best_epoch = r->best_s = NAN;
		r->span_before = r->span_after = NAN;
	}
	r->seconds = number_of(line, "time_s");
	if (!is_before(event, line))
		GNN_TRY(add_to_plots(r, event, line));
	GNN_TRY(add_to_tables(r, event, line));
	if (strcmp(event, "start") == 0)
		rc = take_start(r, line);
	else if (strcmp(event, "end") == 0)
		take_end(r, line);
	else if (strcmp(event, "usage") == 0)
		take_usage(r, line);
	else if (strcmp(event, "progress") == 0)
		rc = take_progress(r, line);
	else if (strcmp(event, "epoch") == 0)
		take_epoch(r, line);
	else if (strcmp(event, "order") == 0)
		take_order(r, line);
out:
	return rc;
}

double gnn_record_reached(const struct gnn_record *r, double share)
{
	const struct gnn_series *s = &r->series[GNN_PLOT_SCORE_TIME][VALID_LINE];

	for (uint32_t i = 0; i < s->count; i++)
		if (s->sample[i].high >= share * r->best)
			return s->sample[i].high_x;
	return NAN;
}

void gnn_record_clear(struct gnn_record *r)
{
	for (int i = 0; i < GNN_PLOT_COUNT; i++)
		for (int l = 0; l < GNN_CHART_LINES; l++)
			gnn_series_fini(&r->series[i][l]);
	for (int i = 0; i < GNN_SHEET_COUNT; i++)
		gnn_sheet_fini(&r->table[i]);
	cJSON_Delete(r->start);
	memset(r, 0, sizeof(*r));
}
