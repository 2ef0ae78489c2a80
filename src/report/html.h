/*
 * report/html.h - text of a page on its way to a file, foreign text escaped.
 *
 * Flow     page, chart, sheet -> [html] -> gnn_pub
 * Owns     one buffer; the publication is its caller's
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EIO, kept until flush: what is put behind a failure is dropped
 */
#ifndef GNN_REPORT_HTML_H
#define GNN_REPORT_HTML_H

#include "base/err.h"
#include "io/file.h"

enum { GNN_HTML_BUFFER_BYTES = 1 << 15 };

struct gnn_html {
	struct gnn_pub *pub;
	int      rc;      /* the first failure */
	uint64_t written; /* bytes, with those that wait */
	uint32_t used;
	char     buffer[GNN_HTML_BUFFER_BYTES];
};

GNN_BEGIN_DECLS

void gnn_html_put (struct gnn_html *h, const char *markup);
void gnn_html_form(struct gnn_html *h, const char *fmt, ...) GNN_PRINTF(2, 3); /* 500 bytes */
/* Text or an attribute's value: what marks up is escaped, bad UTF-8 and controls are U+FFFD. */
void gnn_html_text(struct gnn_html *h, const char *text);
int  gnn_html_flush(struct gnn_html *h);

GNN_END_DECLS

#endif
