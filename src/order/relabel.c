/* order/relabel.c - see relabel.h. */
#include "order/relabel.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "io/cursor.h"
#include "io/scratch.h"
#include "order/moved.h"

#include <inttypes.h>

enum {
	BATCH_EDGES_MAX = 1 << 19, /* less with little memory */
	BATCH_EDGES_MIN = 1 << 12,
	EDGE_BYTES = 2 * 8 + 4,    /* in a batch */
	CURSOR_BYTES = 3 << 20, /* of each of three */
};

/* An array of rows, its entries in place, each the new row of its vertex. */
struct split {
	struct gnn_rows_source source; /* comes first */
	const struct gnn_relabel_opts *o;
	struct gnn_cursor cursor; /* not open: of the numbers 0, 1, ..., */
	uint64_t          at;     /* from here on */
};

struct relabel {
	const struct gnn_relabel_opts *o;
	struct gnn_rows_source *features, *labels, *original_id, *external_id;
	struct split            split[GNN_SPLIT_COUNT], feature_rank;
	char                   *path;       /* of run files */
	uint64_t                held_bytes; /* before it began */
	struct gnn_builder     *builder;
	uint64_t  batch;                    /* edges */
	uint64_t *src, *dst;                /* (batch) */
	float    *weight;                   /* (batch) or NULL */
	struct gnn_cursor offsets, neighbors, weights;
};

static uint64_t held_bytes(void)
{
	struct gnn_mem_stats m;

	gnn_mem_stats(&m);
	return m.held_bytes;
}

/* --- rows --- */

/* `share`: of the memory, 1 / share. */
static int move(struct relabel *r, const struct gnn_array *a, bool numbers, uint64_t share,
	struct gnn_rows_source **to)
{
	const struct gnn_relabel_opts *o = r->o;

	if (a == NULL && !numbers)
		return GNN_OK;
	return gnn_moved_create(to, &(struct gnn_moved_opts){.container = o->store->container,
		.array = a, .rank = o->rank, .vertices = o->store->vertices, .path = r->path,
		.journal = a != NULL && a == o->store->features ? o->journal : NULL,
		.engine = o->engine, .memory_bytes = o->memory_bytes / share});
}

static int move_rows(struct relabel *r)
{
	const struct gnn_store *s = r->o->store;
	int rc;

	GNN_TRY(gnn_scratch_path(&r->path, r->o->out_path, r->o->scratch, ".rows"));
	if (!r->o->keep)
		GNN_TRY(move(r, s->features, false, 3, &r->features));
	GNN_TRY(move(r, s->labels, false, 16, &r->labels));
	GNN_TRY(move(r, s->external_id, false, 16, &r->external_id));
	if (!r->o->to_import)
		GNN_TRY(move(r, s->original_id, true, 16, &r->original_id));
out:
	return rc;
}

static int read_split(struct gnn_rows_source *source, uint64_t rows, void *to)
{
	struct split *s = (struct split *)source;
	uint64_t *row = to, v;
	int rc = GNN_OK;

	for (uint64_t i = 0; i < rows; i++) {
		GNN_TRY(gnn_cursor_next(&s->cursor, &v));
		if (v >= s->o->store->vertices)
			GNN_FAIL(GNN_EDATA, "%s: dataset %s holds vertex %" PRIu64 " of %" PRIu64,
				gnn_container_path(s->o->store->container), s->cursor.array->name,
				v, s->o->store->vertices);
		row[i] = s->o->rank[v];
	}
out:
	return rc;
}

static int read_ranks(struct gnn_rows_source *source, uint64_t rows, void *to)
{
	struct split *s = (struct split *)source;

	memcpy(to, s->o->rank + s->at, rows * sizeof(*s->o->rank));
	s->at += rows;
	return GNN_OK;
}

static int open_split(struct relabel *r, const struct gnn_array *a, struct split *s,
	struct gnn_rows_source **source)
{
	int rc = GNN_OK;

	if (a == NULL)
		return GNN_OK;
	*s = (struct split){.o = r->o, .source = {.rows = a->rows, .cols = 1, .dtype = GNN_U64,
		.read = read_split}};
	GNN_TRY(gnn_cursor_open(&s->cursor, r->o->store->container, a, NULL));
	*source = &s->source;
out:
	return rc;
}

static int open_splits(struct relabel *r, struct gnn_builder_parts *parts)
{
	const struct gnn_store *s = r->o->store;
	int rc = GNN_OK;

	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		GNN_TRY(open_split(r, s->split[k], &r->split[k], &parts->split_source[k]));
	if (!r->o->keep)
		goto out;
	GNN_TRY(open_split(r, s->feature_rank, &r->feature_rank, &parts->feature_rank));
	if (s->features == NULL)
		goto out;
	r->feature_rank = (struct split){.o = r->o, .source = {.rows = s->vertices, .cols = 1,
		.dtype = GNN_U64, .read = read_ranks}};
	parts->feature_rank = &r->feature_rank.source;
out:
	return rc;
}

/* --- edges --- */

static int open_edges(struct relabel *r)
{
	const struct gnn_topology *t = &r->o->store->out;
	struct gnn_container *c = r->o->store->container;
	int rc;

	GNN_NEW_ARRAY(r->src, r->batch, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(r->dst, r->batch, GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_cursor_open(&r->offsets, c, t->offsets, NULL));
	GNN_TRY(gnn_cursor_open(&r->neighbors, c, t->neighbors, NULL));
	if (t->weights != NULL) {
		GNN_NEW_ARRAY(r->weight, r->batch, GNN_MEM_TOPOLOGY);
		GNN_TRY(gnn_cursor_open(&r->weights, c, t->weights, NULL));
	}
out:
	return rc;
}

static void close_edges(struct relabel *r)
{
	gnn_cursor_close(&r->offsets);
	gnn_cursor_close(&r->neighbors);
	gnn_cursor_close(&r->weights);
	gnn_mem_free(r->src);
	gnn_mem_free(r->dst);
	gnn_mem_free(r->weight);
	r->src = r->dst = NULL;
	r->weight = NULL;
}

/* The next edge of vertex v, unlabelled yet. */
static int read_edge(struct relabel *r, gnn_vid v, uint64_t i)
{
	uint64_t bits;
	int rc;

	r->src[i] = v;
	GNN_TRY(gnn_cursor_next(&r->neighbors, &r->dst[i]));
	if (r->dst[i] >= r->o->store->vertices)
		GNN_FAIL(GNN_EDATA, "%s: dataset %s, row %" PRIu64 ": vertex %" PRIu64 " of %"
			PRIu64, gnn_container_path(r->o->store->container),
			r->neighbors.array->name, v, r->dst[i], r->o->store->vertices);
	if (r->weight == NULL)
		goto out;
	GNN_TRY(gnn_cursor_next(&r->weights, &bits));
	memcpy(&r->weight[i], &bits, sizeof(r->weight[i]));
out:
	return rc;
}

static int add_batch(struct relabel *r, uint64_t count, struct gnn_progress *progress)
{
	const struct gnn_edges e = {.src = r->src, .dst = r->dst, .weight = r->weight,
		.count = count};
	const uint64_t *rank = r->o->rank;

#pragma omp parallel for schedule(static) num_threads((int)r->o->threads)
	for (uint64_t i = 0; i < count; i++) {
		r->src[i] = rank[r->src[i]];
		r->dst[i] = rank[r->dst[i]];
	}
	gnn_progress_add(progress, count, 0);
	return gnn_builder_add(r->builder, &e);
}

/* Out-lists in order, so that equal edges stay in the order of the import. */
static int add_edges(struct relabel *r)
{
	const struct gnn_store *s = r->o->store;
	struct gnn_progress *progress = gnn_progress_begin("edges", "edges", s->edges);
	uint64_t fill = 0, end, edge = 0;
	int rc;

	GNN_TRY(open_edges(r));
	GNN_TRY(gnn_cursor_next(&r->offsets, &end));
	for (gnn_vid v = 0; v < s->vertices; v++) {
		GNN_TRY(gnn_cursor_next(&r->offsets, &end));
		for (; edge < end; edge++) {
			if (fill == r->batch) {
				GNN_TRY(add_batch(r, fill, progress));
				fill = 0;
			}
			GNN_TRY(read_edge(r, v, fill++));
		}
	}
	GNN_TRY(add_batch(r, fill, progress));
out:
	gnn_progress_end(progress);
	close_edges(r);
	return rc;
}

static int build(struct relabel *r)
{
	const struct gnn_relabel_opts *o = r->o;
	uint64_t taken = held_bytes() - r->held_bytes + r->batch * EDGE_BYTES +
		3 * CURSOR_BYTES;
	uint64_t vertices;
	int rc;

	GNN_TRY(gnn_builder_create(&r->builder, &(struct gnn_builder_opts){
		.out_path = o->out_path, .scratch = o->scratch, .threads = o->threads,
		.memory_bytes = o->memory_bytes - gnn_min_u64(taken, o->memory_bytes),
		.weighted = o->store->out.weights != NULL, .engine = o->engine}));
	GNN_TRY(add_edges(r));
	GNN_TRY(gnn_builder_seal(r->builder, o->store->vertices, &vertices));
	GNN_ASSERT(vertices == o->store->vertices);
out:
	return rc;
}

/* --- all of it --- */

static int finish(struct relabel *r, struct gnn_build_report *report)
{
	struct gnn_builder_parts parts = {
		.vertices_min = r->o->store->vertices,
		.features = r->features,
		.labels = r->labels,
		.original_id = r->original_id,
		.external_id = r->external_id,
		.attrs = r->o->attrs,
		.attr_count = r->o->attr_count,
		.provenance = r->o->provenance,
	};
	int rc;

	GNN_TRY(open_splits(r, &parts));
	GNN_TRY(gnn_builder_finish(r->builder, &parts, report));
	GNN_ASSERT(report->edges_stored == r->o->store->edges);
out:
	return rc;
}

static void close_source(struct gnn_rows_source *s)
{
	if (s != NULL)
		s->close(s);
}

static void destroy(struct relabel *r)
{
	gnn_builder_destroy(r->builder);
	close_source(r->features);
	close_source(r->labels);
	close_source(r->original_id);
	close_source(r->external_id);
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		gnn_cursor_close(&r->split[k].cursor);
	gnn_cursor_close(&r->feature_rank.cursor);
	gnn_mem_free(r->path);
}

static double lap(uint64_t *start)
{
	double s = gnn_clock_s_since(*start);

	*start = gnn_clock_ns();
	return s;
}

int gnn_relabel(const struct gnn_relabel_opts *o, struct gnn_relabel_report *report)
{
	struct relabel r = {.o = o, .held_bytes = held_bytes(),
		.batch = gnn_min_u64(gnn_max_u64(o->memory_bytes / 8 / EDGE_BYTES,
			BATCH_EDGES_MIN), BATCH_EDGES_MAX)};
	uint64_t start = gnn_clock_ns();
	int rc;

	*report = (struct gnn_relabel_report){0};
	GNN_TRY(move_rows(&r));
	report->rows_s = lap(&start);
	report->row_scratch_bytes = gnn_moved_scratch_bytes(r.features) +
		gnn_moved_scratch_bytes(r.labels) + gnn_moved_scratch_bytes(r.original_id) +
		gnn_moved_scratch_bytes(r.external_id);
	GNN_TRY(build(&r));
	report->edges_s = lap(&start);
	GNN_TRY(finish(&r, &report->build));
	report->write_s = lap(&start);
out:
	destroy(&r);
	return rc;
}
