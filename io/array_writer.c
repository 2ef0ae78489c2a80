/* io/array_writer.c - one array of a container being written, block after block; see container.h.
 */
#include "base/mem.h"
#include "io/container.h"
#include "io/extent.h"

#include <inttypes.h>
#include <stdio.h>

_Static_assert(GNN_EXTENT_SLOTS * GNN_EXTENT_SLOT_BYTES == GNN_ARRAY_WRITER_BYTES,
	"what container.h promises");

struct gnn_array_writer {
	struct gnn_container *container;
	const struct gnn_array *array;
	struct gnn_extent_writer *extent;
	char name[GNN_ARRAY_NAME_MAX + 8];
};

static void block_done(void *owner, uint64_t block, uint64_t sum)
{
	struct gnn_array_writer *w = owner;

	gnn_container_block_done(w->container, w->array, block, sum);
}

/* A power of two: a slot does not cross the border of a block. */
static uint64_t slot_bytes(const struct gnn_container *c)
{
	uint64_t all = gnn_container_options(c)->writer_bytes, bytes = GNN_BLOCK_BYTES;

	if (all == 0)
		all = GNN_ARRAY_WRITER_BYTES;
	while (bytes > GNN_PAGE_BYTES && bytes > all / GNN_EXTENT_SLOTS)
		bytes /= 2;
	return bytes;
}

int gnn_array_writer_open(struct gnn_array_writer **out, struct gnn_container *c, const char *name,
	uint64_t first_byte)
{
	const struct gnn_array *a = gnn_container_find(c, name);
	struct gnn_array_writer *w = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(first_byte % GNN_BLOCK_BYTES == 0);
	if (a == NULL || first_byte > a->bytes)
		return gnn_err(GNN_EBUG, "%s: no array %s with a byte %" PRIu64 " was declared",
			gnn_container_path(c), name, first_byte);
	GNN_NEW(w, GNN_MEM_IO);
	w->container = c;
	w->array = a;
	snprintf(w->name, sizeof(w->name), "array %s", a->name);
	GNN_TRY(gnn_extent_writer_open(&w->extent, &(struct gnn_extent_writer_opts){
		.extent = {.path = gnn_container_temp(c), .name = w->name,
			.engine = gnn_container_options(c)->engine, .offset = a->offset,
			.bytes = a->bytes},
		.first_byte = first_byte, .slot_bytes = slot_bytes(c), .done = block_done,
		.owner = w}));
	*out = w;
	w = NULL;
out:
	gnn_array_writer_abort(w);
	return rc;
}

int gnn_array_writer_push(struct gnn_array_writer *w, const void *from, uint64_t bytes)
{
	return gnn_extent_writer_push(w->extent, from, bytes);
}

int gnn_array_writer_close(struct gnn_array_writer **writer)
{
	struct gnn_array_writer *w = *writer;
	uint64_t end = gnn_extent_writer_at(w->extent);
	int rc = GNN_OK;

	if (end % GNN_BLOCK_BYTES != 0 && end != w->array->bytes)
		GNN_FAIL(GNN_EBUG,
			"array %s: closed inside a block, at byte %" PRIu64 " of %" PRIu64,
			w->array->name, end, w->array->bytes);
	rc = gnn_extent_writer_close(&w->extent);
out:
	gnn_array_writer_abort(w);
	*writer = NULL;
	return rc;
}

void gnn_array_writer_abort(struct gnn_array_writer *w)
{
	if (w == NULL)
		return;
	gnn_extent_writer_abort(w->extent);
	gnn_mem_free(w);
}
