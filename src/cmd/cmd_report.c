/* cmd/cmd_report.c - gnnrun report: the metrics of runs as one HTML page. */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "io/file.h"
#include "report/page.h"
#include "report/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PAGE_SUFFIX ".html"

struct report {
	const struct gnn_config *config;
	char *out;                /* path of the page */
	struct gnn_reader reader;
	struct gnn_pub *pub;
	struct gnn_html *html;
	struct gnn_record *record;
	struct gnn_page_totals totals;
	uint64_t lines;
	struct gnn_json *json;    /* grows by each run; NULL without --json */
	char *text;               /* of it */
};

/* RUN.html for RUN.jsonl; another name stays in front of the suffix. */
static int choose_out(struct report *r)
{
	const char *in = r->config->args[0], *out = r->config->out;
	size_t len = strlen(in), bytes;
	int rc = GNN_OK;

	if (out == NULL && len > 6 && strcmp(in + len - 6, ".jsonl") == 0)
		len -= 6;
	bytes = out != NULL ? strlen(out) + 1 : len + sizeof(PAGE_SUFFIX);
	GNN_NEW_ARRAY(r->out, bytes, GNN_MEM_MISC);
	if (out != NULL)
		memcpy(r->out, out, bytes);
	else
		snprintf(r->out, bytes, "%.*s" PAGE_SUFFIX, (int)len, in);
out:
	return rc;
}

static int begin(struct report *r)
{
	const struct gnn_config *c = r->config;
	int rc = GNN_OK;

	GNN_TRY(gnn_reader_open(&r->reader, c->args[0]));
	GNN_TRY(choose_out(r));
	GNN_TRY(gnn_file_check_output(r->out, &c->args[0], 1));
	GNN_NEW(r->html, GNN_MEM_IO);
	GNN_NEW(r->record, GNN_MEM_MISC);
	if (c->json) {
		GNN_TRY(gnn_json_create(&r->json));
		gnn_json_text(r->json, "command", "report");
		gnn_json_open_array(r->json, "runs");
	}
	GNN_TRY(gnn_pub_begin(&r->pub, r->out));
	r->html->pub = r->pub;
	gnn_page_begin(r->html, c->args[0]);
out:
	return rc;
}

static void tell_run(struct gnn_json *j, const struct gnn_record *r)
{
	gnn_json_open_object(j, NULL);
	gnn_json_text(j, "run_id", r->run_id);
	gnn_json_text(j, "command", r->command[0] != '\0' ? r->command : NULL);
	gnn_json_u64(j, "lines", r->lines);
	gnn_json_bool(j, "ended", r->ended);
	gnn_json_real(j, "exit_code", r->ended ? r->exit_code : NAN);
	gnn_json_real(j, "wall_s", r->ended ? r->wall_s : r->seconds);
	gnn_json_u64(j, "epochs", r->events[GNN_SHEET_EPOCHS]);
	gnn_json_u64(j, "layers", r->events[GNN_SHEET_LAYERS]);
	gnn_json_u64(j, "orders", r->events[GNN_SHEET_ORDERS]);
	gnn_json_u64(j, "usages", r->usages);
	gnn_json_real(j, "best_valid", r->best);
	gnn_json_real(j, "best_epoch", r->best_epoch);
	gnn_json_real(j, "best_s", r->best_s);
	gnn_json_shut(j);
}

/* The section of the run whose last line was read; one run is in memory at a time. */
static void finish_run(struct report *r)
{
	if (r->record->lines == 0)
		return;
	gnn_page_run(r->html, r->record);
	if (r->json != NULL)
		tell_run(r->json, r->record);
	r->totals.runs++;
	gnn_record_clear(r->record);
}

static int read_all(struct report *r)
{
	const struct cJSON *line;
	int rc;

	for (;;) {
		GNN_TRY(gnn_reader_next(&r->reader, &line));
		if (rc == GNN_EOF)
			break;
		if (gnn_record_differs(r->record, line))
			finish_run(r);
		GNN_TRY(gnn_record_add(r->record, line));
		r->lines++;
	}
	finish_run(r);
	r->totals.cut = r->reader.cut;
	if (r->totals.runs == 0)
		GNN_FAIL(GNN_EDATA, "%s: there is no event of a run in it", r->config->args[0]);
	rc = GNN_OK;
out:
	return rc;
}

/* Behind the last allocation, which may fail: a run that does leaves the old page. */
static int publish(struct report *r)
{
	int rc;

	gnn_page_end(r->html, &r->totals);
	if (r->json != NULL) {
		gnn_json_shut(r->json);
		gnn_json_text(r->json, "out", r->out);
		gnn_json_u64(r->json, "lines", r->lines);
		gnn_json_u64(r->json, "cut_lines", r->totals.cut);
		gnn_json_u64(r->json, "written_bytes", r->html->written);
		GNN_TRY(gnn_json_line(r->json, &r->text));
	}
	GNN_TRY(gnn_html_flush(r->html));
	GNN_TRY(gnn_pub_commit(&r->pub));
out:
	return rc;
}

static void tell(const struct report *r)
{
	char size[GNN_UNITS_BYTES];

	if (r->json == NULL)
		gnn_out("%s: %llu run%s of %llu lines, %s\n", r->out,
			(unsigned long long)r->totals.runs, r->totals.runs == 1 ? "" : "s",
			(unsigned long long)r->lines,
			gnn_units_bytes(size, (double)r->html->written));
	else
		gnn_out("%s\n", r->text);
}

int gnn_cmd_report(const struct gnn_config *c)
{
	struct report r = {.config = c};
	int rc;

	GNN_TRY(begin(&r));
	GNN_TRY(read_all(&r));
	GNN_TRY(publish(&r));
	tell(&r);
out:
	gnn_pub_abort(r.pub);
	gnn_reader_close(&r.reader);
	if (r.record != NULL)
		gnn_record_clear(r.record);
	gnn_mem_free(r.record);
	gnn_mem_free(r.html);
	gnn_json_destroy(r.json);
	gnn_mem_free(r.text);
	gnn_mem_free(r.out);
	return rc;
}
