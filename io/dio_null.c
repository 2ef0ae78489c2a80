/* io/dio_null.c - an engine without a disk: reads give zeros, writes are dropped, at once. */
#include "base/mem.h"
#include "io/dio_ops.h"

#include <string.h>

struct null {
	struct gnn_dio_piece *first, **end; /* finished, oldest first */
};

static int null_open(void **self, const struct gnn_dio_engine_opts *o)
{
	struct null *n = NULL;
	int rc;

	(void)o;
	*self = NULL;
	GNN_NEW(n, GNN_MEM_IO);
	n->end = &n->first;
	*self = n;
out:
	return rc;
}

static void null_submit(void *self, struct gnn_dio_piece *p)
{
	struct null *n = self;

	if (!p->write)
		memset(p->buffer, 0, p->bytes);
	p->res = (int64_t)p->bytes;
	p->next = NULL;
	*n->end = p;
	n->end = &p->next;
}

static struct gnn_dio_piece *null_reap(void *self)
{
	struct null *n = self;
	struct gnn_dio_piece *p = n->first;

	n->first = p->next;
	if (n->first == NULL)
		n->end = &n->first;
	return p;
}

const struct gnn_dio_ops gnn_dio_null = {
	.name = {"null", "null"},
	.open = null_open,
	.submit = null_submit,
	.reap = null_reap,
	.close = gnn_mem_free,
};
