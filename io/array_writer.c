/* io/array_writer.c - one array of a container being written, block after block; see container.h.
 */
#include "base/mem.h"
#include "io/container.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum { SLOTS = 2 }; /* one block fills while the other is on its way to the disk */

struct slot {
	struct gnn_dio_request request;
	char *block;     /* (GNN_BLOCK_BYTES), less when the array is smaller */
	uint64_t number; /* of the block in the array */
	uint64_t sum;
	bool in_flight;
};

struct gnn_array_writer {
	struct gnn_container *container;
	const struct gnn_array *array;
	struct gnn_dio *dio;
	struct slot slot[SLOTS];
	uint32_t current;
	uint64_t first_byte; /* of the current block, in the array */
	uint64_t fill;       /* bytes in the current block */
};

/* Waits until one more block is on the disk; only then does it count as written. */
static int reap(struct gnn_array_writer *w)
{
	struct gnn_dio_request *r;
	struct slot *s;
	int rc = gnn_dio_reap(w->dio, &r);

	if (rc < 0)
		return gnn_err_place(rc, "writing array %s of %s", w->array->name,
			gnn_container_path(w->container));
	GNN_ASSERT(rc == GNN_OK);
	s = r->user;
	s->in_flight = false;
	gnn_container_block_done(w->container, w->array, s->number, s->sum);
	return GNN_OK;
}

/* The block goes to the disk while it is hashed, the last one padded to a page with zeros. */
static int flush(struct gnn_array_writer *w)
{
	struct slot *s = &w->slot[w->current];
	uint64_t padded = gnn_align_up(w->fill, GNN_PAGE_BYTES);
	int rc = GNN_OK;

	GNN_ASSERT(!s->in_flight && w->first_byte % GNN_BLOCK_BYTES == 0);
	memset(s->block + w->fill, 0, padded - w->fill);
	s->number = w->first_byte / GNN_BLOCK_BYTES;
	s->request = (struct gnn_dio_request){
		.write = true,
		.offset = w->array->offset + w->first_byte,
		.bytes = padded,
		.buffer = s->block,
		.user = s,
	};
	GNN_TRY(gnn_dio_submit(w->dio, &s->request));
	s->in_flight = true;
	s->sum = XXH3_64bits(s->block, w->fill);
	w->first_byte += w->fill;
	w->fill = 0;
	w->current = (w->current + 1) % SLOTS;
	while (w->slot[w->current].in_flight)
		GNN_TRY(reap(w));
out:
	return rc;
}

static int open_slots(struct gnn_array_writer *w, uint64_t block_bytes)
{
	const struct gnn_dio_opts dio = {
		.path = gnn_container_temp(w->container),
		.mode = GNN_DIO_WRITE,
		.engine = gnn_container_options(w->container)->engine,
		.depth = SLOTS,
	};
	void *block;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < SLOTS; i++) {
		GNN_TRY(gnn_mem_pages(&block, block_bytes, GNN_MEM_IO));
		w->slot[i].block = block;
	}
	GNN_TRY(gnn_dio_open(&w->dio, &dio));
out:
	return rc;
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
	w->first_byte = first_byte;
	if (a->bytes > first_byte)
		GNN_TRY(open_slots(
			w, gnn_min_u64(GNN_BLOCK_BYTES,
				   gnn_align_up(a->bytes - first_byte, GNN_PAGE_BYTES))));
	*out = w;
	w = NULL;
out:
	gnn_array_writer_abort(w);
	return rc;
}

int gnn_array_writer_push(struct gnn_array_writer *w, const void *from, uint64_t bytes)
{
	const char *next = from;
	int rc = GNN_OK;

	if (bytes > w->array->bytes - w->first_byte - w->fill)
		return gnn_err(GNN_EBUG, "array %s: more than its %" PRIu64 " bytes are written",
			w->array->name, w->array->bytes);
	while (bytes != 0) {
		uint64_t n = gnn_min_u64(bytes, GNN_BLOCK_BYTES - w->fill);

		memcpy(w->slot[w->current].block + w->fill, next, n);
		w->fill += n;
		next += n;
		bytes -= n;
		if (w->fill == GNN_BLOCK_BYTES)
			GNN_TRY(flush(w));
	}
out:
	return rc;
}

int gnn_array_writer_close(struct gnn_array_writer **writer)
{
	struct gnn_array_writer *w = *writer;
	int rc = GNN_OK;

	if (w->fill != 0 && w->first_byte + w->fill != w->array->bytes)
		GNN_FAIL(GNN_EBUG,
			"array %s: closed inside a block, at byte %" PRIu64 " of %" PRIu64,
			w->array->name, (w->first_byte + w->fill), w->array->bytes);
	if (w->fill != 0)
		GNN_TRY(flush(w));
	for (uint32_t i = 0; i < SLOTS; i++)
		while (w->slot[i].in_flight)
			GNN_TRY(reap(w));
	rc = gnn_dio_close(w->dio);
	w->dio = NULL;
out:
	gnn_array_writer_abort(w);
	*writer = NULL;
	return rc;
}

void gnn_array_writer_abort(struct gnn_array_writer *w)
{
	if (w == NULL)
		return;
	gnn_dio_close(w->dio); /* waits: the blocks below are still being read from */
	for (uint32_t i = 0; i < SLOTS; i++)
		gnn_mem_free(w->slot[i].block);
	gnn_mem_free(w);
}
