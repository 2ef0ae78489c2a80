/* io/cursor.c - see cursor.h. */
#include "io/cursor.h"

enum { PIECE_BYTES = 1 << 20, AHEAD = 2 };

int gnn_cursor_open(struct gnn_cursor *c, struct gnn_container *container,
	const struct gnn_array *a, struct gnn_progress *progress)
{
	GNN_ASSERT(gnn_dtype_bytes(a->dtype) != sizeof(uint16_t));
	*c = (struct gnn_cursor){
		.array = a, .progress = progress, .item_bytes = gnn_dtype_bytes(a->dtype)};
	return gnn_stream_open_array(&c->stream, container, a, PIECE_BYTES, AHEAD);
}

int gnn_cursor_refill_(struct gnn_cursor *c)
{
	int rc = GNN_OK;

	if (c->piece != NULL)
		gnn_stream_put(c->stream, c->piece);
	GNN_TRY(gnn_stream_next(c->stream, &c->piece));
	if (rc == GNN_EOF)
		GNN_FAIL(GNN_EDATA, "array %s ends too early", c->array->name);
	gnn_progress_add(c->progress, c->piece->bytes / c->item_bytes, c->piece->bytes);
	c->at = c->piece->data;
	c->end = c->at + c->piece->bytes;
out:
	return rc;
}

void gnn_cursor_close(struct gnn_cursor *c)
{
	gnn_stream_close(c->stream);
	*c = (struct gnn_cursor){0};
}
