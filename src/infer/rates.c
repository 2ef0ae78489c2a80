/* infer/rates.c - see rates.h. */
#include "infer/rates.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "infer/share.h"
#include "io/rowfile.h"

#include <math.h>
#include <stdio.h>

#define PROBE_FASTEST 8e9 /* bytes a second that a disk may take while room for it is reserved */

enum {
	PIECE_BYTES = 2 << 20,
	PROBE_BYTES = 256 << 20, /* read or written at most */
	PROBE_FIRST_BYTES = 2 * GNN_EXTENT_SLOTS * GNN_EXTENT_SLOT_BYTES, /* however little time */
	PROBE_GROUPS = 1 << 10,
	PROBE_DEGREE = 16,
	CONTROL_ROWS = 1 << 14, /* of a work item, which does not fit the caches */
	PATH_BYTES = 4096,
};

/* --- the disk --- */

static int probe_read(double *rate, const struct gnn_infer_opts *o, uint64_t piece_bytes,
	double seconds)
{
	const struct gnn_array *a = o->store->features;
	uint64_t bytes = gnn_min_u64(a->bytes, PROBE_BYTES), start = 0, done = 0;
	uint64_t item = gnn_dtype_bytes(a->dtype);
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	uint64_t begin, last = 0;
	int rc;

	GNN_TRY(gnn_stream_open(&stream, &(struct gnn_stream_opts){
		.container = o->store->features_in, .array = a, .bytes = bytes / item * item,
		.piece_bytes = piece_bytes, .ahead = 4, .lent = 1}));
	begin = gnn_clock_ns();
	while ((start == 0 || gnn_clock_s_since(start) < seconds) &&
		(rc = gnn_stream_next(stream, &piece)) == GNN_OK) {
		if (start == 0) /* what the first piece waits for is no rate */
			start = gnn_clock_ns();
		else
			done += piece->bytes;
		last = piece->bytes;
		gnn_stream_put(stream, piece);
	}
	if (done == 0) {
		done = last;
		start = begin;
	}
	*rate = (double)gnn_max_u64(done, 1) / (gnn_clock_s_since(start) + 1e-6);
out:
	gnn_stream_close(stream);
	return rc < 0 ? rc : GNN_OK;
}

/* GNN_SKIPPED: there is no room to try it in. The disk may still have room for the result. */
static int probe_write(double *rate, const struct gnn_infer_opts *o, double seconds)
{
	uint64_t most = gnn_min_u64(PROBE_BYTES, gnn_align_up(PROBE_FIRST_BYTES +
		(uint64_t)(seconds * PROBE_FASTEST), GNN_EXTENT_SLOT_BYTES));
	struct gnn_rowfile *f = NULL;
	char path[PATH_BYTES];
	uint64_t start, bytes = 0, unsettled = 0;
	void *block = NULL;
	int rc;

	snprintf(path, sizeof(path), "%s.gnnrun-probe%u", o->out_path,
		o->share != NULL ? o->share->rank : 0);
	GNN_TRY(gnn_mem_pages(&block, GNN_EXTENT_SLOT_BYTES, GNN_MEM_IO));
	rc = gnn_rowfile_create(&f, &(struct gnn_rowfile_opts){.path = path, .name = "probe",
		.engine = o->engine, .rows = most / GNN_PAGE_BYTES,
		.row_bytes = GNN_PAGE_BYTES, .slot_bytes = GNN_EXTENT_SLOT_BYTES});
	if (rc == GNN_EIO) {
		gnn_log(GNN_LOG_DEBUG, "plan", "writing is taken to be as fast as reading: %s",
			gnn_err_text());
		gnn_err_clear();
		rc = GNN_SKIPPED;
	}
	if (rc != GNN_OK)
		goto out;
	start = gnn_clock_ns();
	while ((bytes == unsettled || gnn_clock_s_since(start) < seconds) && bytes < most) {
		GNN_TRY(gnn_rowfile_push(f, block, GNN_EXTENT_SLOT_BYTES / GNN_PAGE_BYTES));
		bytes += GNN_EXTENT_SLOT_BYTES;
		if (bytes == GNN_EXTENT_SLOTS * GNN_EXTENT_SLOT_BYTES) {
			/* All slots are on their way. */
			unsettled = bytes;
			start = gnn_clock_ns();
		}
	}
	*rate = (double)(bytes - unsettled) / (gnn_clock_s_since(start) + 1e-9);
out:
	gnn_rowfile_remove(f);
	gnn_mem_free(block);
	return rc;
}

int gnn_rates_disk(struct gnn_rates *r, const struct gnn_infer_opts *o, double seconds)
{
	static struct gnn_rates known; /* of this process */
	int rc = GNN_OK;

	if (known.read_bytes_s > 0.0)
		goto out;
	GNN_TRY(probe_read(&known.read_bytes_s, o, PIECE_BYTES, seconds));
	GNN_TRY(probe_read(&known.page_bytes_s, o, GNN_PAGE_BYTES, seconds / 4.0));
	known.write_bytes_s = known.read_bytes_s;
	if (o->out_path != NULL)
		GNN_TRY(probe_write(&known.write_bytes_s, o, seconds));
out:
	*r = known;
	return rc < 0 ? rc : GNN_OK;
}

/* --- the backend --- */

/* Buffers of a probe, in backend memory. */
struct probe {
	struct gnn_backend *backend;
	float    *from, *to, *vec, *state;
	uint64_t *vertex, *first;
	uint32_t *src;
	struct gnn_move *moves; /* (PROBE_GROUPS) */
	float    *host;         /* (PROBE_GROUPS, width) in host memory */
	uint64_t  rows, chunk_rows, state_rows;
};

static int alloc(struct gnn_backend *b, void *out, uint64_t bytes, bool fill)
{
	void *block;
	int rc;

	GNN_TRY(b->ops->alloc(b, &block, bytes));
	*(void **)out = block;
	if (fill)
		GNN_TRY(b->ops->fill(b, block, 0.5f, bytes / sizeof(float)));
out:
	return rc;
}

static int put(struct gnn_backend *b, void *to, const void *from, uint64_t bytes)
{
	int rc;

	GNN_TRY(b->ops->copy(b, to, bytes, from, bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

static int make_batch(struct probe *p)
{
	uint64_t vertex[PROBE_GROUPS], first[PROBE_GROUPS + 1];
	uint64_t entries = PROBE_GROUPS * PROBE_DEGREE;
	uint32_t *src = NULL;
	int rc;

	GNN_NEW_ARRAY(src, entries, GNN_MEM_MISC);
	for (uint64_t g = 0; g <= PROBE_GROUPS; g++)
		first[g] = g * PROBE_DEGREE;
	for (uint64_t g = 0; g < PROBE_GROUPS; g++)
		vertex[g] = gnn_rng_u64(1, 2, g) % p->state_rows;
	for (uint64_t e = 0; e < entries; e++)
		src[e] = (uint32_t)(gnn_rng_u64(1, 3, e) % p->chunk_rows);
	GNN_TRY(alloc(p->backend, &p->vertex, sizeof(vertex), false));
	GNN_TRY(alloc(p->backend, &p->first, sizeof(first), false));
	GNN_TRY(alloc(p->backend, &p->src, entries * sizeof(*src), false));
	GNN_TRY(put(p->backend, p->vertex, vertex, sizeof(vertex)));
	GNN_TRY(put(p->backend, p->first, first, sizeof(first)));
	GNN_TRY(put(p->backend, p->src, src, entries * sizeof(*src)));
out:
	gnn_mem_free(src);
	return rc;
}

/* Rows of the states, at random, side by side. */
static int make_moves(struct probe *p, uint32_t width)
{
	struct gnn_move m[PROBE_GROUPS];
	void *block;
	int rc;

	for (uint32_t i = 0; i < PROBE_GROUPS; i++)
		m[i] = (struct gnn_move){.to = (uint32_t)(i % p->chunk_rows),
			.from = (uint32_t)(gnn_rng_u64(1, 2, i) % p->state_rows)};
	GNN_TRY(alloc(p->backend, &p->moves, sizeof(m), false));
	GNN_TRY(put(p->backend, p->moves, m, sizeof(m)));
	if (p->backend->ops->unified)
		return GNN_OK;
	GNN_TRY(p->backend->ops->alloc_host(p->backend, &block, PROBE_GROUPS * width *
		sizeof(float)));
	p->host = block;
out:
	return rc;
}

static int open_probe(struct probe *p, const struct gnn_conv *c, uint64_t memory_bytes,
	uint64_t chunk_rows)
{
	struct gnn_backend *b = p->backend;
	uint64_t state_bytes = gnn_min_u64(memory_bytes / 4, 16 << 20);
	uint64_t widest = gnn_max_u64(gnn_rowprog_width(&c->message),
		gnn_rowprog_width(&c->finish));
	int rc;

	p->rows = b->ops->panel_rows;
	p->state_rows = gnn_max_u64(state_bytes / (c->width * sizeof(float)), 1);
	p->chunk_rows = gnn_max_u64(gnn_min_u64(chunk_rows, state_bytes / (c->width *
		sizeof(float))), 1);
	GNN_TRY(alloc(b, &p->from, gnn_max_u64(p->rows * widest, p->chunk_rows * c->width) *
		sizeof(float), true));
	GNN_TRY(alloc(b, &p->to, p->rows * widest * sizeof(float), true));
	GNN_TRY(alloc(b, &p->vec, p->rows * sizeof(float), true));
	GNN_TRY(alloc(b, &p->state, p->state_rows * c->width * sizeof(float), true));
	GNN_TRY(make_batch(p));
	GNN_TRY(make_moves(p, c->width));
out:
	return rc;
}

static void close_probe(struct probe *p)
{
	void *block[] = {p->from, p->to, p->vec, p->state, p->vertex, p->first, p->src, p->moves};

	for (uint32_t i = 0; i < GNN_COUNT_OF(block); i++)
		p->backend->ops->free(p->backend, block[i]);
	p->backend->ops->free_host(p->backend, p->host);
}

static int run_program(const struct probe *p, const struct gnn_rowprog *prog)
{
	return p->backend->ops->rows(p->backend, &(struct gnn_rows_args){.prog = prog,
		.from = p->from, .from_dtype = GNN_F32, .from_pitch = prog->dim_in, .to = p->to,
		.to_pitch = prog->dim_out, .rows = p->rows, .vec = {p->vec, p->vec}});
}

static int run_sum(const struct probe *p, const struct gnn_conv *c)
{
	return p->backend->ops->aggregate(p->backend, &(struct gnn_aggregate_args){
		.combine = GNN_COMBINE_SUM, .width = c->width, .message = p->from,
		.message_pitch = c->width, .own = p->from, .own_pitch = c->width,
		.own_factor = 1.0f, .state = p->state, .state_pitch = c->width,
		.batch = {.group_count = PROBE_GROUPS, .vertex = p->vertex, .slot = p->vertex,
			.entry_count = PROBE_GROUPS * PROBE_DEGREE, .first = p->first,
			.src = p->src}});
}

/* And on to the host, where the backend has a memory of its own. */
static int run_move(const struct probe *p, const struct gnn_conv *c)
{
	struct gnn_backend *b = p->backend;
	uint64_t rows = gnn_min_u64(PROBE_GROUPS, p->chunk_rows), row = c->width * sizeof(float);
	int rc;

	GNN_TRY(b->ops->move(b, &(struct gnn_move_args){.from = p->state, .from_pitch = c->width,
		.to = p->from, .to_pitch = c->width, .width = c->width, .moves = p->moves,
		.count = PROBE_GROUPS}));
	if (p->host != NULL)
		GNN_TRY(b->ops->copy(b, p->host, row, p->from, row, row, rows));
out:
	return rc;
}

/* Once to warm up, then for `seconds`: runs a second. */
static int time_runs(double *rate, const struct probe *p, const struct gnn_rowprog *prog,
	int (*run)(const struct probe *p, const struct gnn_conv *c), const struct gnn_conv *c,
	double seconds)
{
	uint64_t start = 0, runs = 0;
	int rc;

	do {
		GNN_TRY(prog != NULL ? run_program(p, prog) : run(p, c));
		GNN_TRY(p->backend->ops->sync(p->backend));
		if (runs++ == 0)
			start = gnn_clock_ns();
	} while (runs == 1 || gnn_clock_s_since(start) < seconds);
	*rate = (double)(runs - 1) / (gnn_clock_s_since(start) + 1e-9);
out:
	return rc;
}

/* --- the control thread --- */

/* A work item of random edges, PROBE_DEGREE a row. */
static int group_some(struct gnn_grouper *g, struct gnn_program *p, const uint32_t *neighbors,
	gnn_vid vertices)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < CONTROL_ROWS; i++) {
		gnn_grouper_own(g, i % vertices, i);
		GNN_TRY(gnn_grouper_edges(g, i % vertices, i, neighbors + i * PROBE_DEGREE, NULL,
			GNN_U32, PROBE_DEGREE));
	}
	gnn_grouper_end(g, p);
out:
	return rc;
}

int gnn_rates_control(double *entries_s, const struct gnn_infer_opts *o,
	const struct gnn_degrees *d, bool here, double seconds)
{
	uint64_t edges = CONTROL_ROWS * PROBE_DEGREE, entries = edges + CONTROL_ROWS, runs = 0;
	uint64_t start = 0, vertices = gnn_min_u64(o->store->vertices, UINT32_MAX);
	struct gnn_grouper g = {0};
	struct gnn_program p = {0};
	uint32_t *neighbors = NULL;
	int rc;

	*entries_s = INFINITY;
	if (!here || vertices == 0)
		return GNN_OK;
	GNN_NEW_ARRAY(neighbors, edges, GNN_MEM_MISC);
	for (uint64_t e = 0; e < edges; e++)
		neighbors[e] = (uint32_t)(gnn_rng_u64(1, 4, e) % vertices);
	GNN_TRY(gnn_program_init(&p, entries, vertices));
	GNN_TRY(gnn_grouper_init(&g, d, &(struct gnn_range){.count = vertices}, CONTROL_ROWS,
		entries, false));
	do {
		GNN_TRY(group_some(&g, &p, neighbors, vertices));
		if (runs++ == 0)
			start = gnn_clock_ns();
	} while (runs == 1 || gnn_clock_s_since(start) < seconds);
	*entries_s = (double)((runs - 1) * entries) / (gnn_clock_s_since(start) + 1e-9);
out:
	gnn_grouper_fini(&g);
	gnn_program_fini(&p);
	gnn_mem_free(neighbors);
	return rc;
}

int gnn_rates_layer(struct gnn_layer_rates *r, const struct gnn_infer_opts *o, uint32_t layer,
	uint64_t memory_bytes, uint64_t chunk_rows, double seconds)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, layer);
	struct probe p = {.backend = o->backend};
	double runs;
	int rc;

	*r = (struct gnn_layer_rates){0};
	GNN_TRY(open_probe(&p, c, memory_bytes, chunk_rows));
	GNN_TRY(time_runs(&runs, &p, &c->message, NULL, c, seconds));
	r->message_rows_s = runs * (double)p.rows;
	GNN_TRY(time_runs(&runs, &p, &c->finish, NULL, c, seconds));
	r->finish_rows_s = runs * (double)p.rows;
	GNN_TRY(time_runs(&runs, &p, NULL, run_sum, c, seconds));
	r->entry_floats_s = runs * PROBE_GROUPS * PROBE_DEGREE * c->width;
	GNN_TRY(time_runs(&runs, &p, NULL, run_move, c, seconds));
	r->move_floats_s = runs * PROBE_GROUPS * c->width;
out:
	close_probe(&p);
	return rc;
}
