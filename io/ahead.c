/* io/ahead.c - see ahead.h. */
#include "io/ahead.h"

#include "base/mem.h"
#include "base/queue.h"
#include "base/stage.h"
#include "io/scan.h"

#include <string.h>

enum { DEPTH_MAX = 8, LINE_SHARE = 4 };

struct gnn_ahead {
	struct gnn_ahead_opts opts;
	struct gnn_stage *stage;
	struct gnn_queue *empty, *full;
	struct gnn_block block[DEPTH_MAX];
	char *carry;          /* the beginning of a line, for the next block */
	uint64_t carry_bytes; /* at most block_bytes / LINE_SHARE */
	uint64_t left;        /* to read */
	uint64_t pushed;      /* bytes handed over, for messages */
};

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
	struct gnn_block *b = NULL;
	bool last = false;
	int rc = GNN_OK;

	while (!last) {
		GNN_TRY(gnn_queue_pop(a->empty, (void **)&b));
		GNN_TRY(fill(a, b, &last));
		GNN_TRY(gnn_queue_push(b->bytes > 0 ? a->full : a->empty, b));
	}
	rc = GNN_OK;
out:
	gnn_queue_close(a->full);
	return rc;
}

uint64_t gnn_ahead_buffer_bytes(const struct gnn_ahead_opts *o)
{
	return o->depth * o->block_bytes + (o->lines ? o->block_bytes / LINE_SHARE : 0);
}

int gnn_ahead_open(struct gnn_ahead **out, const struct gnn_ahead_opts *o)
{
	struct gnn_ahead *a = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_ASSERT(o->depth >= 2 && o->depth <= DEPTH_MAX && o->block_bytes >= LINE_SHARE);
	GNN_NEW(a, GNN_MEM_IO);
	a->opts = *o;
	a->left = o->bytes;
	GNN_TRY(gnn_queue_create(&a->empty, o->depth));
	GNN_TRY(gnn_queue_create(&a->full, o->depth));
	for (uint32_t i = 0; i < o->depth; i++) {
		/* One byte more: the newline that a last line may lack. */
		GNN_TRY(gnn_mem_pages((void **)&a->block[i].data,
			o->block_bytes + 1 + GNN_SCAN_SLACK, GNN_MEM_IO));
		GNN_TRY(gnn_queue_push(a->empty, &a->block[i]));
	}
	if (o->lines)
		GNN_NEW_ARRAY(a->carry, o->block_bytes / LINE_SHARE, GNN_MEM_IO);
	GNN_TRY(gnn_stage_start(&a->stage, "gnn-ahead", read_blocks, a));
	*out = a;
	a = NULL;
out:
	gnn_ahead_close(a);
	return rc;
}

int gnn_ahead_next(struct gnn_ahead *a, struct gnn_block **block)
{
	int rc = gnn_queue_pop(a->full, (void **)block);

	if (rc == GNN_EOF && a->stage != NULL) { /* the reader is through, or has failed */
		int end = gnn_stage_join(&a->stage);

		rc = end < 0 ? end : rc;
	}
	return rc;
}

void gnn_ahead_put(struct gnn_ahead *a, struct gnn_block *block)
{
	int rc = gnn_queue_push(a->empty, block); /* there is room for every block */

	GNN_ASSERT(rc == GNN_OK);
}

void gnn_ahead_close(struct gnn_ahead *a)
{
	struct gnn_err_state text;

	if (a == NULL)
		return;
	gnn_err_save(&text, GNN_OK); /* the reader's "stopped" is no error of the caller */
	if (a->empty != NULL)
		gnn_queue_cancel(a->empty);
	if (a->full != NULL)
		gnn_queue_cancel(a->full);
	gnn_stage_join(&a->stage);
	gnn_err_restore(&text);
	for (uint32_t i = 0; i < DEPTH_MAX; i++)
		gnn_mem_free(a->block[i].data);
	gnn_mem_free(a->carry);
	gnn_queue_destroy(a->full);
	gnn_queue_destroy(a->empty);
	gnn_mem_free(a);
}
