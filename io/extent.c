/* io/extent.c - see extent.h. */
#include "io/extent.h"

#include "base/mem.h"
#include "io/hash.h"

#include <inttypes.h>
#include <string.h>

enum {
	SLOTS = GNN_EXTENT_SLOTS,
	HASH_BYTES = 64 << 10, /* hashed while they are in the cache */
	BLOCKS = SLOTS, /* that slots in flight can belong to, when they are as large as blocks */
};

/* A block of the extent, of which slots are on their way. */
struct block {
	uint64_t number;
	uint64_t sum;
	uint32_t in_flight; /* slots */
	bool ended;         /* all of it has been submitted, and `sum` is known */
};

struct slot {
	struct gnn_dio_request request;
	char *bytes; /* (slot_bytes), less when the extent is smaller */
	struct block *block;
	bool in_flight;
};

struct gnn_extent_writer {
	struct gnn_extent_writer_opts o;
	struct gnn_dio *dio; /* NULL: there is nothing to write */
	void *slab;          /* of all slots, for huge pages */
	struct slot slot[SLOTS];
	struct block block[BLOCKS];
	XXH3_state_t hash;   /* of the current block, without what is not hashed of the slot */
	uint32_t current;    /* slot */
	uint64_t first_byte; /* of the current slot, in the extent */
	uint64_t fill;       /* bytes in the current slot */
	uint64_t hashed;     /* of these */
};

static void end_if_whole(struct gnn_extent_writer *w, const struct block *b)
{
	if (b->ended && b->in_flight == 0)
		w->o.done(w->o.owner, b->number, b->sum);
}

/* Waits until one more slot is on the disk; a block counts as written when all of it is. */
static int reap(struct gnn_extent_writer *w)
{
	struct gnn_dio_request *r;
	struct slot *s;
	int rc = gnn_dio_reap(w->dio, &r);

	if (rc < 0)
		return gnn_err_place(rc, "writing %s of %s", w->o.extent.name, w->o.extent.path);
	GNN_ASSERT(rc == GNN_OK);
	s = r->user;
	s->in_flight = false;
	s->block->in_flight--;
	end_if_whole(w, s->block);
	return GNN_OK;
}

static int drain(struct gnn_extent_writer *w)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < SLOTS; i++)
		while (w->slot[i].in_flight)
			GNN_TRY(reap(w));
out:
	return rc;
}

static void hash_fill(struct gnn_extent_writer *w)
{
	if (w->hashed == 0 && w->first_byte % GNN_BLOCK_BYTES == 0)
		XXH3_64bits_reset(&w->hash);
	gnn_hash_update(&w->hash, w->slot[w->current].bytes + w->hashed, w->fill - w->hashed);
	w->hashed = w->fill;
}

/* The block that the current slot belongs to. */
static struct block *block_of(struct gnn_extent_writer *w)
{
	uint64_t number = w->first_byte / GNN_BLOCK_BYTES;
	struct block *b = &w->block[number % BLOCKS];

	if (w->first_byte % GNN_BLOCK_BYTES == 0) {
		GNN_ASSERT(b->in_flight == 0);
		*b = (struct block){.number = number};
	}
	return b;
}

/* The current slot goes to the disk as it is, padded to a page with zeros. */
static int submit(struct gnn_extent_writer *w, struct block *b)
{
	struct slot *s = &w->slot[w->current];
	uint64_t padded = gnn_align_up(w->fill, GNN_PAGE_BYTES);
	int rc;

	GNN_ASSERT(!s->in_flight && w->first_byte % w->o.slot_bytes == 0);
	memset(s->bytes + w->fill, 0, padded - w->fill);
	s->block = b;
	s->request = (struct gnn_dio_request){
		.write = true,
		.offset = w->o.extent.offset + w->first_byte,
		.bytes = padded,
		.buffer = s->bytes,
		.user = s,
	};
	GNN_TRY(gnn_dio_submit(w->dio, &s->request));
	s->in_flight = true;
	b->in_flight++;
out:
	return rc;
}

/* A whole slot, or the last one, is on its way while it is hashed; the next one is made free. */
static int flush(struct gnn_extent_writer *w)
{
	struct block *b = block_of(w);
	int rc;

	GNN_TRY(submit(w, b));
	hash_fill(w);
	w->first_byte += w->fill;
	w->fill = w->hashed = 0;
	if (w->first_byte % GNN_BLOCK_BYTES == 0 || w->first_byte == w->o.extent.bytes) {
		b->sum = XXH3_64bits_digest(&w->hash);
		b->ended = true;
	}
	w->current = (w->current + 1) % SLOTS;
	while (w->slot[w->current].in_flight)
		GNN_TRY(reap(w));
out:
	return rc;
}

static int open_slots(struct gnn_extent_writer *w, uint64_t slot_bytes)
{
	const struct gnn_dio_opts dio = {
		.path = w->o.extent.path,
		.mode = GNN_DIO_WRITE,
		.engine = w->o.extent.engine,
		.depth = SLOTS,
	};
	int rc;

	GNN_TRY(gnn_mem_pages(&w->slab, SLOTS * slot_bytes, GNN_MEM_IO));
	for (uint32_t i = 0; i < SLOTS; i++)
		w->slot[i].bytes = (char *)w->slab + i * slot_bytes;
	GNN_TRY(gnn_dio_open(&w->dio, &dio));
out:
	return rc;
}

int gnn_extent_writer_open(struct gnn_extent_writer **out, const struct gnn_extent_writer_opts *o)
{
	uint64_t bytes = o->extent.bytes;
	struct gnn_extent_writer *w = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->first_byte % GNN_BLOCK_BYTES == 0 && o->first_byte <= bytes);
	GNN_ASSERT(o->slot_bytes != 0 && GNN_BLOCK_BYTES % o->slot_bytes == 0 &&
		o->slot_bytes % GNN_PAGE_BYTES == 0);
	GNN_NEW(w, GNN_MEM_IO);
	w->o = *o;
	w->first_byte = o->first_byte;
	if (bytes > o->first_byte)
		GNN_TRY(open_slots(w, gnn_min_u64(o->slot_bytes,
			gnn_align_up(bytes - o->first_byte, GNN_PAGE_BYTES))));
	*out = w;
	w = NULL;
out:
	gnn_extent_writer_abort(w);
	return rc;
}

int gnn_extent_writer_push(struct gnn_extent_writer *w, const void *from, uint64_t bytes)
{
	const char *next = from;
	int rc = GNN_OK;

	if (bytes > w->o.extent.bytes - w->first_byte - w->fill)
		return gnn_err(GNN_EBUG, "%s: more than its %" PRIu64 " bytes are written",
			w->o.extent.name, w->o.extent.bytes);
	while (bytes != 0) {
		uint64_t n = gnn_min_u64(w->o.slot_bytes - w->fill, HASH_BYTES);

		n = gnn_min_u64(n, bytes);
		memcpy(w->slot[w->current].bytes + w->fill, next, n);
		w->fill += n;
		if (w->fill - w->hashed >= HASH_BYTES)
			hash_fill(w);
		next += n;
		bytes -= n;
		if (w->fill == w->o.slot_bytes)
			GNN_TRY(flush(w));
	}
out:
	return rc;
}

/* The slot that fills stays where it is: what comes behind it is written over it again. */
int gnn_extent_writer_settle(struct gnn_extent_writer *w)
{
	struct block *b;
	int rc = GNN_OK;

	if (w->dio == NULL)
		return GNN_OK;
	if (w->first_byte + w->fill == w->o.extent.bytes && w->fill != 0)
		GNN_TRY(flush(w));
	if (w->fill != 0) {
		b = block_of(w);
		GNN_TRY(submit(w, b));
		GNN_TRY(drain(w));
		hash_fill(w);
		w->o.done(w->o.owner, b->number, XXH3_64bits_digest(&w->hash));
		goto out;
	}
	GNN_TRY(drain(w));
	if (w->first_byte % GNN_BLOCK_BYTES != 0 && w->first_byte != w->o.extent.bytes)
		w->o.done(w->o.owner, w->first_byte / GNN_BLOCK_BYTES,
			XXH3_64bits_digest(&w->hash));
out:
	return rc;
}

uint64_t gnn_extent_writer_at(const struct gnn_extent_writer *w)
{
	return w->first_byte + w->fill;
}

int gnn_extent_writer_close(struct gnn_extent_writer **writer)
{
	struct gnn_extent_writer *w = *writer;
	int rc = GNN_OK;

	if (w == NULL)
		return GNN_OK;
	GNN_TRY(gnn_extent_writer_settle(w));
	rc = gnn_dio_close(w->dio);
	w->dio = NULL;
out:
	gnn_extent_writer_abort(w);
	*writer = NULL;
	return rc;
}

void gnn_extent_writer_abort(struct gnn_extent_writer *w)
{
	if (w == NULL)
		return;
	gnn_dio_abort(w->dio); /* waits: the slots below are still being read from */
	gnn_mem_free(w->slab);
	gnn_mem_free(w);
}
