/* infer/gather.c - see gather.h. */
#include "infer/gather.h"

#include "base/clock.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/progress.h"
#include "infer/hood.h"
#include "infer/layer_run.h"
#include "infer/model_store.h"
#include "io/folder.h"
#include "io/store_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* Rows of every vertex in a mapped file. */
struct table {
	struct gnn_container *container; /* of a layer; NULL: the store's features */
	const char    *base;
	enum gnn_dtype dtype;
	uint32_t       width;
	uint64_t       row_bytes, offset;
};

/* A row to fetch, and where it goes. */
struct fetch {
	gnn_vid  id;
	uint32_t at;
};

struct gather {
	const struct gnn_gather_opts *o;
	struct gnn_gather_report     *report; /* of the gathering at hand */
	struct gnn_degrees           *degrees;
	struct gnn_hood_maker        maker;
	struct gnn_hood              block[GNN_LAYERS_MAX]; /* of the levels, the deepest last */
	struct table                  from;
	struct fetch *fetch;    /* of the deepest block */
	uint64_t      fetch_room;
	char         *rows;
	uint64_t      row_room; /* bytes */
	uint64_t     *seen;     /* a bit a vertex */
	double       *density;  /* a batch each */
	struct gnn_progress *progress;
};

/* --- tables between layers --- */

static int open_features(struct table *t, const struct gnn_store *s)
{
	const char *base;
	uint64_t bytes;
	int rc;

	GNN_TRY(gnn_container_map(s->container, &base, &bytes));
	*t = (struct table){.base = base + s->features->offset, .dtype = s->features->dtype,
		.width = (uint32_t)s->features->cols, .offset = s->features->offset};
	t->row_bytes = t->width * gnn_dtype_bytes(t->dtype);
out:
	return rc;
}

static int open_layer(struct table *t, const char *path)
{
	struct gnn_container *c = NULL;
	const struct gnn_array *a;
	const char *base;
	uint64_t bytes;
	int rc;

	GNN_TRY(gnn_container_open(&c, &(struct gnn_container_opts){.path = path,
		.format = GNN_FORMAT_RESULT}));
	a = gnn_container_find(c, GNN_RESULT_EMBEDDINGS);
	GNN_ASSERT(a != NULL);
	GNN_TRY(gnn_container_map(c, &base, &bytes));
	*t = (struct table){.container = c, .base = base + a->offset, .dtype = a->dtype,
		.width = (uint32_t)a->cols, .row_bytes = a->cols * sizeof(float),
		.offset = a->offset};
	c = NULL;
out:
	gnn_container_close(c);
	return rc;
}

static int create_layer(struct gnn_container **out, struct gnn_array_writer **writer,
	const struct gather *g, const char *path, uint64_t width)
{
	const struct gnn_store *s = g->o->store;
	struct gnn_array a = {.name = GNN_RESULT_EMBEDDINGS, .dtype = GNN_F32, .rank = 2,
		.rows = s->vertices, .cols = width};
	struct gnn_attr attr[] = {{.name = GNN_ATTR_VERTICES, .number = s->vertices},
		{.name = GNN_ATTR_EDGES, .number = s->edges}};
	int rc;

	GNN_TRY(gnn_container_create(out, &(struct gnn_container_opts){.path = path,
		.format = GNN_FORMAT_RESULT}, &a, 1, attr, GNN_COUNT_OF(attr)));
	if (g->o->provenance != NULL)
		GNN_TRY(gnn_container_set_provenance(*out, g->o->provenance));
	GNN_TRY(gnn_array_writer_open(writer, *out, GNN_RESULT_EMBEDDINGS, 0));
out:
	return rc;
}

/* --- gathering --- */

static int by_id(const void *a, const void *b)
{
	gnn_vid x = ((const struct fetch *)a)->id, y = ((const struct fetch *)b)->id;

	return (x > y) - (x < y);
}

static int make_room(struct gather *g, uint64_t count)
{
	void *block;
	int rc = GNN_OK;

	if (count * g->from.row_bytes > g->row_room) {
		gnn_mem_free(g->rows);
		g->rows = NULL;
		g->row_room = 0;
		GNN_TRY(gnn_mem_pages(&block, count * g->from.row_bytes, GNN_MEM_IO));
		g->rows = block;
		g->row_room = count * g->from.row_bytes;
	}
	if (count > g->fetch_room) {
		gnn_mem_free(g->fetch);
		g->fetch = NULL;
		g->fetch_room = 0;
		GNN_NEW_ARRAY(g->fetch, count, GNN_MEM_IO);
		g->fetch_room = count;
	}
out:
	return rc;
}

/* What the fetches, in ascending order, say of themselves. */
static void count_fetches(struct gather *g, uint64_t count, uint64_t batch)
{
	struct gnn_gather_report *report = g->report;
	uint64_t past = 0; /* the first block that no row has touched yet */

	for (uint64_t i = 0; i < count; i++) {
		gnn_vid v = g->fetch[i].id;
		uint64_t at = g->from.offset + v * g->from.row_bytes;
		uint64_t first = gnn_max_u64(at / GNN_PAGE_BYTES, past);

		past = (at + g->from.row_bytes - 1) / GNN_PAGE_BYTES + 1;
		report->requested_block_bytes += (past - gnn_min_u64(first, past)) * GNN_PAGE_BYTES;
		report->unique += ((g->seen[v >> 6] >> (v & 63)) & 1) == 0;
		g->seen[v >> 6] |= UINT64_C(1) << (v & 63);
	}
	report->fetches += count;
	report->requested_bytes += count * g->from.row_bytes;
	if (count > 0)
		g->density[batch] = (double)count /
			(double)(g->fetch[count - 1].id - g->fetch[0].id + 1);
}

static int gather_rows(struct gather *g, const struct gnn_hood *b, uint64_t batch)
{
	uint64_t bytes = g->from.row_bytes, start;
	int rc;

	GNN_TRY(make_room(g, b->count));
	for (uint64_t i = 0; i < b->count; i++)
		g->fetch[i] = (struct fetch){b->id[i], (uint32_t)i};
	qsort(g->fetch, b->count, sizeof(*g->fetch), by_id);
	count_fetches(g, b->count, batch);
	start = gnn_clock_ns();
#pragma omp parallel for schedule(dynamic, 256)
	for (uint64_t i = 0; i < b->count; i++)
		memcpy(g->rows + g->fetch[i].at * bytes,
			g->from.base + g->fetch[i].id * bytes, bytes);
	g->report->gather_s += gnn_clock_s_since(start);
out:
	return rc;
}

/* --- computing --- */

static int pass_over(struct gnn_layer_run *run, const struct gnn_hood *b,
	const struct gnn_rows *rows, enum gnn_pass_kind kind)
{
	bool combines = kind == GNN_PASS_COMBINE;
	struct gnn_pass pass = {.kind = kind, .transform = true, .rows = *rows,
		.to = {.count = combines ? b->dst_count : b->count},
		.keeps_own = combines && run->o.conv->keep.dim_out > 0};
	struct gnn_work w = {.program = b->program, .rows = b->count, .row_data = rows->memory,
		.first = true, .last = true};
	int rc;

	if (combines)
		GNN_TRY(gnn_layer_run_begin(run, &pass.to));
	GNN_TRY(gnn_layer_run_take(run, &pass, &w));
	GNN_TRY(gnn_layer_run_absorb(run, &pass, &w));
out:
	return rc;
}

/* Rows of the block's destinations, (dst_count, dim_out). */
static int compute(struct gather *g, uint32_t l, const struct gnn_hood *b,
	const struct gnn_rows *rows, float *to)
{
	const struct gnn_conv *c = gnn_model_conv(g->o->model, l);
	uint64_t panel = g->o->backend->ops->panel_rows;
	uint64_t padded = gnn_align_up(b->count, panel);
	struct gnn_layer_run run = {0};
	int rc;

	GNN_TRY(gnn_layer_run_init(&run, &(struct gnn_layer_run_opts){.backend = g->o->backend,
		.conv = c, .degrees = b->degrees, .chunk_rows = padded,
		.state_rows = gnn_align_up(b->dst_count, panel),
		.carry_rows = c->combine == GNN_COMBINE_MAX ? 0 : b->degrees->hub_count,
		.rows_max = padded, .targets = c->combine == GNN_COMBINE_PAIR_SOFTMAX}));
	if (c->combine == GNN_COMBINE_PAIR_SOFTMAX)
		GNN_TRY(pass_over(&run, b, rows, GNN_PASS_ROWS));
	if (gnn_combine_is_softmax(c->combine))
		GNN_TRY(pass_over(&run, b, rows, GNN_PASS_SCORES));
	GNN_TRY(pass_over(&run, b, rows, GNN_PASS_COMBINE));
	GNN_TRY(gnn_layer_run_finish(&run, 0, b->dst_count, to));
out:
	gnn_layer_run_fini(&run);
	return rc;
}

/* Blocks of layers [first, first + levels) for the batch, then their rows, level by level. */
static int run_batch(struct gather *g, uint32_t first, uint32_t levels, const gnn_vid *dst,
	uint64_t dst_count, uint64_t batch, float **out)
{
	struct gnn_rows rows = {.kind = GNN_ROWS_MEMORY, .dtype = g->from.dtype,
		.width = g->from.width};
	float *below = NULL, *to = NULL;
	uint64_t start;
	void *block;
	int rc = GNN_OK;

	for (uint32_t k = levels; k-- > 0;) {
		struct gnn_hood *b = &g->block[k];

		GNN_TRY(gnn_hood_make(b, &g->maker, gnn_model_conv(g->o->model, first + k), dst,
			dst_count));
		dst = b->id;
		dst_count = b->count;
	}
	GNN_TRY(gather_rows(g, &g->block[0], batch));
	rows.memory = (const float *)g->rows;
	start = gnn_clock_ns();
	for (uint32_t k = 0; k < levels; k++) {
		const struct gnn_hood *b = &g->block[k];
		uint32_t width = gnn_model_conv(g->o->model, first + k)->dim_out;

		GNN_TRY(gnn_mem_pages(&block, gnn_max_u64(b->dst_count, 1) * width * sizeof(float),
			GNN_MEM_STATE));
		to = block;
		rows.count = b->count;
		GNN_TRY(compute(g, first + k, b, &rows, to));
		gnn_mem_free(below);
		below = to;
		to = NULL;
		rows = (struct gnn_rows){.kind = GNN_ROWS_MEMORY, .dtype = GNN_F32,
			.width = width, .memory = below};
	}
	g->report->compute_s += gnn_clock_s_since(start);
	*out = below;
	below = NULL;
out:
	gnn_mem_free(below);
	gnn_mem_free(to);
	return rc;
}

/* Destinations of batch k: consecutive vertices, the last batch shorter. */
static int one_batch(struct gather *g, uint32_t first, uint32_t levels, uint64_t k, uint64_t slot,
	struct gnn_array_writer *writer)
{
	uint64_t from = k * g->o->batch, width;
	uint64_t count = gnn_min_u64(g->o->batch, g->o->store->vertices - from);
	gnn_vid *dst = NULL;
	float *h = NULL;
	int rc;

	GNN_NEW_ARRAY(dst, count, GNN_MEM_TOPOLOGY);
	for (uint64_t i = 0; i < count; i++)
		dst[i] = from + i;
	GNN_TRY(run_batch(g, first, levels, dst, count, slot, &h));
	width = gnn_model_conv(g->o->model, first + levels - 1)->dim_out;
	if (writer != NULL)
		GNN_TRY(gnn_array_writer_push(writer, h, count * width * sizeof(float)));
	gnn_progress_add(g->progress, count, 0);
out:
	gnn_mem_free(dst);
	gnn_mem_free(h);
	return rc;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int run_batches(struct gather *g, uint32_t first, uint32_t levels,
	struct gnn_array_writer *writer)
{
	struct gnn_gather_report *report = g->report;
	uint64_t all = gnn_ceil_div(g->o->store->vertices, g->o->batch);
	uint64_t wanted = g->o->batches > 0 ? gnn_min_u64(g->o->batches, all) : all;
	uint64_t start = gnn_clock_ns(), loaded = gnn_machine_disk_read();
	int rc;

	*report = (struct gnn_gather_report){.batches = wanted, .batches_of = all,
		.row_bytes = g->from.row_bytes};
	GNN_NEW_ARRAY(g->seen, g->o->store->vertices / 64 + 1, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(g->density, wanted, GNN_MEM_MISC);
	for (uint64_t i = 0; i < wanted; i++)
		GNN_TRY(one_batch(g, first, levels, i * all / wanted, i, writer));
	report->wall_s = gnn_clock_s_since(start);
	report->loaded_bytes = gnn_machine_disk_read() - loaded;
	qsort(g->density, wanted, sizeof(*g->density), by_value);
	for (uint64_t k = 0; k < 3 && wanted > 0; k++)
		report->density[k] = g->density[(wanted - 1) * k / 2];
out:
	gnn_mem_free(g->seen);
	gnn_mem_free(g->density);
	g->seen = NULL;
	g->density = NULL;
	return rc;
}

/* --- the two kinds --- */

static int run_layers(struct gather *g, uint32_t first, uint32_t levels, const char *path)
{
	uint32_t last = first + levels - 1;
	struct gnn_array_writer *writer = NULL;
	struct gnn_container *c = NULL;
	char what[32];
	int rc;

	if (path != NULL)
		GNN_TRY(create_layer(&c, &writer, g, path,
			gnn_model_conv(g->o->model, last)->dim_out));
	snprintf(what, sizeof(what), "gather %u", last + 1);
	g->progress = gnn_progress_begin(what, "rows", g->o->store->vertices);
	rc = run_batches(g, first, levels, writer);
	gnn_progress_end(g->progress);
	if (rc == GNN_OK && writer != NULL)
		rc = gnn_array_writer_close(&writer);
	if (rc == GNN_OK && c != NULL)
		rc = gnn_container_commit(&c);
out:
	gnn_array_writer_abort(writer);
	gnn_container_close(c);
	return rc;
}

static void close_table(struct table *t)
{
	gnn_container_close(t->container);
	*t = (struct table){0};
}

/* Every layer over all vertices; its rows are a file in scratch that the next one maps. */
static int run_layer_wise(struct gather *g, uint32_t *count)
{
	uint32_t layers = g->o->batches > 0 ? 1 : gnn_model_layers(g->o->model);
	struct gnn_folder *folder = NULL;
	char path[PATH_BYTES];
	int n, rc = GNN_OK;

	if (layers > 1)
		GNN_TRY(gnn_folder_open(&folder, g->o->scratch));
	*count = layers;
	for (uint32_t l = 0; l + 1 < layers; l++, g->report++) {
		n = snprintf(path, sizeof(path), "%s/layer%u.h5", g->o->scratch, l + 1);
		if (n < 0 || (size_t)n >= sizeof(path))
			GNN_FAIL(GNN_ECREAT, "the name of the scratch folder is too long");
		GNN_TRY(run_layers(g, l, 1, path));
		close_table(&g->from);
		GNN_TRY(open_layer(&g->from, path));
	}
	GNN_TRY(run_layers(g, layers - 1, 1, g->o->out_path));
out:
	close_table(&g->from);
	gnn_folder_remove(folder);
	return rc;
}

/* What is taken over all vertices between two layers does not come from a batch. */
static int check_model(const struct gnn_model *m)
{
	bool whole = gnn_model_jump(m) != NULL;

	for (uint32_t l = 0; l < gnn_model_layers(m); l++)
		whole |= gnn_model_conv(m, l)->after.count > 0;
	if (whole)
		return gnn_err(GNN_ECONFIG, "the baseline gathers layer by layer, without jumping "
			"knowledge and without norms over the whole graph");
	return GNN_OK;
}

int gnn_gather_run(const struct gnn_gather_opts *o, struct gnn_gather_report *report,
	uint32_t *count)
{
	struct gather g = {.o = o, .report = report};
	int rc;

	GNN_ASSERT(o->backend->ops->unified && o->batch > 0);
	GNN_TRY(check_model(o->model));
	*count = 1;
	GNN_TRY(gnn_model_degrees(&g.degrees, o->model, o->store, o->backend, o->verify_reads));
	GNN_TRY(gnn_hood_maker_init(&g.maker, o->store, g.degrees, o->backend));
	GNN_TRY(open_features(&g.from, o->store));
	if (o->kind == GNN_GATHER_LAYER_WISE)
		GNN_TRY(run_layer_wise(&g, count));
	else
		GNN_TRY(run_layers(&g, 0, gnn_model_layers(o->model), o->out_path));
out:
	for (uint32_t k = 0; k < GNN_LAYERS_MAX; k++)
		gnn_hood_fini(&g.block[k]);
	gnn_hood_maker_fini(&g.maker);
	gnn_degrees_free(g.degrees);
	gnn_mem_free(g.fetch);
	gnn_mem_free(g.rows);
	return rc;
}
