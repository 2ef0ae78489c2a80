/* infer/portion.c - see portion.h. */
#include "infer/portion.h"

#include "base/mem.h"

#include <string.h>

enum { TAG_HEAD = 20 };

/* Bytes of the array. */
struct span {
	uint64_t first, end;
};

struct gnn_portion {
	struct gnn_portion_opts  o;
	const struct gnn_array  *array;
	struct span              own, cut; /* of this rank's rows, and of what it writes */
	uint64_t                 at;       /* pushed so far */
	char                    *head;     /* own bytes in front of the first cut */
	struct gnn_array_writer *writer;   /* NULL: this rank writes nothing */
};

static struct span own_span(const struct gnn_portion *p, uint32_t rank)
{
	if (p->o.share == NULL)
		return (struct span){0, p->array->bytes};
	return (struct span){p->o.bound[rank] * p->o.row_bytes,
		p->o.bound[rank + 1] * p->o.row_bytes};
}

/* The first cut at or past a byte. */
static uint64_t cut_at(const struct gnn_portion *p, uint64_t byte)
{
	return gnn_min_u64(gnn_align_up(byte, GNN_BLOCK_BYTES), p->array->bytes);
}

static struct span cut_span(const struct gnn_portion *p, uint32_t rank)
{
	struct span own = own_span(p, rank);

	return (struct span){cut_at(p, own.first), cut_at(p, own.end)};
}

/* What a rank has in front of its first cut. */
static struct span head_span(const struct gnn_portion *p, uint32_t rank)
{
	struct span own = own_span(p, rank);

	return (struct span){own.first, gnn_min_u64(cut_at(p, own.first), own.end)};
}

/* Which rank writes a byte. */
static uint32_t writer_of(const struct gnn_portion *p, uint64_t byte)
{
	uint32_t rank = 0;

	while (byte >= cut_span(p, rank).end)
		rank++;
	return rank;
}

int gnn_portion_open(struct gnn_portion **out, const struct gnn_portion_opts *o)
{
	uint32_t rank = o->share != NULL ? o->share->rank : 0;
	struct gnn_portion *p = NULL;
	struct span head;
	int rc;

	*out = NULL;
	GNN_NEW(p, GNN_MEM_IO);
	p->o = *o;
	p->array = gnn_container_find(o->container, o->name);
	GNN_ASSERT(p->array != NULL);
	p->own = own_span(p, rank);
	p->cut = cut_span(p, rank);
	head = head_span(p, rank);
	if (head.end > head.first)
		GNN_NEW_ARRAY(p->head, head.end - head.first, GNN_MEM_IO);
	if (p->cut.end > p->cut.first)
		GNN_TRY(gnn_array_writer_open(&p->writer, o->container, o->name, p->cut.first));
	*out = p;
	p = NULL;
out:
	gnn_portion_abort(p);
	return rc;
}

int gnn_portion_push(struct gnn_portion *p, const void *from, uint64_t bytes)
{
	uint64_t byte = p->own.first + p->at, ahead = 0;

	GNN_ASSERT(bytes <= p->own.end - byte);
	if (bytes == 0)
		return GNN_OK;
	if (byte < p->cut.first) {
		ahead = gnn_min_u64(bytes, p->cut.first - byte);
		memcpy(p->head + p->at, from, ahead);
	}
	p->at += bytes;
	return bytes == ahead ? GNN_OK :
		gnn_array_writer_push(p->writer, (const char *)from + ahead, bytes - ahead);
}

/* Bytes of the ranks behind this one that end its last block. */
static int take_heads(struct gnn_portion *p)
{
	const struct gnn_share *s = p->o.share;
	struct gnn_comm_request *coming = NULL;
	char *bytes = NULL;
	int rc = GNN_OK;

	for (uint32_t q = s->rank + 1; q < s->size; q++) {
		struct span head = head_span(p, q);
		uint64_t count = head.end - head.first;

		if (count == 0 || writer_of(p, head.first) != s->rank)
			continue;
		GNN_NEW_ARRAY(bytes, count, GNN_MEM_IO);
		GNN_TRY(gnn_comm_recv(s->comm, q, TAG_HEAD, bytes, count, &coming));
		GNN_TRY(gnn_comm_wait(s->comm, &coming));
		GNN_TRY(gnn_array_writer_push(p->writer, bytes, count));
		gnn_mem_free(bytes);
		bytes = NULL;
	}
out:
	gnn_comm_keep(s->comm, bytes);
	return rc;
}

/* Rank 0 hears the checksums of all blocks, which follow one another as the ranks do. */
static int tell_blocks(const struct gnn_portion *p)
{
	const struct gnn_share *s = p->o.share;
	uint64_t first = p->cut.first / GNN_BLOCK_BYTES, count, bytes;
	uint64_t end = gnn_ceil_div(p->cut.end, GNN_BLOCK_BYTES);
	const uint64_t *sums;
	void *all = NULL;
	int rc;

	GNN_TRY(gnn_container_checksums(p->o.container, p->array, &sums, &count));
	if (p->cut.end == p->cut.first)
		first = end = 0;
	GNN_TRY(gnn_share_collect(s, sums + first, (end - first) * sizeof(*sums), &all, &bytes));
	GNN_ASSERT(bytes == count * sizeof(*sums));
	for (uint64_t b = 0; b < count && s->rank == 0; b++)
		gnn_container_block_done(p->o.container, p->array, b, ((uint64_t *)all)[b]);
out:
	gnn_comm_keep(s->comm, all);
	return rc;
}

static int close_share(struct gnn_portion *p)
{
	const struct gnn_share *s = p->o.share;
	struct gnn_comm_request *sent = NULL;
	struct span head = head_span(p, s->rank);
	int rc = GNN_OK;

	if (head.end > head.first)
		GNN_TRY(gnn_comm_send(s->comm, writer_of(p, head.first), TAG_HEAD, p->head,
			head.end - head.first, &sent));
	GNN_TRY(take_heads(p));
	GNN_TRY(gnn_comm_wait(s->comm, &sent));
	if (p->writer != NULL)
		GNN_TRY(gnn_array_writer_close(&p->writer));
	GNN_TRY(tell_blocks(p));
out:
	return rc;
}

int gnn_portion_close(struct gnn_portion **portion)
{
	struct gnn_portion *p = *portion;
	int rc = GNN_OK;

	GNN_ASSERT(p->at == p->own.end - p->own.first);
	if (p->o.share != NULL)
		GNN_TRY(close_share(p));
	else if (p->writer != NULL)
		GNN_TRY(gnn_array_writer_close(&p->writer));
out:
	gnn_portion_abort(p);
	*portion = NULL;
	return rc;
}

void gnn_portion_abort(struct gnn_portion *p)
{
	if (p == NULL)
		return;
	gnn_array_writer_abort(p->writer);
	if (p->o.share != NULL)
		gnn_comm_keep(p->o.share->comm, p->head);
	else
		gnn_mem_free(p->head);
	gnn_mem_free(p);
}
