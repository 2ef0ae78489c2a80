/* infer/nextuse_fill.c - see nextuse_fill.h. */
#include "infer/nextuse_fill.h"

#include "base/mem.h"
#include "infer/neighbors.h"
#include "io/stream.h"

#include <string.h>

struct fill {
	struct gnn_nextuse            *to;
	const struct gnn_nextuse_opts *o;
	void     *neighbors;  /* (block) edges */
	uint64_t  block;
	uint64_t *offset;     /* of rows from offset_row on, and the end of the last */
	gnn_vid   offset_row;
	struct gnn_packets packets;
	uint64_t *read_bytes;
};

/* Items of an array, not verified: the pass itself reads them again. */
static int load(struct fill *f, const struct gnn_array *a, uint64_t first, uint64_t count, void *to)
{
	uint64_t item = gnn_dtype_bytes(a->dtype);
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	int rc;

	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){
		.container = f->o->store->container, .array = a, .first_byte = first * item,
		.bytes = count * item, .piece_bytes = count * item, .ahead = 1, .lent = 1}));
	GNN_TRY(gnn_stream_next(stream, &piece));
	memcpy(to, piece->data, piece->bytes);
	*f->read_bytes += gnn_stream_read_bytes(stream);
out:
	gnn_stream_close(stream);
	return rc;
}

static int open_fill(struct fill *f, uint64_t rows)
{
	uint32_t item = gnn_dtype_bytes(f->o->store->out.neighbors->dtype);
	int rc;

	f->block = f->o->piece_bytes / sizeof(uint32_t);
	GNN_TRY(gnn_mem_new(&f->neighbors, f->block, item, GNN_MEM_TOPOLOGY));
	GNN_NEW_ARRAY(f->offset, rows + 1, GNN_MEM_TOPOLOGY);
out:
	return rc;
}

static void close_fill(struct fill *f)
{
	gnn_packets_fini(&f->packets);
	gnn_mem_free(f->neighbors);
	gnn_mem_free(f->offset);
}

/* --- of one rank --- */

/* Offsets of the rows that end with `end`. */
static int load_offsets(struct fill *f, gnn_vid end)
{
	f->offset_row = end > GNN_NEXTUSE_ROWS ? end - GNN_NEXTUSE_ROWS : 0;
	return load(f, f->o->store->out.offsets, f->offset_row, end - f->offset_row + 1,
		f->offset);
}

/* The row that edge `e` is in, not behind *row. */
static int find_row(struct fill *f, gnn_eid e, gnn_vid *row)
{
	gnn_vid u = *row;
	int rc = GNN_OK;

	for (;;) {
		if (u < f->offset_row || f->offset_row == UINT64_MAX)
			GNN_TRY(load_offsets(f, u + 1));
		if (f->offset[u - f->offset_row] <= e)
			break;
		if (u == 0)
			GNN_FAIL(GNN_EDATA, "topology/out/offsets: the first list begins behind "
				"the first edge");
		u--;
	}
	*row = u;
out:
	return rc;
}

/* Whether edge i of the block, from u, is a message; the list begins at `low` of the block. */
static bool is_message(const struct fill *f, gnn_vid u, gnn_vid v, uint64_t low, uint64_t i)
{
	enum gnn_dtype dtype = f->o->store->out.neighbors->dtype;
	const char *list = (const char *)f->neighbors + low * gnn_dtype_bytes(dtype);
	const struct gnn_draw *d = &f->o->draw;
	uint64_t copy;

	if (u == v && f->o->drop_loops)
		return false;
	if (d->fanout == 0)
		return true;
	copy = i - low - gnn_neighbor_from(list, dtype, i - low, v);
	return gnn_draw_keeps(d, gnn_draw_source(d, u, copy), v);
}

/* Sources of the edges [begin, end), from the last to the first. */
static int fill_block(struct fill *f, gnn_eid begin, gnn_eid end, gnn_vid *row)
{
	const struct gnn_array *a = f->o->store->out.neighbors;
	int rc;

	GNN_TRY(load(f, a, begin, end - begin, f->neighbors));
	for (gnn_eid e = end; e-- > begin;) {
		gnn_vid v = gnn_neighbor_at(f->neighbors, a->dtype, e - begin);
		gnn_eid first;

		if (v >= f->o->store->vertices)
			GNN_FAIL(GNN_EDATA, "topology/out/neighbors: edge %llu leads to %llu, the "
				"graph has %llu vertices", (unsigned long long)e,
				(unsigned long long)v, (unsigned long long)f->o->store->vertices);
		GNN_TRY(find_row(f, e, row));
		first = gnn_max_u64(f->offset[*row - f->offset_row], begin);
		GNN_TRY(gnn_nextuse_put(f->to, v, (uint32_t)*row,
			is_message(f, *row, v, first - begin, e - begin)));
	}
out:
	return rc;
}

int gnn_nextuse_fill(struct gnn_nextuse *n, const struct gnn_nextuse_opts *o, uint64_t *read_bytes)
{
	struct fill f = {.to = n, .o = o, .read_bytes = read_bytes, .offset_row = UINT64_MAX};
	uint64_t edges = o->store->edges;
	gnn_vid row = o->store->vertices - 1;
	gnn_eid base;
	int rc = GNN_OK;

	if (o->store->vertices == 0)
		return GNN_OK;
	GNN_TRY(open_fill(&f, GNN_NEXTUSE_ROWS));
	GNN_TRY(load(&f, o->store->out.offsets, o->first_row, 1, &base));
	if (base > edges)
		GNN_FAIL(GNN_EDATA, "topology/out/offsets: row %llu begins behind the last edge",
			(unsigned long long)o->first_row);
	for (uint64_t i = gnn_ceil_div(edges - base, f.block); i-- > 0;) {
		gnn_eid begin = base + i * f.block;

		GNN_TRY(fill_block(&f, begin, gnn_min_u64(begin + f.block, edges), &row));
	}
out:
	close_fill(&f);
	return rc;
}

/* --- of several --- */

/* The edges [begin, end) of the chunk's rows, of which the first is vertex v of the graph. */
static int hand_out(struct fill *f, gnn_vid v, uint64_t rows, gnn_eid begin, gnn_eid end)
{
	const struct gnn_array *a = f->o->store->out.neighbors;
	uint32_t item = gnn_dtype_bytes(a->dtype);
	uint64_t row = gnn_row_from(f->offset, 0, rows, begin + 1);
	int rc;

	GNN_TRY(load(f, a, begin, end - begin, f->neighbors));
	for (gnn_eid e = begin; e < end; row++) {
		gnn_eid to = gnn_min_u64(f->offset[row], end);

		if (e < to)
			GNN_TRY(gnn_packets_add(&f->packets, 0, v + row - 1, (uint32_t)(row - 1),
				(const char *)f->neighbors + (e - begin) * item, NULL, to - e));
		e = gnn_max_u64(e, to);
	}
out:
	return rc;
}

/* The chunk of this rank that begins at row `first`, if it has one. */
static int hand_out_chunk(struct fill *f, gnn_vid first)
{
	const struct gnn_store *s = f->o->store;
	uint64_t rows = first < s->vertices ?
		gnn_min_u64(f->packets.o.chunk_rows, s->vertices - first) : 0;
	int rc = GNN_OK;

	gnn_packets_begin(&f->packets);
	if (rows == 0)
		return GNN_OK;
	GNN_TRY(load(f, s->out.offsets, s->first + first, rows + 1, f->offset));
	for (uint64_t i = 0; i < rows; i++)
		if (f->offset[i + 1] < f->offset[i] || f->offset[i] < s->first_out ||
			f->offset[i + 1] > s->first_out + s->edges)
			GNN_FAIL(GNN_EDATA, "topology/out/offsets: the list of vertex %llu is not "
				"within the lists", (unsigned long long)(s->first + first + i));
	for (gnn_eid e = f->offset[0]; e < f->offset[rows]; e += f->block)
		GNN_TRY(hand_out(f, s->first + first, rows, e,
			gnn_min_u64(e + f->block, f->offset[rows])));
	GNN_TRY(gnn_packets_join(&f->packets));
out:
	return rc;
}

/* Rows of a packet from row `begin` of the chunk on, from the last; *row and *edge go back. */
static int put_rows(struct fill *f, const struct gnn_packet *p, gnn_vid first, uint64_t begin,
	uint64_t *row, uint64_t *edge)
{
	enum gnn_dtype dtype = f->o->store->out.neighbors->dtype;
	int rc = GNN_OK;

	for (; *row > 0 && p->row[*row - 1] >= begin; --*row)
		for (uint64_t left = p->count[*row - 1]; left > 0; left--)
			GNN_TRY(gnn_nextuse_put(f->to,
				gnn_neighbor_at(p->neighbors, dtype, --*edge),
				(uint32_t)(first + p->row[*row - 1]), true));
out:
	return rc;
}

/* As the feed groups a round, the other way round: by panel, then by rank, then by source. */
static int put_round(struct fill *f, gnn_vid first, uint64_t *at)
{
	const struct gnn_packets_opts *o = &f->packets.o;
	uint32_t size = o->share->size;
	int rc = GNN_OK;

	for (uint32_t q = 0; q < size; q++) {
		const struct gnn_packet *p = q == o->share->rank ? &f->packets.out[q] :
			&f->packets.in[q];

		at[2 * q] = p->rows;
		at[2 * q + 1] = p->edges;
	}
	for (uint64_t i = gnn_ceil_div(o->chunk_rows, o->panel_rows); i-- > 0;)
		for (uint32_t q = size; q-- > 0;)
			GNN_TRY(put_rows(f, q == o->share->rank ? &f->packets.out[q] :
				&f->packets.in[q], first, i * o->panel_rows, &at[2 * q],
				&at[2 * q + 1]));
out:
	return rc;
}

int gnn_nextuse_fill_rounds(struct gnn_nextuse *n, const struct gnn_nextuse_opts *o,
	uint64_t *read_bytes)
{
	struct fill f = {.to = n, .o = o, .read_bytes = read_bytes};
	uint64_t each = o->packets->chunk_rows, *at = NULL;
	uint64_t rounds = gnn_ceil_div(o->packets->share->rows_max, each);
	int rc;

	GNN_TRY(open_fill(&f, each));
	GNN_TRY(gnn_packets_init(&f.packets, o->packets));
	GNN_NEW_ARRAY(at, 2 * (uint64_t)o->packets->share->size, GNN_MEM_MISC);
	for (uint64_t k = rounds; k-- > o->first_row / each;) {
		bool stop = false; /* a signal is heard in the pass */

		GNN_TRY(hand_out_chunk(&f, k * each));
		GNN_TRY(gnn_packets_swap(&f.packets, &stop));
		GNN_TRY(put_round(&f, k * each, at));
	}
out:
	close_fill(&f);
	gnn_mem_free(at);
	return rc;
}
