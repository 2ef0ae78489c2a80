/* report/html.c - see html.h. */
#include "report/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FORM_BYTES = 512 };

static void flush(struct gnn_html *h)
{
	if (h->rc == GNN_OK && h->used > 0)
		h->rc = gnn_pub_write(h->pub, h->buffer, h->used);
	h->used = 0;
}

static void put(struct gnn_html *h, const char *from, size_t bytes)
{
	h->written += bytes;
	while (bytes > 0) {
		size_t part = GNN_HTML_BUFFER_BYTES - h->used;

		if (part > bytes)
			part = bytes;
		memcpy(h->buffer + h->used, from, part);
		h->used += (uint32_t)part;
		from += part;
		bytes -= part;
		if (h->used == GNN_HTML_BUFFER_BYTES)
			flush(h);
	}
}

void gnn_html_put(struct gnn_html *h, const char *markup)
{
	put(h, markup, strlen(markup));
}

void gnn_html_form(struct gnn_html *h, const char *fmt, ...)
{
	char text[FORM_BYTES];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	GNN_ASSERT(len >= 0 && len < FORM_BYTES);
	put(h, text, (size_t)len);
}

/* Bytes of the character that begins here, 0 when it is none that a page may hold. */
static int character(const unsigned char *p)
{
	int more = *p < 0x80 ? 0 : *p >= 0xc2 && *p < 0xe0 ? 1 : *p >= 0xe0 && *p < 0xf0 ? 2 :
		*p >= 0xf0 && *p < 0xf5 ? 3 : -1;
	uint32_t code = more == 0 ? *p : more > 0 ? *p & (0x3fu >> more) : 0;

	for (int i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	if (more < 0 || (code < 0x20 && code != '\t' && code != '\n') ||
		(code >= 0x7f && code < 0xa0) || (more == 2 && code < 0x800) ||
		(more == 3 && (code < 0x10000 || code > 0x10ffff)) ||
		(code >= 0xd800 && code < 0xe000) || (code & 0xfffe) == 0xfffe)
		return 0;
	return more + 1;
}

static const char *entity(char c)
{
	return c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" :
		c == '\'' ? "&#39;" : NULL;
}

void gnn_html_text(struct gnn_html *h, const char *text)
{
	while (*text != '\0') {
		int bytes = character((const unsigned char *)text);

		if (bytes == 0)
			gnn_html_put(h, "\xef\xbf\xbd");
		else if (entity(*text) != NULL)
			gnn_html_put(h, entity(*text));
		else
			put(h, text, (size_t)bytes);
		text += bytes > 0 ? bytes : 1;
	}
}

int gnn_html_flush(struct gnn_html *h)
{
	flush(h);
	return h->rc;
}
