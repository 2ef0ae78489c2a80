/* infer/route.c - see route.h. */
#include "infer/route.h"

#include "base/mem.h"

#include <string.h>

enum { TAG_COUNT = 30, TAG_IDS, TAG_ROWS, REQUESTS = 4 };

int gnn_route_init(struct gnn_route *r, const struct gnn_share *s, const uint64_t *bound,
	uint64_t row_bytes)
{
	int rc;

	*r = (struct gnn_route){.share = s, .bound = bound, .row_bytes = row_bytes};
	GNN_NEW_ARRAY(r->count, s->size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(r->counts, s->size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(r->request, (uint64_t)REQUESTS * s->size, GNN_MEM_MISC);
out:
	if (rc < 0)
		gnn_route_fini(r);
	return rc;
}

void gnn_route_fini(struct gnn_route *r)
{
	void *block[] = {r->count, r->counts, r->out.id, r->out.rows, r->in.id, r->in.rows};

	if (r->share == NULL)
		return;
	for (uint32_t i = 0; i < GNN_COUNT_OF(block); i++)
		gnn_comm_keep(r->share->comm, block[i]);
	gnn_mem_free(r->request);
	*r = (struct gnn_route){0};
}

static int make_room(struct gnn_routed *to, uint64_t count, uint64_t row_bytes)
{
	void *id = to->id, *rows = to->rows;
	int rc = GNN_OK;

	to->count = count;
	if (count <= to->room)
		return GNN_OK;
	GNN_TRY(gnn_mem_resize(&id, count, sizeof(*to->id), GNN_MEM_IO));
	to->id = id;
	GNN_TRY(gnn_mem_resize(&rows, count, row_bytes, GNN_MEM_IO));
	to->rows = rows;
	to->room = count;
out:
	return rc;
}

static uint32_t rank_of(const struct gnn_route *r, uint64_t id)
{
	uint32_t low = 0, high = r->share->size;

	/* The last range that begins at or below: empty ones share their bound with the next. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (r->bound[middle] <= id)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The rows by the rank that they go to. */
static int sort_out(struct gnn_route *r, const uint64_t *id, const char *rows, uint64_t count)
{
	uint32_t size = r->share->size;
	uint64_t *at = NULL, sum = 0;
	int rc;

	GNN_NEW_ARRAY(at, size, GNN_MEM_MISC);
	GNN_TRY(make_room(&r->out, count, r->row_bytes));
	memset(r->count, 0, size * sizeof(*r->count));
	for (uint64_t i = 0; i < count; i++)
		r->count[rank_of(r, id[i])]++;
	for (uint32_t q = 0; q < size; q++) {
		at[q] = sum;
		sum += r->count[q];
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t to = at[rank_of(r, id[i])]++;

		r->out.id[to] = id[i];
		memcpy(r->out.rows + to * r->row_bytes, rows + i * r->row_bytes, r->row_bytes);
	}
out:
	gnn_mem_free(at);
	return rc;
}

static int wait_all(struct gnn_route *r)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < REQUESTS * r->share->size; i++)
		GNN_TRY(gnn_comm_wait(r->share->comm, &r->request[i]));
out:
	return rc;
}

static int swap_counts(struct gnn_route *r)
{
	struct gnn_comm *c = r->share->comm;
	int rc = GNN_OK;

	for (uint32_t q = 0; q < r->share->size; q++) {
		r->counts[q] = r->count[q];
		if (q == r->share->rank)
			continue;
		GNN_TRY(gnn_comm_recv(c, q, TAG_COUNT, &r->counts[q], sizeof(*r->counts),
			&r->request[REQUESTS * q]));
		GNN_TRY(gnn_comm_send(c, q, TAG_COUNT, &r->count[q], sizeof(*r->count),
			&r->request[REQUESTS * q + 1]));
	}
	GNN_TRY(wait_all(r));
out:
	return rc;
}

/* Rows [take, take + counts) from rank q, rows [send, send + count) to it. */
static int swap_rows(struct gnn_route *r, uint32_t q, uint64_t send, uint64_t take)
{
	struct gnn_comm_request **request = r->request + REQUESTS * q;
	struct gnn_comm *c = r->share->comm;
	const uint64_t row = r->row_bytes, id = sizeof(*r->in.id);
	uint64_t count = r->count[q], counts = r->counts[q];
	int rc = GNN_OK;

	if (q == r->share->rank) {
		memcpy(r->in.id + take, r->out.id + send, count * id);
		memcpy(r->in.rows + take * row, r->out.rows + send * row, count * row);
		return GNN_OK;
	}
	if (counts > 0) {
		GNN_TRY(gnn_comm_recv(c, q, TAG_IDS, r->in.id + take, counts * id, request));
		GNN_TRY(gnn_comm_recv(c, q, TAG_ROWS, r->in.rows + take * row, counts * row,
			request + 1));
	}
	if (count > 0) {
		GNN_TRY(gnn_comm_send(c, q, TAG_IDS, r->out.id + send, count * id, request + 2));
		GNN_TRY(gnn_comm_send(c, q, TAG_ROWS, r->out.rows + send * row, count * row,
			request + 3));
	}
out:
	return rc;
}

int gnn_route_rows(struct gnn_route *r, const uint64_t *id, const void *rows, uint64_t count)
{
	uint64_t send = 0, take = 0, coming = 0;
	int rc;

	GNN_TRY(sort_out(r, id, rows, count));
	GNN_TRY(swap_counts(r));
	for (uint32_t q = 0; q < r->share->size; q++)
		coming += r->counts[q];
	GNN_TRY(make_room(&r->in, coming, r->row_bytes));
	for (uint32_t q = 0; q < r->share->size; q++) {
		/* Nothing came and nothing goes: there may be no memory yet either. */
		if (r->count[q] + r->counts[q] > 0)
			GNN_TRY(swap_rows(r, q, send, take));
		send += r->count[q];
		take += r->counts[q];
	}
	GNN_TRY(wait_all(r));
out:
	return rc;
}
