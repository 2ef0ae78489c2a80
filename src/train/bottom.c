/* train/bottom.c - see bottom.h. */
#include "train/bottom.h"

#include "base/log.h"
#include "base/mem.h"
#include "infer/identity.h"
#include "infer/infer.h"
#include "io/file.h"
#include "io/store_schema.h"
#include "io/stream.h"
#include "op/cpu/cpu.h"
#include "train/held.h"
#include "train/net.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096, PIECE_BYTES = 1 << 20 };

/* "g.h5" to "g.bottom-0123456789abcdef.h5". */
static int name_file(char path[PATH_BYTES], const struct gnn_store *s, const char *id)
{
	static const char ending[] = ".h5";
	const char *store = gnn_container_path(s->container);
	const size_t length = strlen(store), tail = sizeof(ending) - 1;
	const size_t stem = length > tail && strcmp(store + length - tail, ending) == 0
		? length - tail : length;

	if (snprintf(path, PATH_BYTES, "%.*s.bottom-%s%s", (int)stem, store, id, ending) >=
		PATH_BYTES)
		return gnn_err(GNN_ECREAT, "%.60s...: the name of the store is too long", store);
	return GNN_OK;
}

/* Whole results of something else are not overwritten: their name was given to them by hand. */
static int refuse_other(const struct gnn_bottom_opts *o, const char *path, const char *id)
{
	struct gnn_container *c = NULL;
	const char *found = NULL;
	int rc = GNN_OK;

	if (gnn_file_exists(path) && gnn_container_open(&c, &(struct gnn_container_opts){
		.path = path, .format = GNN_FORMAT_RESULT, .engine = GNN_DIO_AUTO}) == GNN_OK)
		found = gnn_container_text(c, GNN_ATTR_RUN);
	gnn_err_clear();
	if (found != NULL && strcmp(found, id) != 0)
		rc = gnn_err(GNN_ECONFIG, "%s holds aggregates of something else, found %.16s, "
			"wanted %s of %s and %s: remove it, or give it its own name back", path,
			found, id, gnn_container_path(o->store->container),
			gnn_arch_name(o->arch));
	gnn_container_close(c);
	return rc;
}

/* Runs the engine unless the file is there and is what its name says. */
static int make(struct gnn_bottom *b, const struct gnn_bottom_opts *of,
	struct gnn_infer_opts *o, char path[PATH_BYTES])
{
	struct gnn_infer_report *report = NULL;
	struct gnn_manifest *facts = NULL;
	char id[GNN_RUN_ID_BYTES];
	int rc;

	GNN_NEW(facts, GNN_MEM_MISC);
	GNN_NEW(report, GNN_MEM_MISC);
	GNN_TRY(gnn_identity_collect(facts, o));
	gnn_identity_id(facts, id);
	GNN_TRY(name_file(path, o->store, id));
	GNN_TRY(refuse_other(of, path, id));
	b->made = !gnn_identity_is_done(o, id);
	if (b->made)
		GNN_TRY(gnn_infer_run(o, report));
	b->made_s = report->wall_s;
	b->read_bytes = report->read_bytes;
out:
	gnn_mem_free(facts);
	gnn_mem_free(report);
	return rc;
}

static int open_file(struct gnn_bottom *b, const struct gnn_store *s, const char *path)
{
	int rc;

	GNN_TRY(gnn_container_open(&b->container, &(struct gnn_container_opts){.path = path,
		.format = GNN_FORMAT_RESULT,
		.engine = gnn_container_options(s->container)->engine}));
	b->array = gnn_container_find(b->container, GNN_RESULT_EMBEDDINGS);
	if (b->array == NULL || b->array->dtype != GNN_F32 || b->array->rows != s->vertices ||
		b->array->cols != s->features->cols)
		GNN_FAIL(GNN_EDATA, "%s: wanted %s of %llu rows of %llu floats: remove it, and "
			"it is made anew", path, GNN_RESULT_EMBEDDINGS,
			(unsigned long long)s->vertices, (unsigned long long)s->features->cols);
out:
	return rc;
}

int gnn_bottom_open(struct gnn_bottom **out, const struct gnn_bottom_opts *o)
{
	const struct gnn_option_fact fact = {"--bottom", gnn_arch_name(o->arch)};
	char path[PATH_BYTES];
	struct gnn_infer_opts infer = {.store = o->store, .backend = o->backend, .out_path = path,
		.fact = &fact, .fact_count = 1, .resume = true, .scratch = o->scratch, .raw = true,
		.chunk_bytes = 8 << 20, .queue_depth = 4, .threads = o->threads,
		.verify_reads = true,
		.engine = gnn_container_options(o->store->container)->engine};
	struct gnn_bottom *b = NULL;
	int rc;

	*out = NULL;
	if (o->arch == GNN_ARCH_GAT)
		GNN_FAIL(GNN_ECONFIG, "--bottom precomputed: what a gat layer aggregates depends "
			"on its attention weights, which change with every step; gcn, sage and "
			"gin have aggregates that stay");
	GNN_NEW(b, GNN_MEM_MISC);
	b->parts = gnn_net_parts(o->arch);
	GNN_TRY(gnn_model_bare(&infer.model, o->arch, (uint32_t)o->store->features->cols));
	GNN_TRY(make(b, o, &infer, path));
	GNN_TRY(open_file(b, o->store, path));
	if (b->made)
		gnn_log(GNN_LOG_INFO, "train", "%s: aggregates of %llu vertices made in %.2f s, "
			"%.1f MiB read, %.1f MiB written", path,
			(unsigned long long)o->store->vertices, b->made_s,
			(double)b->read_bytes / 0x1p20, (double)b->array->bytes / 0x1p20);
	else
		gnn_log(GNN_LOG_INFO, "train", "%s: aggregates that were made before", path);
	*out = b;
	b = NULL;
out:
	gnn_model_destroy(infer.model);
	gnn_bottom_close(b);
	return rc;
}

uint64_t gnn_bottom_table_bytes(const struct gnn_bottom *b)
{
	return b->parts * b->array->bytes;
}

/* Features as floats, verified, piece by piece: this rank's part of them. */
static int load_features(const struct gnn_window *w, float *to, const struct gnn_store *s)
{
	const struct gnn_array *a = s->features;
	const uint64_t item = gnn_dtype_bytes(a->dtype);
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	uint64_t first, end;
	int rc;

	gnn_window_part(w, a->bytes, GNN_BLOCK_BYTES, &first, &end);
	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){.container = s->container,
		.array = a, .first_byte = first, .bytes = end - first,
		.piece_bytes = PIECE_BYTES, .ahead = 4, .lent = 1, .verify = true}));
	while ((rc = gnn_stream_next(stream, &piece)) == GNN_OK) {
		const uint64_t count = piece->bytes / item;

		gnn_cpu_widen(to + piece->first_byte / item, count, piece->data, a->dtype, count,
			count, 1);
		gnn_stream_put(stream, piece);
	}
	rc = rc == GNN_EOF ? GNN_OK : rc;
out:
	gnn_stream_close(stream);
	return rc;
}

static int fill(struct gnn_bottom *b, const struct gnn_store *s)
{
	const uint64_t floats = b->array->rows * b->array->cols;
	int rc = gnn_held_fill(b->window, b->table, b->container, b->array);

	if (rc == GNN_EDATA)
		gnn_err_place(rc, "damaged aggregates: remove the file, and it is made anew");
	GNN_TRY(rc);
	if (b->parts > 1)
		GNN_TRY(load_features(b->window, b->table + floats, s));
out:
	return rc;
}

int gnn_bottom_load(struct gnn_bottom *b, const struct gnn_store *s, struct gnn_comm *comm)
{
	int rc;

	GNN_TRY(gnn_window_open(&b->window, comm, gnn_bottom_table_bytes(b), GNN_MEM_STATE));
	b->table = gnn_window_data(b->window);
	GNN_TRY(gnn_comm_agree(comm, fill(b, s)));
out:
	return rc;
}

void gnn_bottom_close(struct gnn_bottom *b)
{
	if (b == NULL)
		return;
	gnn_window_close(b->window);
	gnn_container_close(b->container);
	gnn_mem_free(b);
}
