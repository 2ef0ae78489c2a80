/* io/dio_uring.c - the io_uring engine: one ring a file, the file registered. */
#include "base/fault.h"
#include "base/mem.h"
#include "io/dio_ops.h"
#include "io/sys.h"

#include <errno.h>
#include <liburing.h>

enum { THE_FILE = 0 }; /* index of the registered file */

static bool is_passing(int errnum)
{
	return errnum == EINTR || errnum == EAGAIN || errnum == EBUSY;
}

/*
 * Waits for a completion, entering the kernel with whatever is not yet submitted. What makes it
 * turn back passes: a signal, or no memory for a request just now.
 */
static struct io_uring_cqe *wait_one(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(ring, &cqe) != 0) {
		int rc = io_uring_submit_and_wait(ring, 1);

		GNN_ASSERT(rc >= 0 || is_passing(-rc));
		if (rc < 0)
			gnn_sys_back_off(1);
	}
	return cqe;
}

/*
 * Some sandboxes permit making a ring, but not entering it, and the first kernels know no plain
 * read: one of no bytes tells. 0 or -errno.
 */
static int try_ring(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int rc;

	io_uring_prep_read(sqe, THE_FILE, NULL, 0, 0);
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	do
		rc = io_uring_submit_and_wait(ring, 1);
	while (rc == -EINTR);
	if (rc < 0)
		return rc;
	cqe = wait_one(ring);
	rc = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return rc;
}

/* 0 or -errno; nothing is left behind on failure. */
static int make_ring(struct io_uring *ring, const struct gnn_dio_engine_opts *o)
{
	struct gnn_fault f = gnn_fault_next(GNN_FAULT_RING);
	int rc;

	if (f.action == GNN_FAULT_ERRNO)
		return -f.errnum;
	rc = io_uring_queue_init(o->depth, ring, 0);
	if (rc < 0)
		return rc;
	rc = io_uring_register_files(ring, &o->fd, 1);
	if (rc >= 0)
		rc = try_ring(ring);
	if (rc < 0)
		io_uring_queue_exit(ring);
	return rc < 0 ? rc : 0;
}

static int uring_open(void **self, const struct gnn_dio_engine_opts *o)
{
	struct io_uring *ring = NULL;
	int rc, made;

	*self = NULL;
	GNN_NEW(ring, GNN_MEM_IO);
	made = make_ring(ring, o);
	if (made < 0) {
		rc = gnn_err_sys(GNN_EUNAVAIL, -made, "io_uring cannot be set up here%s",
			made == -ENOMEM ? " (locked memory: ulimit -l)" : "");
		goto out;
	}
	*self = ring;
	ring = NULL;
out:
	gnn_mem_free(ring);
	return rc;
}

static void uring_submit(void *self, struct gnn_dio_piece *p)
{
	struct io_uring *ring = self;
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	int rc;

	/* The queue has an entry for every piece, submitted or not. */
	GNN_ASSERT(sqe != NULL);
	if (p->write)
		io_uring_prep_write(sqe, THE_FILE, p->buffer, (unsigned)p->bytes, p->offset);
	else
		io_uring_prep_read(sqe, THE_FILE, p->buffer, (unsigned)p->bytes, p->offset);
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data(sqe, p);
	/* What the kernel does not take now stays in the queue, and goes with the next wait. */
	rc = io_uring_submit(ring);
	GNN_ASSERT(rc >= 0 || is_passing(-rc));
}

static struct gnn_dio_piece *uring_reap(void *self)
{
	struct io_uring *ring = self;
	struct io_uring_cqe *cqe = wait_one(ring);
	struct gnn_dio_piece *p = io_uring_cqe_get_data(cqe);

	p->res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return p;
}

static void uring_close(void *self)
{
	io_uring_queue_exit(self);
	gnn_mem_free(self);
}

const struct gnn_dio_ops gnn_dio_uring = {
	.name = {"uring buffered", "uring"},
	.open = uring_open,
	.submit = uring_submit,
	.reap = uring_reap,
	.close = uring_close,
};
