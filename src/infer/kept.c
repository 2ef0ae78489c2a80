/* infer/kept.c - see kept.h. */
#include "infer/kept.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static uint64_t width_of(const struct gnn_kept_opts *o)
{
	return (uint64_t)o->width + o->own_width;
}

uint64_t gnn_kept_row_bytes(const struct gnn_kept_opts *o)
{
	return width_of(o) * gnn_dtype_bytes(o->dtype);
}

/* Host memory whose rows are contiguous can be written as it is. */
static bool is_bounced(const struct gnn_kept_opts *o)
{
	if (o->kind == GNN_ROWS_RUNS)
		return !o->backend->ops->unified;
	return o->kind == GNN_ROWS_FILE && (!o->backend->ops->unified || o->own_width > 0);
}

static uint32_t block_count(const struct gnn_kept_opts *o)
{
	return !is_bounced(o) ? 0 : o->backend->ops->unified ? 1 : GNN_KEPT_BLOCKS;
}

uint64_t gnn_kept_memory_bytes(const struct gnn_kept_opts *o)
{
	return o->kind != GNN_ROWS_MEMORY ? 0 : gnn_align_up(o->vertices,
		o->backend->ops->panel_rows) * width_of(o) * sizeof(float);
}

static struct gnn_runs_opts runs_opts(const struct gnn_kept_opts *o, const char *path)
{
	return (struct gnn_runs_opts){.path = path, .engine = o->engine, .ids = o->vertices,
		.row_bytes = gnn_kept_row_bytes(o), .range_rows = o->range_rows,
		.memory_bytes = o->arena_bytes, .named = true, .stay = o->stay,
		.sealed_bytes = o->sealed_bytes, .scattered = o->scattered};
}

uint64_t gnn_kept_buffer_bytes(const struct gnn_kept_opts *o)
{
	struct gnn_runs_opts runs = runs_opts(o, NULL);
	uint64_t writers = o->own_width > 0 ? 2 : 1;

	if (o->kind == GNN_ROWS_RUNS)
		return gnn_runs_memory_bytes(&runs) + block_count(o) * o->block_rows *
			(gnn_kept_row_bytes(o) + sizeof(gnn_vid));
	return o->kind != GNN_ROWS_FILE ? 0 : writers * GNN_EXTENT_SLOTS * o->slot_bytes +
		gnn_ceil_div(gnn_kept_scratch_bytes(o), GNN_BLOCK_BYTES / 8) + GNN_PAGE_BYTES +
		block_count(o) * o->block_rows * width_of(o) * sizeof(float);
}

uint64_t gnn_kept_reader_bytes(const struct gnn_kept_opts *o)
{
	struct gnn_runs_opts runs = runs_opts(o, NULL);

	return o->kind == GNN_ROWS_RUNS ? gnn_runs_reader_bytes(&runs, 0) : 0;
}

uint64_t gnn_kept_scratch_bytes(const struct gnn_kept_opts *o)
{
	struct gnn_runs_opts runs = runs_opts(o, NULL);

	if (o->kind == GNN_ROWS_RUNS)
		return gnn_runs_bytes(&runs);
	if (o->kind != GNN_ROWS_FILE)
		return 0;
	return gnn_rowfile_bytes(o->vertices, o->width * sizeof(float)) +
		gnn_rowfile_bytes(o->vertices - o->own_first, o->own_width * sizeof(float));
}

static int create_file(struct gnn_rowfile **out, const struct gnn_kept_opts *o,
	const char *suffix, uint32_t width, gnn_vid first)
{
	char path[PATH_BYTES], name[64];
	struct gnn_rowfile_opts file = {.path = path, .name = name, .engine = o->engine,
		.first_row = first, .rows = o->vertices - first,
		.row_bytes = width * sizeof(float), .slot_bytes = o->slot_bytes};
	bool own = strcmp(suffix, GNN_KEPT_OWN) == 0;

	snprintf(path, sizeof(path), "%s/%s.%s", o->folder, o->label, suffix);
	snprintf(name, sizeof(name), "rows of %s", o->label);
	if (!o->reopen)
		return gnn_rowfile_create(out, &file);
	return gnn_rowfile_reopen(out, &file, own ? o->sealed_own : o->sealed_rows,
		own ? o->own_sums : o->row_sums);
}

static int open_blocks(struct gnn_kept *k)
{
	const struct gnn_kept_opts *o = &k->o;
	void *block;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < block_count(o); i++) {
		GNN_TRY(o->backend->ops->alloc_host(o->backend, &block,
			o->block_rows * gnn_kept_row_bytes(o)));
		k->block[i].host = block;
		if (o->kind == GNN_ROWS_RUNS)
			GNN_NEW_ARRAY(k->block[i].vertex, o->block_rows, GNN_MEM_IO);
	}
out:
	return rc;
}

static int open_files(struct gnn_kept *k)
{
	const struct gnn_kept_opts *o = &k->o;
	int rc;

	GNN_TRY(create_file(&k->rows, o, GNN_KEPT_ROWS, o->width, 0));
	if (o->own_width > 0 && o->own_first < o->vertices)
		GNN_TRY(create_file(&k->own, o, GNN_KEPT_OWN, o->own_width, o->own_first));
	GNN_TRY(open_blocks(k));
	k->put_rows = k->rows->sealed_rows;
	k->finished = k->rows->writer == NULL;
out:
	return rc;
}

static int open_runs(struct gnn_kept *k)
{
	struct gnn_runs_opts runs;
	char path[PATH_BYTES];
	int rc;

	snprintf(path, PATH_BYTES, "%s/%s." GNN_KEPT_RUNS, k->o.folder, k->o.label);
	runs = runs_opts(&k->o, path);
	GNN_TRY(gnn_runs_create(&k->runs, &runs));
	k->finished = gnn_runs_ended(k->runs);
	if (!k->finished)
		GNN_TRY(open_blocks(k));
out:
	return rc;
}

int gnn_kept_open(struct gnn_kept **out, const struct gnn_kept_opts *o)
{
	struct gnn_kept *k = NULL;
	void *block;
	int rc;

	*out = NULL;
	GNN_NEW(k, GNN_MEM_MISC);
	k->o = *o;
	snprintf(k->label, sizeof(k->label), "%s", o->label != NULL ? o->label : "");
	if (o->kind == GNN_ROWS_FILE) {
		GNN_TRY(open_files(k));
	} else if (o->kind == GNN_ROWS_RUNS) {
		GNN_TRY(open_runs(k));
	} else {
		GNN_TRY(o->backend->ops->alloc(o->backend, &block, gnn_kept_memory_bytes(o)));
		k->memory = block;
	}
	*out = k;
	k = NULL;
out:
	gnn_kept_drop(k);
	return rc;
}

/* Main and own columns of a block in host memory, each contiguous there, go to their files. */
static int push(struct gnn_kept *k, const struct gnn_kept_block *b)
{
	const struct gnn_kept_opts *o = &k->o;
	const float *own = b->host + b->rows * o->width;
	uint64_t skipped = b->first < o->own_first ?
		gnn_min_u64(o->own_first - b->first, b->rows) : 0;
	int rc;

	if (k->runs != NULL)
		return gnn_runs_push(k->runs, b->vertex, 0, b->host, b->rows);
	GNN_TRY(gnn_rowfile_push(k->rows, b->host, b->rows));
	if (k->own != NULL)
		GNN_TRY(gnn_rowfile_push(k->own, own + skipped * o->own_width,
			b->rows - skipped));
out:
	return rc;
}

static int push_oldest(struct gnn_kept *k)
{
	struct gnn_kept_block *b = &k->block[k->first];
	int rc;

	GNN_TRY(k->o.backend->ops->wait(k->o.backend, b->ticket));
	GNN_TRY(push(k, b));
	k->first = (k->first + 1) % block_count(&k->o);
	k->count--;
out:
	return rc;
}

/* A block that nothing is on its way out of. */
static int next_block(struct gnn_kept *k, uint64_t rows, struct gnn_kept_block **out)
{
	int rc = GNN_OK;

	if (k->count == block_count(&k->o))
		GNN_TRY(push_oldest(k));
	*out = &k->block[(k->first + k->count) % block_count(&k->o)];
	(*out)->rows = rows;
out:
	return rc;
}

/* Columns of both parts side by side become two contiguous blocks. */
static int copy_out(struct gnn_kept *k, struct gnn_kept_block *b, const float *from,
	uint64_t pitch)
{
	const struct gnn_kept_opts *o = &k->o;
	const struct gnn_backend_ops *ops = o->backend->ops;
	uint64_t width = o->width * sizeof(float), own = o->own_width * sizeof(float);
	int rc;

	GNN_TRY(ops->copy(o->backend, b->host, width, from, pitch * sizeof(float), width,
		b->rows));
	if (k->own != NULL)
		GNN_TRY(ops->copy(o->backend, b->host + b->rows * o->width, own,
			from + o->width, pitch * sizeof(float), own, b->rows));
	GNN_TRY(ops->mark(o->backend, &b->ticket));
out:
	return rc;
}

int gnn_kept_put(struct gnn_kept *k, gnn_vid first, uint64_t rows, const float *from,
	uint64_t pitch)
{
	const struct gnn_kept_opts *o = &k->o;
	uint64_t row_bytes = width_of(o) * sizeof(float);
	struct gnn_kept_block *b;
	int rc = GNN_OK;

	GNN_ASSERT(!k->finished && rows <= o->block_rows && first + rows <= o->vertices);
	k->put_rows = first + rows;
	if (o->kind == GNN_ROWS_MEMORY)
		return o->backend->ops->copy(o->backend, k->memory + first * width_of(o),
			row_bytes, from, pitch * sizeof(float), row_bytes, rows);
	if (!is_bounced(o)) {
		GNN_ASSERT(pitch == o->width); /* there is no block to bring them together in */
		return gnn_rowfile_push(k->rows, from, rows);
	}
	GNN_TRY(next_block(k, rows, &b));
	b->first = first;
	GNN_TRY(copy_out(k, b, from, pitch));
	k->count++;
	if (o->backend->ops->unified)
		GNN_TRY(push_oldest(k));
out:
	return rc;
}

int gnn_kept_put_any(struct gnn_kept *k, const uint64_t *vertices, uint64_t rows,
	const void *from)
{
	const struct gnn_backend_ops *ops = k->o.backend->ops;
	uint64_t row = gnn_kept_row_bytes(&k->o);
	struct gnn_kept_block *b;
	int rc;

	GNN_ASSERT(!k->finished && k->o.kind == GNN_ROWS_RUNS && rows <= k->o.block_rows);
	if (!is_bounced(&k->o))
		return gnn_runs_push(k->runs, vertices, 0, from, rows);
	GNN_TRY(next_block(k, rows, &b));
	memcpy(b->vertex, vertices, rows * sizeof(*vertices));
	GNN_TRY(ops->copy(k->o.backend, b->host, row, from, row, row, rows));
	GNN_TRY(ops->mark(k->o.backend, &b->ticket));
	k->count++;
out:
	return rc;
}

int gnn_kept_seal(struct gnn_kept *k)
{
	int rc;

	GNN_TRY(gnn_kept_drain(k));
	if (k->rows != NULL)
		GNN_TRY(gnn_rowfile_seal(k->rows));
	if (k->own != NULL)
		GNN_TRY(gnn_rowfile_seal(k->own));
	if (k->runs != NULL)
		GNN_TRY(gnn_runs_seal(k->runs));
out:
	return rc;
}

int gnn_kept_drain(struct gnn_kept *k)
{
	int rc = GNN_OK;

	while (k->count > 0)
		GNN_TRY(push_oldest(k));
out:
	return rc;
}

int gnn_kept_finish(struct gnn_kept *k)
{
	int rc;

	GNN_TRY(gnn_kept_drain(k));
	if (k->rows != NULL)
		GNN_TRY(gnn_rowfile_finish(k->rows));
	if (k->own != NULL)
		GNN_TRY(gnn_rowfile_finish(k->own));
	if (k->runs != NULL && !gnn_runs_ended(k->runs))
		GNN_TRY(gnn_runs_end(k->runs));
	k->finished = true;
out:
	return rc;
}

bool gnn_kept_held(const struct gnn_kept *k)
{
	return k->runs != NULL && gnn_runs_held(k->runs);
}

bool gnn_kept_stays(const struct gnn_kept_opts *o)
{
	struct gnn_runs_opts runs = runs_opts(o, NULL);

	return o->kind == GNN_ROWS_RUNS && gnn_runs_stay(&runs);
}

struct gnn_rows gnn_kept_rows(const struct gnn_kept *k)
{
	GNN_ASSERT(k->finished);
	return (struct gnn_rows){.kind = k->o.kind, .dtype = k->o.dtype, .count = k->o.vertices,
		.width = k->rows == NULL ? (uint32_t)width_of(&k->o) : k->o.width,
		.memory = k->memory, .file = k->rows, .runs = k->runs};
}

struct gnn_rows gnn_kept_own(const struct gnn_kept *k, gnn_vid first, gnn_vid end,
	uint64_t chunk_rows)
{
	gnn_vid from = first / chunk_rows * chunk_rows;
	gnn_vid to = gnn_min_u64(gnn_ceil_div(end, chunk_rows) * chunk_rows, k->o.vertices);

	if (k->own == NULL)
		return (struct gnn_rows){.kind = GNN_ROWS_NONE};
	return (struct gnn_rows){.kind = GNN_ROWS_FILE, .dtype = GNN_F32, .width = k->o.own_width,
		.first = from, .count = to - from, .file = k->own};
}

uint64_t gnn_kept_written_bytes(const struct gnn_kept *k)
{
	uint64_t bytes = 0;

	if (k == NULL)
		return 0;
	if (k->rows != NULL)
		bytes += k->rows->pushed_rows * k->rows->row_bytes;
	if (k->own != NULL)
		bytes += k->own->pushed_rows * k->own->row_bytes;
	if (k->runs != NULL)
		bytes += gnn_runs_written_bytes(k->runs);
	return bytes;
}

static void destroy(struct gnn_kept *k, bool keep_files)
{
	struct gnn_backend *b;

	if (k == NULL)
		return;
	b = k->o.backend;
	/* A device may still be filling the blocks. */
	for (; k->count > 0; k->count--, k->first = (k->first + 1) % GNN_KEPT_BLOCKS)
		b->ops->wait(b, k->block[k->first].ticket);
	for (uint32_t i = 0; i < GNN_KEPT_BLOCKS; i++) {
		b->ops->free_host(b, k->block[i].host);
		gnn_mem_free(k->block[i].vertex);
	}
	b->ops->free(b, k->memory);
	if (keep_files)
		gnn_runs_destroy(k->runs);
	else
		gnn_runs_remove(k->runs);
	if (keep_files)
		gnn_rowfile_close(k->rows);
	else
		gnn_rowfile_remove(k->rows);
	if (keep_files)
		gnn_rowfile_close(k->own);
	else
		gnn_rowfile_remove(k->own);
	gnn_mem_free(k);
}

void gnn_kept_drop(struct gnn_kept *k)
{
	destroy(k, false);
}

void gnn_kept_leave(struct gnn_kept *k)
{
	destroy(k, true);
}
