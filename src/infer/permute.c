/* infer/permute.c - see permute.h. */
#include "infer/permute.h"

#include "infer/run.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/stop.h"
#include "base/trace.h"

#include <inttypes.h>
#include <string.h>

enum {
	AHEAD = 2, LENT = 1,  /* pieces of features */
	VALUES = 4,           /* of a vertex: degrees, loops, sums of weights */
	SEAL_BYTES = 8 << 20, /* of runs, at least, that a checkpoint is worth */
};

/* The rows at hand, and what the message program takes of their vertices. */
struct permute {
	struct gnn_run         *r;
	struct gnn_rows_reader *features, *ranks;
	const uint64_t         *vertex;    /* (rows) lent by `ranks` */
	float                  *message;   /* (permute_rows, width) */
	float                  *vec[GNN_ROW_VECTORS];
	uint32_t               *value[VALUES]; /* (permute_rows) */
	struct gnn_degrees      degrees;   /* by row: made of those */
	uint64_t                unsealed;  /* rows in full runs behind the last checkpoint */
	uint64_t                run_rows;  /* of a full run */
	bool                    whole;     /* all features are read by this process */
	uint64_t                ranks_sum; /* 0 at the end where each comes once */
};

int gnn_permute_check(const struct gnn_infer_opts *o)
{
	const char *why = NULL;

	if (o->store->feature_rank == NULL)
		return GNN_OK;
	if (o->share != NULL)
		why = "several ranks read each its own rows of the features";
	else if (!o->backend->ops->unified)
		why = "a GPU reads them in its own (--backend cpu sorts them)";
	else if (gnn_model_conv(o->model, 0)->late.dim_out > 0)
		why = "--design published reads them once more, beside the sums";
	if (why == NULL)
		return GNN_OK;
	return gnn_err(GNN_ECONFIG, "%s leaves its features in the order of another store, and %s: "
		"reorder that one with --features relabel", gnn_container_path(o->store->container),
		why);
}

/* --- what is read --- */

static struct gnn_rows feature_rows(const struct gnn_store *s)
{
	const struct gnn_array *a = s->features;

	return (struct gnn_rows){.kind = GNN_ROWS_STORE, .dtype = a->dtype,
		.width = (uint32_t)a->cols, .count = s->vertices, .container = s->features_in,
		.array = a};
}

static struct gnn_rows rank_rows(const struct gnn_store *s)
{
	return (struct gnn_rows){.kind = GNN_ROWS_STORE, .dtype = GNN_U64, .width = 1,
		.count = s->vertices, .container = s->container, .array = s->feature_rank};
}

static struct gnn_rows_opts reading(uint64_t rows, bool verify)
{
	return (struct gnn_rows_opts){.chunk_rows = rows, .ahead = AHEAD, .lent = LENT,
		.verify = verify};
}

uint64_t gnn_permute_bytes(const struct gnn_store *s, const struct gnn_conv *c, uint64_t rows)
{
	struct gnn_rows_opts o = reading(rows, false);
	struct gnn_rows features = feature_rows(s), ranks = rank_rows(s);

	return gnn_rows_bytes(&features, &o) + gnn_rows_bytes(&ranks, &o) +
		rows * (c->message.dim_out + GNN_ROW_VECTORS + VALUES) * sizeof(float);
}

uint64_t gnn_permute_read_bytes(const struct gnn_store *s)
{
	return s->features->bytes + s->vertices * sizeof(uint64_t);
}

/* --- its life --- */

static int open_rows(struct permute *p, struct gnn_rows rows, struct gnn_rows_reader **out)
{
	struct gnn_rows_opts o = reading(p->r->plan.permute_rows, p->r->o->verify_reads);

	gnn_rows_skip(&rows, p->r->at.row);
	return gnn_rows_open(out, &rows, &o);
}

static int alloc_floats(struct permute *p, float **out, uint64_t floats)
{
	void *block;
	int rc = p->r->o->backend->ops->alloc(p->r->o->backend, &block, floats * sizeof(float));

	*out = block;
	return rc;
}

/* Room for a value of each row, where the graph has such values. */
static int open_value(struct permute *p, uint32_t k, const void *from)
{
	float *block = NULL;
	int rc = from != NULL ? alloc_floats(p, &block, p->r->plan.permute_rows) : GNN_OK;

	p->value[k] = (uint32_t *)block;
	return rc;
}

static int open_messages(struct permute *p)
{
	const struct gnn_degrees *d = p->r->degrees;
	const void *from[VALUES] = {d->in, d->out, d->loops, d->weighted};
	uint64_t rows = p->r->plan.permute_rows;
	int rc = GNN_OK;

	if (!p->r->plan.layer[0].input_message)
		return GNN_OK;
	for (uint32_t k = 0; k < VALUES; k++)
		GNN_TRY(open_value(p, k, from[k]));
	for (uint32_t k = 0; k < GNN_ROW_VECTORS; k++)
		GNN_TRY(alloc_floats(p, &p->vec[k], rows));
	GNN_TRY(alloc_floats(p, &p->message, rows * p->r->plan.layer[0].input_width));
	p->degrees = (struct gnn_degrees){.vertices = rows, .in_there = p->value[0],
		.out_there = p->value[1], .loops_there = p->value[2],
		.weighted_there = (const float *)p->value[3]};
out:
	return rc;
}

static int open_permute(struct permute *p)
{
	struct gnn_run *r = p->r;
	uint64_t found = gnn_runs_file_rows(r->input->runs);
	int rc = GNN_OK;

	if (found != r->at.row)
		GNN_FAIL(GNN_EDATA, "%s: the runs hold %" PRIu64 " rows of the features, the "
			"manifest says %" PRIu64 "; without --resume the run begins anew",
			gnn_folder_path(r->folder), found, r->at.row);
	p->whole = r->at.row == 0;
	p->run_rows = r->plan.permute_arena_bytes /
		gnn_runs_arena_bytes(gnn_kept_row_bytes(&r->input->o), 1);
	GNN_TRY(open_rows(p, feature_rows(r->o->store), &p->features));
	GNN_TRY(open_rows(p, rank_rows(r->o->store), &p->ranks));
	GNN_TRY(open_messages(p));
out:
	return rc;
}

static void close_permute(struct permute *p)
{
	struct gnn_backend *b = p->r->o->backend;

	gnn_rows_close(p->features);
	gnn_rows_close(p->ranks);
	b->ops->free(b, p->message);
	for (uint32_t k = 0; k < GNN_ROW_VECTORS; k++)
		b->ops->free(b, p->vec[k]);
	for (uint32_t k = 0; k < VALUES; k++)
		b->ops->free(b, p->value[k]);
}

/* --- a piece --- */

static int check_ranks(struct permute *p, uint64_t rows)
{
	const struct gnn_store *s = p->r->o->store;

	for (uint64_t i = 0; i < rows; i++) {
		p->ranks_sum += gnn_mix64(p->vertex[i] + 1) - gnn_mix64(p->r->at.row + i + 1);
		if (p->vertex[i] >= s->vertices)
			return gnn_err(GNN_EDATA, "%s: dataset %s, row %" PRIu64 ": %" PRIu64
				" found, below %" PRIu64 " wanted (the vertices)",
				gnn_container_path(s->container), s->feature_rank->name,
				p->r->at.row + i, p->vertex[i], s->vertices);
	}
	return GNN_OK;
}

/* Values of 4 bytes, of the vertices at hand. */
static void pick(const struct permute *p, const void *from, uint32_t *to, uint64_t rows)
{
	for (uint64_t i = 0; to != NULL && i < rows; i++)
		memcpy(&to[i], (const char *)from + p->vertex[i] * sizeof(*to), sizeof(*to));
}

static int make_messages(struct permute *p, const void *h, uint64_t rows)
{
	const struct gnn_degrees *d = p->r->degrees;

	pick(p, d->in, p->value[0], rows);
	pick(p, d->out, p->value[1], rows);
	pick(p, d->loops, p->value[2], rows);
	pick(p, d->weighted, p->value[3], rows);
	return gnn_layer_run_messages(p->r->o->backend, gnn_model_conv(p->r->o->model, 0),
		&p->degrees, p->vec, 0, rows, h, p->r->o->store->features->dtype, p->message);
}

/* Full runs are worth a checkpoint now and then: their rows are not read again. */
static int seal(struct permute *p)
{
	uint64_t bytes = p->unsealed * gnn_kept_row_bytes(&p->r->input->o);
	int rc;

	if (p->unsealed % p->run_rows != 0 || bytes < SEAL_BYTES)
		return GNN_OK;
	GNN_TRY(gnn_run_checkpoint(p->r, &p->r->at));
	p->unsealed = 0;
	gnn_crash_point("permute.part");
out:
	return rc;
}

static int permute_piece(struct permute *p, uint64_t rows)
{
	struct gnn_run *r = p->r;
	struct gnn_rows_part features = {0}, ranks = {0};
	uint64_t span = gnn_trace_begin();
	const void *from;
	int rc;

	GNN_TRY(gnn_rows_next(p->features, &features));
	GNN_TRY(gnn_rows_next(p->ranks, &ranks));
	p->vertex = ranks.data;
	GNN_TRY(check_ranks(p, rows));
	from = features.data;
	if (p->message != NULL) {
		GNN_TRY(make_messages(p, features.data, rows));
		from = p->message;
	}
	GNN_TRY(gnn_kept_put_any(r->input, p->vertex, rows, from));
	r->at.row += rows;
	p->unsealed += rows;
out:
	gnn_rows_put(p->features, &features);
	gnn_rows_put(p->ranks, &ranks);
	gnn_trace_end(span, "permute");
	return rc;
}

static int permute_all(struct permute *p)
{
	struct gnn_run *r = p->r;
	uint64_t vertices = r->o->store->vertices;
	int rc = GNN_OK;

	while (r->at.row < vertices) {
		uint64_t rows = gnn_min_u64(r->plan.permute_rows, vertices - r->at.row);

		if (gnn_stop_wanted())
			return GNN_STOPPED;
		GNN_TRY(permute_piece(p, rows));
		gnn_progress_add(r->progress, rows, rows * r->o->store->features->cols *
			gnn_dtype_bytes(r->o->store->features->dtype));
		GNN_TRY(seal(p));
	}
	if (p->whole && p->ranks_sum != 0)
		return gnn_err(GNN_EDATA, "%s: dataset %s holds a row twice",
			gnn_container_path(r->o->store->container),
			r->o->store->feature_rank->name);
	GNN_TRY(gnn_kept_finish(r->input));
	GNN_TRY(gnn_run_checkpoint(r, &r->at));
out:
	return rc;
}

int gnn_run_permute(struct gnn_run *r)
{
	struct permute p = {.r = r};
	struct gnn_layer_report *lr = &r->report->layer[0];
	uint64_t start = gnn_clock_ns(), read;
	int rc = GNN_OK;

	r->progress = gnn_progress_begin("features", "rows", r->o->store->vertices);
	gnn_progress_add(r->progress, r->at.row, 0);
	if (r->input->finished)
		goto out;
	GNN_TRY(open_permute(&p));
	GNN_TRY(permute_all(&p));
	read = gnn_rows_read_bytes(p.features) + gnn_rows_read_bytes(p.ranks);
	r->report->permute_read_bytes = read;
	r->report->permute_written_bytes = gnn_kept_written_bytes(r->input);
	r->report->permute_s = gnn_clock_s_since(start);
	lr->read_bytes += read;
	lr->written_bytes += r->report->permute_written_bytes;
out:
	close_permute(&p);
	gnn_progress_end(r->progress);
	r->progress = NULL;
	return rc;
}
