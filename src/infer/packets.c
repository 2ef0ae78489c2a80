/* infer/packets.c - see packets.h. */
#include "infer/packets.h"

#include "base/mem.h"
#include "infer/neighbors.h"

#include <inttypes.h>
#include <string.h>

enum {
	HEAD_ROWS, HEAD_EDGES, HEAD_STOP, HEAD_ROUND, HEAD_WORDS,
	PARTS = 4,                  /* messages of a packet, behind its head */
	REQUESTS = 2 * (PARTS + 1),
	ROOM_MIN = 1 << 10,         /* edges */
	TAG_HEAD = 10, TAG_PARTS,   /* and those behind */
};

static uint64_t item_bytes(const struct gnn_packets_opts *o)
{
	return gnn_dtype_bytes(o->dtype) + (o->weighted ? sizeof(float) : 0);
}

uint64_t gnn_packets_bytes(const struct gnn_packets_opts *o, uint64_t edges)
{
	uint64_t rows = 2 * (uint64_t)o->share->size * o->chunk_rows;

	return rows * (sizeof(uint32_t) + sizeof(uint64_t)) + 2 * edges * item_bytes(o);
}

static int init_packet(struct gnn_packet *p, uint64_t rows)
{
	int rc;

	GNN_NEW_ARRAY(p->row, rows, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(p->count, rows, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

int gnn_packets_init(struct gnn_packets *p, const struct gnn_packets_opts *o)
{
	uint32_t size = o->share->size;
	int rc;

	*p = (struct gnn_packets){.o = *o};
	GNN_NEW_ARRAY(p->first, size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(p->end, size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(p->out, size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(p->in, size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(p->head, size * (uint64_t)HEAD_WORDS, GNN_MEM_MISC);
	GNN_NEW_ARRAY(p->heads, size * (uint64_t)HEAD_WORDS, GNN_MEM_MISC);
	GNN_NEW_ARRAY(p->request, size * (uint64_t)REQUESTS, GNN_MEM_MISC);
	for (uint32_t q = 0; q < size; q++) {
		uint64_t rows = gnn_share_rows(o->share, q);
		gnn_vid at = o->share->part.bound[q];

		p->first[q] = at + gnn_packets_shard(rows, o->panel_rows, o->shards, o->shard);
		p->end[q] = at + gnn_packets_shard(rows, o->panel_rows, o->shards, o->shard + 1);
		GNN_TRY(init_packet(&p->out[q], o->chunk_rows));
		if (q != o->share->rank)
			GNN_TRY(init_packet(&p->in[q], o->chunk_rows));
	}
out:
	if (rc < 0)
		gnn_packets_fini(p);
	return rc;
}

static void fini_packet(struct gnn_comm *c, struct gnn_packet *p)
{
	gnn_comm_keep(c, p->row);
	gnn_comm_keep(c, p->count);
	gnn_comm_keep(c, p->neighbors);
	gnn_comm_keep(c, p->weights);
}

void gnn_packets_fini(struct gnn_packets *p)
{
	const struct gnn_share *s = p->o.share;

	if (s == NULL)
		return;
	for (uint32_t q = 0; q < s->size && p->in != NULL; q++) {
		fini_packet(s->comm, &p->out[q]);
		fini_packet(s->comm, &p->in[q]);
	}
	gnn_mem_free(p->first);
	gnn_mem_free(p->end);
	gnn_mem_free(p->out);
	gnn_mem_free(p->in);
	gnn_comm_keep(s->comm, p->head);
	gnn_comm_keep(s->comm, p->heads);
	gnn_mem_free(p->request);
	*p = (struct gnn_packets){0};
}

void gnn_packets_begin(struct gnn_packets *p)
{
	p->source = UINT64_MAX;
	for (uint32_t q = 0; q < p->o.share->size; q++)
		p->out[q].rows = p->out[q].edges = 0;
}

/* Room for `count` more edges. */
static int make_room(const struct gnn_packets *p, struct gnn_packet *to, uint64_t count)
{
	uint64_t room = gnn_max_u64(to->room, ROOM_MIN);
	void *block = to->neighbors, *weights = to->weights;
	int rc = GNN_OK;

	if (to->edges + count <= to->room)
		return GNN_OK;
	while (room < to->edges + count)
		room += room / 2;
	GNN_TRY(gnn_mem_resize(&block, room, gnn_dtype_bytes(p->o.dtype), GNN_MEM_TOPOLOGY));
	to->neighbors = block;
	if (p->o.weighted)
		GNN_TRY(gnn_mem_resize(&weights, room, sizeof(float), GNN_MEM_TOPOLOGY));
	to->weights = weights;
	to->room = room;
out:
	return rc;
}

static int refuse(const struct gnn_packets *p, gnn_vid v, gnn_vid u)
{
	uint64_t vertices = p->o.share->store.whole_vertices;

	if (u >= vertices)
		return gnn_err(GNN_EDATA, "topology/out/neighbors: vertex %" PRIu64 " has a "
			"neighbour %" PRIu64 ", the graph has %" PRIu64 " vertices", v, u,
			vertices);
	return gnn_err(GNN_EDATA, "topology/out/neighbors: the list of vertex %" PRIu64 " does not "
		"ascend at %" PRIu64, v, u);
}

/* Whether the edge is a message; copies of one edge come one behind the other. */
static bool is_kept(struct gnn_packets *p, gnn_vid v, gnn_vid u)
{
	const struct gnn_draw *s = &p->o.sample;

	if (u == v && p->o.drop_loops)
		return false;
	if (s->fanout == 0)
		return true;
	p->copy = u == p->last ? p->copy + 1 : 0;
	p->last = u;
	return gnn_draw_keeps(s, gnn_draw_source(s, v, p->copy), u);
}

static void put_neighbor(const struct gnn_packets *p, struct gnn_packet *to, uint64_t at,
	uint64_t value)
{
	if (p->o.dtype == GNN_U32)
		((uint32_t *)to->neighbors)[at] = (uint32_t)value;
	else
		((uint64_t *)to->neighbors)[at] = value;
}

/* Neighbours [0, count), all of rank q. */
static int add_slice(struct gnn_packets *p, uint32_t q, gnn_vid v, uint32_t row,
	const char *neighbors, const float *weights, uint64_t count)
{
	struct gnn_packet *to = &p->out[q];
	gnn_vid base = p->o.share->part.bound[q];
	uint64_t at;
	int rc;

	GNN_TRY(make_room(p, to, count));
	at = to->edges;
	for (uint64_t i = 0; i < count; i++) {
		gnn_vid u = gnn_neighbor_at(neighbors, p->o.dtype, i);

		if (u - p->first[q] >= p->end[q] - p->first[q])
			return refuse(p, v, u);
		if (!is_kept(p, v, u))
			continue;
		put_neighbor(p, to, at, u - base);
		if (p->o.weighted)
			to->weights[at] = weights[i];
		at++;
	}
	if (at == to->edges)
		return GNN_OK;
	if (to->rows == 0 || to->row[to->rows - 1] != row) {
		GNN_ASSERT(to->rows < p->o.chunk_rows);
		to->row[to->rows] = row;
		to->count[to->rows++] = 0;
	}
	to->count[to->rows - 1] += at - to->edges;
	to->edges = at;
out:
	return rc;
}

int gnn_packets_add(struct gnn_packets *p, gnn_vid v, uint32_t row, const void *neighbors,
	const float *weights, uint64_t count)
{
	const char *from = neighbors;
	uint32_t item = gnn_dtype_bytes(p->o.dtype);
	uint64_t begin = 0, end;
	int rc = GNN_OK;

	if (v != p->source)
		p->last = UINT64_MAX;
	p->source = v;
	for (uint32_t q = 0; q < p->o.share->size && begin < count; q++) {
		begin += gnn_neighbor_from(from + begin * item, p->o.dtype, count - begin,
			p->first[q]);
		end = begin + gnn_neighbor_from(from + begin * item, p->o.dtype, count - begin,
			p->end[q]);
		if (end > begin)
			GNN_TRY(add_slice(p, q, v, row, from + begin * item,
				weights != NULL ? weights + begin : NULL, end - begin));
		begin = end;
	}
	if (count > 0 && gnn_neighbor_at(from, p->o.dtype, count - 1) >=
		p->o.share->store.whole_vertices)
		return refuse(p, v, gnn_neighbor_at(from, p->o.dtype, count - 1));
out:
	return rc;
}

/* The parts of a packet, to be sent or filled. */
static uint32_t list_parts(const struct gnn_packets *p, const struct gnn_packet *of,
	void *part[PARTS], uint64_t bytes[PARTS])
{
	void *const parts[PARTS] = {of->row, of->count, of->neighbors, of->weights};
	const uint64_t sizes[PARTS] = {of->rows * sizeof(*of->row), of->rows * sizeof(*of->count),
		of->edges * gnn_dtype_bytes(p->o.dtype), of->edges * sizeof(float)};
	uint32_t count = of->rows == 0 ? 0 : p->o.weighted ? PARTS : PARTS - 1;

	memcpy(part, parts, sizeof(parts));
	memcpy(bytes, sizes, sizeof(sizes));
	return count;
}

static int wait_all(struct gnn_packets *p)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < p->o.share->size * REQUESTS; i++)
		GNN_TRY(gnn_comm_wait(p->o.share->comm, &p->request[i]));
out:
	return rc;
}

static int swap_heads(struct gnn_packets *p, bool stop)
{
	const struct gnn_share *s = p->o.share;
	int rc = GNN_OK;

	for (uint32_t q = 0; q < s->size; q++) {
		uint64_t *out = p->head + q * HEAD_WORDS;

		if (q == s->rank)
			continue;
		out[HEAD_ROWS] = p->out[q].rows;
		out[HEAD_EDGES] = p->out[q].edges;
		out[HEAD_STOP] = stop;
		out[HEAD_ROUND] = p->rounds;
		GNN_TRY(gnn_comm_recv(s->comm, q, TAG_HEAD, p->heads + q * HEAD_WORDS,
			HEAD_WORDS * sizeof(*out), &p->request[q * REQUESTS]));
		GNN_TRY(gnn_comm_send(s->comm, q, TAG_HEAD, out, HEAD_WORDS * sizeof(*out),
			&p->request[q * REQUESTS + 1]));
	}
	GNN_TRY(wait_all(p));
out:
	return rc;
}

static int swap_parts(struct gnn_packets *p, uint32_t q)
{
	struct gnn_comm *c = p->o.share->comm;
	struct gnn_comm_request **request = p->request + q * REQUESTS;
	uint64_t bytes[PARTS];
	void *part[PARTS];
	uint32_t count;
	int rc = GNN_OK;

	count = list_parts(p, &p->in[q], part, bytes);
	for (uint32_t i = 0; i < count; i++)
		GNN_TRY(gnn_comm_recv(c, q, TAG_PARTS + i, part[i], bytes[i], request++));
	count = list_parts(p, &p->out[q], part, bytes);
	for (uint32_t i = 0; i < count; i++)
		GNN_TRY(gnn_comm_send(c, q, TAG_PARTS + i, part[i], bytes[i], request++));
out:
	return rc;
}

int gnn_packets_swap(struct gnn_packets *p, bool *stop)
{
	const struct gnn_share *s = p->o.share;
	int rc;

	GNN_TRY(swap_heads(p, *stop));
	for (uint32_t q = 0; q < s->size; q++) {
		const uint64_t *head = p->heads + q * HEAD_WORDS;

		if (q == s->rank)
			continue;
		GNN_ASSERT(head[HEAD_ROUND] == p->rounds && head[HEAD_ROWS] <= p->o.chunk_rows);
		*stop = *stop || head[HEAD_STOP] != 0;
		p->in[q].rows = 0;
		p->in[q].edges = 0;
		GNN_TRY(make_room(p, &p->in[q], head[HEAD_EDGES]));
		p->in[q].rows = head[HEAD_ROWS];
		p->in[q].edges = head[HEAD_EDGES];
	}
	for (uint32_t q = 0; q < s->size; q++)
		if (q != s->rank)
			GNN_TRY(swap_parts(p, q));
	GNN_TRY(wait_all(p));
	p->in[s->rank] = (struct gnn_packet){0};
	p->rounds++;
out:
	return rc;
}
