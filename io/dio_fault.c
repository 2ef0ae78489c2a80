/* io/dio_fault.c - wraps an engine: transfers fail as --faults says, and end in reverse order. */
#include "base/fault.h"
#include "base/mem.h"
#include "io/dio_ops.h"
#include "io/sys.h"

/* A piece that is out, and what shall befall it. */
struct marked {
	struct gnn_dio_piece *piece;
	struct gnn_fault fault;
};

struct faulty {
	const struct gnn_dio_ops *inner;
	void *engine;
	struct gnn_dio_piece *done; /* finished, newest first: the order in which they are reaped */
	uint32_t mark_count; /* pieces inside the wrapped engine */
	struct marked marks[];
};

static void fault_close(void *self)
{
	struct faulty *f = self;

	f->inner->close(f->engine);
	gnn_mem_free(f);
}

static int fault_open(void **self, const struct gnn_dio_engine_opts *o)
{
	struct faulty *f;
	void *block = NULL;
	int rc;

	*self = NULL;
	GNN_TRY(gnn_mem_new(&block, 1, sizeof(*f) + o->depth * sizeof(f->marks[0]), GNN_MEM_IO));
	f = block;
	f->inner = o->inner;
	GNN_TRY(f->inner->open(&f->engine, o));
	*self = f;
	block = NULL;
out:
	gnn_mem_free(block);
	return rc;
}

static void finish(struct faulty *f, struct gnn_dio_piece *p)
{
	p->next = f->done;
	f->done = p;
}

/* Flips a bit of what is written; flipped back when the piece is done. */
static void flip(struct gnn_dio_piece *p)
{
	((unsigned char *)p->buffer)[p->bytes / 2] ^= 1;
}

static void fault_submit(void *self, struct gnn_dio_piece *p)
{
	struct faulty *f = self;
	struct gnn_fault fault = gnn_fault_next(p->write ? GNN_FAULT_WRITE : GNN_FAULT_READ);

	if (gnn_sys_fault_instead(fault, &p->res)) {
		finish(f, p);
		return;
	}
	if (p->write && fault.action == GNN_FAULT_FLIP)
		flip(p);
	f->marks[f->mark_count++] = (struct marked){p, fault};
	f->inner->submit(f->engine, p);
}

static struct gnn_fault unmark(struct faulty *f, const struct gnn_dio_piece *p)
{
	struct gnn_fault fault;
	uint32_t i = 0;

	while (i < f->mark_count && f->marks[i].piece != p)
		i++;
	GNN_ASSERT(i < f->mark_count);
	fault = f->marks[i].fault;
	f->marks[i] = f->marks[--f->mark_count];
	return fault;
}

/* Waits for everything that is out, so that what was started last can come back first. */
static struct gnn_dio_piece *fault_reap(void *self)
{
	struct faulty *f = self;
	struct gnn_dio_piece *p;

	while (f->mark_count > 0) {
		struct gnn_fault fault;

		p = f->inner->reap(f->engine);
		fault = unmark(f, p);
		if (p->write && fault.action == GNN_FAULT_FLIP)
			flip(p);
		p->res = gnn_sys_fault_after(fault, p->write ? NULL : p->buffer, p->res);
		finish(f, p);
	}
	p = f->done;
	f->done = p->next;
	return p;
}

const struct gnn_dio_ops gnn_dio_fault = {
	.name = {"fault", "fault"},
	.open = fault_open,
	.submit = fault_submit,
	.reap = fault_reap,
	.close = fault_close,
};
