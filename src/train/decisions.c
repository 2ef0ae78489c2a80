/* train/decisions.c - see decisions.h. */
#include "train/decisions.h"

#include "base/mem.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 1 << 24, LINE_BYTES = 64 };

int gnn_decisions_write(const char *path, const struct gnn_decisions_kind *kind, uint64_t number,
	const struct gnn_decision *log, uint64_t count)
{
	struct gnn_pub *pub = NULL;
	char line[LINE_BYTES];
	int rc;

	GNN_TRY(gnn_pub_begin(&pub, path));
	snprintf(line, sizeof(line), "%s %llu\n", kind->head, (unsigned long long)number);
	GNN_TRY(gnn_pub_write(pub, line, strlen(line)));
	for (uint64_t i = 0; i < count; i++) {
		snprintf(line, sizeof(line), "%llu %llu\n", (unsigned long long)log[i].at,
			(unsigned long long)log[i].value);
		GNN_TRY(gnn_pub_write(pub, line, strlen(line)));
	}
	GNN_TRY(gnn_pub_commit(&pub));
out:
	gnn_pub_abort(pub);
	return rc;
}

/* Two numbers of a line; false: something else. */
static bool read_line(const char *at, struct gnn_decision *d)
{
	char *end;

	d->at = strtoull(at, &end, 10);
	if (end == at || *end != ' ')
		return false;
	at = end + 1;
	d->value = strtoull(at, &end, 10);
	return end != at && *end == '\n';
}

static int read_lines(const char *path, const char *text, struct gnn_decision *log, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++, text = strchr(text, '\n') + 1)
		if (!read_line(text, &log[i]))
			return gnn_err(GNN_EDATA, "%s, line %llu: wanted two numbers", path,
				(unsigned long long)i + 2);
	return GNN_OK;
}

int gnn_decisions_read(const char *path, const struct gnn_decisions_kind *kind, uint64_t number,
	struct gnn_decision **log, uint64_t *count)
{
	const size_t length = strlen(kind->head);
	char head[LINE_BYTES], *text = NULL;
	uint64_t bytes;
	int rc;

	*log = NULL;
	*count = 0;
	GNN_TRY(gnn_file_slurp(path, LOG_BYTES, &text, &bytes));
	snprintf(head, sizeof(head), "%s %llu\n", kind->head, (unsigned long long)number);
	if (bytes < length || memcmp(text, kind->head, length) != 0 || text[bytes - 1] != '\n')
		GNN_FAIL(GNN_EDATA, "%s: no log of %s", path, kind->option);
	if (strncmp(text, head, strlen(head)) != 0)
		GNN_FAIL(GNN_ECONFIG, "%s is of a training with other %s: found '%.*s', wanted "
			"%llu", path, kind->number, (int)strcspn(text + length, "\n"),
			text + length, (unsigned long long)number);
	for (uint64_t i = strlen(head); i < bytes; i++)
		*count += text[i] == '\n';
	GNN_NEW_ARRAY(*log, gnn_max_u64(*count, 1), GNN_MEM_MISC);
	GNN_TRY(read_lines(path, text + strlen(head), *log, *count));
out:
	gnn_mem_free(text);
	return rc;
}
