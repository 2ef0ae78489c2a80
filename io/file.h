/*
 * io/file.h - plain sequential files through one seam, and publication by rename.
 *
 * Flow     importers, model, export -> [file] -> system calls, each behind base/fault.h
 * Owns     descriptors and temporary files
 * Lends    nothing
 * Thread   one caller a handle
 * Fails    GNN_ENOENT no such input; GNN_ECREAT output cannot be made, is an input, or is being
 *          written by a live process; GNN_EIO errors and disk full, with bytes needed and free
 */
#ifndef GNN_IO_FILE_H
#define GNN_IO_FILE_H

#include "base/err.h"

struct gnn_file; /* an input, read at offsets or in sequence */
struct gnn_pub;  /* an output under a temporary name, until published */

GNN_BEGIN_DECLS

int      gnn_file_open  (struct gnn_file **out, const char *path);
uint64_t gnn_file_bytes (const struct gnn_file *f);
const char *gnn_file_path(const struct gnn_file *f);
/* Reads up to `bytes` in sequence; *got is less only at the end of the file. */
int      gnn_file_read  (struct gnn_file *f, void *to, uint64_t bytes, uint64_t *got);
/* Reads exactly `bytes` at `offset`; GNN_EDATA when the file is shorter. */
int      gnn_file_pread (struct gnn_file *f, void *to, uint64_t bytes, uint64_t offset);
void     gnn_file_close (struct gnn_file *f);
bool     gnn_file_exists(const char *path);
bool     gnn_file_is_dir(const char *path);
bool     gnn_file_same  (const char *a, const char *b); /* same inode; false if either is absent */
/* Whole file into a new block with a NUL behind it; GNN_EDATA over `limit`. */
int      gnn_file_slurp (const char *path, uint64_t limit, char **out, uint64_t *bytes);

/*
 * A publication: a temporary name beside `path`, locked against other live processes, removed
 * unless committed. Mode by umask. commit: fsync, rename, fsync of the folder.
 */
int         gnn_pub_begin (struct gnn_pub **out, const char *path);
const char *gnn_pub_temp  (const struct gnn_pub *p); /* the name to write to */
int         gnn_pub_fd    (const struct gnn_pub *p); /* open read-write */
int         gnn_pub_reserve(struct gnn_pub *p, uint64_t bytes); /* fallocate: disk full comes now */
int         gnn_pub_write (struct gnn_pub *p, const void *from, uint64_t bytes); /* in sequence */
int         gnn_pub_commit(struct gnn_pub **p);  /* sets it to NULL, on failure too */
void        gnn_pub_abort (struct gnn_pub *p);   /* removes the temporary; NULL is fine */

/* GNN_ECREAT when `output` is the same file as one of the inputs (NULL entries are skipped). */
int gnn_file_check_output(const char *output, const char *const *inputs, uint32_t count);

GNN_END_DECLS

#endif
