/* io/runs_writer.c - rows in, runs out; see runs.h. */
#include "io/runs_parts.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/hash.h"
#include "io/sys.h"

#include <fcntl.h>
#include <string.h>

_Static_assert(sizeof(struct gnn_run_header) == 80, "as written");

enum {
	DIGIT_BITS = 11,
	BUFFERS = 2,            /* one is filled while the other is on its way */
	BUFFER_BYTES = 1 << 20, /* at least; a piece is not cut */
	ARENA_ROWS_MIN = 64,
};

uint64_t gnn_runs_arena_bytes(uint64_t row_bytes, uint64_t rows)
{
	return rows * (row_bytes + 2 * sizeof(uint64_t));
}

uint64_t gnn_runs_memory_min(const struct gnn_runs_opts *o)
{
	return gnn_runs_arena_bytes(o->row_bytes, gnn_min_u64(ARENA_ROWS_MIN,
		gnn_max_u64(o->ids, 1)));
}

static uint64_t arena_rows(const struct gnn_runs_opts *o)
{
	uint64_t least = gnn_min_u64(ARENA_ROWS_MIN, gnn_max_u64(o->ids, 1));

	return gnn_min_u64(gnn_max_u64(o->memory_bytes / (o->row_bytes + 16), least),
		gnn_max_u64(o->ids, 1));
}

/* The largest piece of a run. */
static uint64_t piece_max(const struct gnn_runs_opts *o)
{
	return gnn_runs_piece_bytes(o, gnn_min_u64(o->range_rows, arena_rows(o)));
}

static uint64_t buffer_bytes(const struct gnn_runs_opts *o)
{
	uint64_t run = gnn_runs_piece_bytes(o, arena_rows(o)) +
		gnn_ceil_div(o->ids, o->range_rows) * GNN_PAGE_BYTES;

	return gnn_max_u64(piece_max(o), gnn_min_u64(BUFFER_BYTES, run));
}

bool gnn_runs_stay(const struct gnn_runs_opts *o)
{
	return arena_rows(o) >= o->ids && (o->stay || !o->named);
}

uint64_t gnn_runs_memory_bytes(const struct gnn_runs_opts *o)
{
	return arena_rows(o) * (o->row_bytes + 16) +
		(o->named || arena_rows(o) < o->ids ? BUFFERS * buffer_bytes(o) : 0);
}

uint64_t gnn_runs_bytes(const struct gnn_runs_opts *o)
{
	uint64_t runs = gnn_ceil_div(o->ids, arena_rows(o));
	uint64_t ranges = gnn_ceil_div(o->ids, o->range_rows);
	uint64_t pieces = o->scattered ? runs * gnn_min_u64(ranges, arena_rows(o)) :
		ranges + 2 * runs;

	return o->ids * (o->row_bytes + sizeof(uint64_t)) + pieces * GNN_PAGE_BYTES / 2 +
		2 * runs * GNN_PAGE_BYTES;
}

int gnn_runs_failed(int rc)
{
	return gnn_err_place(rc, "run file (--scratch chooses another folder)");
}

static int alloc_arena(struct gnn_runs *r)
{
	void *block;
	int rc;

	GNN_NEW_ARRAY(r->order, r->capacity, GNN_MEM_SORT);
	GNN_NEW_ARRAY(r->spare, r->capacity, GNN_MEM_SORT);
	GNN_TRY(gnn_mem_pages(&block, r->capacity * r->o.row_bytes, GNN_MEM_SORT));
	r->row = block;
out:
	return rc;
}

int gnn_runs_create(struct gnn_runs **out, const struct gnn_runs_opts *o)
{
	struct gnn_runs *r = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->row_bytes > 0 && o->range_rows > 0);
	GNN_NEW(r, GNN_MEM_MISC);
	r->o = *o;
	r->path = gnn_mem_text(o->path);
	if (r->path == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	if (o->sealed_bytes > 0)
		GNN_TRY(gnn_runs_recall(r));
	r->capacity = arena_rows(o);
	r->place_bits = gnn_log2_ceil(r->capacity);
	GNN_ASSERT(r->place_bits + gnn_log2_ceil(o->ids) <= 64);
	if (!r->ended)
		GNN_TRY(alloc_arena(r));
	*out = r;
	r = NULL;
out:
	gnn_runs_destroy(r);
	return rc;
}

void gnn_runs_destroy(struct gnn_runs *r)
{
	if (r == NULL)
		return;
	gnn_dio_abort(r->dio);
	gnn_dio_abort(r->read_dio);
	gnn_mem_free(r->order);
	gnn_mem_free(r->spare);
	gnn_mem_free(r->row);
	gnn_mem_free(r->run);
	gnn_mem_free(r->path);
	gnn_mem_free(r);
}

/* --- sorting --- */

/* Least digit first over the bits of the ids; places are in order already. */
void gnn_runs_sort(struct gnn_runs *r)
{
	uint32_t end = r->place_bits + gnn_log2_ceil(r->o.ids);
	uint64_t mask = (UINT64_C(1) << DIGIT_BITS) - 1;

	for (uint32_t shift = r->place_bits; shift < end; shift += DIGIT_BITS) {
		uint64_t start[1 << DIGIT_BITS] = {0}, sum = 0, *sorted = r->spare;

		for (uint64_t i = 0; i < r->count; i++)
			start[(r->order[i] >> shift) & mask]++;
		for (uint64_t d = 0; d <= mask; d++) {
			uint64_t n = start[d];

			start[d] = sum;
			sum += n;
		}
		for (uint64_t i = 0; i < r->count; i++)
			sorted[start[(r->order[i] >> shift) & mask]++] = r->order[i];
		r->spare = r->order;
		r->order = sorted;
	}
}

static uint64_t id_at(const struct gnn_runs *r, uint64_t i)
{
	return r->order[i] >> r->place_bits;
}

static const char *row_at(const struct gnn_runs *r, uint64_t i)
{
	uint64_t place = r->order[i] & ((UINT64_C(1) << r->place_bits) - 1);

	return r->row + place * r->o.row_bytes;
}

/* --- one run to the file --- */

struct run_writer {
	struct gnn_runs       *runs;
	struct gnn_run_piece  *table;
	uint64_t               pieces;
	uint64_t               bytes;    /* of the run, header and table included */
	char                  *memory;
	char                  *buffer[BUFFERS];
	struct gnn_dio_request request[BUFFERS];
	bool                   in_flight[BUFFERS];
	uint32_t               current;
	uint64_t               fill;
	uint64_t               capacity; /* of a buffer */
	uint64_t               at;       /* where the current buffer goes in the file */
};

static int reap_one(struct run_writer *w)
{
	struct gnn_dio_request *done;
	int rc = gnn_dio_reap(w->runs->dio, &done);

	if (rc < 0)
		return gnn_runs_failed(rc);
	GNN_ASSERT(rc == GNN_OK);
	w->in_flight[done - w->request] = false;
	return GNN_OK;
}

static int flush_buffer(struct run_writer *w)
{
	int rc = GNN_OK;

	if (w->fill == 0)
		return GNN_OK;
	w->request[w->current] = (struct gnn_dio_request){.write = true, .offset = w->at,
		.bytes = w->fill, .buffer = w->buffer[w->current]};
	rc = gnn_dio_submit(w->runs->dio, &w->request[w->current]);
	if (rc < 0)
		return gnn_runs_failed(rc);
	w->in_flight[w->current] = true;
	w->at += w->fill;
	w->fill = 0;
	w->current = (w->current + 1) % BUFFERS;
	while (w->in_flight[w->current])
		GNN_TRY(reap_one(w));
out:
	return rc;
}

/* Rows [begin, end) of the sorted arena, all of one range. */
static int write_piece(struct run_writer *w, uint64_t begin, uint64_t end)
{
	const struct gnn_runs *r = w->runs;
	uint64_t row_bytes = r->o.row_bytes, rows = end - begin;
	uint64_t bytes = rows * (row_bytes + sizeof(uint64_t));
	uint64_t padded = gnn_align_up(bytes, GNN_PAGE_BYTES);
	char *to;
	int rc = GNN_OK;

	if (w->fill + padded > w->capacity)
		GNN_TRY(flush_buffer(w));
	GNN_ASSERT(w->fill + padded <= w->capacity);
	to = w->buffer[w->current] + w->fill;
	for (uint64_t i = 0; i < rows; i++) {
		uint64_t id = id_at(r, begin + i);

		memcpy(to + i * row_bytes, row_at(r, begin + i), row_bytes);
		memcpy(to + rows * row_bytes + i * sizeof(id), &id, sizeof(id));
	}
	memset(to + bytes, 0, padded - bytes);
	w->table[w->pieces++] = (struct gnn_run_piece){
		.range = id_at(r, begin) / r->o.range_rows, .rows = rows, .offset = w->bytes,
		.sum = gnn_hash(to, padded)};
	w->fill += padded;
	w->bytes += padded;
out:
	return rc;
}

static uint64_t count_pieces(const struct gnn_runs *r)
{
	uint64_t pieces = 0, last = UINT64_MAX;

	for (uint64_t i = 0; i < r->count; i++) {
		uint64_t range = id_at(r, i) / r->o.range_rows;

		pieces += range != last;
		last = range;
	}
	return pieces;
}

static uint64_t head_bytes(uint64_t pieces)
{
	return GNN_PAGE_BYTES + gnn_align_up(pieces * sizeof(struct gnn_run_piece),
		GNN_PAGE_BYTES);
}

static int write_head(struct run_writer *w)
{
	const struct gnn_runs *r = w->runs;
	uint64_t table_bytes = w->pieces * sizeof(*w->table);
	struct gnn_run_header h = {.magic = GNN_RUN_MAGIC, .version = GNN_RUN_VERSION,
		.row_bytes = r->o.row_bytes, .range_rows = r->o.range_rows, .ids = r->o.ids,
		.rows = r->count, .pieces = w->pieces, .bytes = w->bytes,
		.table_sum = gnn_hash(w->table, table_bytes)};
	struct gnn_dio_request request = {.write = true, .offset = r->file_bytes,
		.bytes = head_bytes(w->pieces)};
	void *head;
	int rc;

	h.sum = gnn_hash(&h, offsetof(struct gnn_run_header, sum));
	GNN_TRY(gnn_mem_pages(&head, request.bytes, GNN_MEM_SORT));
	memset(head, 0, request.bytes);
	memcpy(head, &h, sizeof(h));
	memcpy((char *)head + GNN_PAGE_BYTES, w->table, table_bytes);
	request.buffer = head;
	rc = gnn_dio_transfer(r->dio, &request);
	gnn_mem_free(head);
	if (rc < 0)
		rc = gnn_runs_failed(rc);
out:
	return rc;
}

/* A name that stays, or none. */
static int make_file(const struct gnn_runs *r, struct gnn_pub **pub)
{
	int fd;

	if (!r->o.named)
		return gnn_pub_begin(pub, r->path);
	fd = gnn_sys_open(r->path, O_RDWR | O_CREAT | (r->o.sealed_bytes > 0 ? 0 : O_TRUNC));
	if (fd < 0)
		return gnn_sys_open_failed(GNN_ECREAT, -fd, r->path);
	gnn_sys_close(fd);
	return GNN_OK;
}

int gnn_runs_open_file(struct gnn_runs *r)
{
	struct gnn_pub *pub = NULL;
	struct gnn_dio_opts dio = {.mode = GNN_DIO_WRITE, .engine = r->o.engine};
	int rc;

	if (r->dio != NULL)
		return GNN_OK;
	GNN_TRY(make_file(r, &pub));
	dio.path = r->o.named ? r->path : gnn_pub_temp(pub);
	GNN_TRY(gnn_dio_open(&r->dio, &dio));
	dio.depth = 32;
	GNN_TRY(gnn_dio_open(&r->read_dio, &dio));
out:
	gnn_pub_abort(pub);
	return rc < 0 ? gnn_runs_failed(rc) : GNN_OK;
}

int gnn_runs_note(struct gnn_runs *r, const struct gnn_run *run, uint64_t rows)
{
	void *block = r->run;
	int rc = GNN_OK;

	if (r->run_count == r->run_capacity) {
		uint64_t capacity = gnn_max_u64(16, 2 * r->run_capacity);

		GNN_TRY(gnn_mem_resize(&block, capacity, sizeof(*r->run), GNN_MEM_SORT));
		r->run = block;
		r->run_capacity = capacity;
	}
	r->run[r->run_count++] = *run;
	r->file_bytes += run->bytes;
	r->rows_on_file += rows;
out:
	return rc;
}

static int write_pieces(struct run_writer *w)
{
	const struct gnn_runs *r = w->runs;
	uint64_t begin = 0;
	int rc = GNN_OK;

	for (uint64_t i = 1; i <= r->count; i++) {
		if (i < r->count && id_at(r, i) / r->o.range_rows ==
			id_at(r, begin) / r->o.range_rows)
			continue;
		GNN_TRY(write_piece(w, begin, i));
		begin = i;
	}
	GNN_TRY(flush_buffer(w));
	for (uint32_t i = 0; i < BUFFERS; i++)
		while (w->in_flight[i])
			GNN_TRY(reap_one(w));
out:
	return rc;
}

int gnn_runs_flush(struct gnn_runs *r)
{
	struct run_writer w = {.runs = r, .capacity = buffer_bytes(&r->o)};
	struct gnn_dio_request *left;
	void *block;
	int rc;

	if (r->count == 0)
		return GNN_OK;
	GNN_TRY(gnn_runs_open_file(r));
	if (!r->ended)
		gnn_runs_sort(r);
	w.bytes = head_bytes(count_pieces(r));
	w.at = r->file_bytes + w.bytes;
	GNN_NEW_ARRAY(w.table, count_pieces(r), GNN_MEM_SORT);
	GNN_TRY(gnn_mem_pages(&block, BUFFERS * w.capacity, GNN_MEM_SORT));
	w.memory = block;
	for (uint32_t i = 0; i < BUFFERS; i++)
		w.buffer[i] = w.memory + i * w.capacity;
	GNN_TRY(write_pieces(&w));
	GNN_TRY(write_head(&w));
	GNN_TRY(gnn_runs_note(r, &(struct gnn_run){.offset = r->file_bytes, .pieces = w.pieces,
		.bytes = w.bytes}, r->count));
	if (!r->ended)
		r->count = 0;
out:
	if (rc < 0 && r->dio != NULL) { /* the buffers must outlive what is in flight */
		struct gnn_err_state first;

		gnn_err_save(&first, rc);
		while (gnn_dio_reap(r->dio, &left) != GNN_EOF)
			;
		rc = gnn_err_restore(&first);
	}
	gnn_mem_free(w.memory);
	gnn_mem_free(w.table);
	return rc;
}

/* --- rows in --- */

/* As many as the arena takes; returns how many. */
static uint64_t push_some(struct gnn_runs *r, const uint64_t *ids, uint64_t first,
	const char *rows, uint64_t count)
{
	uint64_t taken = gnn_min_u64(count, r->capacity - r->count);

	memcpy(r->row + r->count * r->o.row_bytes, rows, taken * r->o.row_bytes);
	for (uint64_t i = 0; i < taken; i++) {
		uint64_t id = ids != NULL ? ids[i] : first + i;

		GNN_ASSERT(id < r->o.ids);
		r->order[r->count] = id << r->place_bits | r->count;
		r->count++;
	}
	r->pushed += taken;
	return taken;
}

int gnn_runs_push(struct gnn_runs *r, const uint64_t *ids, uint64_t first, const void *rows,
	uint64_t count)
{
	uint64_t done = 0;
	int rc = GNN_OK;

	GNN_ASSERT(!r->ended && r->pushed + count <= r->o.ids);
	while (done < count) {
		if (r->count == r->capacity)
			GNN_TRY(gnn_runs_flush(r));
		done += push_some(r, ids != NULL ? ids + done : NULL, first + done,
			(const char *)rows + done * r->o.row_bytes, count - done);
	}
out:
	return rc;
}

int gnn_runs_end(struct gnn_runs *r)
{
	int rc = GNN_OK;

	GNN_ASSERT(!r->ended && r->pushed == r->o.ids);
	if (r->run_count == 0 && gnn_runs_stay(&r->o)) {
		gnn_runs_sort(r);
	} else {
		GNN_TRY(gnn_runs_flush(r));
		gnn_mem_free(r->order);
		gnn_mem_free(r->spare);
		gnn_mem_free(r->row);
		r->order = r->spare = NULL;
		r->row = NULL;
	}
	r->ended = true;
out:
	return rc;
}

uint64_t gnn_runs_written_bytes(const struct gnn_runs *r)
{
	return r->file_bytes - r->recalled_bytes;
}

uint64_t gnn_runs_file_bytes(const struct gnn_runs *r)
{
	return r->file_bytes;
}

uint64_t gnn_runs_file_rows(const struct gnn_runs *r)
{
	return r->rows_on_file;
}

bool gnn_runs_ended(const struct gnn_runs *r)
{
	return r->ended;
}

bool gnn_runs_held(const struct gnn_runs *r)
{
	return r->ended && r->row != NULL;
}
