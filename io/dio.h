/*
 * io/dio.h - bulk reads and writes of aligned ranges, several in flight, behind one vtable.
 *
 * Flow     reader, writer, store -> [dio] -> disk
 * Owns     the file descriptor, the ring or the threads
 * Lends    nothing; request and buffer belong to the caller until reaped
 * Thread   one caller
 * Fails    GNN_EIO device error, disk full, no progress; GNN_EDATA file ends inside a read;
 *          GNN_ENOENT, GNN_ECREAT at open; GNN_EUNAVAIL a forced engine is missing
 *
 * Engines: uring (io_uring), pread (a pool of threads), null (reads zeros, drops writes), and a
 * fault engine that wraps any of them when --faults names read or write. A request is whole when
 * it is reaped: short transfers, EINTR and EAGAIN are continued inside, from the last aligned
 * boundary; O_DIRECT refused by the file system falls back to buffered I/O, said once.
 */
#ifndef GNN_IO_DIO_H
#define GNN_IO_DIO_H

#include "base/err.h"

enum gnn_dio_mode { GNN_DIO_READ, GNN_DIO_WRITE }; /* WRITE: an existing file, read and write */
enum gnn_dio_engine { GNN_DIO_AUTO, GNN_DIO_URING, GNN_DIO_PREAD, GNN_DIO_NULL };

struct gnn_dio; /* an open file */

struct gnn_dio_opts {
	const char         *path;   /* copied */
	enum gnn_dio_mode   mode;
	enum gnn_dio_engine engine; /* AUTO: uring, else pread, said once */
	uint32_t            depth;  /* requests in flight at most, 1..256; 0 means 8 */
};

/*
 * One transfer. offset, bytes and buffer are multiples of GNN_PAGE_BYTES, but the last page of a
 * file may be read: `wanted` bytes must be there, the rest of the buffer is undefined. bytes may
 * exceed 2 GiB; it is split inside.
 */
struct gnn_dio_request {
	bool     write;
	uint64_t offset;
	uint64_t bytes;
	uint64_t wanted;  /* reads: <= bytes; short of it is GNN_EDATA */
	void    *buffer;
	void    *user;    /* the caller's own */
	int      status;  /* set when reaped */
	uint64_t done_;   /* internal */
};

GNN_BEGIN_DECLS

int gnn_dio_open  (struct gnn_dio **out, const struct gnn_dio_opts *o);
int gnn_dio_submit(struct gnn_dio *d, struct gnn_dio_request *r); /* waits while depth is reached */
/* Waits for one finished request; GNN_EOF when none is in flight. Fails with its error. */
int gnn_dio_reap  (struct gnn_dio *d, struct gnn_dio_request **r);
int gnn_dio_close (struct gnn_dio *d); /* waits for what is in flight; NULL is fine */

/* One blocking transfer through the same engine; nothing else may be in flight. */
int gnn_dio_transfer(struct gnn_dio *d, struct gnn_dio_request *r);

uint64_t    gnn_dio_file_bytes(const struct gnn_dio *d); /* at open */
const char *gnn_dio_name      (const struct gnn_dio *d); /* "uring", "pread" ..., with "buffered" */
uint64_t    gnn_dio_read_bytes(const struct gnn_dio *d); /* transferred so far */
uint64_t    gnn_dio_written_bytes(const struct gnn_dio *d);

GNN_END_DECLS

#endif
