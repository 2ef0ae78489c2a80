/*
 * io/cursor.h - the items of an array of whole numbers, one after another, verified.
 *
 * Flow     stream -> [cursor] -> survey
 * Owns     its stream
 * Lends    nothing
 * Thread   one caller
 * Fails    as the stream; GNN_EDATA past the end
 */
#ifndef GNN_IO_CURSOR_H
#define GNN_IO_CURSOR_H

#include "base/progress.h"
#include "io/stream.h"

#include <string.h>

struct gnn_cursor {
	const struct gnn_array *array;
	struct gnn_stream      *stream; /* NULL: not open, or no such array */
	struct gnn_progress    *progress; /* told of bytes; NULL is fine */
	struct gnn_piece       *piece;
	const char             *at, *end; /* in the piece */
	uint32_t                item_bytes;
};

GNN_BEGIN_DECLS

int  gnn_cursor_open (struct gnn_cursor *c, struct gnn_container *container,
	const struct gnn_array *a, struct gnn_progress *progress);
/* Items [first, first + count) only. */
int  gnn_cursor_open_part(struct gnn_cursor *c, struct gnn_container *container,
	const struct gnn_array *a, uint64_t first, uint64_t count);
int  gnn_cursor_refill_(struct gnn_cursor *c); /* internal: the next piece */
void gnn_cursor_close(struct gnn_cursor *c); /* all zero is fine */

/* The next item, its bits widened with zeros. Items of 16 bits are no whole numbers here. */
static inline int gnn_cursor_next(struct gnn_cursor *c, uint64_t *value)
{
	if (c->at == c->end) {
		int rc = gnn_cursor_refill_(c);

		if (rc < 0)
			return rc;
	}
	if (c->item_bytes == sizeof(uint32_t)) {
		uint32_t narrow;

		memcpy(&narrow, c->at, sizeof(narrow));
		*value = narrow;
	} else if (c->item_bytes == sizeof(uint64_t)) {
		memcpy(value, c->at, sizeof(*value));
	} else {
		*value = *(const uint8_t *)c->at;
	}
	c->at += c->item_bytes;
	return GNN_OK;
}

GNN_END_DECLS

#endif
