/* io/array_writer.c - one array of a container being written, block after block; see container.h.
 */
#define XXH_STATIC_LINKING_ONLY /* the state of a hash in place */

#include "base/mem.h"
#include "io/container.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum {
	SLOTS = 4, /* one fills while the others are on their way to the disk */
	SLOT_BYTES = GNN_ARRAY_WRITER_BYTES / SLOTS,
	BLOCKS = 2, /* that slots in flight can belong to */
};

_Static_assert(GNN_BLOCK_BYTES % SLOT_BYTES == 0, "a slot does not cross the border of a block");
_Static_assert(SLOTS * SLOT_BYTES <= GNN_BLOCK_BYTES, "slots belong to two blocks at most");

/* A block of the array, of which slots are on their way. */
struct block {
	uint64_t number;
	uint64_t sum;
	uint32_t in_flight; /* slots */
	bool ended;         /* all of it has been submitted, and `sum` is known */
};

struct slot {
	struct gnn_dio_request request;
	char *bytes; /* (SLOT_BYTES), less when the array is smaller */
	struct block *block;
	bool in_flight;
};

struct gnn_array_writer {
	struct gnn_container *container;
	const struct gnn_array *array;
	struct gnn_dio *dio;
	struct slot slot[SLOTS];
	struct block block[BLOCKS];
	XXH3_state_t hash;   /* of the current block */
	uint32_t current;    /* slot */
	uint64_t first_byte; /* of the current slot, in the array */
	uint64_t fill;       /* bytes in the current slot */
};

static void end_if_whole(struct gnn_array_writer *w, const struct block *b)
{
	if (b->ended && b->in_flight == 0)
		gnn_container_block_done(w->container, w->array, b->number, b->sum);
}

/* Waits until one more slot is on the disk; a block counts as written when all of it is. */
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
	s->block->in_flight--;
	end_if_whole(w, s->block);
	return GNN_OK;
}

/* The block that the current slot belongs to; at its start the hash starts too. */
static struct block *block_of(struct gnn_array_writer *w)
{
	uint64_t number = w->first_byte / GNN_BLOCK_BYTES;
	struct block *b = &w->block[number % BLOCKS];

	if (w->first_byte % GNN_BLOCK_BYTES == 0) {
		GNN_ASSERT(b->in_flight == 0);
		*b = (struct block){.number = number};
		XXH3_64bits_reset(&w->hash);
	}
	return b;
}

/* The slot goes to the disk while it is hashed, the last one padded to a page with zeros. */
static int flush(struct gnn_array_writer *w)
{
	struct slot *s = &w->slot[w->current];
	struct block *b = block_of(w);
	uint64_t padded = gnn_align_up(w->fill, GNN_PAGE_BYTES);
	int rc = GNN_OK;

	GNN_ASSERT(!s->in_flight && w->first_byte % SLOT_BYTES == 0);
	memset(s->bytes + w->fill, 0, padded - w->fill);
	s->block = b;
	s->request = (struct gnn_dio_request){
		.write = true,
		.offset = w->array->offset + w->first_byte,
		.bytes = padded,
		.buffer = s->bytes,
		.user = s,
	};
	GNN_TRY(gnn_dio_submit(w->dio, &s->request));
	s->in_flight = true;
	b->in_flight++;
	XXH3_64bits_update(&w->hash, s->bytes, w->fill);
	w->first_byte += w->fill;
	w->fill = 0;
	if (w->first_byte % GNN_BLOCK_BYTES == 0 || w->first_byte == w->array->bytes) {
		b->sum = XXH3_64bits_digest(&w->hash);
		b->ended = true;
	}
	w->current = (w->current + 1) % SLOTS;
	while (w->slot[w->current].in_flight)
		GNN_TRY(reap(w));
out:
	return rc;
}

static int open_slots(struct gnn_array_writer *w, uint64_t slot_bytes)
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
		GNN_TRY(gnn_mem_pages(&block, slot_bytes, GNN_MEM_IO));
		w->slot[i].bytes = block;
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
			w, gnn_min_u64(SLOT_BYTES,
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
		uint64_t n = gnn_min_u64(bytes, SLOT_BYTES - w->fill);

		memcpy(w->slot[w->current].bytes + w->fill, next, n);
		w->fill += n;
		next += n;
		bytes -= n;
		if (w->fill == SLOT_BYTES)
			GNN_TRY(flush(w));
	}
out:
	return rc;
}

int gnn_array_writer_close(struct gnn_array_writer **writer)
{
	struct gnn_array_writer *w = *writer;
	uint64_t end = w->first_byte + w->fill;
	int rc = GNN_OK;

	if (end % GNN_BLOCK_BYTES != 0 && end != w->array->bytes)
		GNN_FAIL(GNN_EBUG,
			"array %s: closed inside a block, at byte %" PRIu64 " of %" PRIu64,
			w->array->name, end, w->array->bytes);
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
	gnn_dio_abort(w->dio); /* waits: the blocks below are still being read from */
	for (uint32_t i = 0; i < SLOTS; i++)
		gnn_mem_free(w->slot[i].bytes);
	gnn_mem_free(w);
}
