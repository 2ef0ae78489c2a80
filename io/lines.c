/* io/lines.c - see lines.h. */
#include "io/lines.h"

#include "base/mem.h"
#include "io/columns.h"
#include "io/scan.h"

#include <string.h>

enum { BUFFER_BYTES = 4 << 20 };

int gnn_lines_open(struct gnn_lines *l, const char *path, struct gnn_input_record *record)
{
	int rc = GNN_OK;

	*l = (struct gnn_lines){0};
	GNN_TRY(gnn_input_open(&l->input, &(struct gnn_input_opts){
		.path = path, .record = record}));
	l->name = gnn_input_name(l->input);
	/* One byte more: the newline that the last line may lack. */
	GNN_NEW_ARRAY(l->buffer, BUFFER_BYTES + 1 + GNN_SCAN_SLACK, GNN_MEM_IO);
out:
	if (rc < 0)
		gnn_lines_close(l);
	return rc;
}

/* Moves the rest to the front and reads behind it. */
static int refill(struct gnn_lines *l)
{
	uint64_t rest = l->to - l->from, got;
	int rc = GNN_OK;

	if (rest == BUFFER_BYTES)
		GNN_FAIL(GNN_EDATA, "%s:%llu: a line of over %d bytes", l->name,
			(unsigned long long)l->number + 1, BUFFER_BYTES);
	memmove(l->buffer, l->buffer + l->from, rest);
	GNN_TRY(gnn_input_read(l->input, l->buffer + rest, BUFFER_BYTES - rest, &got));
	l->from = 0;
	l->to = rest + got;
	if (rest + got < BUFFER_BYTES) {
		l->ended = true;
		l->unfinished = l->to > 0 && l->buffer[l->to - 1] != '\n';
		if (l->unfinished)
			l->buffer[l->to++] = '\n';
	}
	memset(l->buffer + l->to, 0, GNN_SCAN_SLACK);
out:
	return rc;
}

static int next_any(struct gnn_lines *l)
{
	char *newline = NULL;
	int rc = GNN_OK;

	for (;;) {
		newline = memchr(l->buffer + l->from, '\n', l->to - l->from);
		if (newline != NULL || l->ended)
			break;
		GNN_TRY(refill(l));
	}
	if (newline == NULL) {
		GNN_TRY(gnn_input_finish(l->input));
		return GNN_EOF;
	}
	l->text = l->buffer + l->from;
	l->end = newline;
	if (l->end > l->text && l->end[-1] == '\r')
		l->end--;
	l->from = (uint64_t)(newline - l->buffer) + 1;
	l->number++;
out:
	return rc;
}

int gnn_lines_next(struct gnn_lines *l)
{
	int rc;

	do {
		rc = next_any(l);
	} while (rc == GNN_OK && (gnn_columns_skip(l->text, l->end) == l->end || *l->text == '#' ||
		*l->text == '%'));
	return rc;
}

void gnn_lines_close(struct gnn_lines *l)
{
	gnn_input_close(l->input);
	gnn_mem_free(l->buffer);
	*l = (struct gnn_lines){0};
}
