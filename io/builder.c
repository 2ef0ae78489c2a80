/* io/builder.c - see builder.h. Sorting is extsort and topo; here is the store around it. */
#include "io/builder.h"

#include "base/mem.h"
#include "base/progress.h"
#include "io/builder_memory.h"
#include "io/edgeremap.h"
#include "io/file.h"
#include "io/store_schema.h"
#include "io/topo.h"

#include <inttypes.h>
#include <string.h>

#define SCRATCH_SUFFIX ".scratch"

enum {
	HANDLES = 6,               /* of the scratch, in two merges at once: each reads, merges
	                              a level, tells ids */
	ID_BITS = 48,              /* without remap: offsets of more vertices cannot be meant */
	SLICE_EDGES = 4096,
	BLOCK_BYTES = 4 << 20,     /* of features and labels, copied at a time */
	IDS = 4096,                /* that stand for none, written at a time */
};

struct gnn_builder {
	char *out_path;
	enum gnn_dio_engine engine;
	uint64_t writer_bytes, pool_bytes;
	struct gnn_scratch *scratch;
	struct gnn_idset *ids;
	struct gnn_edgepool *pool; /* until there are too many edges for it, or too large ids */
	struct gnn_extsort *sort;
	struct gnn_topo topo;      /* with the three above, once sealed */
	struct gnn_container *container;
	bool sealed;
};

/* --- creating --- */

static int open_scratch(struct gnn_builder *b, const struct gnn_builder_opts *o,
	const struct gnn_builder_memory *m)
{
	struct gnn_scratch_opts s = {
		.engine = o->engine,
		.piece_bytes = m->piece,
		.resident_bytes = m->resident,
		.handles = gnn_extsort_workers(o->threads) + HANDLES,
	};
	char *path = NULL;
	int rc;

	GNN_TRY(gnn_scratch_path(&path, o->out_path, o->scratch, SCRATCH_SUFFIX));
	s.path = path;
	GNN_TRY(gnn_scratch_create(&b->scratch, &s));
out:
	gnn_mem_free(path);
	return rc;
}

static int open_sort(struct gnn_builder *b, const struct gnn_builder_opts *o, uint64_t bytes)
{
	return gnn_extsort_create(&b->sort, &(struct gnn_extsort_opts){
		.scratch = b->scratch,
		.ids = o->remap ? b->ids : NULL,
		.memory_bytes = bytes,
		.threads = o->threads,
		.weighted = o->weighted,
		.both_ways = o->undirected,
		.unique = o->dedup,
		.order = {[GNN_BY_SRC] = true, [GNN_BY_DST] = !o->undirected},
	});
}

/* An output that cannot be made is found out before the work, not after it. */
static int try_output(const char *path)
{
	struct gnn_pub *pub = NULL;
	int rc = gnn_pub_begin(&pub, path);

	gnn_pub_abort(pub);
	return rc;
}

int gnn_builder_create(struct gnn_builder **out, const struct gnn_builder_opts *o)
{
	struct gnn_builder_memory m = gnn_builder_memory(o->memory_bytes, o->threads, o->weighted);
	struct gnn_builder *b = NULL;
	int rc = GNN_OK;

	*out = NULL;
	GNN_TRY(try_output(o->out_path));
	GNN_NEW(b, GNN_MEM_SORT);
	b->engine = o->engine;
	b->writer_bytes = m.writer;
	b->pool_bytes = m.resident / 2;
	b->out_path = gnn_mem_text(o->out_path);
	if (b->out_path == NULL) {
		rc = GNN_EOS;
		goto out;
	}
	GNN_TRY(open_scratch(b, o, &m));
	GNN_TRY(gnn_idset_create(&b->ids, b->scratch, m.ids));
	GNN_TRY(open_sort(b, o, m.work));
	if (gnn_scratch_lend(b->scratch, b->pool_bytes))
		GNN_TRY(gnn_edgepool_create(&b->pool, &(struct gnn_edgepool_opts){
			.memory_bytes = b->pool_bytes, .threads = o->threads,
			.weighted = o->weighted, .both_ways = o->undirected}));
	b->topo = (struct gnn_topo){
		.scratch = b->scratch, .ids = b->ids, .sort = b->sort,
		.work_bytes = m.work, .writer_bytes = m.writers,
		.threads = o->threads, .weighted = o->weighted, .undirected = o->undirected,
		.dedup = o->dedup, .remap = o->remap,
	};
	*out = b;
	b = NULL;
out:
	gnn_builder_destroy(b);
	return rc;
}

void gnn_builder_destroy(struct gnn_builder *b)
{
	if (b == NULL)
		return;
	gnn_container_close(b->container);
	gnn_topo_fini(&b->topo);
	gnn_edgepool_destroy(b->pool);
	gnn_extsort_destroy(b->sort);
	gnn_idset_destroy(b->ids);
	gnn_scratch_destroy(b->scratch);
	gnn_mem_free(b->out_path);
	gnn_mem_free(b);
}

/* --- edges --- */

/* The first edge with an id that is too large. */
static int refuse_id(const struct gnn_builder *b, const struct gnn_edges *e)
{
	uint64_t i = 0;

	while (((e->src[i] | e->dst[i]) >> ID_BITS) == 0)
		i++;
	return gnn_err(GNN_EDATA, "edge number %" PRIu64 ", %" PRIu64 " > %" PRIu64 ": an array of "
		"offsets for ids of 2^%d and more takes petabytes; --remap compacts gapped ids",
		b->topo.edges_added + i + 1, e->src[i], e->dst[i], ID_BITS);
}

static int add_to_sort(void *builder, const struct gnn_edges *e)
{
	struct gnn_builder *b = builder;

	return gnn_extsort_add(b->sort, e, gnn_edges_bits(e));
}

/* From here on edges are sorted a batch at a time, those in memory first. */
static int end_pool(struct gnn_builder *b)
{
	int rc = gnn_edgepool_drain(b->pool, add_to_sort, b);

	gnn_edgepool_destroy(b->pool);
	b->pool = NULL;
	gnn_scratch_lend(b->scratch, 0);
	return rc;
}

static int add_or_sort(struct gnn_builder *b, const struct gnn_edges *e, uint64_t bits)
{
	int rc;

	if (b->pool != NULL) {
		rc = gnn_edgepool_add(b->pool, e, bits);
		if (rc != GNN_EOF)
			return rc;
		GNN_TRY(end_pool(b));
	}
	rc = gnn_extsort_add(b->sort, e, bits);
out:
	return rc;
}

static bool becomes_sparse(const struct gnn_builder *b, uint64_t bits)
{
	return b->topo.remap && !b->topo.sparse && bits >= gnn_idset_limit(b->ids);
}

/* A few edges, which are still in the cache when they are packed. */
static int add_slice(struct gnn_builder *b, const struct gnn_edges *e)
{
	struct gnn_topo *t = &b->topo;
	uint64_t bits = gnn_edges_bits(e), loops = 0;
	int rc = GNN_OK;

	if (!t->remap && bits >> ID_BITS != 0)
		return refuse_id(b, e);
	if (becomes_sparse(b, bits)) {
		/* Destinations are given rows first, so runs by source are of no use any more. */
		t->sparse = true;
		if (!t->undirected)
			gnn_extsort_drop_order(b->sort, GNN_BY_SRC);
		if (b->pool != NULL)
			GNN_TRY(end_pool(b));
	}
	for (uint64_t i = 0; i < e->count; i++)
		loops += e->src[i] == e->dst[i];
	GNN_TRY(add_or_sort(b, e, bits));
	t->edges_added += e->count;
	t->loops_added += loops;
out:
	return rc;
}

int gnn_builder_add(struct gnn_builder *b, const struct gnn_edges *e)
{
	int rc = GNN_OK;

	GNN_ASSERT(!b->sealed);
	for (uint64_t i = 0; i < e->count; i += SLICE_EDGES) {
		struct gnn_edges slice = gnn_edges_slice(e, i, SLICE_EDGES);

		GNN_TRY(add_slice(b, &slice));
	}
out:
	return rc;
}

/*
 * Edges that are still in memory are sorted there, if what that takes beside them is there too: of
 * the work's memory first, then of that for sorted runs.
 */
static int seal_pool(struct gnn_builder *b)
{
	struct gnn_topo *t = &b->topo;
	const struct gnn_buckets_opts o = {
		.pool = b->pool, .threads = t->threads, .weighted = t->weighted,
		.both_ways = t->undirected, .unique = t->dedup, .loops = t->loops_added > 0,
	};
	uint64_t work = t->work_bytes - t->writer_bytes, extra;
	int rc = GNN_OK;

	if (b->pool == NULL)
		return GNN_OK;
	GNN_TRY(gnn_edgepool_end(b->pool));
	extra = gnn_buckets_extra_bytes(&o, t->remap);
	if (extra > work && !gnn_scratch_lend(b->scratch, b->pool_bytes + extra - work))
		return end_pool(b);
	if (t->remap)
		GNN_TRY(gnn_edgeremap(&(struct gnn_edgeremap_opts){
			.pool = b->pool, .ids = b->ids, .merge_bytes = t->work_bytes / 2,
			.copy_bytes = t->work_bytes / 4, .threads = t->threads}));
	GNN_TRY(gnn_buckets_create(&t->buckets, &o));
	t->vertices = gnn_edgepool_id_end(b->pool);
out:
	return rc;
}

/* Narrow ids go to the pool as they are, as long as there is one with room. */
int gnn_builder_add_batch(struct gnn_builder *b, const struct gnn_edge_batch *e)
{
	uint64_t wide[2 * SLICE_EDGES], loops = 0;
	int rc = GNN_EOF;

	GNN_ASSERT(!b->sealed);
	if (b->pool != NULL && e->src32 != NULL && !becomes_sparse(b, e->bits))
		GNN_TRY(gnn_edgepool_add_narrow(b->pool, e, &loops));
	if (rc == GNN_OK) {
		b->topo.edges_added += e->count;
		b->topo.loops_added += loops;
		goto out;
	}
	for (uint64_t i = 0; i < e->count; i += SLICE_EDGES) {
		struct gnn_edges slice = gnn_edge_batch_slice(e, i, SLICE_EDGES, wide);

		GNN_TRY(add_slice(b, &slice));
	}
	rc = GNN_OK;
out:
	return rc;
}

int gnn_builder_seal(struct gnn_builder *b, uint64_t vertices_min, uint64_t *vertices)
{
	int rc;

	GNN_ASSERT(!b->sealed);
	b->sealed = true;
	GNN_TRY(seal_pool(b));
	GNN_TRY(gnn_extsort_end(b->sort));
	if (b->topo.sparse && !b->topo.undirected)
		gnn_keyruns_fini(gnn_extsort_runs(b->sort, GNN_BY_SRC), b->scratch);
	if (b->topo.remap && b->topo.buckets == NULL)
		GNN_TRY(gnn_idset_seal(b->ids, b->topo.work_bytes / 2, b->topo.work_bytes / 4,
			b->topo.threads));
	if (b->topo.remap)
		b->topo.vertices = gnn_idset_count(b->ids);
	else if (b->topo.buckets == NULL)
		b->topo.vertices = gnn_extsort_id_end(b->sort);
	b->topo.vertices = gnn_max_u64(b->topo.vertices, vertices_min);
	*vertices = b->topo.vertices;
out:
	return rc;
}

int gnn_builder_row_of(struct gnn_builder *b, uint64_t external, uint64_t *row)
{
	GNN_ASSERT(b->sealed && b->topo.remap);
	return gnn_idset_row_of(b->ids, external, row);
}

/* --- the container --- */

static int create_container(struct gnn_builder *b, const struct gnn_builder_parts *parts)
{
	const struct gnn_container_opts o = {
		.path = b->out_path,
		.format = GNN_FORMAT_STORE,
		.engine = b->engine,
		.writer_bytes = b->writer_bytes,
	};
	struct gnn_builder_arrays d;

	gnn_builder_arrays(&d, &b->topo, parts);
	return gnn_container_create(&b->container, &o, d.array, d.arrays, d.attr, d.attrs);
}

/* --- beside the topology --- */

/* One more than the largest label, or the columns of multi-labels. */
static void see_labels(const struct gnn_rows_source *s, const void *rows, uint64_t count,
	uint64_t *classes)
{
	const int64_t *label = rows;

	if (s->dtype != GNN_I64) {
		*classes = s->cols;
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		if (label[i] >= 0)
			*classes = gnn_max_u64(*classes, (uint64_t)label[i] + 1);
}

/* Copies a matrix, block after block; `classes` is NULL for features. */
static int write_rows(struct gnn_builder *b, const char *name, struct gnn_rows_source *s,
	uint64_t *classes)
{
	struct gnn_array_writer *w = NULL;
	struct gnn_progress *progress;
	uint64_t row_bytes, at_once;
	void *block = NULL;
	int rc;

	if (s == NULL)
		return GNN_OK;
	progress = gnn_progress_begin(name, "rows", s->rows);
	row_bytes = s->cols * gnn_dtype_bytes(s->dtype);
	at_once = gnn_min_u64(BLOCK_BYTES, b->topo.work_bytes / 4) / gnn_max_u64(row_bytes, 1);
	at_once = gnn_max_u64(1, gnn_min_u64(at_once, s->rows));
	GNN_TRY(gnn_mem_pages(&block, at_once * row_bytes, GNN_MEM_IO));
	GNN_TRY(gnn_array_writer_open(&w, b->container, name, 0));
	for (uint64_t row = 0; row < s->rows; row += at_once) {
		uint64_t n = gnn_min_u64(at_once, s->rows - row);

		GNN_TRY(s->read(s, n, block));
		if (classes != NULL)
			see_labels(s, block, n, classes);
		GNN_TRY(gnn_array_writer_push(w, block, n * row_bytes));
		gnn_progress_add(progress, n, n * row_bytes);
	}
	GNN_TRY(gnn_array_writer_close(&w));
out:
	gnn_progress_end(progress);
	gnn_array_writer_abort(w);
	gnn_mem_free(block);
	return rc;
}

static int write_splits(struct gnn_builder *b, const struct gnn_builder_parts *parts)
{
	struct gnn_array_writer *w = NULL;
	int rc = GNN_OK;

	for (int k = 0; k < 3; k++) {
		GNN_TRY(write_rows(b, gnn_builder_split_name[k], parts->split_source[k], NULL));
		if (parts->split[k] == NULL)
			continue;
		GNN_TRY(gnn_array_writer_open(&w, b->container, gnn_builder_split_name[k], 0));
		GNN_TRY(gnn_array_writer_push(w, parts->split[k],
			parts->split_count[k] * sizeof(uint64_t)));
		GNN_TRY(gnn_array_writer_close(&w));
	}
out:
	gnn_array_writer_abort(w);
	return rc;
}

/* Vertices that features or --vertices add have no id: UINT64_MAX. */
static int write_external_ids(struct gnn_builder *b)
{
	uint64_t none[IDS], left = b->topo.vertices, count;
	struct gnn_idset_reader *r = NULL;
	struct gnn_array_writer *w = NULL;
	const uint64_t *ids;
	int rc = GNN_OK;

	if (!b->topo.remap)
		return GNN_OK;
	GNN_TRY(gnn_array_writer_open(&w, b->container, GNN_STORE_EXTERNAL_ID, 0));
	GNN_TRY(gnn_idset_reader_open(&r, b->ids));
	while ((rc = gnn_idset_reader_next(r, &ids, &count)) == GNN_OK) {
		GNN_TRY(gnn_array_writer_push(w, ids, count * sizeof(*ids)));
		left -= count;
	}
	GNN_TRY(rc);
	memset(none, 0xff, sizeof(none)); /* UINT64_MAX */
	for (; left > 0; left -= count) {
		count = gnn_min_u64(left, IDS);
		GNN_TRY(gnn_array_writer_push(w, none, count * sizeof(*none)));
	}
	GNN_TRY(gnn_array_writer_close(&w));
out:
	gnn_idset_reader_close(r);
	gnn_array_writer_abort(w);
	return rc;
}

static int set_numbers(struct gnn_builder *b, const struct gnn_build_report *r, uint64_t classes,
	bool labelled)
{
	const struct gnn_attr numbers[] = {
		{.name = GNN_ATTR_MAX_IN_DEGREE, .number = r->max_in_degree},
		{.name = GNN_ATTR_MAX_OUT_DEGREE, .number = r->max_out_degree},
		{.name = GNN_ATTR_ISOLATED, .number = r->isolated},
		{.name = GNN_ATTR_SELF_LOOPS, .number = r->self_loops},
		{.name = GNN_ATTR_DUPLICATES, .number = b->topo.out.duplicates},
		{.name = GNN_ATTR_CLASSES, .number = classes},
	};
	int rc = GNN_OK;

	for (uint32_t i = 0; i < GNN_COUNT_OF(numbers) - !labelled; i++)
		GNN_TRY(gnn_container_set_number(b->container, numbers[i].name, numbers[i].number));
out:
	return rc;
}

/* --- all of it --- */

static int check_rows(const struct gnn_builder *b, const char *what,
	const struct gnn_rows_source *s)
{
	if (s == NULL || s->rows == b->topo.vertices)
		return GNN_OK;
	return gnn_err(GNN_EDATA, "%s: %" PRIu64 " rows for %" PRIu64 " vertices", what, s->rows,
		b->topo.vertices);
}

static void fill_report(const struct gnn_builder *b, struct gnn_build_report *r)
{
	uint64_t listed = gnn_topo_listed(&b->topo);

	GNN_ASSERT(b->topo.out.edges == b->topo.edges && b->topo.in.edges == b->topo.edges);
	*r = (struct gnn_build_report){
		.edges_read = b->topo.edges_added,
		.edges_stored = b->topo.edges,
		.self_loops = b->topo.out.self_loops,
		.loop_vertices = b->topo.out.loop_vertices,
		.duplicates = b->topo.out.duplicates + (listed - b->topo.edges),
		.isolated = b->topo.vertices - gnn_idset_count(b->ids),
		.vertices = b->topo.vertices,
		.max_in_degree = b->topo.in.max_degree,
		.max_out_degree = b->topo.out.max_degree,
		.run_count = gnn_extsort_batches(b->sort),
		.scratch_bytes = gnn_scratch_written_bytes(b->scratch),
	};
}

static int write_store(struct gnn_builder *b, const struct gnn_builder_parts *parts,
	struct gnn_build_report *report)
{
	const char *provenance = parts->provenance;
	uint64_t classes = 0;
	int rc;

	GNN_TRY(gnn_topo_count(&b->topo));
	GNN_TRY(create_container(b, parts));
	b->topo.container = b->container;
	GNN_TRY(gnn_topo_write(&b->topo));
	GNN_TRY(write_external_ids(b));
	GNN_TRY(write_rows(b, GNN_STORE_ORIGINAL_ID, parts->original_id, NULL));
	GNN_TRY(write_rows(b, GNN_STORE_EXTERNAL_ID, parts->external_id, NULL));
	GNN_TRY(write_rows(b, GNN_STORE_FEATURE_RANK, parts->feature_rank, NULL));
	GNN_TRY(write_rows(b, GNN_STORE_FEATURES, parts->features, NULL));
	GNN_TRY(write_rows(b, GNN_STORE_LABELS, parts->labels, &classes));
	GNN_TRY(write_splits(b, parts));
	fill_report(b, report);
	GNN_TRY(set_numbers(b, report, classes, parts->labels != NULL));
	if (parts->provenance_at_end != NULL)
		GNN_TRY(parts->provenance_at_end(parts->with, &provenance));
	if (provenance != NULL)
		GNN_TRY(gnn_container_set_provenance(b->container, provenance));
	GNN_TRY(gnn_container_commit(&b->container));
out:
	return rc;
}

int gnn_builder_finish(struct gnn_builder *b, const struct gnn_builder_parts *parts,
	struct gnn_build_report *report)
{
	int rc;

	GNN_ASSERT(b->sealed && b->container == NULL && parts->vertices_min <= b->topo.vertices);
	*report = (struct gnn_build_report){0};
	gnn_idset_end_lookups(b->ids);
	GNN_TRY(check_rows(b, "features", parts->features));
	GNN_TRY(check_rows(b, "labels", parts->labels));
	GNN_TRY(write_store(b, parts, report));
out:
	return rc;
}
