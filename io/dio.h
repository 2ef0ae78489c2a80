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
/* MAP is for streams of stores, which then lend the page cache; a dio handle takes it as AUTO. */
enum gnn_dio_engine { GNN_DIO_AUTO, GNN_DIO_URING, GNN_DIO_PREAD, GNN_DIO_NULL, GNN_DIO_MAP };

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
 * exceed 2 GiB; it is split inside. The caller sets the first six, and keeps request and buffer
 * as they are until it is reaped.
 */
struct gnn_dio_request {
	bool     write;
	uint64_t offset;
	uint64_t bytes;
	uint64_t wanted;  /* reads: 1..bytes; short of it is GNN_EDATA */
	void    *buffer;
	void    *user;    /* the caller's own */
	int      status;  /* set when reaped */

	struct gnn_dio_request *next_;     /* from here on internal */
	uint64_t                span_;     /* bytes to transfer */
	uint64_t                started_;  /* of them given to the engine */
	uint32_t                pieces_;   /* in flight */
	int                     errnum_;   /* of the first failure, which was */
	uint64_t                failed_at_; /* at this offset of the file */
};

/* What works for files in a folder. */
struct gnn_dio_probe {
	bool     direct;       /* O_DIRECT, reading and writing */
	uint32_t direct_align; /* of offsets, as the file system says; 0: it does not say */
	bool     uring;
	char     uring_why[128]; /* why not; empty if it works */
};

GNN_BEGIN_DECLS

int gnn_dio_open  (struct gnn_dio **out, const struct gnn_dio_opts *o);
int gnn_dio_submit(struct gnn_dio *d, struct gnn_dio_request *r); /* waits while depth is reached */
/* Waits for one finished request; GNN_EOF when none is in flight. Fails with its error. */
int gnn_dio_reap  (struct gnn_dio *d, struct gnn_dio_request **r);
int gnn_dio_close (struct gnn_dio *d); /* waits for what is in flight; NULL is fine */
void gnn_dio_abort(struct gnn_dio *d); /* the same after a failure, whose text it keeps */

/* One blocking transfer through the same engine; nothing else may be in flight. */
int gnn_dio_transfer(struct gnn_dio *d, struct gnn_dio_request *r);

uint64_t    gnn_dio_file_bytes(const struct gnn_dio *d); /* at open */
const char *gnn_dio_name      (const struct gnn_dio *d); /* "uring", "pread buffered" ... */
bool        gnn_dio_is_direct (const struct gnn_dio *d); /* not through the page cache */
uint64_t    gnn_dio_read_bytes(const struct gnn_dio *d); /* transferred so far */
uint64_t    gnn_dio_written_bytes(const struct gnn_dio *d);

/* Tries the engines on a file of its own, which it removes. GNN_ECREAT when that cannot be made. */
int gnn_dio_probe(const char *folder, struct gnn_dio_probe *out);

GNN_END_DECLS

#endif
