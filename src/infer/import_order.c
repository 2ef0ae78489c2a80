/* infer/import_order.c - see import_order.h. */
#include "infer/import_order.h"

#include "base/mem.h"
#include "io/cursor.h"
#include "io/scratch.h"

#include <inttypes.h>

enum {
	IDS = 4096,
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
};

static struct gnn_runs_opts runs_of(const struct gnn_import_order *m, uint64_t row_bytes)
{
	uint64_t range = gnn_min_u64(RANGE_BYTES_MAX, m->arena_bytes / 8);

	return (struct gnn_runs_opts){.path = m->path, .engine = m->engine,
		.ids = m->store->vertices, .row_bytes = row_bytes,
		.range_rows = gnn_max_u64(1, range / row_bytes), .memory_bytes = m->arena_bytes};
}

static void drop_runs(struct gnn_import_order *m)
{
	gnn_cursor_close(&m->ids);
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
	int rc = GNN_OK;

	*out = NULL;
	if (o->store->original_id == NULL || o->store->vertices == 0)
		return GNN_OK;
	gnn_mem_stats(&s);
	GNN_NEW(m, GNN_MEM_MISC);
	m->store = o->store;
	m->engine = o->engine;
	m->arena_bytes = s.limit_bytes == 0 ? ARENA_BYTES_MAX :
		gnn_min_u64(s.limit_bytes / BUDGET_SHARE, ARENA_BYTES_MAX);
	runs = runs_of(m, row_bytes_max);
	m->reserve_bytes = gnn_runs_memory_bytes(&runs) + gnn_runs_reader_bytes(&runs, 1);
	GNN_TRY(gnn_scratch_path(&m->path, o->out_path, o->scratch, ".order"));
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
	GNN_TRY(gnn_runs_create(&m->runs, &runs));
	GNN_TRY(gnn_cursor_open(&m->ids, m->store->container, m->store->original_id, NULL));
out:
	return rc;
}

int gnn_import_order_push(struct gnn_import_order *m, uint64_t rows, const void *from)
{
	uint64_t id[IDS];
	int rc = GNN_OK;

	for (uint64_t row = 0; row < rows; row += IDS) {
		uint64_t n = gnn_min_u64(IDS, rows - row);

		for (uint64_t i = 0; i < n; i++) {
			GNN_TRY(gnn_cursor_next(&m->ids, &id[i]));
			if (id[i] >= m->store->vertices)
				GNN_FAIL(GNN_EDATA, "%s: dataset %s holds %" PRIu64 " of %" PRIu64
					" vertices", gnn_container_path(m->store->container),
					m->store->original_id->name, id[i], m->store->vertices);
		}
		GNN_TRY(gnn_runs_push(m->runs, id, 0, (const char *)from + row * m->row_bytes, n));
	}
out:
	return rc;
}

int gnn_import_order_end(struct gnn_import_order *m)
{
	int rc;

	gnn_cursor_close(&m->ids);
	GNN_TRY(gnn_runs_end(m->runs));
	GNN_TRY(gnn_runs_reader_open(&m->reader, m->runs, 1));
out:
	return rc;
}

int gnn_import_order_next(struct gnn_import_order *m, struct gnn_runs_range *range)
{
	int rc = gnn_runs_reader_next(m->reader, range);

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
	gnn_mem_free(m);
}
