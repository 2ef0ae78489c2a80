/*
 * io/ahead.c - see ahead.h.
 *
 * The reader hands each block to the workers (todo) and, in order, to the consumer (order). A block
 * has a queue of one place through which its worker says that it is done.
 */
#include "io/ahead.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"
#include "io/scan.h"

#include <string.h>

enum { LINE_SHARE = 4, WORKERS_MAX = 8 };

struct slot {
	struct gnn_block block; /* the first member: what the consumer sees */
	struct gnn_queue *done;
};

struct gnn_ahead {
	struct gnn_ahead_opts opts;
	struct gnn_queue *empty, *todo, *order;
	struct slot *slot;
	uint32_t depth;
	struct gnn_stage *reader;
	struct gnn_stage **worker; /* (workers) */
	char *carry;               /* the beginning of a line, for the next block */
	uint64_t carry_bytes;      /* at most block_bytes / LINE_SHARE */
	uint64_t left;             /* to read */
	uint64_t pushed;           /* bytes handed over, for messages */
};

uint32_t gnn_ahead_workers(uint32_t threads)
{
	return threads < WORKERS_MAX ? threads : WORKERS_MAX;
}

uint32_t gnn_ahead_depth(uint32_t workers)
{
	return workers + 2;
}

/* Cuts behind the last newline and keeps the rest for the next block. */
static int cut_lines(struct gnn_ahead *a, struct gnn_block *b, bool last)
{
	char *newline = memrchr(b->data, '\n', b->bytes);
	uint64_t keep = newline == NULL ? 0 : (uint64_t)(newline - b->data) + 1;
	uint64_t rest = b->bytes - keep;

	if (last) {
		if (rest > 0)
			b->data[b->bytes++] = '\n';
		return GNN_OK;
	}
	if (rest > a->opts.block_bytes / LINE_SHARE)
		return gnn_err(GNN_EDATA,
			"%s: a line of over %llu bytes, near byte %llu; this is no text file of "
			"edges",
			gnn_input_name(a->opts.input),
			(unsigned long long)(a->opts.block_bytes / LINE_SHARE),
			(unsigned long long)(a->pushed + keep));
	memcpy(a->carry, b->data + keep, rest);
	a->carry_bytes = rest;
	b->bytes = keep;
	return GNN_OK;
}

/* Fills one block; *last when the input has come to its end. */
static int fill(struct gnn_ahead *a, struct gnn_block *b, bool *last)
{
	uint64_t ask, got;
	int rc = GNN_OK;

	if (a->carry_bytes > 0)
		memcpy(b->data, a->carry, a->carry_bytes);
	b->bytes = a->carry_bytes;
	a->carry_bytes = 0;
	ask = gnn_min_u64(a->opts.block_bytes - b->bytes, a->left);
	GNN_TRY(gnn_input_read(a->opts.input, b->data + b->bytes, ask, &got));
	b->bytes += got;
	a->left -= got;
	*last = got < ask || a->left == 0;
	if (a->opts.lines)
		GNN_TRY(cut_lines(a, b, *last));
	memset(b->data + b->bytes, 0, GNN_SCAN_SLACK);
	a->pushed += b->bytes;
out:
	return rc;
}

static int read_blocks(void *arg)
{
	struct gnn_ahead *a = arg;
	struct slot *s = NULL;
	bool last = false;
	int rc = GNN_OK;

	while (!last) {
		GNN_TRY(gnn_queue_pop(a->empty, (void **)&s));
		GNN_TRY(fill(a, &s->block, &last));
		if (s->block.bytes == 0)
			break;
		GNN_TRY(gnn_queue_push(a->todo, s));
		GNN_TRY(gnn_queue_push(a->order, s));
	}
	rc = GNN_OK;
out:
	gnn_queue_close(a->todo);
	gnn_queue_close(a->order);
	return rc;
}

static int work(void *arg)
{
	struct gnn_ahead *a = arg;
	struct slot *s = NULL;
	int rc = GNN_OK;

	for (;;) {
		GNN_TRY(gnn_queue_pop(a->todo, (void **)&s));
		if (rc == GNN_EOF)
			return GNN_OK;
		a->opts.work(a->opts.arg, &s->block);
		GNN_TRY(gnn_queue_push(s->done, s));
	}
out:
	return rc;
}

static int create_slots(struct gnn_ahead *a)
{
	const struct gnn_ahead_opts *o = &a->opts;
	int rc = GNN_OK;

	a->depth = gnn_ahead_depth(o->workers);
	GNN_NEW_ARRAY(a->slot, a->depth, GNN_MEM_IO);
	GNN_TRY(gnn_queue_create(&a->empty, a->depth));
	GNN_TRY(gnn_queue_create(&a->todo, a->depth));
	GNN_TRY(gnn_queue_create(&a->order, a->depth));
	for (uint32_t i = 0; i < a->depth; i++) {
		struct slot *s = &a->slot[i];

		/* One byte more: the newline that a last line may lack. */
		GNN_TRY(gnn_mem_pages((void **)&s->block.data,
			o->block_bytes + 1 + GNN_SCAN_SLACK, GNN_MEM_IO));
		GNN_TRY(gnn_mem_pages(&s->block.out, o->out_bytes, GNN_MEM_IO));
		GNN_TRY(gnn_queue_create(&s->done, 1));
		GNN_TRY(gnn_queue_push(a->empty, s));
	}
out:
	return rc;
}

int gnn_ahead_open(struct gnn_ahead **out, const struct gnn_ahead_opts *o)
{
	struct gnn_ahead *a = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->workers >= 1 && o->block_bytes >= LINE_SHARE);
	GNN_NEW(a, GNN_MEM_IO);
	a->opts = *o;
	a->left = o->bytes;
	GNN_TRY(create_slots(a));
	if (o->lines)
		GNN_NEW_ARRAY(a->carry, o->block_bytes / LINE_SHARE, GNN_MEM_IO);
	GNN_NEW_ARRAY(a->worker, o->workers, GNN_MEM_IO);
	for (uint32_t i = 0; i < o->workers; i++)
		GNN_TRY(gnn_stage_start(&a->worker[i], "ahead-work", work, a));
	GNN_TRY(gnn_stage_start(&a->reader, "ahead-read", read_blocks, a));
	*out = a;
	a = NULL;
out:
	gnn_ahead_close(a);
	return rc;
}

int gnn_ahead_next(struct gnn_ahead *a, struct gnn_block **block)
{
	struct slot *s = NULL;
	int rc = gnn_queue_pop(a->order, (void **)&s);

	*block = NULL;
	if (rc == GNN_OK) {
		rc = gnn_queue_pop(s->done, (void **)&s);
		*block = rc == GNN_OK ? &s->block : NULL;
	} else if (rc == GNN_EOF && a->reader != NULL) { /* it is through, or has failed */
		int end = gnn_stage_join(&a->reader);

		rc = end < 0 ? end : rc;
	}
	return rc;
}

void gnn_ahead_put(struct gnn_ahead *a, struct gnn_block *block)
{
	int rc = gnn_queue_push(a->empty, block); /* there is room for every slot */

	GNN_ASSERT(rc == GNN_OK);
}

static void cancel(struct gnn_queue *q)
{
	if (q != NULL)
		gnn_queue_cancel(q);
}

void gnn_ahead_close(struct gnn_ahead *a)
{
	struct gnn_err_state text;

	if (a == NULL)
		return;
	gnn_err_save(&text, GNN_OK); /* the threads' "stopped" is no error of the caller */
	cancel(a->empty);
	cancel(a->todo);
	cancel(a->order);
	gnn_stage_join(&a->reader);
	for (uint32_t i = 0; a->worker != NULL && i < a->opts.workers; i++)
		gnn_stage_join(&a->worker[i]);
	gnn_err_restore(&text);
	for (uint32_t i = 0; a->slot != NULL && i < a->depth; i++) {
		gnn_mem_free(a->slot[i].block.data);
		gnn_mem_free(a->slot[i].block.out);
		gnn_queue_destroy(a->slot[i].done);
	}
	gnn_queue_destroy(a->order);
	gnn_queue_destroy(a->todo);
	gnn_queue_destroy(a->empty);
	gnn_mem_free(a->slot);
	gnn_mem_free(a->worker);
	gnn_mem_free(a->carry);
	gnn_mem_free(a);
}
