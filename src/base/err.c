/* base/err.c - see err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char err_text[GNN_ERR_TEXT_MAX];

int gnn_err(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err_text, sizeof(err_text), fmt, ap);
	va_end(ap);
	return status;
}

int gnn_err_sys(int status, int errnum, const char *fmt, ...)
{
	char reason[128];
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	vsnprintf(err_text, sizeof(err_text), fmt, ap);
	va_end(ap);
	len = strlen(err_text);
	snprintf(err_text + len, sizeof(err_text) - len, ": %s",
		strerror_r(errnum, reason, sizeof(reason)));
	return status;
}

int gnn_err_place(int status, const char *fmt, ...)
{
	char text[2 * GNN_ERR_TEXT_MAX + 2]; /* place, ": ", text: cut at the end only */
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	vsnprintf(text, GNN_ERR_TEXT_MAX, fmt, ap);
	va_end(ap);
	len = strlen(text);
	snprintf(text + len, sizeof(text) - len, ": %s", err_text);
	memcpy(err_text, text, sizeof(err_text) - 1);
	return status;
}

const char *gnn_err_text(void)
{
	return err_text;
}

void gnn_err_clear(void)
{
	err_text[0] = '\0';
}

void gnn_err_save(struct gnn_err_state *to, int status)
{
	to->status = status;
	memcpy(to->text, err_text, sizeof(to->text));
}

int gnn_err_restore(const struct gnn_err_state *from)
{
	memcpy(err_text, from->text, sizeof(err_text));
	return from->status;
}

void gnn_assert_failed(const char *expr, const char *file, int line)
{
	fprintf(stderr, "gnnrun: bug: %s does not hold at %s:%d\n", expr, file, line);
	abort();
}
