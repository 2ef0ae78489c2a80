/*
 * io/sys.h - the system calls on files, each asked of base/fault.h first, and their error texts.
 *
 * Flow     dio, file -> [sys] -> kernel
 * Owns     nothing
 * Lends    nothing
 * Thread   any thread
 * Fails    calls return -errno; the *_failed functions turn that into a status and a text
 */
#ifndef GNN_IO_SYS_H
#define GNN_IO_SYS_H

#include "base/fault.h"

/* Tries of one transfer without a byte of progress before it is given up. */
enum { GNN_SYS_TRIES = 16 };

GNN_BEGIN_DECLS

/* A descriptor, close-on-exec, or -errno. EINTR is retried. */
int     gnn_sys_open   (const char *path, int flags);
int64_t gnn_sys_pread  (int fd, void *to, uint64_t bytes, uint64_t offset);
int64_t gnn_sys_pwrite (int fd, const void *from, uint64_t bytes, uint64_t offset);
int     gnn_sys_reserve(int fd, uint64_t bytes);
int     gnn_sys_fsync  (int fd);
int     gnn_sys_close  (int fd); /* the descriptor is gone in any case */
int     gnn_sys_rename (const char *from, const char *to);

/* What direct I/O on an open file must be aligned to; 0: not known; -1: there is no direct I/O. */
int64_t gnn_sys_direct_align(int fd);

/*
 * The two halves of a fault on a transfer. instead: true when the fault takes its place, *res is
 * the result then. after: how many of the bytes moved are owned up to; the rest of `to` (NULL for
 * a write) is spoiled, so that nobody can take it for data.
 */
bool    gnn_sys_fault_instead(struct gnn_fault f, int64_t *res);
int64_t gnn_sys_fault_after  (struct gnn_fault f, void *to, int64_t moved);

/* Waits before try number `tries` of a transfer that made no progress: at most 16 ms. */
void gnn_sys_back_off(uint32_t tries);

/* `status` (GNN_ENOENT for inputs, GNN_ECREAT for outputs), or GNN_EOS, GNN_EIO by errno. */
int gnn_sys_open_failed (int status, int errnum, const char *path);
int gnn_sys_read_failed (int errnum, const char *path, uint64_t bytes, uint64_t offset);
/* Disk full, over quota, over the size limit: with the bytes needed and free. */
int gnn_sys_write_failed(int fd, int errnum, const char *path, uint64_t bytes, uint64_t offset);

/* Reserves `bytes` for an open file: a full disk shows now. */
int gnn_sys_room(int fd, const char *path, uint64_t bytes);

GNN_END_DECLS

#endif
