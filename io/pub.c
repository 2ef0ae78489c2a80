/* io/pub.c - outputs: written under a temporary name, locked, published by rename; see file.h. */
#include "base/mem.h"
#include "io/file.h"
#include "io/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opening a lock file races with its removal by who held it: each try meets a new one. */
enum { LOCK_TRIES = 100, OWNER_BYTES = 128 };

#define TEMP_SUFFIX ".gnnrun-tmp"
#define LOCK_SUFFIX ".gnnrun-lock"

struct gnn_pub {
	char *path;   /* symbolic links followed: what they point at is replaced, not they */
	char *folder;
	char *temp;
	char *lock;   /* holds "PID HOST" and an flock while its writer lives */
	int fd;       /* of the temporary; -1: there is none */
	int lock_fd;  /* -1: not locked */
	uint64_t at;  /* of the next gnn_pub_write */
};

/* --- names --- */

static int set_text(char **out, const char *text, size_t len, const char *suffix)
{
	size_t bytes = len + strlen(suffix) + 1;
	void *block;
	int rc = gnn_mem_new(&block, bytes, 1, GNN_MEM_IO);

	*out = block;
	if (rc == GNN_OK)
		snprintf(*out, bytes, "%.*s%s", (int)len, text, suffix);
	return rc;
}

static int set_names(struct gnn_pub *p, const char *path)
{
	const char *slash;
	int rc;

	GNN_TRY(set_text(&p->path, path, strlen(path), ""));
	GNN_TRY(set_text(&p->temp, path, strlen(path), TEMP_SUFFIX));
	GNN_TRY(set_text(&p->lock, path, strlen(path), LOCK_SUFFIX));
	slash = strrchr(path, '/');
	if (slash == NULL)
		rc = set_text(&p->folder, ".", 1, "");
	else
		rc = set_text(&p->folder, path, (size_t)(slash - path + 1), "");
out:
	return rc;
}

/* What may stand under the final name: nothing, or a file. A link is followed. */
static int find_target(const char *path, char target[PATH_MAX])
{
	struct stat st;

	if (path[0] == '\0')
		return gnn_err(GNN_ECREAT, "the name of the output is empty");
	if (strlen(path) >= PATH_MAX)
		return gnn_err(GNN_ECREAT, "the name of the output has %zu bytes, %d at most",
			strlen(path), PATH_MAX - 1);
	memcpy(target, path, strlen(path) + 1);
	if (lstat(path, &st) != 0)
		return GNN_OK; /* free, or in a folder that the lock file cannot be made in */
	if (S_ISLNK(st.st_mode) && realpath(path, target) == NULL)
		return gnn_err_sys(GNN_ECREAT, errno, "%s: a link that leads nowhere", path);
	if (stat(target, &st) != 0)
		return gnn_sys_open_failed(GNN_ECREAT, errno, target);
	if (S_ISREG(st.st_mode))
		return GNN_OK;
	return gnn_err(GNN_ECREAT, "%s: is %s; the output must be a file", path,
		S_ISDIR(st.st_mode) ? "a folder" : "a device or a pipe");
}

/* --- the lock --- */

struct owner {
	long pid; /* 0: not known */
	char host[64];
};

static struct owner read_owner(int fd)
{
	struct owner o = {0};
	char text[OWNER_BYTES] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
		sscanf(text, "%ld %63s", &o.pid, o.host) != 2)
		o.pid = 0;
	return o;
}

static struct owner self(void)
{
	struct owner o = {.pid = (long)getpid()};

	gethostname(o.host, sizeof(o.host) - 1);
	return o;
}

static int taken(const struct gnn_pub *p, const struct owner *o)
{
	if (o->pid == 0)
		return gnn_err(GNN_ECREAT, "%s: is being written by another process", p->path);
	return gnn_err(GNN_ECREAT, "%s: is being written by process %ld on %s (if there is none, "
		"remove %s)", p->path, o->pid, o->host, p->lock);
}

/*
 * Where the file system has no locks, the record in the lock file must do. Our own number in it is
 * one that died before us: in a container every run may get the same.
 */
static bool seems_alive(const struct owner *o)
{
	struct owner me = self();

	if (o->pid == 0)
		return false;
	if (strcmp(o->host, me.host) != 0)
		return true;
	return o->pid != me.pid && (kill((pid_t)o->pid, 0) == 0 || errno == EPERM);
}

/* GNN_OK when it is ours, GNN_SKIPPED when it has been removed meanwhile, GNN_ECREAT taken. */
static int try_lock(struct gnn_pub *p)
{
	struct owner o;
	struct stat mine, there;

	if (flock(p->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		bool held = errno == EWOULDBLOCK;

		o = read_owner(p->lock_fd);
		if (held || seems_alive(&o))
			return taken(p, &o);
	}
	if (fstat(p->lock_fd, &mine) != 0 || stat(p->lock, &there) != 0 ||
		mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
		return GNN_SKIPPED;
	return GNN_OK;
}

static int write_all(int fd, const char *path, const char *from, uint64_t bytes, uint64_t offset)
{
	uint32_t tries = 0;

	while (bytes > 0) {
		int64_t res = gnn_sys_pwrite(fd, from, gnn_min_u64(bytes, 1 << 30), offset);

		if ((res == 0 || res == -EINTR || res == -EAGAIN) && tries < GNN_SYS_TRIES) {
			gnn_sys_back_off(tries++);
			continue;
		}
		if (res <= 0)
			return gnn_sys_write_failed(fd, res < 0 ? (int)-res : EIO, path, bytes,
				offset);
		tries = 0;
		from += res;
		offset += (uint64_t)res;
		bytes -= (uint64_t)res;
	}
	return GNN_OK;
}

static int sign_lock(struct gnn_pub *p)
{
	struct owner me = self();
	char text[OWNER_BYTES];
	int len = snprintf(text, sizeof(text), "%ld %s\n", me.pid, me.host);

	if (ftruncate(p->lock_fd, 0) != 0)
		return gnn_err_sys(GNN_ECREAT, errno, "%s: cannot be emptied", p->lock);
	return write_all(p->lock_fd, p->lock, text, (uint64_t)len, 0);
}

static void drop_lock(struct gnn_pub *p, bool ours)
{
	if (p->lock_fd < 0)
		return;
	if (ours)
		unlink(p->lock);
	gnn_sys_close(p->lock_fd);
	p->lock_fd = -1;
}

static int make_failed(const struct gnn_pub *p, int errnum)
{
	if (errnum == ENOENT || errnum == ENOTDIR)
		return gnn_err(GNN_ECREAT, "%s: there is no folder %s", p->path, p->folder);
	return gnn_sys_open_failed(GNN_ECREAT, errnum, p->path);
}

static int take_lock(struct gnn_pub *p)
{
	int rc = GNN_SKIPPED;

	for (int i = 0; i < LOCK_TRIES && rc == GNN_SKIPPED; i++) {
		p->lock_fd = gnn_sys_open(p->lock, O_RDWR | O_CREAT | O_NOFOLLOW);
		if (p->lock_fd < 0)
			return make_failed(p, -p->lock_fd);
		rc = try_lock(p);
		if (rc != GNN_OK)
			drop_lock(p, false);
	}
	if (rc == GNN_SKIPPED)
		return gnn_err(GNN_ECREAT, "%s: other processes keep writing it", p->path);
	return rc < 0 ? rc : sign_lock(p);
}

/* --- the temporary --- */

static int make_temp(struct gnn_pub *p)
{
	/* What a killed process has left: the name is used again, mode and owner are not. */
	if (unlink(p->temp) != 0 && errno != ENOENT)
		return gnn_err_sys(GNN_ECREAT, errno, "%s: cannot be removed", p->temp);
	p->fd = gnn_sys_open(p->temp, O_RDWR | O_CREAT | O_EXCL);
	return p->fd < 0 ? make_failed(p, -p->fd) : GNN_OK;
}

static void destroy(struct gnn_pub *p)
{
	if (p == NULL)
		return;
	if (p->fd >= 0)
		gnn_sys_close(p->fd);
	drop_lock(p, true);
	gnn_mem_free(p->path);
	gnn_mem_free(p->folder);
	gnn_mem_free(p->temp);
	gnn_mem_free(p->lock);
	gnn_mem_free(p);
}

int gnn_pub_begin(struct gnn_pub **out, const char *path)
{
	char target[PATH_MAX];
	struct gnn_pub *p = NULL;
	int rc;

	*out = NULL;
	GNN_TRY(find_target(path, target));
	GNN_NEW(p, GNN_MEM_IO);
	p->fd = -1;
	p->lock_fd = -1;
	GNN_TRY(set_names(p, target));
	GNN_TRY(take_lock(p));
	GNN_TRY(make_temp(p));
	*out = p;
	p = NULL;
out:
	destroy(p);
	return rc;
}

const char *gnn_pub_temp(const struct gnn_pub *p)
{
	return p->temp;
}

int gnn_pub_fd(const struct gnn_pub *p)
{
	return p->fd;
}

int gnn_pub_reserve(struct gnn_pub *p, uint64_t bytes)
{
	return gnn_sys_room(p->fd, p->path, bytes);
}

int gnn_pub_write(struct gnn_pub *p, const void *from, uint64_t bytes)
{
	int rc = write_all(p->fd, p->path, from, bytes, p->at);

	p->at += bytes;
	return rc;
}

/* --- the end --- */

/* fsync, then close. A failed fsync is final: the kernel has dropped the pages by then. */
static int settle(struct gnn_pub *p)
{
	struct stat st = {0};
	int rc, closed;

	fstat(p->fd, &st);
	rc = gnn_sys_fsync(p->fd);
	if (rc < 0)
		return gnn_err_place(gnn_sys_write_failed(p->fd, -rc, p->path,
			(uint64_t)st.st_size, 0), "fsync");
	closed = gnn_sys_close(p->fd);
	p->fd = -1;
	if (closed < 0)
		return gnn_err_sys(GNN_EIO, -closed, "%s: closing %llu written bytes failed",
			p->path, (unsigned long long)st.st_size);
	return GNN_OK;
}

static int rename_to_final(struct gnn_pub *p)
{
	int folder_fd = gnn_sys_open(p->folder, O_RDONLY | O_DIRECTORY);
	int rc;

	gnn_crash_point("pub.before_rename");
	rc = gnn_sys_rename(p->temp, p->path);
	if (rc < 0) {
		rc = gnn_err_sys(rc == -EIO || rc == -ENOSPC ? GNN_EIO : GNN_ECREAT, -rc,
			"%s: cannot be renamed to its final name", p->temp);
		goto out;
	}
	gnn_crash_point("pub.after_rename");
	/* A folder that may be written but not read cannot be synced; others need not be. */
	rc = folder_fd >= 0 ? gnn_sys_fsync(folder_fd) : 0;
	if (rc < 0 && rc != -EINVAL && rc != -EOPNOTSUPP)
		rc = gnn_err_sys(GNN_EIO, -rc, "%s: is complete, but its folder cannot be brought "
			"to the disk: its name may be gone after a power cut", p->path);
	else
		rc = GNN_OK;
out:
	if (folder_fd >= 0)
		gnn_sys_close(folder_fd);
	return rc;
}

int gnn_pub_commit(struct gnn_pub **pub)
{
	struct gnn_pub *p = *pub;
	int rc;

	*pub = NULL;
	gnn_crash_point("pub.before_fsync");
	rc = settle(p);
	if (rc == GNN_OK)
		rc = rename_to_final(p);
	if (rc < 0)
		unlink(p->temp);
	destroy(p);
	return rc;
}

void gnn_pub_abort(struct gnn_pub *p)
{
	if (p == NULL)
		return;
	unlink(p->temp);
	destroy(p);
}
