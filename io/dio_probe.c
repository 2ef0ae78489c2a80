/* io/dio_probe.c - tries the engines on a small file in a folder; see dio.h. */
#include "base/mem.h"
#include "io/dio.h"
#include "io/sys.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes a page through an engine and reads it back. */
static int try_engine(const char *path, enum gnn_dio_engine engine, char *page, bool *direct)
{
	struct gnn_dio_opts o = {.path = path, .mode = GNN_DIO_WRITE, .engine = engine, .depth = 1};
	struct gnn_dio_request put = {.write = true, .bytes = GNN_PAGE_BYTES, .buffer = page};
	struct gnn_dio_request get = {.bytes = GNN_PAGE_BYTES, .wanted = GNN_PAGE_BYTES,
		.buffer = page};
	struct gnn_dio *d = NULL;
	int rc;

	*direct = false;
	memset(page, (int)engine, GNN_PAGE_BYTES);
	GNN_TRY(gnn_dio_open(&d, &o));
	GNN_TRY(gnn_dio_transfer(d, &put));
	memset(page, 0, GNN_PAGE_BYTES);
	GNN_TRY(gnn_dio_transfer(d, &get));
	if (page[0] != (char)engine || memcmp(page, page + 1, GNN_PAGE_BYTES - 1) != 0)
		GNN_FAIL(GNN_EDATA, "%s: a page read back differs from what was written", path);
	*direct = gnn_dio_is_direct(d);
out:
	gnn_dio_abort(d);
	return rc;
}

static int make_file(const char *path)
{
	int fd;

	unlink(path); /* what a killed process of our number has left */
	fd = gnn_sys_open(path, O_RDWR | O_CREAT | O_EXCL);
	return fd < 0 ? gnn_sys_open_failed(GNN_ECREAT, -fd, path) : fd;
}

int gnn_dio_probe(const char *folder, struct gnn_dio_probe *out)
{
	char path[PATH_MAX];
	void *page = NULL;
	int64_t align;
	bool direct;
	int rc, fd = -1;

	memset(out, 0, sizeof(*out));
	rc = snprintf(path, sizeof(path), "%s/.gnnrun-probe-%ld", folder, (long)getpid());
	if (rc >= PATH_MAX)
		GNN_FAIL(GNN_ECREAT, "%s: the name of the folder is too long", folder);
	GNN_TRY(gnn_mem_pages(&page, GNN_PAGE_BYTES, GNN_MEM_IO));
	GNN_TRY(fd = make_file(path));
	align = gnn_sys_direct_align(fd);
	out->direct_align = align > 0 ? (uint32_t)align : 0;
	GNN_TRY(try_engine(path, GNN_DIO_PREAD, page, &out->direct));
	rc = try_engine(path, GNN_DIO_URING, page, &direct);
	out->uring = rc == GNN_OK;
	if (rc < 0)
		snprintf(out->uring_why, sizeof(out->uring_why), "%s", gnn_err_text());
	if (rc == GNN_EUNAVAIL)
		rc = GNN_OK;
out:
	if (fd >= 0) {
		unlink(path);
		gnn_sys_close(fd);
	}
	gnn_mem_free(page);
	return rc;
}
