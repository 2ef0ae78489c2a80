/* infer/import_order.c - see import_order.h. */
#include "infer/import_order.h"

#include "base/mem.h"
#include "infer/route.h"
#include "io/cursor.h"
#include "io/scratch.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	BUDGET_SHARE = 16,           /* of the memory, one in so many is for the arena */
	ARENA_BYTES_MAX = 1 << 30,
	RANGE_BYTES_MAX = 1 << 20,
};

struct gnn_import_order {
	const struct gnn_store *store;
	enum gnn_dio_engine     engine;
	char                   *path;
	uint64_t                arena_bytes;
	void                   *reserve; /* while there are no runs */
	uint64_t                reserve_bytes;
	struct gnn_runs        *runs;
	struct gnn_runs_reader *reader;
	struct gnn_cursor       ids;
	uint64_t                row_bytes;
	uint64_t                pushed;  /* rows into the runs */
	uint64_t               *id;      /* (id_room) of the rows at hand */
	uint64_t                id_room;
	const struct gnn_share *share;   /* of several ranks; NULL: this one is alone */
	uint64_t               *bound;   /* (ranks + 1) rows of the result that each rank writes */
	struct gnn_route        route;
};

static uint32_t rank_of(const struct gnn_import_order *m)
{
	return m->share != NULL ? m->share->rank : 0;
}

/* Rows of the result that this rank writes. */
static uint64_t rows_of(const struct gnn_import_order *m)
{
	return m->bound[rank_of(m) + 1] - m->bound[rank_of(m)];
}

/* Equal ranges of rows of the result. */
static int set_bounds(struct gnn_import_order *m)
{
	uint64_t vertices = m->store->whole_vertices;
	uint32_t size = gnn_share_size(m->share);
	int rc;

	GNN_NEW_ARRAY(m->bound, size + UINT64_C(1), GNN_MEM_MISC);
	for (uint32_t q = 0; q <= size; q++)
		m->bound[q] = vertices / size * q + vertices % size * q / size;
out:
	return rc;
}

static struct gnn_runs_opts runs_of(const struct gnn_import_order *m, uint64_t row_bytes)
{
	uint64_t range = gnn_min_u64(RANGE_BYTES_MAX, m->arena_bytes / 8);

	return (struct gnn_runs_opts){.path = m->path, .engine = m->engine,
		.ids = rows_of(m), .row_bytes = row_bytes,
		.range_rows = gnn_max_u64(1, range / row_bytes), .memory_bytes = m->arena_bytes};
}

static void drop_runs(struct gnn_import_order *m)
{
	gnn_cursor_close(&m->ids);
	gnn_route_fini(&m->route);
	gnn_runs_reader_close(m->reader);
	gnn_runs_destroy(m->runs);
	m->reader = NULL;
	m->runs = NULL;
}

static int take_reserve(struct gnn_import_order *m)
{
	return m->reserve != NULL ? GNN_OK :
		gnn_mem_pages(&m->reserve, m->reserve_bytes, GNN_MEM_SORT);
}

int gnn_import_order_create(struct gnn_import_order **out, const struct gnn_infer_opts *o,
	uint64_t row_bytes_max)
{
	struct gnn_import_order *m = NULL;
	struct gnn_mem_stats s;
	struct gnn_runs_opts runs;
	char suffix[32];
	int rc = GNN_OK;

	*out = NULL;
	if (o->store->original_id == NULL || o->store->whole_vertices == 0)
		return GNN_OK;
	gnn_mem_stats(&s);
	GNN_NEW(m, GNN_MEM_MISC);
	m->store = o->store;
	m->engine = o->engine;
	m->share = o->share;
	GNN_TRY(set_bounds(m));
	m->arena_bytes = s.limit_bytes == 0 ? ARENA_BYTES_MAX :
		gnn_min_u64(s.limit_bytes / BUDGET_SHARE, ARENA_BYTES_MAX);
	runs = runs_of(m, row_bytes_max);
	m->reserve_bytes = runs.ids == 0 ? 1 :
		gnn_runs_memory_bytes(&runs) + gnn_runs_reader_bytes(&runs, 1);
	snprintf(suffix, sizeof(suffix), rank_of(m) > 0 ? ".order%u" : ".order", rank_of(m));
	GNN_TRY(gnn_scratch_path(&m->path, o->out_path, o->scratch, suffix));
	GNN_TRY(take_reserve(m));
	*out = m;
	m = NULL;
out:
	gnn_import_order_destroy(m);
	return rc;
}

int gnn_import_order_begin(struct gnn_import_order *m, uint64_t row_bytes)
{
	struct gnn_runs_opts runs = runs_of(m, row_bytes);
	int rc;

	GNN_ASSERT(m->runs == NULL);
	gnn_mem_free(m->reserve);
	m->reserve = NULL;
	m->row_bytes = row_bytes;
	m->pushed = 0;
	if (runs.ids > 0)
		GNN_TRY(gnn_runs_create(&m->runs, &runs));
	GNN_TRY(gnn_cursor_open_part(&m->ids, m->store->container, m->store->original_id,
		m->store->first, m->store->vertices));
	if (m->share != NULL)
		GNN_TRY(gnn_route_init(&m->route, m->share, m->bound, row_bytes));
out:
	return rc;
}

/* Of the rows at hand, which follow those of the call before. */
static int next_ids(struct gnn_import_order *m, uint64_t rows)
{
	uint64_t vertices = m->store->whole_vertices;
	void *block = m->id;
	int rc = GNN_OK;

	if (rows > m->id_room) {
		GNN_TRY(gnn_mem_resize(&block, rows, sizeof(*m->id), GNN_MEM_SORT));
		m->id = block;
		m->id_room = rows;
	}
	for (uint64_t i = 0; i < rows; i++) {
		GNN_TRY(gnn_cursor_next(&m->ids, &m->id[i]));
		if (m->id[i] >= vertices)
			GNN_FAIL(GNN_EDATA, "%s: dataset %s holds %" PRIu64 " of %" PRIu64
				" vertices", gnn_container_path(m->store->container),
				m->store->original_id->name, m->id[i], vertices);
	}
out:
	return rc;
}

static int no_permutation(const struct gnn_import_order *m)
{
	return gnn_err(GNN_EDATA, "%s: dataset %s is no permutation",
		gnn_container_path(m->store->container), m->store->original_id->name);
}

int gnn_import_order_push(struct gnn_import_order *m, uint64_t rows, const void *from)
{
	struct gnn_routed *in = &m->route.in;
	int rc;

	GNN_TRY(next_ids(m, rows));
	if (m->share == NULL)
		return gnn_runs_push(m->runs, m->id, 0, from, rows);
	GNN_TRY(gnn_route_rows(&m->route, m->id, from, rows));
	if (in->count > rows_of(m) - m->pushed)
		return no_permutation(m);
	m->pushed += in->count;
	for (uint64_t i = 0; i < in->count; i++)
		in->id[i] -= m->bound[m->share->rank];
	if (in->count > 0)
		GNN_TRY(gnn_runs_push(m->runs, in->id, 0, in->rows, in->count));
out:
	return rc;
}

const uint64_t *gnn_import_order_bounds(const struct gnn_import_order *m)
{
	return m->bound;
}

int gnn_import_order_end(struct gnn_import_order *m)
{
	int rc;

	gnn_cursor_close(&m->ids);
	if (m->share != NULL && m->pushed < rows_of(m))
		return no_permutation(m);
	if (m->runs == NULL)
		return GNN_OK;
	GNN_TRY(gnn_runs_end(m->runs));
	GNN_TRY(gnn_runs_reader_open(&m->reader, m->runs, 1));
out:
	return rc;
}

int gnn_import_order_next(struct gnn_import_order *m, struct gnn_runs_range *range)
{
	int rc = m->reader == NULL ? GNN_EOF : gnn_runs_reader_next(m->reader, range);

	if (rc != GNN_EOF)
		return rc;
	drop_runs(m);
	GNN_TRY(take_reserve(m));
	return GNN_EOF;
out:
	return rc;
}

void gnn_import_order_destroy(struct gnn_import_order *m)
{
	if (m == NULL)
		return;
	drop_runs(m);
	gnn_mem_free(m->reserve);
	gnn_mem_free(m->path);
	gnn_mem_free(m->id);
	gnn_mem_free(m->bound);
	gnn_mem_free(m);
}
