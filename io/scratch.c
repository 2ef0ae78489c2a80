/* io/scratch.c - see scratch.h. */
#include "io/scratch.h"

#include "base/mem.h"
#include "io/file.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	ARENA_BYTES = 8 << 20, /* resident pieces are allocated this many at a time */
	WRITE_BUFFERS = 3,     /* of a writer: one is filled, the others are on their way */
	IO_DEPTH = 8,
};

struct gnn_scratch {
	char *path;
	enum gnn_dio_engine engine;
	uint64_t piece_bytes;
	uint32_t arena_pieces;
	uint32_t arenas_max;
	uint32_t handles_max;
	pthread_mutex_t lock;    /* guards all below */
	uint32_t arenas_lent;
	uint8_t **arena;         /* (arenas_max) */
	uint32_t arenas;
	uint8_t **idle;          /* resident pieces not in use, (arenas_max x arena_pieces) */
	uint64_t idle_count;
	struct gnn_dio **handle; /* (handles_max), those that nobody uses in front */
	uint32_t handles;        /* not in use */
	bool file_open;
	uint64_t file_bytes;
};

/* --- scratch --- */

int gnn_scratch_path(char **out, const char *output, const char *folder, const char *suffix)
{
	const char *name, *slash = folder != NULL ? strrchr(output, '/') : NULL;
	uint64_t bytes;
	int rc = GNN_OK;

	*out = NULL;
	name = slash != NULL ? slash + 1 : output;
	bytes = (folder != NULL ? strlen(folder) + 1 : 0) + strlen(name) + strlen(suffix) + 1;
	GNN_NEW_ARRAY(*out, bytes, GNN_MEM_MISC);
	snprintf(*out, bytes, "%s%s%s%s", folder != NULL ? folder : "",
		folder != NULL ? "/" : "", name, suffix);
out:
	return rc;
}

int gnn_scratch_create(struct gnn_scratch **out, const struct gnn_scratch_opts *o)
{
	struct gnn_scratch *s = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->piece_bytes > 0 && o->piece_bytes % GNN_PAGE_BYTES == 0);
	GNN_NEW(s, GNN_MEM_SORT);
	pthread_mutex_init(&s->lock, NULL);
	s->engine = o->engine;
	s->piece_bytes = o->piece_bytes;
	s->arena_pieces = (uint32_t)gnn_max_u64(1, gnn_min_u64(ARENA_BYTES,
		o->resident_bytes / 4) / o->piece_bytes);
	s->arenas_max = (uint32_t)(o->resident_bytes / o->piece_bytes / s->arena_pieces);
	s->handles_max = o->handles;
	s->path = gnn_mem_text(o->path);
	if (s->path == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	GNN_NEW_ARRAY(s->arena, s->arenas_max, GNN_MEM_SORT);
	GNN_NEW_ARRAY(s->idle, (uint64_t)s->arenas_max * s->arena_pieces, GNN_MEM_SORT);
	GNN_NEW_ARRAY(s->handle, s->handles_max, GNN_MEM_SORT);
	*out = s;
	s = NULL;
out:
	gnn_scratch_destroy(s);
	return rc;
}

uint64_t gnn_scratch_piece_bytes(const struct gnn_scratch *s)
{
	return s->piece_bytes;
}

uint64_t gnn_scratch_written_bytes(const struct gnn_scratch *s)
{
	return s->file_bytes;
}

void gnn_scratch_destroy(struct gnn_scratch *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->handles; i++)
		gnn_dio_abort(s->handle[i]);
	for (uint32_t i = 0; i < s->arenas; i++)
		gnn_mem_free(s->arena[i]);
	gnn_mem_free(s->handle);
	gnn_mem_free(s->arena);
	gnn_mem_free(s->idle);
	gnn_mem_free(s->path);
	pthread_mutex_destroy(&s->lock);
	gnn_mem_free(s);
}

bool gnn_scratch_lend(struct gnn_scratch *s, uint64_t bytes)
{
	uint64_t arenas = gnn_ceil_div(bytes, s->arena_pieces * s->piece_bytes);
	bool room;

	pthread_mutex_lock(&s->lock);
	room = arenas <= s->arenas_max - s->arenas;
	if (room)
		s->arenas_lent = (uint32_t)arenas;
	pthread_mutex_unlock(&s->lock);
	return room;
}

/* A resident piece, or NULL when no more fit. Locked. */
static int take_resident(struct gnn_scratch *s, uint8_t **piece)
{
	void *arena;

	*piece = NULL;
	if (s->idle_count == 0 && s->arenas + s->arenas_lent < s->arenas_max) {
		if (gnn_mem_pages(&arena, s->arena_pieces * s->piece_bytes, GNN_MEM_SORT) < 0)
			return GNN_EOS;
		s->arena[s->arenas++] = arena;
		for (uint32_t i = s->arena_pieces; i-- > 0;)
			s->idle[s->idle_count++] = (uint8_t *)arena + i * s->piece_bytes;
	}
	if (s->idle_count > 0)
		*piece = s->idle[--s->idle_count];
	return GNN_OK;
}

void gnn_scratch_drop(struct gnn_scratch *s, const struct gnn_place *p)
{
	if (p->memory == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->idle[s->idle_count++] = p->memory;
	pthread_mutex_unlock(&s->lock);
}

/* Makes the file, opens it for all who will come, and takes its name away. Locked. */
static int open_file(struct gnn_scratch *s)
{
	struct gnn_pub *pub = NULL;
	struct gnn_dio_opts dio = {
		.mode = GNN_DIO_WRITE,
		.engine = s->engine,
		.depth = IO_DEPTH,
	};
	int rc;

	GNN_TRY(gnn_pub_begin(&pub, s->path));
	dio.path = gnn_pub_temp(pub);
	while (s->handles < s->handles_max) {
		GNN_TRY(gnn_dio_open(&s->handle[s->handles], &dio));
		s->handles++;
	}
	s->file_open = true;
out:
	gnn_pub_abort(pub);
	return rc;
}

static int scratch_failed(const struct gnn_scratch *s, int rc)
{
	(void)s;
	return gnn_err_place(rc, "scratch file (--scratch chooses another folder)");
}

static int take_handle(struct gnn_scratch *s, struct gnn_dio **dio)
{
	int rc = GNN_OK;

	*dio = NULL;
	pthread_mutex_lock(&s->lock);
	if (!s->file_open)
		rc = open_file(s);
	if (rc == GNN_OK) {
		GNN_ASSERT(s->handles > 0);
		*dio = s->handle[--s->handles];
	}
	pthread_mutex_unlock(&s->lock);
	return rc < 0 ? scratch_failed(s, rc) : GNN_OK;
}

/* With nothing in flight. */
static void give_handle(struct gnn_scratch *s, struct gnn_dio *dio)
{
	if (dio == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->handle[s->handles++] = dio;
	pthread_mutex_unlock(&s->lock);
}

/* --- writing --- */

struct gnn_scratch_writer {
	struct gnn_scratch *scratch;
	struct gnn_dio *dio; /* NULL until a piece does not fit the memory */
	uint8_t *resident;   /* the piece being filled, when it is resident */
	uint8_t *buffer[WRITE_BUFFERS];
	struct gnn_dio_request request[WRITE_BUFFERS];
	bool in_flight[WRITE_BUFFERS];
	uint32_t current;
};

uint64_t gnn_scratch_writer_bytes(const struct gnn_scratch *s)
{
	return WRITE_BUFFERS * s->piece_bytes;
}

int gnn_scratch_writer_open(struct gnn_scratch_writer **out, struct gnn_scratch *s)
{
	struct gnn_scratch_writer *w = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(w, GNN_MEM_SORT);
	w->scratch = s;
	*out = w;
out:
	return rc;
}

static int reap_write(struct gnn_scratch_writer *w)
{
	struct gnn_dio_request *r;
	int rc = gnn_dio_reap(w->dio, &r);

	if (rc < 0)
		return scratch_failed(w->scratch, rc);
	GNN_ASSERT(rc == GNN_OK);
	w->in_flight[r - w->request] = false;
	return GNN_OK;
}

static int open_buffers(struct gnn_scratch_writer *w)
{
	void *block;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < WRITE_BUFFERS; i++) {
		if (w->buffer[i] != NULL)
			continue;
		GNN_TRY(gnn_mem_pages(&block, w->scratch->piece_bytes, GNN_MEM_SORT));
		w->buffer[i] = block;
	}
	GNN_TRY(take_handle(w->scratch, &w->dio));
out:
	return rc;
}

int gnn_scratch_writer_take(struct gnn_scratch_writer *w, uint8_t **piece)
{
	int rc;

	*piece = NULL;
	GNN_ASSERT(w->resident == NULL);
	pthread_mutex_lock(&w->scratch->lock);
	rc = take_resident(w->scratch, &w->resident);
	pthread_mutex_unlock(&w->scratch->lock);
	GNN_TRY(rc);
	if (w->resident != NULL) {
		*piece = w->resident;
		goto out;
	}
	if (w->dio == NULL)
		GNN_TRY(open_buffers(w));
	while (w->in_flight[w->current])
		GNN_TRY(reap_write(w));
	*piece = w->buffer[w->current];
out:
	return rc;
}

int gnn_scratch_writer_store(struct gnn_scratch_writer *w, uint64_t bytes, struct gnn_place *p)
{
	struct gnn_scratch *s = w->scratch;
	struct gnn_dio_request *r = &w->request[w->current];
	uint64_t padded = gnn_align_up(bytes, GNN_PAGE_BYTES);
	int rc;

	GNN_ASSERT(bytes > 0 && bytes <= s->piece_bytes);
	*p = (struct gnn_place){.memory = w->resident};
	w->resident = NULL;
	if (p->memory != NULL)
		return GNN_OK;
	pthread_mutex_lock(&s->lock);
	p->offset = s->file_bytes;
	s->file_bytes += padded;
	pthread_mutex_unlock(&s->lock);
	memset(w->buffer[w->current] + bytes, 0, padded - bytes);
	*r = (struct gnn_dio_request){
		.write = true,
		.offset = p->offset,
		.bytes = padded,
		.buffer = w->buffer[w->current],
	};
	rc = gnn_dio_submit(w->dio, r);
	if (rc < 0)
		return scratch_failed(s, rc);
	w->in_flight[w->current] = true;
	w->current = (w->current + 1) % WRITE_BUFFERS;
	return GNN_OK;
}

int gnn_scratch_writer_close(struct gnn_scratch_writer **writer)
{
	struct gnn_scratch_writer *w = *writer;
	struct gnn_dio_request *r;
	int rc = GNN_OK, one = GNN_OK;

	*writer = NULL;
	if (w == NULL)
		return GNN_OK;
	while (w->dio != NULL && one != GNN_EOF) {
		one = gnn_dio_reap(w->dio, &r);
		rc = rc < 0 ? rc : one;
	}
	if (rc < 0)
		rc = scratch_failed(w->scratch, rc);
	give_handle(w->scratch, w->dio);
	gnn_scratch_drop(w->scratch, &(struct gnn_place){.memory = w->resident});
	for (uint32_t i = 0; i < WRITE_BUFFERS; i++)
		gnn_mem_free(w->buffer[i]);
	gnn_mem_free(w);
	return rc < 0 ? rc : GNN_OK;
}

/* --- reading --- */

struct asked {
	struct gnn_dio_request request;
	uint8_t *piece;
	bool in_flight;
};

struct gnn_scratch_reader {
	struct gnn_scratch *scratch;
	struct gnn_dio *dio;
	uint8_t *memory;  /* (buffers, piece_bytes) */
	uint32_t buffers;
	uint8_t **idle;   /* (buffers) */
	uint32_t idle_count;
	struct asked asked[GNN_SCRATCH_AHEAD]; /* a ring, the earliest at `first` */
	uint32_t first, count;
};

int gnn_scratch_reader_open(struct gnn_scratch_reader **out, struct gnn_scratch *s,
	uint32_t buffers)
{
	struct gnn_scratch_reader *r = NULL;
	void *block;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(r, GNN_MEM_SORT);
	r->scratch = s;
	r->buffers = buffers;
	GNN_NEW_ARRAY(r->idle, buffers, GNN_MEM_SORT);
	if (buffers > 0) {
		GNN_TRY(gnn_mem_pages(&block, buffers * s->piece_bytes, GNN_MEM_SORT));
		r->memory = block;
		GNN_TRY(take_handle(s, &r->dio));
	}
	for (uint32_t i = 0; i < buffers; i++)
		r->idle[r->idle_count++] = r->memory + i * s->piece_bytes;
	*out = r;
	r = NULL;
out:
	gnn_scratch_reader_close(r);
	return rc;
}

bool gnn_scratch_reader_has_room(const struct gnn_scratch_reader *r)
{
	return r->count < GNN_SCRATCH_AHEAD && (r->buffers == 0 || r->idle_count > 0);
}

int gnn_scratch_reader_ask(struct gnn_scratch_reader *r, const struct gnn_place *p, uint64_t bytes)
{
	struct asked *a = &r->asked[(r->first + r->count) % GNN_SCRATCH_AHEAD];
	int rc;

	GNN_ASSERT(gnn_scratch_reader_has_room(r));
	*a = (struct asked){.piece = p->memory};
	r->count++;
	if (p->memory != NULL)
		return GNN_OK;
	GNN_ASSERT(r->idle_count > 0);
	a->piece = r->idle[--r->idle_count];
	a->request = (struct gnn_dio_request){
		.offset = p->offset,
		.bytes = gnn_align_up(bytes, GNN_PAGE_BYTES),
		.wanted = bytes,
		.buffer = a->piece,
		.user = a,
	};
	rc = gnn_dio_submit(r->dio, &a->request);
	a->in_flight = rc == GNN_OK;
	return rc < 0 ? scratch_failed(r->scratch, rc) : GNN_OK;
}

int gnn_scratch_reader_next(struct gnn_scratch_reader *r, const uint8_t **piece)
{
	struct asked *a = &r->asked[r->first];
	struct gnn_dio_request *done;
	int rc;

	*piece = NULL;
	GNN_ASSERT(r->count > 0);
	while (a->in_flight) {
		rc = gnn_dio_reap(r->dio, &done);
		if (rc < 0)
			return scratch_failed(r->scratch, rc);
		GNN_ASSERT(rc == GNN_OK);
		((struct asked *)done->user)->in_flight = false;
	}
	r->first = (r->first + 1) % GNN_SCRATCH_AHEAD;
	r->count--;
	*piece = a->piece;
	return GNN_OK;
}

void gnn_scratch_reader_put(struct gnn_scratch_reader *r, const uint8_t *piece)
{
	uint64_t at = (uint64_t)((uintptr_t)piece - (uintptr_t)r->memory);

	/* Resident pieces are the scratch's own: dropped by who knows that they are done with. */
	if (r->memory != NULL && at < r->buffers * r->scratch->piece_bytes)
		r->idle[r->idle_count++] = r->memory + at;
}

void gnn_scratch_reader_close(struct gnn_scratch_reader *r)
{
	struct gnn_dio_request *done;

	if (r == NULL)
		return;
	while (r->dio != NULL && gnn_dio_reap(r->dio, &done) != GNN_EOF)
		;
	give_handle(r->scratch, r->dio);
	gnn_mem_free(r->memory);
	gnn_mem_free(r->idle);
	gnn_mem_free(r);
}
