/* io/rowfile.c - see rowfile.h. */
#include "io/rowfile.h"

#include "base/mem.h"
#include "io/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

uint64_t gnn_rowfile_blocks(uint64_t rows, uint64_t row_bytes)
{
	return gnn_ceil_div(rows * row_bytes, GNN_BLOCK_BYTES);
}

uint64_t gnn_rowfile_bytes(uint64_t rows, uint64_t row_bytes)
{
	return gnn_align_up(rows * row_bytes, GNN_PAGE_BYTES);
}

static struct gnn_extent extent_of(const struct gnn_rowfile *f)
{
	return (struct gnn_extent){.path = f->path, .name = f->name, .engine = f->engine,
		.bytes = f->rows * f->row_bytes};
}

static void block_done(void *owner, uint64_t block, uint64_t sum)
{
	((struct gnn_rowfile *)owner)->sums[block] = sum;
}

static int make_file(const struct gnn_rowfile *f)
{
	int fd = gnn_sys_open(f->path, O_RDWR | O_CREAT | O_TRUNC), rc;

	if (fd < 0)
		return gnn_sys_open_failed(GNN_ECREAT, -fd, f->path);
	rc = gnn_sys_room(fd, f->path, gnn_rowfile_bytes(f->rows, f->row_bytes));
	gnn_sys_close(fd);
	return rc;
}

static int make(struct gnn_rowfile **out, const struct gnn_rowfile_opts *o)
{
	struct gnn_rowfile *f = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(f, GNN_MEM_IO);
	f->engine = o->engine;
	f->first_row = o->first_row;
	f->rows = o->rows;
	f->row_bytes = o->row_bytes;
	f->path = gnn_mem_text(o->path);
	f->name = gnn_mem_text(o->name);
	if (f->path == NULL || f->name == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	GNN_NEW_ARRAY(f->sums, gnn_rowfile_blocks(o->rows, o->row_bytes) + 1, GNN_MEM_IO);
	*out = f;
	f = NULL;
out:
	gnn_rowfile_close(f);
	return rc;
}

static int open_writer(struct gnn_rowfile *f, uint64_t first_byte, uint64_t slot_bytes)
{
	return gnn_extent_writer_open(&f->writer, &(struct gnn_extent_writer_opts){
		.extent = extent_of(f), .first_byte = first_byte, .slot_bytes = slot_bytes,
		.done = block_done, .owner = f});
}

int gnn_rowfile_create(struct gnn_rowfile **out, const struct gnn_rowfile_opts *o)
{
	struct gnn_rowfile *f;
	int rc;

	GNN_TRY(make(&f, o));
	rc = make_file(f);
	if (rc == GNN_OK)
		rc = open_writer(f, 0, o->slot_bytes);
	if (rc < 0)
		gnn_rowfile_remove(f);
	*out = rc < 0 ? NULL : f;
out:
	return rc;
}

/* Goes on at the start of the block that the sealed rows end in, which is written once more. */
static int refill(struct gnn_rowfile *f, uint64_t slot_bytes)
{
	uint64_t end = f->sealed_rows * f->row_bytes;
	uint64_t begin = gnn_align_down(end, GNN_BLOCK_BYTES);
	struct gnn_extent sealed = extent_of(f);
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	int rc;

	sealed.bytes = end;
	GNN_TRY(open_writer(f, begin, slot_bytes));
	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){.extent = &sealed,
		.sums = f->sums, .first_byte = begin, .bytes = end - begin,
		.piece_bytes = slot_bytes, .ahead = 1, .lent = 1, .verify = true}));
	while ((rc = gnn_stream_next(stream, &piece)) == GNN_OK) {
		rc = gnn_extent_writer_push(f->writer, piece->data, piece->bytes);
		gnn_stream_put(stream, piece);
		if (rc < 0)
			break;
	}
	rc = rc == GNN_EOF ? GNN_OK : rc;
out:
	gnn_stream_close(stream);
	return rc;
}

int gnn_rowfile_reopen(struct gnn_rowfile **out, const struct gnn_rowfile_opts *o,
	uint64_t sealed_rows, const uint64_t *sums)
{
	uint64_t blocks = gnn_rowfile_blocks(sealed_rows, o->row_bytes);
	struct gnn_rowfile *f;
	int rc;

	GNN_TRY(make(&f, o));
	f->sealed_rows = f->pushed_rows = sealed_rows;
	for (uint64_t i = 0; i < blocks; i++)
		f->sums[i] = sums[i];
	rc = sealed_rows == o->rows ? GNN_OK : refill(f, o->slot_bytes);
	if (rc < 0) {
		gnn_rowfile_close(f);
		f = NULL;
	}
	*out = f;
out:
	return rc;
}

int gnn_rowfile_push(struct gnn_rowfile *f, const void *from, uint64_t rows)
{
	int rc;

	GNN_ASSERT(f->writer != NULL && rows <= f->rows - f->pushed_rows);
	GNN_TRY(gnn_extent_writer_push(f->writer, from, rows * f->row_bytes));
	f->pushed_rows += rows;
out:
	return rc;
}

int gnn_rowfile_seal(struct gnn_rowfile *f)
{
	int fd = -1, rc;

	if (f->sealed_rows == f->pushed_rows)
		return GNN_OK;
	if (f->writer != NULL)
		GNN_TRY(gnn_extent_writer_settle(f->writer));
	fd = gnn_sys_open(f->path, O_RDONLY);
	if (fd < 0) {
		rc = gnn_sys_open_failed(GNN_EIO, -fd, f->path);
		goto out;
	}
	rc = gnn_sys_fsync(fd);
	if (rc < 0)
		rc = gnn_err_place(gnn_sys_write_failed(fd, -rc, f->path,
			gnn_rowfile_bytes(f->rows, f->row_bytes), 0), "fsync");
	gnn_sys_close(fd);
	if (rc == GNN_OK)
		f->sealed_rows = f->pushed_rows;
out:
	return rc;
}

int gnn_rowfile_finish(struct gnn_rowfile *f)
{
	if (f->writer == NULL)
		return GNN_OK;
	GNN_ASSERT(f->pushed_rows == f->rows);
	return gnn_extent_writer_close(&f->writer);
}

int gnn_rowfile_read(struct gnn_stream **out, const struct gnn_rowfile *f, gnn_vid first,
	uint64_t rows, uint64_t piece_rows, uint32_t ahead, uint32_t lent)
{
	struct gnn_extent e = extent_of(f);

	GNN_ASSERT(first >= f->first_row && first - f->first_row + rows <= f->rows);
	return gnn_stream_open(out, &(struct gnn_stream_opts){.extent = &e, .sums = f->sums,
		.first_byte = (first - f->first_row) * f->row_bytes, .bytes = rows * f->row_bytes,
		.piece_bytes = piece_rows * f->row_bytes, .ahead = ahead, .lent = lent,
		.verify = true});
}

void gnn_rowfile_close(struct gnn_rowfile *f)
{
	if (f == NULL)
		return;
	gnn_extent_writer_abort(f->writer);
	gnn_mem_free(f->sums);
	gnn_mem_free(f->path);
	gnn_mem_free(f->name);
	gnn_mem_free(f);
}

void gnn_rowfile_remove(struct gnn_rowfile *f)
{
	if (f != NULL && f->path != NULL)
		unlink(f->path);
	gnn_rowfile_close(f);
}
