/* io/quote.c - see quote.h. */
#include "io/quote.h"

#include <stdio.h>

enum { SHOWN_MAX = 44, ESCAPE_BYTES = 4 };

void gnn_quote(const char *from, uint64_t bytes, char to[GNN_QUOTE_MAX])
{
	uint64_t at = 0, i = 0;

	to[at++] = '\'';
	for (; i < bytes && at < SHOWN_MAX; i++) {
		unsigned char c = (unsigned char)from[i];

		if (c >= ' ' && c <= '~')
			to[at++] = (char)c;
		else
			at += (uint64_t)snprintf(to + at, ESCAPE_BYTES + 1, "\\x%02x", c);
	}
	snprintf(to + at, GNN_QUOTE_MAX - at, "%s", i < bytes ? "...'" : "'");
}
