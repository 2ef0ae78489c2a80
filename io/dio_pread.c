/* io/dio_pread.c - an engine of threads that block in pread and pwrite: works everywhere. */
#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"
#include "io/dio_ops.h"

#include <errno.h>
#include <unistd.h>

/* Enough to keep any disk busy that a pool of threads can keep busy. */
enum { THREADS_MAX = 32 };

struct pool {
	int fd;
	uint32_t threads;
	struct gnn_queue *todo, *done;
	struct gnn_stage *thread[THREADS_MAX];
};

static int64_t transfer(int fd, const struct gnn_dio_piece *p)
{
	ssize_t res = p->write ? pwrite(fd, p->buffer, p->bytes, (off_t)p->offset)
			       : pread(fd, p->buffer, p->bytes, (off_t)p->offset);

	return res < 0 ? -errno : res;
}

static int work(void *arg)
{
	struct pool *pool = arg;
	void *item;

	while (gnn_queue_pop(pool->todo, &item) == GNN_OK) {
		struct gnn_dio_piece *p = item;

		p->res = transfer(pool->fd, p);
		if (gnn_queue_push(pool->done, p) < 0)
			return GNN_EBUG;
	}
	return GNN_OK;
}

static void pread_close(void *self)
{
	struct pool *pool = self;

	if (pool == NULL)
		return;
	if (pool->todo != NULL)
		gnn_queue_close(pool->todo);
	for (uint32_t i = 0; i < pool->threads; i++)
		gnn_stage_join(&pool->thread[i]);
	gnn_queue_destroy(pool->todo);
	gnn_queue_destroy(pool->done);
	gnn_mem_free(pool);
}

static int pread_open(void **self, const struct gnn_dio_engine_opts *o)
{
	uint32_t wanted = o->depth < THREADS_MAX ? o->depth : THREADS_MAX;
	struct pool *pool = NULL;
	int rc;

	*self = NULL;
	GNN_NEW(pool, GNN_MEM_IO);
	pool->fd = o->fd;
	/* Both hold every piece that there is: a push never waits. */
	GNN_TRY(gnn_queue_create(&pool->todo, o->depth));
	GNN_TRY(gnn_queue_create(&pool->done, o->depth));
	while (pool->threads < wanted) {
		GNN_TRY(gnn_stage_start(&pool->thread[pool->threads], "gnn-pread", work, pool));
		pool->threads++;
	}
	*self = pool;
	pool = NULL;
out:
	pread_close(pool);
	return rc;
}

static void pread_submit(void *self, struct gnn_dio_piece *p)
{
	struct pool *pool = self;
	int rc = gnn_queue_push(pool->todo, p);

	GNN_ASSERT(rc == GNN_OK);
}

static struct gnn_dio_piece *pread_reap(void *self)
{
	struct pool *pool = self;
	void *item;
	int rc = gnn_queue_pop(pool->done, &item);

	GNN_ASSERT(rc == GNN_OK);
	return item;
}

const struct gnn_dio_ops gnn_dio_pread = {
	.name = {"pread buffered", "pread"},
	.open = pread_open,
	.submit = pread_submit,
	.reap = pread_reap,
	.close = pread_close,
};
