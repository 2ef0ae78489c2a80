/* report/reader.c - see reader.h. */
#include "report/reader.h"

#include "base/json.h"
#include "io/quote.h"

#include <cJSON.h>
#include <string.h>

#define SCHEMA "gnnrun-metrics-1"
#define OPENING "{\"schema\":\""

int gnn_reader_open(struct gnn_reader *r, const char *path)
{
	*r = (struct gnn_reader){0};
	gnn_json_use_budget();
	return gnn_lines_open(&r->lines, path, NULL);
}

/* GNN_SKIPPED when the text is not one value. */
static int parse(cJSON **out, const char *text, const char *end)
{
	const char *behind = text;

	gnn_err_clear();
	*out = cJSON_ParseWithLengthOpts(text, (size_t)(end - text), &behind, 0);
	if (*out == NULL && gnn_err_text()[0] != '\0')
		return GNN_EOS; /* base/mem.h has said why */
	while (*out != NULL && behind < end && (*behind == ' ' || *behind == '\t'))
		behind++;
	if (*out != NULL && behind == end)
		return GNN_OK;
	cJSON_Delete(*out);
	*out = NULL;
	return GNN_SKIPPED;
}

/* The last place behind the first byte where a line may begin, or NULL. */
static const char *inner_line(const char *text, const char *end)
{
	const char *found = NULL;

	for (const char *p = text + 1; (p = memmem(p, (size_t)(end - p), OPENING,
		sizeof(OPENING) - 1)) != NULL; p++)
		found = p;
	return found;
}

static int refuse(const struct gnn_reader *r)
{
	char quoted[GNN_QUOTE_MAX];

	gnn_quote(r->lines.text, (uint64_t)(r->lines.end - r->lines.text), quoted);
	return gnn_err(GNN_EDATA, "%s:%llu: a line of --metrics is wanted, a JSON object, found %s",
		r->lines.name, (unsigned long long)r->lines.number, quoted);
}

/* GNN_SKIPPED: the line was cut off at the end of the file. */
static int read_line(struct gnn_reader *r)
{
	const struct gnn_lines *l = &r->lines;
	const char *inner;
	int rc = parse(&r->line, l->text, l->end);

	if (rc != GNN_SKIPPED)
		return rc;
	inner = inner_line(l->text, l->end);
	if (inner != NULL && l->text[0] == '{') {
		rc = parse(&r->line, inner, l->end);
		if (rc == GNN_OK)
			r->cut++;
		if (rc != GNN_SKIPPED)
			return rc;
	}
	if (!l->ended || l->from < l->to || !l->unfinished)
		return refuse(r);
	r->cut++;
	return GNN_SKIPPED;
}

static int check_line(const struct gnn_reader *r)
{
	const char *schema = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(r->line,
		"schema"));
	char quoted[GNN_QUOTE_MAX];

	if (schema == NULL ||
		!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(r->line, "run_id")) ||
		!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(r->line, "event")))
		return refuse(r);
	if (strcmp(schema, SCHEMA) == 0)
		return GNN_OK;
	gnn_quote(schema, strlen(schema), quoted);
	return gnn_err(GNN_EDATA, "%s:%llu: schema " SCHEMA " is wanted, found %s", r->lines.name,
		(unsigned long long)r->lines.number, quoted);
}

int gnn_reader_next(struct gnn_reader *r, const struct cJSON **line)
{
	int rc;

	*line = NULL;
	do {
		cJSON_Delete(r->line);
		r->line = NULL;
		rc = gnn_lines_next(&r->lines);
		if (rc != GNN_OK)
			return rc;
		rc = read_line(r);
	} while (rc == GNN_SKIPPED);
	if (rc == GNN_OK)
		rc = check_line(r);
	if (rc == GNN_OK)
		*line = r->line;
	return rc;
}

void gnn_reader_close(struct gnn_reader *r)
{
	cJSON_Delete(r->line);
	gnn_lines_close(&r->lines);
	*r = (struct gnn_reader){0};
}
