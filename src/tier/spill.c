/* tier/spill.c - see spill.h. */
#include "tier/spill.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/hash.h"

#include <string.h>

#define MAGIC   UINT64_C(0x0a0d6c6c69707389) /* 0x89 "spill" CR LF, as bytes */
#define VERSION 1

enum {
	DEPTH = 32,
	WRITING_MAX = DEPTH / 2, /* pages on their way before more buffers are taken */
	TOUCHED_MIN = 64,        /* pages read that stay for more of their rows */
};

/* The first page of the file, zero behind it. */
struct file_header {
	uint64_t magic, version, row_bytes, page_bytes;
	uint64_t sum; /* XXH3-64 of what is in front */
};

struct page_header {
	uint64_t sum;        /* XXH3-64 of the page behind it */
	uint64_t page;
	uint64_t generation; /* how often the page was filled */
	uint64_t reserved;
};

_Static_assert(sizeof(struct page_header) == 32 && sizeof(struct file_header) == 40, "as written");

enum state {
	EMPTY,   /* never filled, or all of it was taken */
	OPEN,    /* being filled */
	WRITING,
	ON_FILE,
	READING,
	LOADED,
};

struct buffer {
	struct gnn_dio_request request;
	char     *bytes; /* (page_bytes) */
	uint32_t  page;
	uint32_t  next;  /* among the idle, or the touched; UINT32_MAX ends */
	bool      touched;
};

struct page {
	uint8_t  state;
	uint32_t buffer;     /* OPEN, WRITING, READING, LOADED */
	uint32_t live;       /* rows put and not taken */
	uint32_t generation;
};

struct gnn_spill {
	struct gnn_spill_opts o;
	char           *path;
	uint32_t        records;
	struct page    *page;
	uint64_t        pages, pages_max;
	struct buffer **buffer;
	uint32_t        buffers, buffers_max;
	uint32_t        idle;    /* first idle buffer */
	uint32_t        touched; /* first loaded buffer that was taken from */
	uint32_t        touched_count;
	uint32_t        writing; /* pages */
	uint32_t        ahead;   /* pages being read, or read and not taken from */
	struct gnn_dio *dio;
	uint64_t        written_bytes, read_bytes; /* of pages, once they are on their way */
};

uint32_t gnn_spill_records(uint64_t row_bytes, uint64_t page_bytes)
{
	return (uint32_t)((page_bytes - sizeof(struct page_header)) / row_bytes);
}

uint64_t gnn_spill_page_bytes(uint64_t row_bytes, uint64_t wanted)
{
	uint64_t least = gnn_align_up(2 * row_bytes + sizeof(struct page_header), GNN_PAGE_BYTES);

	return gnn_max_u64(least, gnn_align_down(wanted, GNN_PAGE_BYTES));
}

static int failed(int rc)
{
	return gnn_err_place(rc, "spill file (--scratch chooses another folder)");
}

int gnn_spill_create(struct gnn_spill **out, const struct gnn_spill_opts *o)
{
	struct gnn_spill *s = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->page_bytes % GNN_PAGE_BYTES == 0);
	GNN_ASSERT(gnn_spill_records(o->row_bytes, o->page_bytes) >= 2);
	GNN_NEW(s, GNN_MEM_MISC);
	s->o = *o;
	s->records = gnn_spill_records(o->row_bytes, o->page_bytes);
	s->idle = s->touched = UINT32_MAX;
	s->path = gnn_mem_text(o->path);
	if (s->path == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	*out = s;
	s = NULL;
out:
	gnn_spill_destroy(s);
	return rc;
}

void gnn_spill_destroy(struct gnn_spill *s)
{
	if (s == NULL)
		return;
	gnn_dio_abort(s->dio);
	for (uint32_t i = 0; i < s->buffers; i++) {
		gnn_mem_free(s->buffer[i]->bytes);
		gnn_mem_free(s->buffer[i]);
	}
	gnn_mem_free(s->buffer);
	gnn_mem_free(s->page);
	gnn_mem_free(s->path);
	gnn_mem_free(s);
}

/* --- buffers --- */

static int add_buffer(struct gnn_spill *s)
{
	uint32_t capacity = s->buffers_max == 0 ? 64 : 2 * s->buffers_max;
	void *list = s->buffer, *bytes;
	struct buffer *b = NULL;
	int rc = GNN_OK;

	if (s->buffers == s->buffers_max) {
		GNN_TRY(gnn_mem_resize(&list, capacity, sizeof(*s->buffer), GNN_MEM_IO));
		s->buffer = list;
		s->buffers_max = capacity;
	}
	GNN_NEW(b, GNN_MEM_IO);
	GNN_TRY(gnn_mem_pages(&bytes, s->o.page_bytes, GNN_MEM_IO));
	b->bytes = bytes;
	b->next = s->idle;
	s->idle = s->buffers;
	s->buffer[s->buffers++] = b;
	b = NULL;
out:
	gnn_mem_free(b);
	return rc;
}

static int reap(struct gnn_spill *s);

/* Pages that are written give their buffers back before there are more buffers. */
static int take_buffer(struct gnn_spill *s, uint32_t page)
{
	struct buffer *b;
	int rc = GNN_OK;

	while (s->idle == UINT32_MAX && s->writing >= WRITING_MAX)
		GNN_TRY(reap(s));
	if (s->idle == UINT32_MAX)
		GNN_TRY(add_buffer(s));
	b = s->buffer[s->idle];
	s->page[page].buffer = s->idle;
	s->idle = b->next;
	b->page = page;
	b->touched = false;
out:
	return rc;
}

static void give_buffer(struct gnn_spill *s, uint32_t buffer)
{
	s->buffer[buffer]->next = s->idle;
	s->idle = buffer;
}

static struct buffer *buffer_of(const struct gnn_spill *s, uint32_t page)
{
	return s->buffer[s->page[page].buffer];
}

static char *record_at(const struct gnn_spill *s, uint64_t record)
{
	return buffer_of(s, (uint32_t)(record / s->records))->bytes + sizeof(struct page_header) +
		record % s->records * s->o.row_bytes;
}

/* --- the file --- */

static uint64_t page_offset(const struct gnn_spill *s, uint32_t page)
{
	return GNN_PAGE_BYTES + page * s->o.page_bytes;
}

static int write_header(struct gnn_spill *s)
{
	struct file_header h = {.magic = MAGIC, .version = VERSION, .row_bytes = s->o.row_bytes,
		.page_bytes = s->o.page_bytes};
	struct gnn_dio_request r = {.write = true, .bytes = GNN_PAGE_BYTES};
	int rc;

	h.sum = gnn_hash(&h, offsetof(struct file_header, sum));
	GNN_TRY(gnn_mem_pages(&r.buffer, GNN_PAGE_BYTES, GNN_MEM_IO));
	memset(r.buffer, 0, GNN_PAGE_BYTES);
	memcpy(r.buffer, &h, sizeof(h));
	rc = gnn_dio_transfer(s->dio, &r);
	gnn_mem_free(r.buffer);
out:
	return rc;
}

/* Made when the first page is full. */
static int open_file(struct gnn_spill *s)
{
	struct gnn_pub *pub = NULL;
	struct gnn_dio_opts dio = {.mode = GNN_DIO_WRITE, .engine = s->o.engine, .depth = DEPTH};
	int rc;

	if (s->dio != NULL)
		return GNN_OK;
	GNN_TRY(gnn_pub_begin(&pub, s->path));
	dio.path = gnn_pub_temp(pub);
	GNN_TRY(gnn_dio_open(&s->dio, &dio));
	GNN_TRY(write_header(s));
out:
	gnn_pub_abort(pub);
	return rc < 0 ? failed(rc) : GNN_OK;
}

static int damaged(const struct gnn_spill *s, uint32_t page)
{
	return gnn_err(GNN_EDATA, "spill file %s: the page at byte %llu is damaged", s->path,
		(unsigned long long)page_offset(s, page));
}

static int check_page(const struct gnn_spill *s, uint32_t page)
{
	const char *bytes = buffer_of(s, page)->bytes;
	struct page_header h;

	memcpy(&h, bytes, sizeof(h));
	if (h.sum != gnn_hash(bytes + sizeof(h.sum), s->o.page_bytes - sizeof(h.sum)) ||
		h.page != page || h.generation != s->page[page].generation)
		return damaged(s, page);
	return GNN_OK;
}

/* Waits until one more transfer is done. */
static int reap(struct gnn_spill *s)
{
	struct gnn_dio_request *r;
	struct buffer *b;
	struct page *p;
	int rc = gnn_dio_reap(s->dio, &r);

	if (rc < 0)
		return failed(rc);
	GNN_ASSERT(rc == GNN_OK);
	b = r->user;
	p = &s->page[b->page];
	if (p->state == READING) {
		p->state = LOADED;
		return check_page(s, b->page);
	}
	GNN_ASSERT(p->state == WRITING);
	s->writing--;
	p->state = p->live > 0 ? ON_FILE : EMPTY;
	give_buffer(s, p->buffer);
	return GNN_OK;
}

static int submit(struct gnn_spill *s, uint32_t page, enum state state)
{
	struct buffer *b = buffer_of(s, page);
	int rc;

	b->request = (struct gnn_dio_request){.write = state == WRITING,
		.offset = page_offset(s, page), .bytes = s->o.page_bytes,
		.wanted = s->o.page_bytes, .buffer = b->bytes, .user = b};
	rc = gnn_dio_submit(s->dio, &b->request);
	if (rc < 0)
		return failed(rc);
	s->page[page].state = (uint8_t)state;
	s->writing += state == WRITING;
	*(state == WRITING ? &s->written_bytes : &s->read_bytes) += s->o.page_bytes;
	return GNN_OK;
}

static int read_page(struct gnn_spill *s, uint32_t page)
{
	int rc;

	GNN_TRY(take_buffer(s, page));
	GNN_TRY(submit(s, page, READING));
	s->ahead++;
out:
	return rc;
}

/* --- rows --- */

static int grow_pages(struct gnn_spill *s, uint64_t count)
{
	uint64_t capacity = gnn_max_u64(gnn_max_u64(count, 64), 2 * s->pages_max);
	void *block = s->page;
	int rc = GNN_OK;

	if (count > s->pages_max) {
		GNN_TRY(gnn_mem_resize(&block, capacity, sizeof(*s->page), GNN_MEM_IO));
		s->page = block;
		s->pages_max = capacity;
	}
	s->pages = gnn_max_u64(s->pages, count);
out:
	return rc;
}

int gnn_spill_put(struct gnn_spill *s, uint64_t record, const void *row)
{
	uint32_t page = (uint32_t)(record / s->records);
	int rc = GNN_OK;

	GNN_TRY(grow_pages(s, (uint64_t)page + 1));
	while (s->page[page].state == WRITING) /* all of its former rows were taken meanwhile */
		GNN_TRY(reap(s));
	if (s->page[page].state == EMPTY) {
		GNN_TRY(take_buffer(s, page));
		GNN_ASSERT(s->page[page].live == 0);
		s->page[page].generation++;
		s->page[page].state = OPEN;
	}
	GNN_ASSERT(s->page[page].state == OPEN);
	memcpy(record_at(s, record), row, s->o.row_bytes);
	s->page[page].live++;
out:
	return rc;
}

int gnn_spill_full(struct gnn_spill *s, uint32_t page)
{
	struct page *p = &s->page[page];
	struct page_header h = {.page = page, .generation = p->generation};
	char *bytes;
	int rc;

	GNN_ASSERT(page < s->pages);
	if (p->state == EMPTY)
		return GNN_OK;
	GNN_ASSERT(p->state == OPEN && p->live > 0);
	GNN_TRY(open_file(s));
	bytes = buffer_of(s, page)->bytes;
	memcpy(bytes, &h, sizeof(h));
	h.sum = gnn_hash(bytes + sizeof(h.sum), s->o.page_bytes - sizeof(h.sum));
	memcpy(bytes, &h.sum, sizeof(h.sum));
	GNN_TRY(submit(s, page, WRITING));
out:
	return rc;
}

int gnn_spill_ask(struct gnn_spill *s, uint64_t record)
{
	uint32_t page = (uint32_t)(record / s->records);

	if (page >= s->pages || s->page[page].state != ON_FILE || s->ahead >= s->o.pages_ahead)
		return GNN_OK;
	return read_page(s, page);
}

/* The page's rows in memory; a page from the file is put among the touched. */
static int load(struct gnn_spill *s, uint32_t page)
{
	struct page *p = &s->page[page];
	struct buffer *b;
	int rc = GNN_OK;

	if (p->state == ON_FILE)
		GNN_TRY(read_page(s, page));
	while (p->state == READING)
		GNN_TRY(reap(s));
	b = buffer_of(s, page);
	if (p->state == LOADED && !b->touched) {
		if (s->touched_count >= gnn_max_u64(TOUCHED_MIN, s->o.pages_ahead))
			gnn_spill_rest(s);
		s->touched_count++;
		b->touched = true;
		b->next = s->touched;
		s->touched = p->buffer;
		s->ahead--;
	}
out:
	return rc;
}

int gnn_spill_take(struct gnn_spill *s, uint64_t record, void *row)
{
	uint32_t page = (uint32_t)(record / s->records);
	struct page *p = &s->page[page];
	int rc;

	GNN_ASSERT(page < s->pages && p->state != EMPTY && p->live > 0);
	GNN_TRY(load(s, page));
	memcpy(row, record_at(s, record), s->o.row_bytes);
	if (--p->live == 0 && p->state == OPEN) {
		give_buffer(s, p->buffer);
		p->state = EMPTY;
	}
out:
	return rc;
}

void gnn_spill_rest(struct gnn_spill *s)
{
	while (s->touched != UINT32_MAX) {
		uint32_t buffer = s->touched;
		struct page *p = &s->page[s->buffer[buffer]->page];

		GNN_ASSERT(p->state == LOADED && p->buffer == buffer);
		s->touched = s->buffer[buffer]->next;
		p->state = p->live > 0 ? ON_FILE : EMPTY;
		give_buffer(s, buffer);
	}
	s->touched_count = 0;
}

uint64_t gnn_spill_written_bytes(const struct gnn_spill *s)
{
	return s->written_bytes;
}

uint64_t gnn_spill_read_bytes(const struct gnn_spill *s)
{
	return s->read_bytes;
}
