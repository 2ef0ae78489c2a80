/* io/cursor.c - see cursor.h. */
#include "io/cursor.h"

enum { PIECE_BYTES = 1 << 20, AHEAD = 2 };

int gnn_cursor_open(struct gnn_cursor *c, struct gnn_container *container,
	const struct gnn_array *a, struct gnn_progress *progress)
{
	int rc = gnn_cursor_open_part(c, container, a, 0, a->bytes / gnn_dtype_bytes(a->dtype));

	c->progress = progress;
	return rc;
}

int gnn_cursor_open_part(struct gnn_cursor *c, struct gnn_container *container,
	const struct gnn_array *a, uint64_t first, uint64_t count)
{
	const uint64_t item = gnn_dtype_bytes(a->dtype);
	const struct gnn_stream_opts o = {
		.container = container,
		.array = a,
		.first_byte = first * item,
		.bytes = count * item,
		.piece_bytes = PIECE_BYTES,
		.ahead = AHEAD,
		.lent = 1,
		.verify = true,
	};

	GNN_ASSERT(item != sizeof(uint16_t));
	*c = (struct gnn_cursor){.array = a, .item_bytes = (uint32_t)item};
	return gnn_stream_open(&c->stream, &o);
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
