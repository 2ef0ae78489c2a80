/*
 * io/dio_ops.h - what an engine of dio must do, annotated; private to io/dio*.c.
 *
 * Flow     dio (requests) -> [dio_ops] (pieces) -> kernel
 * Owns     an engine owns its ring or threads, from open to close
 * Lends    a piece to the engine, from submit until reap hands it back
 * Thread   all calls of one engine come from one thread
 * Fails    only open can: GNN_EUNAVAIL not on this machine, GNN_EOS no memory, no threads
 *
 * An engine moves pieces and knows nothing else: no retries, no short transfers continued, no
 * texts. All of that is done once, in dio.c, from the `res` of each piece. dio_null.c is the
 * shortest engine, and the place to start a new one from.
 */
#ifndef GNN_IO_DIO_OPS_H
#define GNN_IO_DIO_OPS_H

#include "base/err.h"

struct gnn_dio_request; /* io/dio.h */

/* One pread or pwrite. offset, bytes and buffer are multiples of GNN_PAGE_BYTES. */
struct gnn_dio_piece {
	bool     write;
	uint64_t offset;
	uint64_t bytes;   /* at most 1 GiB: a kernel takes less than 2 GiB at once */
	void    *buffer;
	int64_t  res;     /* set by the engine: bytes moved, or -errno, as the kernel gave it */
	struct gnn_dio_piece *next; /* the holder's: the engine's until reaped, dio's afterwards */

	/* dio.c's own; engines leave these alone. */
	struct gnn_dio_request *request;
	uint64_t wanted;  /* bytes that must arrive; all of them when writing */
	uint32_t tries;   /* without a byte of progress */
	bool     direct;  /* the file was open with O_DIRECT when it was submitted */
};

struct gnn_dio_ops;

struct gnn_dio_engine_opts {
	int      fd;      /* borrowed until close */
	uint32_t depth;   /* pieces in flight, at most: no more are ever submitted */
	const struct gnn_dio_ops *inner; /* the engine to wrap: for dio_fault alone */
};

struct gnn_dio_ops {
	const char *name[2]; /* of a file read through the page cache, and directly */

	/*
	 * Makes everything that can fail ready: after it, submit and reap cannot. GNN_EUNAVAIL,
	 * with a text that says why, lets dio go on to the next engine where none was forced.
	 */
	int (*open)(void **self, const struct gnn_dio_engine_opts *o);

	/* Starts a piece, now: the caller may not come back for a while. Does not wait for it. */
	void (*submit)(void *self, struct gnn_dio_piece *p);

	/* Waits for a finished piece, in any order. Only called while some are in flight. */
	struct gnn_dio_piece *(*reap)(void *self);

	/* Called once, with nothing in flight: the kernel touches no buffer any more. */
	void (*close)(void *self);
};

extern const struct gnn_dio_ops gnn_dio_uring;
extern const struct gnn_dio_ops gnn_dio_pread;
extern const struct gnn_dio_ops gnn_dio_null;
extern const struct gnn_dio_ops gnn_dio_fault;

#endif
