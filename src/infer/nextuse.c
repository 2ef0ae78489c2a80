/* infer/nextuse.c - see nextuse.h. */
#include "infer/nextuse.h"

#include "base/mem.h"
#include "infer/neighbors.h"
#include "io/file.h"
#include "io/stream.h"

#include <string.h>
#include <xxhash.h>

enum { OFFSET_ROWS = 1 << 13 }; /* whose offsets are in memory while the file is made */

struct piece_header {
	uint64_t sum;    /* XXH3-64 of the piece behind it */
	uint64_t number;
	uint64_t reserved[2];
};

_Static_assert(sizeof(struct piece_header) == 32, "as written");

struct gnn_nextuse {
	struct gnn_nextuse_opts o;
	struct gnn_dio *dio;
	uint32_t *now;        /* (V) */
	char     *piece;      /* header, sources */
	void     *neighbors;  /* of a piece, while the file is made */
	uint64_t *offset;     /* (OFFSET_ROWS + 1) from offset_row on */
	gnn_vid   offset_row;
	gnn_eid   base;       /* first edge of first_row */
	gnn_eid   at;         /* next edge to come */
	uint64_t  read_bytes, written_bytes;
};

static uint64_t sources_of(uint64_t piece_bytes)
{
	return (piece_bytes - sizeof(struct piece_header)) / sizeof(uint32_t);
}

uint64_t gnn_nextuse_bytes(const struct gnn_store *s, uint64_t piece_bytes)
{
	uint64_t lists = sources_of(piece_bytes) * gnn_dtype_bytes(s->out.neighbors->dtype);

	return s->vertices * sizeof(uint32_t) + piece_bytes + 3 * (lists + 2 * GNN_PAGE_BYTES) +
		4 * (OFFSET_ROWS + 1) * sizeof(uint64_t);
}

uint64_t gnn_nextuse_file_bytes(const struct gnn_store *s, uint64_t piece_bytes)
{
	return gnn_ceil_div(s->edges, sources_of(piece_bytes)) * piece_bytes;
}

static uint32_t *sources(const struct gnn_nextuse *n)
{
	return (uint32_t *)(void *)(n->piece + sizeof(struct piece_header));
}

/* --- making the file --- */

static int load(struct gnn_nextuse *n, const struct gnn_array *a, uint64_t first, uint64_t count,
	void *to)
{
	uint64_t item = gnn_dtype_bytes(a->dtype);
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	int rc;

	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){
		.container = n->o.store->container, .array = a, .first_byte = first * item,
		.bytes = count * item, .piece_bytes = count * item, .ahead = 1, .lent = 1}));
	GNN_TRY(gnn_stream_next(stream, &piece));
	memcpy(to, piece->data, piece->bytes);
	n->read_bytes += gnn_stream_read_bytes(stream);
out:
	gnn_stream_close(stream);
	return rc;
}

/* Offsets of the rows that end with `end`. */
static int load_offsets(struct gnn_nextuse *n, gnn_vid end)
{
	n->offset_row = end > OFFSET_ROWS ? end - OFFSET_ROWS : 0;
	return load(n, n->o.store->out.offsets, n->offset_row, end - n->offset_row + 1, n->offset);
}

/* The row that edge `e` is in, not behind *row. */
static int find_row(struct gnn_nextuse *n, gnn_eid e, gnn_vid *row)
{
	gnn_vid u = *row;
	int rc = GNN_OK;

	for (;;) {
		if (u < n->offset_row || n->offset_row == UINT64_MAX)
			GNN_TRY(load_offsets(n, u + 1));
		if (n->offset[u - n->offset_row] <= e)
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

/* Whether edge i of the piece, from u, is a message; the list begins at `low` of the piece. */
static bool is_message(const struct gnn_nextuse *n, gnn_vid u, gnn_vid v, uint64_t low, uint64_t i)
{
	enum gnn_dtype dtype = n->o.store->out.neighbors->dtype;
	const char *list = (const char *)n->neighbors + low * gnn_dtype_bytes(dtype);
	const struct gnn_draw *d = &n->o.draw;
	uint64_t copy;

	if (u == v && n->o.drop_loops)
		return false;
	if (d->fanout == 0)
		return true;
	copy = i - low - gnn_neighbor_from(list, dtype, i - low, v);
	return gnn_draw_keeps(d, gnn_draw_source(d, u, copy), v);
}

/* Sources of the edges [begin, end), from the last to the first. */
static int fill_piece(struct gnn_nextuse *n, gnn_eid begin, gnn_eid end, gnn_vid *row)
{
	const struct gnn_array *a = n->o.store->out.neighbors;
	int rc;

	GNN_TRY(load(n, a, begin, end - begin, n->neighbors));
	for (gnn_eid e = end; e-- > begin;) {
		gnn_vid v = gnn_neighbor_at(n->neighbors, a->dtype, e - begin);
		gnn_eid first;

		if (v >= n->o.store->vertices)
			GNN_FAIL(GNN_EDATA, "topology/out/neighbors: edge %llu leads to %llu, the "
				"graph has %llu vertices", (unsigned long long)e,
				(unsigned long long)v, (unsigned long long)n->o.store->vertices);
		GNN_TRY(find_row(n, e, row));
		first = gnn_max_u64(n->offset[*row - n->offset_row], begin);
		sources(n)[e - begin] = n->now[v];
		if (is_message(n, *row, v, first - begin, e - begin))
			n->now[v] = (uint32_t)*row;
	}
out:
	return rc;
}

static int transfer(struct gnn_nextuse *n, uint64_t number, bool write)
{
	struct gnn_dio_request r = {.write = write, .offset = number * n->o.piece_bytes,
		.bytes = n->o.piece_bytes, .wanted = n->o.piece_bytes, .buffer = n->piece};
	int rc = gnn_dio_transfer(n->dio, &r);

	if (rc < 0)
		return gnn_err_place(rc, "file of next uses (--scratch chooses another folder)");
	*(write ? &n->written_bytes : &n->read_bytes) += n->o.piece_bytes;
	return GNN_OK;
}

static int write_piece(struct gnn_nextuse *n, uint64_t number)
{
	struct piece_header h = {.number = number};

	memcpy(n->piece, &h, sizeof(h));
	h.sum = XXH3_64bits(n->piece + sizeof(h.sum), n->o.piece_bytes - sizeof(h.sum));
	memcpy(n->piece, &h.sum, sizeof(h.sum));
	return transfer(n, number, true);
}

static int build(struct gnn_nextuse *n)
{
	uint64_t each = sources_of(n->o.piece_bytes), edges = n->o.store->edges, count;
	gnn_vid row = n->o.store->vertices - 1;
	int rc;

	n->offset_row = UINT64_MAX;
	GNN_TRY(load(n, n->o.store->out.offsets, n->o.first_row, 1, &n->base));
	if (n->base > edges)
		GNN_FAIL(GNN_EDATA, "topology/out/offsets: row %llu begins behind the last edge",
			(unsigned long long)n->o.first_row);
	n->at = n->base;
	count = gnn_ceil_div(edges - n->base, each);
	for (uint64_t i = count; i-- > 0;) {
		gnn_eid begin = n->base + i * each;

		GNN_TRY(fill_piece(n, begin, gnn_min_u64(begin + each, edges), &row));
		GNN_TRY(write_piece(n, i));
	}
out:
	return rc;
}

static int open_file(struct gnn_nextuse *n)
{
	struct gnn_pub *pub = NULL;
	int rc;

	GNN_TRY(gnn_pub_begin(&pub, n->o.path));
	GNN_TRY(gnn_dio_open(&n->dio, &(struct gnn_dio_opts){.path = gnn_pub_temp(pub),
		.mode = GNN_DIO_WRITE, .engine = n->o.engine}));
out:
	gnn_pub_abort(pub);
	return rc;
}

int gnn_nextuse_create(struct gnn_nextuse **out, const struct gnn_nextuse_opts *o)
{
	uint64_t each = sources_of(o->piece_bytes);
	struct gnn_nextuse *n = NULL;
	void *block;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->piece_bytes % GNN_PAGE_BYTES == 0 && o->store->vertices < UINT32_MAX);
	GNN_NEW(n, GNN_MEM_MISC);
	n->o = *o;
	GNN_NEW_ARRAY(n->now, o->store->vertices, GNN_MEM_TOPOLOGY);
	memset(n->now, 0xff, o->store->vertices * sizeof(*n->now));
	GNN_NEW_ARRAY(n->offset, OFFSET_ROWS + 1, GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_mem_pages(&block, o->piece_bytes, GNN_MEM_IO));
	n->piece = block;
	memset(n->piece, 0, o->piece_bytes);
	GNN_TRY(gnn_mem_new(&n->neighbors, each, gnn_dtype_bytes(o->store->out.neighbors->dtype),
		GNN_MEM_TOPOLOGY));
	GNN_TRY(open_file(n));
	if (o->store->vertices > 0)
		GNN_TRY(build(n));
	gnn_mem_free(n->neighbors);
	gnn_mem_free(n->offset);
	n->neighbors = NULL;
	n->offset = NULL;
	n->o.path = NULL;
	*out = n;
	n = NULL;
out:
	gnn_nextuse_destroy(n);
	return rc;
}

void gnn_nextuse_destroy(struct gnn_nextuse *n)
{
	if (n == NULL)
		return;
	gnn_dio_abort(n->dio);
	gnn_mem_free(n->now);
	gnn_mem_free(n->piece);
	gnn_mem_free(n->neighbors);
	gnn_mem_free(n->offset);
	gnn_mem_free(n);
}

/* --- reading along --- */

static int read_piece(struct gnn_nextuse *n, uint64_t number)
{
	struct piece_header h;
	int rc;

	GNN_TRY(transfer(n, number, false));
	memcpy(&h, n->piece, sizeof(h));
	if (h.number != number || h.sum != XXH3_64bits(n->piece + sizeof(h.sum),
		n->o.piece_bytes - sizeof(h.sum)))
		GNN_FAIL(GNN_EDATA, "file of next uses: the piece at byte %llu is damaged",
			(unsigned long long)(number * n->o.piece_bytes));
out:
	return rc;
}

int gnn_nextuse_take(struct gnn_nextuse *n, const void *neighbors, enum gnn_dtype dtype,
	uint64_t count)
{
	uint64_t each = n != NULL ? sources_of(n->o.piece_bytes) : 0;
	int rc = GNN_OK;

	for (uint64_t i = 0; n != NULL && i < count; i++, n->at++) {
		uint64_t in_piece = (n->at - n->base) % each;

		if (in_piece == 0)
			GNN_TRY(read_piece(n, (n->at - n->base) / each));
		n->now[gnn_neighbor_at(neighbors, dtype, i)] = sources(n)[in_piece];
	}
out:
	return rc;
}

const uint32_t *gnn_nextuse_now(const struct gnn_nextuse *n)
{
	return n != NULL ? n->now : NULL;
}

uint64_t gnn_nextuse_read_bytes(const struct gnn_nextuse *n)
{
	return n->read_bytes;
}

uint64_t gnn_nextuse_written_bytes(const struct gnn_nextuse *n)
{
	return n->written_bytes;
}
