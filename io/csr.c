/* io/csr.c - see csr.h. */
#include "io/csr.h"

#include "base/mem.h"
#include "io/store_schema.h"

enum { ITEMS = 4096 }; /* handed to an array writer at a time */

enum part { OFFSETS, NEIGHBORS, WEIGHTS, SELF_LOOPS, PARTS };

static const char *const names[2][PARTS] = {
	{GNN_STORE_OUT_OFFSETS, GNN_STORE_OUT_NEIGHBORS, GNN_STORE_OUT_WEIGHTS,
		GNN_STORE_SELF_LOOPS},
	{GNN_STORE_IN_OFFSETS, GNN_STORE_IN_NEIGHBORS, GNN_STORE_IN_WEIGHTS, GNN_STORE_SELF_LOOPS},
};

struct gnn_csr {
	struct gnn_csr_opts opts;
	struct gnn_csr_counts counts;
	struct gnn_array_writer *writer[PARTS];
	bool narrow;         /* neighbours are u32 */
	uint64_t row;        /* of the edge pushed last; all rows before it are written */
	uint64_t row_edge;   /* its first edge */
	uint64_t loops;      /* self-loops of it so far */
	uint64_t neighbor;   /* of the edge pushed last */
	uint64_t offset[ITEMS];
	uint32_t self_loops[ITEMS];
	uint32_t rows;       /* in these two */
	uint32_t small[ITEMS];
	struct gnn_keyrun_writer *runs; /* for: */
	struct gnn_idset_writer *ids;
	uint64_t used[ITEMS + 1]; /* rows that have edges, and room for one that has none */
	uint32_t used_count;
};

void gnn_csr_abort(struct gnn_csr *c)
{
	if (c == NULL)
		return;
	for (int k = 0; k < PARTS; k++)
		gnn_array_writer_abort(c->writer[k]);
	gnn_idset_writer_destroy(c->ids);
	gnn_keyrun_writer_close(&c->runs);
	gnn_mem_free(c);
}

int gnn_csr_open(struct gnn_csr **out, const struct gnn_csr_opts *o)
{
	const bool wanted[PARTS] = {true, true, o->weighted, o->self_loops};
	struct gnn_csr *c = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_NEW(c, GNN_MEM_IO);
	c->opts = *o;
	c->narrow = o->vertices <= UINT32_MAX;
	for (int k = 0; k < PARTS; k++)
		if (wanted[k])
			GNN_TRY(gnn_array_writer_open(&c->writer[k], o->container, names[o->in][k],
				0));
	if (o->ids != NULL) {
		GNN_TRY(gnn_keyrun_writer_open(&c->runs, o->scratch));
		GNN_TRY(gnn_idset_writer_create(&c->ids, o->ids, c->runs));
	}
	/* The first offset is that of row 0; what follows are the ends of the rows. */
	GNN_TRY(gnn_array_writer_push(c->writer[OFFSETS], &c->offset[0], sizeof(c->offset[0])));
	*out = c;
	c = NULL;
out:
	gnn_csr_abort(c);
	return rc;
}

static int flush_rows(struct gnn_csr *c)
{
	int rc;

	GNN_TRY(gnn_array_writer_push(c->writer[OFFSETS], c->offset, c->rows * sizeof(*c->offset)));
	if (c->opts.self_loops)
		GNN_TRY(gnn_array_writer_push(c->writer[SELF_LOOPS], c->self_loops,
			c->rows * sizeof(*c->self_loops)));
	c->rows = 0;
out:
	return rc;
}

static int tell_used(struct gnn_csr *c)
{
	uint32_t count = c->used_count;

	c->used_count = 0;
	return c->ids == NULL ? GNN_OK : gnn_idset_writer_push(c->ids, c->used, count);
}

/* The row has `edges` edges before its end and all rows up to `next` have none. */
static int end_rows(struct gnn_csr *c, uint64_t edges, uint64_t next)
{
	uint64_t degree = edges - c->row_edge;
	int rc = GNN_OK;

	GNN_ASSERT(next > c->row && next <= c->opts.vertices);
	if (c->loops > UINT32_MAX)
		GNN_FAIL(GNN_EDATA, "vertex %llu has %llu self-loops, a store counts up to "
			"4294967295; --dedup keeps one", (unsigned long long)c->row,
			(unsigned long long)c->loops);
	if (degree > 0)
		c->used[c->used_count++] = c->row;
	if (c->used_count == ITEMS)
		GNN_TRY(tell_used(c));
	c->counts.max_degree = gnn_max_u64(c->counts.max_degree, degree);
	c->counts.self_loops += c->loops;
	c->counts.loop_vertices += c->loops > 0;
	for (; c->row < next; c->row++) {
		c->offset[c->rows] = edges;
		c->self_loops[c->rows++] = (uint32_t)c->loops;
		c->loops = 0;
		if (c->rows == ITEMS)
			GNN_TRY(flush_rows(c));
	}
	c->row_edge = edges;
out:
	return rc;
}

static int push_neighbors(struct gnn_csr *c, const uint64_t *neighbor, uint64_t count)
{
	int rc = GNN_OK;

	if (!c->narrow)
		return gnn_array_writer_push(c->writer[NEIGHBORS], neighbor,
			count * sizeof(*neighbor));
	for (uint64_t i = 0; i < count; i += ITEMS) {
		uint64_t n = gnn_min_u64(ITEMS, count - i);

		for (uint64_t k = 0; k < n; k++)
			c->small[k] = (uint32_t)neighbor[i + k];
		GNN_TRY(gnn_array_writer_push(c->writer[NEIGHBORS], c->small,
			n * sizeof(*c->small)));
	}
out:
	return rc;
}

int gnn_csr_push(void *csr, struct gnn_edges *e)
{
	struct gnn_csr *c = csr;
	uint64_t i = 0;
	int rc = GNN_OK;

	while (i < e->count) {
		uint64_t row = e->src[i], loops = 0, equal = 0;
		uint64_t before = c->counts.edges + i > c->row_edge ? c->neighbor : UINT64_MAX;

		if (row != c->row) {
			GNN_TRY(end_rows(c, c->counts.edges + i, row));
			before = UINT64_MAX;
		}
		for (; i < e->count && e->src[i] == row; i++) {
			uint64_t to = e->dst[i];

			GNN_DASSERT(before == UINT64_MAX || to >= before);
			equal += to == before;
			loops += to == row;
			before = to;
		}
		c->neighbor = before;
		c->loops += loops;
		c->counts.duplicates += equal;
	}
	GNN_TRY(push_neighbors(c, e->dst, e->count));
	if (c->opts.weighted)
		GNN_TRY(gnn_array_writer_push(c->writer[WEIGHTS], e->weight,
			e->count * sizeof(*e->weight)));
	c->counts.edges += e->count;
out:
	return rc;
}

/* Neighbours of 32 bits, as they are or widened. */
static int push_small(struct gnn_csr *c, const uint32_t *neighbor, uint64_t count)
{
	uint64_t wide[ITEMS];
	int rc = GNN_OK;

	if (c->narrow)
		return gnn_array_writer_push(c->writer[NEIGHBORS], neighbor,
			count * sizeof(*neighbor));
	for (uint64_t i = 0; i < count; i += ITEMS) {
		uint64_t n = gnn_min_u64(ITEMS, count - i);

		for (uint64_t k = 0; k < n; k++)
			wide[k] = neighbor[i + k];
		GNN_TRY(gnn_array_writer_push(c->writer[NEIGHBORS], wide, n * sizeof(*wide)));
	}
out:
	return rc;
}

/* `n` of the rows, from number `first` on, for which there is room. */
static void end_counted_rows(struct gnn_csr *c, const struct gnn_csr_rows *r, uint64_t first,
	uint64_t n)
{
	uint64_t *offset = c->offset + c->rows, *used = c->used + c->used_count;
	uint64_t before = c->counts.edges, most = c->counts.max_degree, last = c->row_edge;
	uint32_t *self_loops = c->self_loops + c->rows;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t end = before + r->end[first + i], degree = end - last;

		*used = c->row + i;
		used += degree > 0;
		most = degree > most ? degree : most;
		offset[i] = last = end;
		self_loops[i] = 0;
	}
	for (uint64_t i = 0; r->loops != NULL && i < n; i++) {
		self_loops[i] = r->loops[first + i];
		c->counts.self_loops += self_loops[i];
		c->counts.loop_vertices += self_loops[i] > 0;
	}
	c->counts.max_degree = most;
	c->row_edge = last;
	c->row += n;
	c->rows += (uint32_t)n;
	c->used_count = (uint32_t)(used - c->used);
}

int gnn_csr_push_rows(void *csr, const struct gnn_csr_rows *r)
{
	struct gnn_csr *c = csr;
	int rc = GNN_OK;

	GNN_ASSERT(r->count == 0 || (r->first == c->row && r->count <= c->opts.vertices - c->row));
	for (uint64_t i = 0, n; i < r->count; i += n) {
		n = gnn_min_u64(r->count - i, ITEMS - gnn_max_u64(c->rows, c->used_count));
		end_counted_rows(c, r, i, n);
		if (c->used_count == ITEMS)
			GNN_TRY(tell_used(c));
		if (c->rows == ITEMS)
			GNN_TRY(flush_rows(c));
	}
	c->counts.duplicates += r->duplicates;
	GNN_TRY(push_small(c, r->neighbor, r->edges));
	if (c->opts.weighted)
		GNN_TRY(gnn_array_writer_push(c->writer[WEIGHTS], r->weight,
			r->edges * sizeof(*r->weight)));
	c->counts.edges += r->edges;
out:
	return rc;
}

int gnn_csr_close(struct gnn_csr **csr, struct gnn_csr_counts *counts)
{
	struct gnn_csr *c = *csr;
	int rc = GNN_OK;

	*csr = NULL;
	if (c->row < c->opts.vertices)
		GNN_TRY(end_rows(c, c->counts.edges, c->opts.vertices));
	GNN_TRY(flush_rows(c));
	GNN_TRY(tell_used(c));
	if (c->ids != NULL)
		GNN_TRY(gnn_idset_writer_end(c->ids));
	GNN_TRY(gnn_keyrun_writer_close(&c->runs));
	for (int k = 0; k < PARTS; k++)
		if (c->writer[k] != NULL)
			GNN_TRY(gnn_array_writer_close(&c->writer[k]));
	*counts = c->counts;
out:
	gnn_csr_abort(c);
	return rc;
}
