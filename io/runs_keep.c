/* io/runs_keep.c - runs in a file that stays: sealed, and gone on with; see runs.h. */
#include "io/runs_parts.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/sys.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static int sync_file(const struct gnn_runs *r)
{
	int fd = gnn_sys_open(r->path, O_RDONLY), rc;

	if (fd < 0)
		return gnn_sys_open_failed(GNN_EIO, -fd, r->path);
	rc = gnn_sys_fsync(fd);
	if (rc < 0)
		rc = gnn_err_place(gnn_sys_write_failed(fd, -rc, r->path, r->file_bytes, 0),
			"fsync");
	gnn_sys_close(fd);
	return rc;
}

int gnn_runs_sync(struct gnn_runs *r)
{
	GNN_ASSERT(r->o.named);
	return r->file_bytes > r->recalled_bytes ? sync_file(r) : GNN_OK;
}

int gnn_runs_seal(struct gnn_runs *r)
{
	int rc = GNN_OK;

	GNN_ASSERT(r->o.named);
	if (r->count > 0 && !(r->ended && r->run_count > 0)) /* not on the file yet */
		GNN_TRY(gnn_runs_flush(r));
	GNN_TRY(gnn_runs_sync(r));
out:
	return rc;
}

void gnn_runs_remove(struct gnn_runs *r)
{
	if (r != NULL && r->o.named)
		unlink(r->path);
	gnn_runs_destroy(r);
}

static bool is_header(const struct gnn_run_header *h)
{
	return h->magic == GNN_RUN_MAGIC && h->version == GNN_RUN_VERSION &&
		h->sum == XXH3_64bits(h, offsetof(struct gnn_run_header, sum));
}

static int damaged(const struct gnn_runs *r, uint64_t offset)
{
	return gnn_err(GNN_EDATA, "run file %s: the run at byte %llu is damaged, or not as this "
		"run of the program makes it", r->path, (unsigned long long)offset);
}

int gnn_runs_look(struct gnn_runs_opts *o)
{
	struct gnn_file *file = NULL;
	struct gnn_run_header h;
	int rc;

	GNN_TRY(gnn_file_open(&file, o->path));
	GNN_TRY(gnn_file_pread(file, &h, sizeof(h), 0));
	if (!is_header(&h) || h.row_bytes == 0 || h.range_rows == 0)
		GNN_FAIL(GNN_EDATA, "run file %s: its first run is damaged", o->path);
	o->ids = h.ids;
	o->row_bytes = h.row_bytes;
	o->range_rows = h.range_rows;
out:
	gnn_file_close(file);
	return rc;
}

static int read_header(const struct gnn_runs *r, void *page, struct gnn_run_header *h)
{
	struct gnn_dio_request request = {.offset = r->file_bytes, .bytes = GNN_PAGE_BYTES,
		.wanted = GNN_PAGE_BYTES, .buffer = page};
	int rc = gnn_dio_transfer(r->read_dio, &request);

	if (rc < 0)
		return gnn_runs_failed(rc);
	memcpy(h, page, sizeof(*h));
	if (!is_header(h) ||
		h->row_bytes != r->o.row_bytes || h->range_rows != r->o.range_rows ||
		h->ids != r->o.ids || h->rows > h->ids || h->pieces > h->rows ||
		h->bytes > r->o.sealed_bytes - r->file_bytes || h->bytes < GNN_PAGE_BYTES)
		return damaged(r, r->file_bytes);
	return GNN_OK;
}

int gnn_runs_recall(struct gnn_runs *r)
{
	struct gnn_run_header h;
	void *page = NULL;
	int rc;

	GNN_ASSERT(r->o.named);
	GNN_TRY(gnn_runs_open_file(r));
	GNN_TRY(gnn_mem_pages(&page, GNN_PAGE_BYTES, GNN_MEM_SORT));
	while (r->file_bytes < r->o.sealed_bytes) {
		GNN_TRY(read_header(r, page, &h));
		GNN_TRY(gnn_runs_note(r, &(struct gnn_run){.offset = r->file_bytes,
			.pieces = h.pieces, .bytes = h.bytes}, h.rows));
	}
	if (r->rows_on_file > r->o.ids)
		GNN_FAIL(GNN_EDATA, "run file %s: %llu rows, wanted at most %llu", r->path,
			(unsigned long long)r->rows_on_file, (unsigned long long)r->o.ids);
	r->recalled_bytes = r->file_bytes;
	r->pushed = r->rows_on_file;
	r->ended = r->pushed == r->o.ids;
out:
	gnn_mem_free(page);
	return rc;
}
