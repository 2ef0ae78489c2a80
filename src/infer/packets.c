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

	/* Lanes have together what the packets that go out have. */
	return (rows * (sizeof(uint32_t) + sizeof(uint64_t)) + 2 * edges * item_bytes(o)) *
		(o->lanes > 1 ? 3 : 2) / 2;
}

static int init_packet(struct gnn_packet *p, uint64_t rows)
{
	int rc;

	GNN_NEW_ARRAY(p->row, rows, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(p->count, rows, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

static int init_lanes(struct gnn_packets *p)
{
	uint32_t size = p->o.share->size, lanes = p->o.lanes;
	int rc;

	GNN_NEW_ARRAY(p->lane, lanes, GNN_MEM_MISC);
	if (lanes == 1) {
		p->lane[0].out = p->out;
		return GNN_OK;
	}
	for (uint32_t t = 0; t < lanes; t++) {
		GNN_NEW_ARRAY(p->lane[t].out, size, GNN_MEM_MISC);
		for (uint32_t q = 0; q < size; q++)
			GNN_TRY(init_packet(&p->lane[t].out[q], p->o.chunk_rows));
	}
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
	GNN_TRY(init_lanes(p));
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

static void fini_lanes(struct gnn_packets *p)
{
	for (uint32_t t = 0; p->lane != NULL && p->o.lanes > 1 && t < p->o.lanes; t++) {
		struct gnn_packet *out = p->lane[t].out;

		for (uint32_t q = 0; out != NULL && q < p->o.share->size; q++) {
			gnn_mem_free(out[q].row);
			gnn_mem_free(out[q].count);
			gnn_mem_free(out[q].neighbors);
			gnn_mem_free(out[q].weights);
		}
		gnn_mem_free(out);
	}
	gnn_mem_free(p->lane);
}

void gnn_packets_fini(struct gnn_packets *p)
{
	const struct gnn_share *s = p->o.share;

	if (s == NULL)
		return;
	fini_lanes(p);
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
	p->lane[0].source = UINT64_MAX;
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
static bool is_kept(const struct gnn_packets *p, struct gnn_packets_lane *lane, gnn_vid v,
	gnn_vid u)
{
	const struct gnn_draw *s = &p->o.sample;

	if (u == v && p->o.drop_loops)
		return false;
	if (s->fanout == 0)
		return true;
	lane->copy = u == lane->last ? lane->copy + 1 : 0;
	lane->last = u;
	return gnn_draw_keeps(s, gnn_draw_source(s, v, lane->copy), u);
}

static void put_neighbor(const struct gnn_packets *p, struct gnn_packet *to, uint64_t at,
	uint64_t value)
{
	if (p->o.dtype == GNN_U32)
		((uint32_t *)to->neighbors)[at] = (uint32_t)value;
	else
		((uint64_t *)to->neighbors)[at] = value;
}

/* u32 neighbours that are all messages; false: one of them is not in [first, end). */
static bool put_all(uint32_t *to, const uint32_t *from, uint64_t count, gnn_vid base,
	gnn_vid first, gnn_vid end)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (uint64_t i = 0; i < count; i++) {
		to[i] = from[i] - (uint32_t)base;
		least = from[i] < least ? from[i] : least;
		most = from[i] > most ? from[i] : most;
	}
	return count == 0 || (least >= first && most < end);
}

/* Those of the neighbours [0, count), all of rank q, that are messages; *at: room for them. */
static int put_kept(struct gnn_packets *p, struct gnn_packets_lane *lane, uint32_t q, gnn_vid v,
	const char *neighbors, const float *weights, uint64_t count, uint64_t *at)
{
	struct gnn_packet *to = &lane->out[q];
	gnn_vid base = p->o.share->part.bound[q];

	for (uint64_t i = 0; i < count; i++) {
		gnn_vid u = gnn_neighbor_at(neighbors, p->o.dtype, i);

		if (u - p->first[q] >= p->end[q] - p->first[q])
			return refuse(p, v, u);
		if (!is_kept(p, lane, v, u))
			continue;
		put_neighbor(p, to, *at, u - base);
		if (p->o.weighted)
			to->weights[*at] = weights[i];
		++*at;
	}
	return GNN_OK;
}

/* Row `row` has `count` more edges, which are in place. */
static void count_edges(const struct gnn_packets *p, struct gnn_packet *to, uint32_t row,
	uint64_t count)
{
	if (count == 0)
		return;
	if (to->rows == 0 || to->row[to->rows - 1] != row) {
		GNN_ASSERT(to->rows < p->o.chunk_rows);
		to->row[to->rows] = row;
		to->count[to->rows++] = 0;
	}
	to->count[to->rows - 1] += count;
	to->edges += count;
}

/* Neighbours [0, count), all of rank q. */
static int add_slice(struct gnn_packets *p, struct gnn_packets_lane *lane, uint32_t q, gnn_vid v,
	uint32_t row, const char *neighbors, const float *weights, uint64_t count)
{
	struct gnn_packet *to = &lane->out[q];
	bool loops = p->o.drop_loops && v - p->first[q] < p->end[q] - p->first[q];
	uint64_t at;
	int rc;

	GNN_TRY(make_room(p, to, count));
	at = to->edges;
	if (p->o.dtype == GNN_U32 && p->o.sample.fanout == 0 && !loops && !p->o.weighted &&
		put_all((uint32_t *)to->neighbors + at, (const uint32_t *)(const void *)neighbors,
			count, p->o.share->part.bound[q], p->first[q], p->end[q]))
		at += count;
	else
		GNN_TRY(put_kept(p, lane, q, v, neighbors, weights, count, &at));
	count_edges(p, to, row, at - to->edges);
out:
	return rc;
}

int gnn_packets_add(struct gnn_packets *p, uint32_t index, gnn_vid v, uint32_t row,
	const void *neighbors, const float *weights, uint64_t count)
{
	struct gnn_packets_lane *lane = &p->lane[index];
	const char *from = neighbors;
	uint32_t item = gnn_dtype_bytes(p->o.dtype);
	uint64_t begin = 0, end;
	int rc = GNN_OK;

	if (v != lane->source)
		lane->last = UINT64_MAX;
	lane->source = v;
	lane->used = true;
	for (uint32_t q = 0; q < p->o.share->size && begin < count; q++) {
		begin += gnn_neighbor_from(from + begin * item, p->o.dtype, count - begin,
			p->first[q]);
		end = begin + gnn_neighbor_from(from + begin * item, p->o.dtype, count - begin,
			p->end[q]);
		if (end > begin)
			GNN_TRY(add_slice(p, lane, q, v, row, from + begin * item,
				weights != NULL ? weights + begin : NULL, end - begin));
		begin = end;
	}
	if (count > 0 && gnn_neighbor_at(from, p->o.dtype, count - 1) >=
		p->o.share->store.whole_vertices)
		rc = refuse(p, v, gnn_neighbor_at(from, p->o.dtype, count - 1));
out:
	if (rc < 0)
		gnn_err_save(&lane->failure, rc);
	return rc;
}

/* A lane's packet goes behind what is there, and is empty then. */
static int append(const struct gnn_packets *p, struct gnn_packet *to, struct gnn_packet *from)
{
	uint64_t item = gnn_dtype_bytes(p->o.dtype), skip = 0;
	int rc;

	if (from->edges == 0)
		return GNN_OK;
	GNN_TRY(make_room(p, to, from->edges));
	memcpy((char *)to->neighbors + to->edges * item, from->neighbors, from->edges * item);
	if (p->o.weighted)
		memcpy(to->weights + to->edges, from->weights, from->edges * sizeof(float));
	if (to->rows > 0 && to->row[to->rows - 1] == from->row[0]) {
		to->count[to->rows - 1] += from->count[0];
		skip = 1;
	}
	GNN_ASSERT(to->rows + from->rows - skip <= p->o.chunk_rows);
	memcpy(to->row + to->rows, from->row + skip, (from->rows - skip) * sizeof(*to->row));
	memcpy(to->count + to->rows, from->count + skip, (from->rows - skip) * sizeof(*to->count));
	to->rows += from->rows - skip;
	to->edges += from->edges;
	from->rows = from->edges = 0;
out:
	return rc;
}

int gnn_packets_join(struct gnn_packets *p)
{
	struct gnn_packets_lane *first = &p->lane[0];
	int rc = GNN_OK;

	for (uint32_t t = 0; t < p->o.lanes; t++) {
		struct gnn_packets_lane *lane = &p->lane[t];

		if (lane->failure.status < 0)
			return gnn_err_restore(&lane->failure);
		if (!lane->used)
			continue;
		first->source = lane->source;
		first->last = lane->last;
		first->copy = lane->copy;
		lane->used = false;
		for (uint32_t q = 0; p->o.lanes > 1 && q < p->o.share->size; q++)
			GNN_TRY(append(p, &p->out[q], &lane->out[q]));
	}
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
