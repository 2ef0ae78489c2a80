/* base/sink.c - see sink.h. */
#include "base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int gnn_sink_open(struct gnn_sink *s, const char *path, char first)
{
	struct stat st;
	char found;
	int rc = GNN_OK, fd;

	*s = (struct gnn_sink){.fd = -1, .path = path};
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EACCES) /* /dev/stderr of a pipe, say */
		fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		rc = gnn_err_sys(GNN_ECREAT, errno, "cannot create %s", path);
		goto out;
	}
	if (S_ISREG(st.st_mode) && st.st_size > 0) {
		if (pread(fd, &found, 1, 0) != 1 || found != first)
			GNN_FAIL(GNN_ECREAT, "%s exists and is a file of another kind; it is not "
				"replaced", path);
		if (ftruncate(fd, 0) != 0) {
			rc = gnn_err_sys(GNN_ECREAT, errno, "cannot empty %s", path);
			goto out;
		}
	}
	s->fd = fd;
	fd = -1;
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

void gnn_sink_write(struct gnn_sink *s, const char *text, size_t bytes)
{
	while (bytes > 0 && s->errnum == 0) {
		ssize_t n = write(s->fd, text, bytes);

		if (n > 0) {
			text += n;
			bytes -= (size_t)n;
		} else if (n < 0 && errno != EINTR) {
			s->errnum = errno;
		}
	}
}

int gnn_sink_close(struct gnn_sink *s)
{
	if (s->fd < 0)
		return GNN_OK;
	if (close(s->fd) != 0 && s->errnum == 0)
		s->errnum = errno;
	s->fd = -1;
	if (s->errnum != 0)
		return gnn_err_sys(GNN_EIO, s->errnum, "writing %s", s->path);
	return GNN_OK;
}
