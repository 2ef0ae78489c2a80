/* io/folder.c - see folder.h. */
#include "io/folder.h"

#include "base/mem.h"
#include "io/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct gnn_folder {
	char *path;
	int fd; /* of the folder, which carries the lock */
};

static int make(const char *path, bool *made)
{
	struct stat st;

	*made = mkdir(path, 0700) == 0;
	if (*made)
		return GNN_OK;
	if (errno != EEXIST)
		return gnn_sys_open_failed(GNN_ECREAT, errno, path);
	if (stat(path, &st) != 0)
		return gnn_sys_open_failed(GNN_ECREAT, errno, path);
	if (!S_ISDIR(st.st_mode))
		return gnn_err(GNN_ECREAT, "%s: is not a folder, and scratch needs one of this "
			"name", path);
	if (st.st_uid != geteuid())
		return gnn_err(GNN_ECREAT, "%s: belongs to another user", path);
	return chmod(path, 0700) == 0 ? GNN_OK : gnn_sys_open_failed(GNN_ECREAT, errno, path);
}

int gnn_folder_open(struct gnn_folder **out, const char *path)
{
	struct gnn_folder *f = NULL;
	bool made;
	int rc;

	*out = NULL;
	GNN_NEW(f, GNN_MEM_MISC);
	f->fd = -1;
	f->path = gnn_mem_text(path);
	if (f->path == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	GNN_TRY(make(path, &made));
	f->fd = gnn_sys_open(path, O_RDONLY | O_DIRECTORY);
	if (f->fd < 0) {
		rc = gnn_sys_open_failed(GNN_ECREAT, -f->fd, path);
		if (made)
			(void)rmdir(path);
		goto out;
	}
	if (flock(f->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		GNN_FAIL(GNN_ECREAT, "%s: another process works in it", path);
	*out = f;
	f = NULL;
out:
	gnn_folder_close(f);
	return rc;
}

const char *gnn_folder_path(const struct gnn_folder *f)
{
	return f->path;
}

int gnn_folder_clear(struct gnn_folder *f)
{
	DIR *dir = opendir(f->path);
	struct dirent *entry;
	int rc = GNN_OK;

	if (dir == NULL)
		return gnn_sys_open_failed(GNN_ECREAT, errno, f->path);
	while (rc == GNN_OK && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && unlinkat(f->fd, entry->d_name, 0) != 0)
			rc = gnn_err_sys(GNN_EIO, errno, "%s/%s: cannot be removed", f->path,
				entry->d_name);
	closedir(dir);
	return rc;
}

void gnn_folder_close(struct gnn_folder *f)
{
	if (f == NULL)
		return;
	if (f->fd >= 0)
		gnn_sys_close(f->fd);
	gnn_mem_free(f->path);
	gnn_mem_free(f);
}

void gnn_folder_remove(struct gnn_folder *f)
{
	struct gnn_err_state first; /* what the caller is about to report stays */

	if (f == NULL)
		return;
	gnn_err_save(&first, GNN_OK);
	if (gnn_folder_clear(f) == GNN_OK)
		rmdir(f->path);
	gnn_err_restore(&first);
	gnn_folder_close(f);
}
