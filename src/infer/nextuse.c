/* infer/nextuse.c - see nextuse.h. */
#include "infer/nextuse.h"

#include "base/mem.h"
#include "infer/neighbors.h"
#include "io/file.h"
#include "io/hash.h"

#include <string.h>

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
	uint64_t  count;      /* edges in the file */
	uint64_t  left;       /* of them, not yet come */
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
		4 * (GNN_NEXTUSE_ROWS + 1) * sizeof(uint64_t);
}

uint64_t gnn_nextuse_file_bytes(const struct gnn_store *s, uint64_t piece_bytes)
{
	return gnn_ceil_div(s->in_edges, sources_of(piece_bytes)) * piece_bytes;
}

static uint32_t *sources(const struct gnn_nextuse *n)
{
	return (uint32_t *)(void *)(n->piece + sizeof(struct piece_header));
}

/* --- making the file --- */

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
	h.sum = gnn_hash(n->piece + sizeof(h.sum), n->o.piece_bytes - sizeof(h.sum));
	memcpy(n->piece, &h.sum, sizeof(h.sum));
	return transfer(n, number, true);
}

/* Of the edge that `behind` others come behind, in its piece, which is filled from its end. */
static uint64_t place_of(const struct gnn_nextuse *n, uint64_t behind)
{
	uint64_t each = sources_of(n->o.piece_bytes);

	return each - 1 - behind % each;
}

int gnn_nextuse_put(struct gnn_nextuse *n, gnn_vid v, uint32_t source, bool message)
{
	uint64_t place = place_of(n, n->count);
	int rc = GNN_OK;

	sources(n)[place] = n->now[v];
	if (message)
		n->now[v] = source;
	if (place == 0)
		GNN_TRY(write_piece(n, n->count / sources_of(n->o.piece_bytes)));
	n->count++;
out:
	return rc;
}

static int build(struct gnn_nextuse *n)
{
	uint64_t each = sources_of(n->o.piece_bytes);
	int rc;

	GNN_TRY(n->o.packets != NULL ? gnn_nextuse_fill_rounds(n, &n->o, &n->read_bytes) :
		gnn_nextuse_fill(n, &n->o, &n->read_bytes));
	if (n->count % each != 0)
		GNN_TRY(write_piece(n, n->count / each));
	n->left = n->count;
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
	struct gnn_nextuse *n = NULL;
	void *block;
	int rc;

	*out = NULL;
	GNN_ASSERT(o->piece_bytes % GNN_PAGE_BYTES == 0 && o->store->vertices < UINT32_MAX);
	GNN_NEW(n, GNN_MEM_MISC);
	n->o = *o;
	GNN_NEW_ARRAY(n->now, o->store->vertices, GNN_MEM_TOPOLOGY);
	memset(n->now, 0xff, o->store->vertices * sizeof(*n->now));
	GNN_TRY(gnn_mem_pages(&block, o->piece_bytes, GNN_MEM_IO));
	n->piece = block;
	memset(n->piece, 0, o->piece_bytes);
	GNN_TRY(open_file(n));
	GNN_TRY(build(n));
	n->o.path = NULL;
	n->o.packets = NULL;
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
	gnn_mem_free(n);
}

/* --- reading along --- */

static int read_piece(struct gnn_nextuse *n, uint64_t number)
{
	struct piece_header h;
	int rc;

	GNN_TRY(transfer(n, number, false));
	memcpy(&h, n->piece, sizeof(h));
	if (h.number != number || h.sum != gnn_hash(n->piece + sizeof(h.sum),
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

	for (uint64_t i = 0; n != NULL && i < count; i++) {
		if (n->left == 0)
			GNN_FAIL(GNN_EDATA, "file of next uses: more edges come than it has");
		n->left--;
		if (n->left + 1 == n->count || n->left % each == each - 1)
			GNN_TRY(read_piece(n, n->left / each));
		n->now[gnn_neighbor_at(neighbors, dtype, i)] = sources(n)[place_of(n, n->left)];
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
