/* io/file.c - inputs, read at offsets or in sequence; see file.h. Outputs are in pub.c. */
#include "io/file.h"

#include "base/mem.h"
#include "io/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { CALL_BYTES_MAX = 1 << 30 }; /* of one system call; the kernel's limit is just under 2 GiB */

struct gnn_file {
	int fd;
	char *path;
	uint64_t bytes; /* when opened: what is read is never more, and never less without a word */
	uint64_t at;    /* of the next gnn_file_read */
};

int gnn_file_open(struct gnn_file **out, const char *path)
{
	struct gnn_file *f = NULL;
	struct stat st;
	int rc;

	*out = NULL;
	GNN_NEW(f, GNN_MEM_IO);
	/* Without O_NONBLOCK a pipe would be waited for, before it can be refused. */
	f->fd = gnn_sys_open(path, O_RDONLY | O_NONBLOCK);
	if (f->fd < 0) {
		rc = gnn_sys_open_failed(GNN_ENOENT, -f->fd, path);
		goto out;
	}
	if (fstat(f->fd, &st) != 0) {
		rc = gnn_err_sys(GNN_EIO, errno, "%s: cannot ask for its size", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode))
		GNN_FAIL(GNN_ENOENT, "%s: is %s, not a file", path,
			S_ISDIR(st.st_mode) ? "a folder" : "a device or a pipe");
	f->bytes = (uint64_t)st.st_size;
	f->path = gnn_mem_text(path);
	if (f->path == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	*out = f;
	f = NULL;
out:
	gnn_file_close(f);
	return rc;
}

void gnn_file_close(struct gnn_file *f)
{
	if (f == NULL)
		return;
	if (f->fd >= 0)
		gnn_sys_close(f->fd);
	gnn_mem_free(f->path);
	gnn_mem_free(f);
}

uint64_t gnn_file_bytes(const struct gnn_file *f)
{
	return f->bytes;
}

const char *gnn_file_path(const struct gnn_file *f)
{
	return f->path;
}

/* Exactly `bytes`, which the file had when it was opened. */
static int read_at(const struct gnn_file *f, char *to, uint64_t bytes, uint64_t offset)
{
	uint32_t tries = 0;

	while (bytes > 0) {
		uint64_t ask = gnn_min_u64(bytes, CALL_BYTES_MAX);
		int64_t res = gnn_sys_pread(f->fd, to, ask, offset);

		if ((res == -EINTR || res == -EAGAIN) && tries < GNN_SYS_TRIES) {
			gnn_sys_back_off(tries++);
			continue;
		}
		if (res < 0)
			return gnn_sys_read_failed((int)-res, f->path, bytes, offset);
		if (res == 0)
			return gnn_err(GNN_EDATA, "%s: shorter than recorded: it had %llu bytes "
				"when opened and now ends at %llu", f->path,
				(unsigned long long)f->bytes, (unsigned long long)offset);
		tries = 0;
		to += res;
		offset += (uint64_t)res;
		bytes -= (uint64_t)res;
	}
	return GNN_OK;
}

int gnn_file_read(struct gnn_file *f, void *to, uint64_t bytes, uint64_t *got)
{
	uint64_t ask = gnn_min_u64(bytes, f->bytes - f->at);
	int rc = read_at(f, to, ask, f->at);

	*got = rc < 0 ? 0 : ask;
	f->at += *got;
	return rc;
}

int gnn_file_pread(struct gnn_file *f, void *to, uint64_t bytes, uint64_t offset)
{
	if (offset > f->bytes || bytes > f->bytes - offset)
		return gnn_err(GNN_EDATA, "%s: %llu bytes wanted at offset %llu, but the file has "
			"%llu: is it cut short?", f->path, (unsigned long long)bytes,
			(unsigned long long)offset, (unsigned long long)f->bytes);
	return read_at(f, to, bytes, offset);
}

int gnn_file_slurp(const char *path, uint64_t limit, char **out, uint64_t *bytes)
{
	struct gnn_file *f = NULL;
	char *text = NULL;
	int rc;

	*out = NULL;
	*bytes = 0;
	GNN_TRY(gnn_file_open(&f, path));
	if (f->bytes > limit)
		GNN_FAIL(GNN_EDATA, "%s: has %llu bytes, at most %llu make sense here", path,
			(unsigned long long)f->bytes, (unsigned long long)limit);
	GNN_NEW_ARRAY(text, f->bytes + 1, GNN_MEM_IO);
	GNN_TRY(read_at(f, text, f->bytes, 0));
	*bytes = f->bytes;
	*out = text;
	text = NULL;
out:
	gnn_mem_free(text);
	gnn_file_close(f);
	return rc;
}

bool gnn_file_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

bool gnn_file_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool gnn_file_same(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
		sa.st_ino == sb.st_ino;
}

int gnn_file_check_output(const char *output, const char *const *inputs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (inputs[i] != NULL && gnn_file_same(output, inputs[i]))
			return gnn_err(GNN_ECREAT, "%s: the output is the input %s; give it "
				"another name", output, inputs[i]);
	return GNN_OK;
}
