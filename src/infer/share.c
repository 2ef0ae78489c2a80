/* infer/share.c - see share.h. */
#include "infer/share.h"

#include "base/log.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = 16 << 20, TEXT_BYTES = 64, LIST_ITEM_BYTES = 4 };

/* Bytes of features and of lists in both directions, of the rows below v. */
static int weigh(void *arg, gnn_vid v, uint64_t *weight)
{
	const struct gnn_store *s = arg;
	uint64_t row = s->features == NULL ? 0 :
		s->features->cols * gnn_dtype_bytes(s->features->dtype);
	gnn_eid out, in;
	int rc;

	GNN_TRY(gnn_store_list_begin(s, &s->out, v, &out));
	GNN_TRY(gnn_store_list_begin(s, &s->in, v, &in));
	*weight = v * row + (out + in) * LIST_ITEM_BYTES;
out:
	return rc;
}

/* All ranks have the bounds that rank 0 finds. */
static int find_bounds(struct gnn_share *s, const struct gnn_store *whole, uint32_t panel_rows)
{
	int rc = GNN_OK;

	if (s->rank == 0) {
		GNN_TRY(gnn_partition_init(&s->part, whole->vertices, s->size, panel_rows, weigh,
			(void *)(uintptr_t)whole));
	} else {
		s->part.ranks = s->size;
		GNN_NEW_ARRAY(s->part.bound, s->size + UINT64_C(1), GNN_MEM_MISC);
	}
	GNN_TRY(gnn_comm_broadcast(s->comm, 0, s->part.bound,
		(s->size + UINT64_C(1)) * sizeof(*s->part.bound)));
	for (uint32_t r = 0; r < s->size; r++)
		s->rows_max = gnn_max_u64(s->rows_max, gnn_share_rows(s, r));
out:
	return rc;
}

int gnn_share_init(struct gnn_share *s, struct gnn_comm *c, const struct gnn_store *whole,
	uint32_t panel_rows)
{
	char text[TEXT_BYTES];
	int rc;

	snprintf(text, sizeof(text), "%" PRIu64 " vertices, %" PRIu64 " edges", whole->vertices,
		whole->edges);
	*s = (struct gnn_share){.comm = c, .rank = gnn_comm_rank(c), .size = gnn_comm_size(c)};
	GNN_TRY(gnn_share_same(c, "store", text));
	GNN_TRY(find_bounds(s, whole, panel_rows));
	GNN_TRY(gnn_store_view(&s->store, whole, s->part.bound[s->rank],
		gnn_share_rows(s, s->rank)));
out:
	return rc;
}

int gnn_share_link(struct gnn_share *s, struct gnn_backend *b, bool may)
{
	int rc = GNN_OK;

	if (b->ops->unified || b->ops->watch == NULL)
		return GNN_OK;
	if (may)
		GNN_TRY(gnn_link_open(&s->link, s->comm));
	s->backend = b;
	if (s->link != NULL)
		b->ops->watch(b, gnn_link_check, s->link);
	else if (may && s->rank == 0)
		gnn_log(GNN_LOG_WARN, "infer", "%s: rows of other ranks go through host memory",
			gnn_err_text());
out:
	return rc < 0 ? rc : GNN_OK;
}

void gnn_share_fini(struct gnn_share *s)
{
	if (s->link != NULL)
		s->backend->ops->watch(s->backend, NULL, NULL);
	gnn_link_close(s->link);
	if (s->part.bound != NULL)
		gnn_comm_keep(s->comm, s->part.bound);
	*s = (struct gnn_share){0};
}

/* A broadcast of any size. */
static int broadcast(const struct gnn_share *s, uint32_t root, void *data, uint64_t bytes)
{
	uint64_t piece = gnn_min_u64(PIECE_BYTES, (UINT64_C(1) << 30) / s->size);
	int rc = GNN_OK;

	for (uint64_t at = 0; at < bytes; at += piece)
		GNN_TRY(gnn_comm_broadcast(s->comm, root, (char *)data + at,
			gnn_min_u64(piece, bytes - at)));
out:
	return rc;
}

int gnn_share_spread(const struct gnn_share *s, void *array, uint64_t item_bytes)
{
	int rc = GNN_OK;

	for (uint32_t r = 0; r < s->size; r++)
		GNN_TRY(broadcast(s, r, (char *)array + s->part.bound[r] * item_bytes,
			gnn_share_rows(s, r) * item_bytes));
out:
	return rc;
}

int gnn_share_collect(const struct gnn_share *s, const void *mine, uint64_t bytes, void **all,
	uint64_t *total)
{
	uint64_t *sizes = NULL, at = 0;
	int rc;

	*all = NULL;
	*total = 0;
	GNN_NEW_ARRAY(sizes, s->size, GNN_MEM_MISC);
	GNN_TRY(gnn_comm_gather(s->comm, &bytes, sizeof(bytes), sizes));
	for (uint32_t r = 0; r < s->size; r++)
		*total += sizes[r];
	GNN_TRY(gnn_mem_new(all, gnn_max_u64(*total, 1), 1, GNN_MEM_MISC));
	for (uint32_t r = 0; r < s->size; at += sizes[r++]) {
		if (r == s->rank && bytes > 0)
			memcpy((char *)*all + at, mine, bytes);
		GNN_TRY(broadcast(s, r, (char *)*all + at, sizes[r]));
	}
out:
	gnn_comm_keep(s->comm, sizes);
	return rc;
}

int gnn_share_same(struct gnn_comm *c, const char *what, const char *text)
{
	char mine[TEXT_BYTES] = {0}, *all = NULL;
	uint32_t size = gnn_comm_size(c);
	int rc = GNN_OK;

	snprintf(mine, sizeof(mine), "%s", text);
	GNN_NEW_ARRAY(all, (uint64_t)size * TEXT_BYTES, GNN_MEM_MISC);
	GNN_TRY(gnn_comm_gather(c, mine, TEXT_BYTES, all));
	for (uint32_t r = 1; r < size; r++) {
		const char *other = all + (uint64_t)r * TEXT_BYTES;

		if (memcmp(all, other, TEXT_BYTES) != 0)
			GNN_FAIL(GNN_ECONFIG, "rank %u on %s has another %s than rank 0: %s, not "
				"%s", r, gnn_comm_ranks(c)[r].host, what, other, all);
	}
out:
	gnn_comm_keep(c, all);
	return rc;
}
