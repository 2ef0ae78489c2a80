/* io/sys.c - see sys.h. */
#include "io/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { SLOW_NS = 50000000, BACK_OFF_NS = 1000000, CREATE_MODE = 0666, SPOILED = 0xAB };

static void wait_ns(long ns)
{
	struct timespec left = {0, ns};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

void gnn_sys_back_off(uint32_t tries)
{
	GNN_ASSERT(tries <= GNN_SYS_TRIES);
	wait_ns((long)tries * BACK_OFF_NS);
}

bool gnn_sys_fault_instead(struct gnn_fault f, int64_t *res)
{
	*res = f.action == GNN_FAULT_ERRNO ? -f.errnum : 0;
	return f.action == GNN_FAULT_ERRNO || f.action == GNN_FAULT_ENDS;
}

int64_t gnn_sys_fault_after(struct gnn_fault f, void *to, int64_t moved)
{
	int64_t told = moved;

	if (moved <= 0)
		return moved;
	if (f.action == GNN_FAULT_SLOW)
		wait_ns(SLOW_NS);
	if (f.action == GNN_FAULT_SHORT)
		told = (moved + 1) / 2;
	if (to != NULL && f.action == GNN_FAULT_FLIP)
		((unsigned char *)to)[moved / 2] ^= 1;
	if (to != NULL)
		memset((char *)to + told, SPOILED, (size_t)(moved - told));
	return told;
}

/* For calls that move no bytes: 0, or -errno when a fault takes their place. */
static int refused(enum gnn_fault_site site)
{
	struct gnn_fault f = gnn_fault_next(site);

	if (f.action == GNN_FAULT_SLOW)
		wait_ns(SLOW_NS);
	return f.action == GNN_FAULT_ERRNO ? -f.errnum : 0;
}

static int open_once(const char *path, int flags)
{
	int rc = refused(GNN_FAULT_OPEN);
	int fd;

	if (rc < 0)
		return rc;
	fd = open(path, flags | O_CLOEXEC, CREATE_MODE);
	return fd < 0 ? -errno : fd;
}

int gnn_sys_open(const char *path, int flags)
{
	int fd = -EINTR;

	for (int i = 0; i < GNN_SYS_TRIES && fd == -EINTR; i++)
		fd = open_once(path, flags);
	return fd;
}

int64_t gnn_sys_pread(int fd, void *to, uint64_t bytes, uint64_t offset)
{
	struct gnn_fault f = gnn_fault_next(GNN_FAULT_READ);
	int64_t res;

	if (gnn_sys_fault_instead(f, &res))
		return res;
	res = pread(fd, to, bytes, (off_t)offset);
	return res < 0 ? -errno : gnn_sys_fault_after(f, to, res);
}

int64_t gnn_sys_pwrite(int fd, const void *from, uint64_t bytes, uint64_t offset)
{
	struct gnn_fault f = gnn_fault_next(GNN_FAULT_WRITE);
	int64_t res;

	if (gnn_sys_fault_instead(f, &res))
		return res;
	res = pwrite(fd, from, bytes, (off_t)offset);
	if (res > 0 && f.action == GNN_FAULT_FLIP) {
		unsigned char wrong = ((const unsigned char *)from)[res / 2] ^ 1;

		if (pwrite(fd, &wrong, 1, (off_t)offset + res / 2) != 1)
			return -errno;
	}
	return res < 0 ? -errno : gnn_sys_fault_after(f, NULL, res);
}

int gnn_sys_reserve(int fd, uint64_t bytes)
{
	int rc = refused(GNN_FAULT_RESERVE);

	if (rc < 0)
		return rc;
	return fallocate(fd, 0, 0, (off_t)bytes) != 0 ? -errno : 0;
}

int gnn_sys_fsync(int fd)
{
	int rc = refused(GNN_FAULT_FSYNC);

	if (rc < 0)
		return rc;
	return fsync(fd) != 0 ? -errno : 0;
}

/* After EINTR the descriptor is gone on Linux, and what fsync has seen is safe: no failure. */
int gnn_sys_close(int fd)
{
	int rc = refused(GNN_FAULT_CLOSE);

	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	return rc == -EINTR ? 0 : rc;
}

int gnn_sys_rename(const char *from, const char *to)
{
	int rc = refused(GNN_FAULT_RENAME);

	if (rc < 0)
		return rc;
	return rename(from, to) != 0 ? -errno : 0;
}

int64_t gnn_sys_direct_align(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &x) != 0 ||
		(x.stx_mask & STATX_DIOALIGN) == 0)
		return 0;
	if (x.stx_dio_offset_align == 0 || x.stx_dio_mem_align == 0)
		return -1;
	return x.stx_dio_offset_align > x.stx_dio_mem_align ? x.stx_dio_offset_align
							    : x.stx_dio_mem_align;
#else
	(void)fd;
	return 0;
#endif
}

int gnn_sys_open_failed(int status, int errnum, const char *path)
{
	switch (errnum) {
	case EMFILE:
		return gnn_err(GNN_EOS, "%s: cannot open: this process may hold %ld files open; "
			"raise ulimit -n", path, sysconf(_SC_OPEN_MAX));
	case ENFILE:
	case ENOMEM:
		return gnn_err_sys(GNN_EOS, errnum, "%s: cannot open", path);
	case EIO:
	case ENOSPC:
	case EDQUOT:
		return gnn_err_sys(GNN_EIO, errnum, "%s: cannot open", path);
	default:
		return gnn_err_sys(status, errnum, "%s: cannot open", path);
	}
}

int gnn_sys_read_failed(int errnum, const char *path, uint64_t bytes, uint64_t offset)
{
	return gnn_err_sys(GNN_EIO, errnum, "%s: cannot read %llu bytes at offset %llu", path,
		(unsigned long long)bytes, (unsigned long long)offset);
}

static double mib(uint64_t bytes)
{
	return (double)bytes / 1048576.0;
}

/* What has run out; NULL when it is not room. */
static const char *lacking(int errnum)
{
	switch (errnum) {
	case ENOSPC:
		return "the disk is full";
	case EDQUOT:
		return "the disk quota is used up";
	case EFBIG:
		return "over the limit of the size of a file (ulimit -f, or the file system's)";
	default:
		return NULL;
	}
}

int gnn_sys_write_failed(int fd, int errnum, const char *path, uint64_t bytes, uint64_t offset)
{
	const char *what = lacking(errnum);
	struct statvfs fs;
	uint64_t avail;

	if (what == NULL || fstatvfs(fd, &fs) != 0)
		return gnn_err_sys(GNN_EIO, errnum, "%s: cannot write %llu bytes at offset %llu",
			path, (unsigned long long)bytes, (unsigned long long)offset);
	avail = (uint64_t)fs.f_bavail * fs.f_frsize;
	return gnn_err(GNN_EIO, "%s: %s: needs %llu bytes (%.1f MiB) at offset %llu, %llu bytes "
		"(%.1f MiB) are free", path, what, (unsigned long long)bytes, mib(bytes),
		(unsigned long long)offset, (unsigned long long)avail, mib(avail));
}

static bool has_room(int fd, uint64_t bytes)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) != 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= bytes;
}

int gnn_sys_room(int fd, const char *path, uint64_t bytes)
{
	int rc;

	if (bytes == 0)
		return GNN_OK;
	/* Asked first: a failing fallocate takes all that is free, from everybody, for a moment. */
	rc = has_room(fd, bytes) ? gnn_sys_reserve(fd, bytes) : -ENOSPC;
	if (rc == -EOPNOTSUPP || rc == -ENOSYS)
		rc = ftruncate(fd, (off_t)bytes) != 0 ? -errno : 0;
	return rc < 0 ? gnn_sys_write_failed(fd, -rc, path, bytes, 0) : GNN_OK;
}
