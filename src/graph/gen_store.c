/* graph/gen_store.c - see gen_store.h. */
#include "graph/gen_store.h"

#include "base/mem.h"
#include "base/progress.h"

enum {
	BATCH_EDGES = 1 << 20,
	BATCH_EDGES_MIN = 16 << 10,
	EDGE_BYTES = 2 * sizeof(gnn_vid),
	MEMORY_SHARE = 8, /* a batch is this part of the memory at most */
};

static uint64_t batch_edges(uint64_t memory_bytes)
{
	return gnn_max_u64(BATCH_EDGES_MIN,
		gnn_min_u64(BATCH_EDGES, memory_bytes / MEMORY_SHARE / EDGE_BYTES));
}

/* A matrix of the store, drawn row after row as the builder asks for it. */
struct drawn {
	struct gnn_rows_source source; /* first: the builder hands it back */
	const struct gnn_gen *gen;
	gnn_vid next;
	uint32_t split;
};

static int read_features(struct gnn_rows_source *s, uint64_t rows, void *to)
{
	struct drawn *d = (struct drawn *)s;

	gnn_gen_features(d->gen, d->next, rows, to);
	d->next += rows;
	return GNN_OK;
}

static int read_labels(struct gnn_rows_source *s, uint64_t rows, void *to)
{
	struct drawn *d = (struct drawn *)s;
	int64_t *label = to;

	for (uint64_t i = 0; i < rows; i++)
		label[i] = (int64_t)gnn_gen_label(d->gen, d->next++);
	return GNN_OK;
}

/* The next ids, ascending, that fall into the split. */
static int read_split(struct gnn_rows_source *s, uint64_t rows, void *to)
{
	struct drawn *d = (struct drawn *)s;
	uint64_t *id = to;

	for (uint64_t i = 0; i < rows; d->next++)
		if (gnn_gen_split(d->gen, d->next) == d->split)
			id[i++] = d->next;
	return GNN_OK;
}

static struct drawn drawn_rows(const struct gnn_gen *g, uint64_t rows, uint64_t cols,
	enum gnn_dtype dtype, int (*read)(struct gnn_rows_source *, uint64_t, void *))
{
	return (struct drawn){
		.source = {.rows = rows, .cols = cols, .dtype = dtype, .read = read},
		.gen = g,
	};
}

static int add_edges(struct gnn_builder *b, const struct gnn_gen *g, uint64_t batch)
{
	struct gnn_progress *progress = gnn_progress_begin("edges", "edges", g->o.edges);
	gnn_vid *src = NULL, *dst = NULL;
	int rc = GNN_OK;

	GNN_NEW_ARRAY(src, batch, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(dst, batch, GNN_MEM_TOPOLOGY);
	for (gnn_eid first = 0; first < g->o.edges; first += batch) {
		struct gnn_edges e = {.src = src, .dst = dst,
			.count = gnn_min_u64(batch, g->o.edges - first)};

		gnn_gen_edges(g, first, e.count, src, dst);
		GNN_TRY(gnn_builder_add(b, &e));
		gnn_progress_add(progress, e.count, 0);
	}
out:
	gnn_progress_end(progress);
	gnn_mem_free(src);
	gnn_mem_free(dst);
	return rc;
}

static int finish(struct gnn_builder *b, const struct gnn_gen *g, const char *provenance,
	struct gnn_build_report *report)
{
	uint64_t v = g->o.vertices;
	struct drawn features = drawn_rows(g, v, g->o.feat_dim, g->o.dtype, read_features);
	struct drawn labels = drawn_rows(g, v, 1, GNN_I64, read_labels);
	struct gnn_builder_parts parts = {.vertices_min = v, .provenance = provenance};
	struct drawn split[3];

	if (g->o.feat_dim > 0)
		parts.features = &features.source;
	for (uint32_t k = 0; g->o.classes > 0 && k < GNN_COUNT_OF(split); k++) {
		parts.labels = &labels.source;
		split[k] = drawn_rows(g, g->split_count[k], 1, GNN_U64, read_split);
		split[k].split = k;
		parts.split_source[k] = &split[k].source;
	}
	return gnn_builder_finish(b, &parts, report);
}

int gnn_gen_store(const struct gnn_gen *g, const struct gnn_builder_opts *o,
	const char *provenance, struct gnn_build_report *report)
{
	const uint64_t batch = gnn_min_u64(g->o.edges, batch_edges(o->memory_bytes));
	struct gnn_builder_opts less = *o;
	struct gnn_builder *b = NULL;
	uint64_t vertices;
	int rc;

	less.memory_bytes -= gnn_min_u64(batch * EDGE_BYTES, less.memory_bytes);
	GNN_TRY(gnn_builder_create(&b, &less));
	GNN_TRY(add_edges(b, g, batch));
	GNN_TRY(gnn_builder_seal(b, g->o.vertices, &vertices));
	GNN_ASSERT(vertices == g->o.vertices);
	GNN_TRY(finish(b, g, provenance, report));
out:
	gnn_builder_destroy(b);
	return rc;
}
