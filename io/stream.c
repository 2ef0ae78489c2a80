/* io/stream.c - see stream.h. */
#include "io/stream.h"

#include "base/mem.h"
#include "io/hash.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A buffer and the read that fills it; the consumer sees the piece, which comes first. */
struct buffer {
	struct gnn_piece piece;
	struct gnn_dio_request request;
	char *pages;
	bool filled;
};

struct gnn_stream {
	struct gnn_stream_opts o;
	struct gnn_extent from; /* the array or the extent */
	char name[GNN_ARRAY_NAME_MAX + 8];
	struct gnn_dio *dio;
	uint32_t buffer_count;
	struct buffer *buffers;
	void *slab; /* of all their pages, for huge ones */
	struct buffer **coming; /* (buffer_count) of piece k at k % buffer_count */
	uint64_t piece_count;
	uint64_t asked;  /* pieces submitted so far */
	uint64_t handed; /* pieces given to the consumer so far */
	const char *map; /* of the file with GNN_DIO_MAP, which pieces point into; else NULL */
	const uint64_t *sums;
	XXH3_state_t *hash; /* of the block that is passing */

	/* put may be called from any thread. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct buffer **idle; /* (buffer_count) the first idle_count are free */
	uint32_t idle_count;
	bool cancelled;
};

/* --- sizes --- */

static uint64_t count_pieces(const struct gnn_stream_opts *o)
{
	return gnn_ceil_div(o->bytes, o->piece_bytes);
}

static uint32_t count_buffers(const struct gnn_stream_opts *o)
{
	return (uint32_t)gnn_min_u64((uint64_t)o->ahead + o->lent, count_pieces(o));
}

/* A piece that begins or ends inside a page is read with the whole of that page. */
static uint64_t bytes_of_buffer(const struct gnn_stream_opts *o)
{
	uint64_t piece = gnn_min_u64(o->piece_bytes, o->bytes);
	bool even = (o->piece_bytes | o->first_byte) % GNN_PAGE_BYTES == 0;

	return gnn_align_up(piece, GNN_PAGE_BYTES) + (even ? 0 : GNN_PAGE_BYTES);
}

static bool is_mapped(const struct gnn_stream_opts *o)
{
	return o->container != NULL && gnn_container_options(o->container)->engine == GNN_DIO_MAP;
}

uint64_t gnn_stream_buffer_bytes(const struct gnn_stream_opts *o)
{
	return o->bytes == 0 || is_mapped(o) ? 0 : count_buffers(o) * bytes_of_buffer(o);
}

/* --- open and close --- */

static int make_buffers(struct gnn_stream *s)
{
	uint64_t bytes = bytes_of_buffer(&s->o);
	int rc = GNN_OK;

	GNN_NEW_ARRAY(s->buffers, s->buffer_count, GNN_MEM_IO);
	GNN_NEW_ARRAY(s->coming, s->buffer_count, GNN_MEM_IO);
	GNN_NEW_ARRAY(s->idle, s->buffer_count, GNN_MEM_IO);
	if (!is_mapped(&s->o))
		GNN_TRY(gnn_mem_pages(&s->slab, s->buffer_count * bytes, GNN_MEM_IO));
	for (uint32_t i = 0; i < s->buffer_count; i++) {
		if (s->slab != NULL)
			s->buffers[i].pages = (char *)s->slab + i * bytes;
		s->idle[s->idle_count++] = &s->buffers[i];
	}
out:
	return rc;
}

/* An array is an extent of its container. */
static void set_extent(struct gnn_stream *s)
{
	const struct gnn_stream_opts *o = &s->o;
	const struct gnn_container_opts *c;

	if (o->extent != NULL) {
		s->from = *o->extent;
		s->sums = o->sums;
		return;
	}
	c = gnn_container_options(o->container);
	snprintf(s->name, sizeof(s->name), "array %s", o->array->name);
	s->from = (struct gnn_extent){.path = c->path, .name = s->name, .engine = c->engine,
		.depth = c->depth, .offset = o->array->offset, .bytes = o->array->bytes};
}

static int open_file(struct gnn_stream *s)
{
	const struct gnn_dio_opts dio = {
		.path = s->from.path,
		.mode = GNN_DIO_READ,
		.engine = s->from.engine,
		.depth = s->from.depth != 0 ? s->from.depth :
			(uint32_t)gnn_min_u64(s->buffer_count, 256),
	};
	uint64_t unused;
	int rc = GNN_OK;

	if (is_mapped(&s->o))
		GNN_TRY(gnn_container_map(s->o.container, &s->map, &unused));
	else
		GNN_TRY(gnn_dio_open(&s->dio, &dio));
	if (s->o.container == NULL)
		goto out;
	GNN_TRY(gnn_container_check_same(s->o.container));
	GNN_TRY(gnn_container_checksums(s->o.container, s->o.array, &s->sums, &unused));
out:
	return rc;
}

int gnn_stream_open(struct gnn_stream **out, const struct gnn_stream_opts *o)
{
	uint64_t item = o->array != NULL ? gnn_dtype_bytes(o->array->dtype) : 1;
	struct gnn_stream *s = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->piece_bytes != 0 && o->piece_bytes % item == 0 && o->first_byte % item == 0);
	GNN_ASSERT(o->ahead != 0 && o->lent != 0);
	GNN_NEW(s, GNN_MEM_IO);
	s->o = *o;
	set_extent(s);
	GNN_ASSERT(o->bytes <= s->from.bytes && o->first_byte <= s->from.bytes - o->bytes);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->piece_count = count_pieces(o);
	s->buffer_count = count_buffers(o);
	s->hash = XXH3_createState();
	if (s->hash == NULL)
		GNN_FAIL(GNN_EOS, "host memory: the system refuses a hash state");
	if (o->bytes != 0) {
		GNN_TRY(make_buffers(s));
		GNN_TRY(open_file(s));
	}
	*out = s;
	s = NULL;
out:
	gnn_stream_close(s);
	return rc;
}

int gnn_stream_open_array(struct gnn_stream **out, struct gnn_container *c,
	const struct gnn_array *a, uint64_t piece_bytes, uint32_t ahead)
{
	return gnn_stream_open(out, &(struct gnn_stream_opts){.container = c, .array = a,
		.bytes = a->bytes, .piece_bytes = piece_bytes, .ahead = ahead, .lent = 1,
		.verify = true});
}

void gnn_stream_close(struct gnn_stream *s)
{
	if (s == NULL)
		return;
	gnn_dio_abort(s->dio); /* waits: the buffers are still being filled */
	gnn_mem_free(s->slab);
	XXH3_freeState(s->hash);
	gnn_mem_free(s->buffers);
	gnn_mem_free(s->coming);
	gnn_mem_free(s->idle);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	gnn_mem_free(s);
}

/* --- reading ahead --- */

/* A free buffer, or NULL. Waits only when nothing is on its way, for then nothing else can come. */
static int take_idle(struct gnn_stream *s, struct buffer **b)
{
	int rc = GNN_OK;

	*b = NULL;
	pthread_mutex_lock(&s->lock);
	while (s->idle_count == 0 && s->asked == s->handed && !s->cancelled)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->cancelled)
		rc = gnn_err(GNN_ESTOP, "reading of %s was stopped", s->from.name);
	else if (s->idle_count != 0)
		*b = s->idle[--s->idle_count];
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int ask(struct gnn_stream *s, struct buffer *b)
{
	uint64_t from_start = s->asked * s->o.piece_bytes;
	uint64_t first = s->from.offset + s->o.first_byte + from_start; /* in the file */
	uint64_t bytes = gnn_min_u64(s->o.piece_bytes, s->o.bytes - from_start);
	uint64_t page = gnn_align_down(first, GNN_PAGE_BYTES);

	b->piece.data = s->map != NULL ? s->map + first : b->pages + (first - page);
	b->piece.first_byte = s->o.first_byte + from_start;
	b->piece.bytes = bytes;
	b->filled = s->map != NULL;
	b->request = (struct gnn_dio_request){
		.offset = page,
		.bytes = gnn_align_up(first + bytes, GNN_PAGE_BYTES) - page,
		.wanted = first + bytes - page,
		.buffer = b->pages,
		.user = b,
	};
	s->coming[s->asked % s->buffer_count] = b;
	s->asked++;
	return b->filled ? GNN_OK : gnn_dio_submit(s->dio, &b->request);
}

static int read_ahead(struct gnn_stream *s)
{
	struct buffer *b;
	int rc = GNN_OK;

	while (s->asked < s->piece_count) {
		GNN_TRY(take_idle(s, &b));
		if (b == NULL)
			break;
		GNN_TRY(ask(s, b));
	}
out:
	return rc;
}

/* --- checksums --- */

static int compare(struct gnn_stream *s, uint64_t block, uint64_t first, uint64_t end)
{
	const struct gnn_extent *e = &s->from;
	uint64_t found = XXH3_64bits_digest(s->hash);

	if (found == s->sums[block])
		return GNN_OK;
	return gnn_err(GNN_EDATA,
		"%s: %s, block %" PRIu64 ", bytes %" PRIu64 " to %" PRIu64
		" of the file: checksum found %016" PRIx64 ", "
		"recorded %016" PRIx64 ": the file is damaged; restore it or make it again",
		e->path, e->name, block, (e->offset + first), (e->offset + end), found,
		s->sums[block]);
}

/* Hashes the part of a piece that lies in blocks which the range holds whole. */
static int verify(struct gnn_stream *s, const struct gnn_piece *p)
{
	uint64_t range_end = s->o.first_byte + s->o.bytes;
	uint64_t at = p->first_byte, piece_end = p->first_byte + p->bytes;
	int rc = GNN_OK;

	while (at < piece_end) {
		uint64_t block = at / GNN_BLOCK_BYTES;
		uint64_t first = block * GNN_BLOCK_BYTES;
		uint64_t end = gnn_min_u64(first + GNN_BLOCK_BYTES, s->from.bytes);
		uint64_t stop = gnn_min_u64(end, piece_end);

		if (first >= s->o.first_byte && end <= range_end) {
			if (at == first)
				XXH3_64bits_reset(s->hash);
			gnn_hash_update(s->hash,
				(const char *)p->data + (at - p->first_byte), stop - at);
			if (stop == end)
				GNN_TRY(compare(s, block, first, end));
		}
		at = stop;
	}
out:
	return rc;
}

/* --- the consumer's side --- */

int gnn_stream_next(struct gnn_stream *s, struct gnn_piece **piece)
{
	struct gnn_dio_request *done;
	struct buffer *b;
	int rc = GNN_OK;

	*piece = NULL;
	if (s->handed == s->piece_count)
		return GNN_EOF;
	GNN_TRY(read_ahead(s));
	b = s->coming[s->handed % s->buffer_count];
	while (!b->filled) {
		GNN_TRY(gnn_dio_reap(s->dio, &done));
		GNN_ASSERT(rc == GNN_OK);
		((struct buffer *)done->user)->filled = true;
	}
	if (s->o.verify)
		GNN_TRY(verify(s, &b->piece));
	s->handed++;
	*piece = &b->piece;
out:
	if (rc < 0)
		gnn_err_place(rc, "reading %s", s->from.name);
	return rc;
}

void gnn_stream_put(struct gnn_stream *s, struct gnn_piece *piece)
{
	pthread_mutex_lock(&s->lock);
	GNN_ASSERT(s->idle_count < s->buffer_count);
	s->idle[s->idle_count++] = (struct buffer *)piece;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void gnn_stream_cancel(struct gnn_stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->cancelled = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

uint64_t gnn_stream_read_bytes(const struct gnn_stream *s)
{
	if (s->map != NULL)
		return gnn_min_u64(s->handed * s->o.piece_bytes, s->o.bytes);
	return s->dio != NULL ? gnn_dio_read_bytes(s->dio) : 0;
}

/* --- whole arrays --- */

int gnn_array_load(struct gnn_container *c, const struct gnn_array *a, uint64_t first_byte,
	uint64_t bytes, void *to)
{
	enum { PIECE_BYTES = 1 << 20 };
	uint64_t first = gnn_align_down(first_byte, GNN_BLOCK_BYTES);
	uint64_t end = gnn_min_u64(gnn_align_up(first_byte + bytes, GNN_BLOCK_BYTES), a->bytes);
	const struct gnn_stream_opts o = {
		.container = c,
		.array = a,
		.first_byte = first,
		.bytes = bytes != 0 ? end - first : 0,
		.piece_bytes = PIECE_BYTES,
		.ahead = 3,
		.lent = 1,
		.verify = true, /* of whole blocks, so the range is widened to them */
	};
	struct gnn_stream *s = NULL;
	struct gnn_piece *p;
	int rc = GNN_OK;

	GNN_ASSERT(bytes <= a->bytes && first_byte <= a->bytes - bytes);
	GNN_TRY(gnn_stream_open(&s, &o));
	for (;;) {
		GNN_TRY(gnn_stream_next(s, &p));
		if (rc == GNN_EOF)
			break;
		uint64_t from = gnn_max_u64(p->first_byte, first_byte);
		uint64_t stop = gnn_min_u64(p->first_byte + p->bytes, first_byte + bytes);

		if (from < stop)
			memcpy((char *)to + (from - first_byte),
				(const char *)p->data + (from - p->first_byte), stop - from);
		gnn_stream_put(s, p);
	}
	rc = GNN_OK;
out:
	gnn_stream_close(s);
	return rc;
}
