/* io/survey.c - see survey.h. */
#include "io/survey.h"

#include "base/rng.h"
#include "io/cursor.h"
#include "io/store_schema.h"

#include <inttypes.h>
#include <string.h>

/* One direction of the topology while its rows pass. */
struct direction {
	const struct gnn_topology *topology;
	bool transposed; /* rows are destinations */
	struct gnn_cursor offsets, neighbors, weights;
	uint64_t offset;    /* of the row that comes next */
	uint64_t degree;    /* of the row that passes */
	uint64_t row_loops; /* self-loops in that row */
	uint64_t duplicates;
	uint64_t edges_sum; /* of a hash of each edge: both directions have the same */
};

struct survey {
	struct gnn_store *store;
	const char *path;
	struct gnn_store_counts *counts;
	struct direction out, in;
	struct gnn_cursor self_loops;
	struct gnn_progress *progress;
};

static int open_cursor(struct survey *s, struct gnn_cursor *c, const struct gnn_array *a)
{
	return gnn_cursor_open(c, s->store->container, a, s->progress);
}

/* --- one direction --- */

static int open_direction(
	struct survey *s, struct direction *d, const struct gnn_topology *t, bool with_edges)
{
	int rc = GNN_OK;

	d->topology = t;
	GNN_TRY(open_cursor(s, &d->offsets, t->offsets));
	if (!with_edges)
		goto out;
	GNN_TRY(open_cursor(s, &d->neighbors, t->neighbors));
	if (t->weights != NULL)
		GNN_TRY(open_cursor(s, &d->weights, t->weights));
out:
	return rc;
}

static void close_direction(struct direction *d)
{
	gnn_cursor_close(&d->offsets);
	gnn_cursor_close(&d->neighbors);
	gnn_cursor_close(&d->weights);
}

static int first_offset(struct survey *s, struct direction *d)
{
	int rc = GNN_OK;

	GNN_TRY(gnn_cursor_next(&d->offsets, &d->offset));
	if (d->offset != 0)
		GNN_FAIL(GNN_EDATA, "%s: dataset %s, row 0: %" PRIu64 " found, 0 wanted", s->path,
			d->topology->offsets->name, d->offset);
out:
	return rc;
}

static int next_degree(struct survey *s, struct direction *d, uint64_t row)
{
	uint64_t next;
	int rc = GNN_OK;

	GNN_TRY(gnn_cursor_next(&d->offsets, &next));
	if (next < d->offset || next > s->store->edges)
		GNN_FAIL(GNN_EDATA,
			"%s: dataset %s, row %" PRIu64 ": %" PRIu64 " found, %" PRIu64
			" to %" PRIu64 " wanted",
			s->path, d->topology->offsets->name, row + 1, next, d->offset,
			s->store->edges);
	d->degree = next - d->offset;
	d->offset = next;
out:
	return rc;
}

/* The order in which edges come does not change the sum; any other edge, or weight, does. */
static uint64_t hash_edge(uint64_t src, uint64_t dst, uint64_t weight)
{
	return gnn_mix64(src * UINT64_C(0x9e3779b97f4a7c15) + dst * UINT64_C(0xbf58476d1ce4e5b9) +
			 weight * UINT64_C(0x94d049bb133111eb) + 1);
}

static int pass_row(struct survey *s, struct direction *d, uint64_t row)
{
	uint64_t last = 0, id, weight = 0;
	int rc = GNN_OK;

	d->row_loops = 0;
	for (uint64_t i = 0; i < d->degree; i++) {
		GNN_TRY(gnn_cursor_next(&d->neighbors, &id));
		if (d->weights.stream != NULL)
			GNN_TRY(gnn_cursor_next(&d->weights, &weight));
		if (id >= s->store->vertices || id < last)
			GNN_FAIL(GNN_EDATA,
				"%s: dataset %s, row %" PRIu64 ", entry %" PRIu64 ": %" PRIu64
				" found, %" PRIu64 " to %" PRIu64 " wanted",
				s->path, d->topology->neighbors->name, row, i, id, last,
				s->store->vertices - 1);
		d->row_loops += id == row;
		d->duplicates += i != 0 && id == last;
		d->edges_sum +=
			d->transposed ? hash_edge(id, row, weight) : hash_edge(row, id, weight);
		last = id;
	}
out:
	return rc;
}

static int check_end(struct survey *s, const struct direction *d)
{
	if (d->offset == s->store->edges)
		return GNN_OK;
	return gnn_err(GNN_EDATA,
		"%s: dataset %s ends at %" PRIu64 ", %" PRIu64 " wanted (the edges)", s->path,
		d->topology->offsets->name, d->offset, s->store->edges);
}

/* --- the topology --- */

/* Without an array of self-loops there must be none. */
static int check_loops(struct survey *s, uint64_t row)
{
	uint64_t recorded = 0;
	int rc = GNN_OK;

	s->counts->self_loops += s->out.row_loops;
	if (s->self_loops.stream != NULL)
		GNN_TRY(gnn_cursor_next(&s->self_loops, &recorded));
	if (recorded != s->out.row_loops)
		GNN_FAIL(GNN_EDATA,
			"%s: dataset %s, row %" PRIu64 ": %" PRIu64 " found, %" PRIu64
			" wanted (the self-loops in its out-list)",
			s->path, GNN_STORE_SELF_LOOPS, row, recorded, s->out.row_loops);
out:
	return rc;
}

static int pass_vertex(struct survey *s, uint64_t v)
{
	struct gnn_store_counts *n = s->counts;
	int rc = GNN_OK;

	GNN_TRY(next_degree(s, &s->out, v));
	GNN_TRY(next_degree(s, &s->in, v));
	n->max_out_degree = gnn_max_u64(n->max_out_degree, s->out.degree);
	n->max_in_degree = gnn_max_u64(n->max_in_degree, s->in.degree);
	n->isolated += s->out.degree == 0 && s->in.degree == 0;
	GNN_TRY(pass_row(s, &s->out, v));
	if (s->in.neighbors.stream != NULL)
		GNN_TRY(pass_row(s, &s->in, v));
	GNN_TRY(check_loops(s, v));
out:
	return rc;
}

/* `both`: the in-lists too. Out-lists alone suffice for the counts. */
static int pass_topology(struct survey *s, bool both)
{
	struct gnn_store *store = s->store;
	int rc = GNN_OK;

	s->in.transposed = true;
	GNN_TRY(open_direction(s, &s->out, &store->out, true));
	GNN_TRY(open_direction(s, &s->in, &store->in, both));
	if (store->self_loops != NULL)
		GNN_TRY(open_cursor(s, &s->self_loops, store->self_loops));
	GNN_TRY(first_offset(s, &s->out));
	GNN_TRY(first_offset(s, &s->in));
	for (uint64_t v = 0; v < store->vertices; v++)
		GNN_TRY(pass_vertex(s, v));
	GNN_TRY(check_end(s, &s->out));
	GNN_TRY(check_end(s, &s->in));
	s->counts->duplicates = s->out.duplicates;
	if (both && s->out.edges_sum != s->in.edges_sum)
		GNN_FAIL(GNN_EDATA, "%s: topology/out and topology/in do not hold the same edges%s",
			s->path, store->out.weights != NULL ? " with the same weights" : "");
out:
	close_direction(&s->out);
	close_direction(&s->in);
	gnn_cursor_close(&s->self_loops);
	return rc;
}

/* --- arrays with a range --- */

/* i64 labels: -1 is unlabelled, and their classes are counted. u8 labels: 0 or 1 a class. */
static int pass_labels(struct survey *s)
{
	const struct gnn_array *a = s->store->labels;
	struct gnn_cursor c = {0};
	uint64_t value;
	int rc = GNN_OK;

	if (a == NULL)
		return GNN_OK;
	s->counts->classes = a->dtype == GNN_U8 ? a->cols : 0;
	GNN_TRY(open_cursor(s, &c, a));
	for (uint64_t i = 0; i < a->rows * a->cols; i++) {
		GNN_TRY(gnn_cursor_next(&c, &value));
		if (a->dtype == GNN_U8 ? value > 1 : (int64_t)value < -1)
			GNN_FAIL(GNN_EDATA,
				"%s: dataset %s, row %" PRIu64 ": %" PRId64 " found, %s wanted",
				s->path, a->name, i / a->cols, (int64_t)value,
				a->dtype == GNN_U8 ? "0 or 1" : "-1 or a class");
		if (a->dtype != GNN_U8)
			s->counts->classes = gnn_max_u64(s->counts->classes, value + 1);
	}
out:
	gnn_cursor_close(&c);
	return rc;
}

/* Arrays of row numbers: below V, and where they are a permutation each once. */
static int pass_rows(struct survey *s, const struct gnn_array *a, bool permutation)
{
	struct gnn_cursor c = {0};
	uint64_t value, sum = 0;
	int rc = GNN_OK;

	if (a == NULL)
		return GNN_OK;
	GNN_TRY(open_cursor(s, &c, a));
	for (uint64_t i = 0; i < a->rows; i++) {
		GNN_TRY(gnn_cursor_next(&c, &value));
		if (value >= s->store->vertices)
			GNN_FAIL(GNN_EDATA,
				"%s: dataset %s, row %" PRIu64 ": %" PRIu64 " found, below %" PRIu64
				" wanted (the vertices)",
				s->path, a->name, i, value, s->store->vertices);
		sum += gnn_mix64(value + 1) - gnn_mix64(i + 1);
	}
	if (permutation && sum != 0)
		rc = gnn_err(GNN_EDATA, "%s: dataset %s holds a row twice", s->path, a->name);
out:
	gnn_cursor_close(&c);
	return rc;
}

/* --- arrays without --- */

static int pass_blocks(
	struct gnn_container *c, const struct gnn_array *a, struct gnn_progress *progress)
{
	const struct gnn_stream_opts o = {
		.container = c,
		.array = a,
		.bytes = a->bytes,
		.piece_bytes = GNN_BLOCK_BYTES,
		.ahead = 3,
		.lent = 1,
		.verify = true,
	};
	uint64_t item_bytes = gnn_dtype_bytes(a->dtype);
	struct gnn_stream *stream = NULL;
	struct gnn_piece *p;
	int rc;

	GNN_TRY(gnn_stream_open(&stream, &o));
	for (;;) {
		GNN_TRY(gnn_stream_next(stream, &p));
		if (rc == GNN_EOF)
			break;
		gnn_progress_add(progress, p->bytes / item_bytes, p->bytes);
		gnn_stream_put(stream, p);
	}
	rc = GNN_OK;
out:
	gnn_stream_close(stream);
	return rc;
}

static uint64_t count_values(const struct gnn_container *c)
{
	uint64_t values = 0;

	for (uint32_t i = 0; i < gnn_container_count(c); i++)
		values += gnn_container_at(c, i)->rows * gnn_container_at(c, i)->cols;
	return values;
}

int gnn_container_verify(struct gnn_container *c)
{
	struct gnn_progress *progress = gnn_progress_begin("verify", "values", count_values(c));
	int rc = GNN_OK;

	for (uint32_t i = 0; i < gnn_container_count(c); i++)
		GNN_TRY(pass_blocks(c, gnn_container_at(c, i), progress));
out:
	gnn_progress_end(progress);
	return rc;
}

/* Those that no other pass has read. */
static int pass_others(struct gnn_store *s, struct gnn_progress *progress)
{
	const struct gnn_array *const done[] = {s->out.offsets, s->out.neighbors, s->out.weights,
		s->in.offsets, s->in.neighbors, s->in.weights, s->self_loops, s->labels,
		s->split[GNN_TRAIN], s->split[GNN_VALID], s->split[GNN_TEST], s->original_id,
		s->feature_rank};
	int rc = GNN_OK;

	for (uint32_t i = 0; i < gnn_container_count(s->container); i++) {
		const struct gnn_array *a = gnn_container_at(s->container, i);
		bool read = false;

		for (size_t k = 0; k < GNN_COUNT_OF(done) && !read; k++)
			read = a == done[k];
		if (!read)
			GNN_TRY(pass_blocks(s->container, a, progress));
	}
out:
	return rc;
}

/* --- recorded counts --- */

static const struct recorded {
	const char *name;
	size_t field;
} recorded[] = {
	{GNN_ATTR_MAX_IN_DEGREE, offsetof(struct gnn_store_counts, max_in_degree)},
	{GNN_ATTR_MAX_OUT_DEGREE, offsetof(struct gnn_store_counts, max_out_degree)},
	{GNN_ATTR_ISOLATED, offsetof(struct gnn_store_counts, isolated)},
	{GNN_ATTR_SELF_LOOPS, offsetof(struct gnn_store_counts, self_loops)},
	{GNN_ATTR_DUPLICATES, offsetof(struct gnn_store_counts, duplicates)},
	{GNN_ATTR_CLASSES, offsetof(struct gnn_store_counts, classes)}, /* last: with labels only */
};

static uint64_t *field_of(struct gnn_store_counts *counts, const struct recorded *r)
{
	return (uint64_t *)((char *)counts + r->field);
}

/* All of them or nothing. */
static bool take_recorded(const struct gnn_store *s, struct gnn_store_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	for (size_t i = 0; i < GNN_COUNT_OF(recorded) - (s->labels == NULL); i++)
		if (gnn_container_number(
			    s->container, recorded[i].name, field_of(counts, &recorded[i])) < 0)
			return false;
	return true;
}

static int check_recorded(const struct gnn_store *s, struct gnn_store_counts *counts)
{
	struct gnn_store_counts said;

	if (!take_recorded(s, &said))
		return GNN_OK;
	for (size_t i = 0; i < GNN_COUNT_OF(recorded); i++) {
		uint64_t found = *field_of(&said, &recorded[i]);
		uint64_t wanted = *field_of(counts, &recorded[i]);

		if (found != wanted)
			return gnn_err(GNN_EDATA,
				"%s: attribute %s: %" PRIu64 " found, %" PRIu64 " wanted (counted)",
				gnn_container_path(s->container), recorded[i].name, found, wanted);
	}
	return GNN_OK;
}

/* --- the whole --- */

int gnn_store_count(struct gnn_store *s, struct gnn_store_counts *out)
{
	struct survey survey = {
		.store = s, .path = gnn_container_path(s->container), .counts = out};
	int rc = GNN_OK;

	if (take_recorded(s, out))
		return GNN_OK;
	memset(out, 0, sizeof(*out));
	GNN_TRY(pass_topology(&survey, false));
	GNN_TRY(pass_labels(&survey));
out:
	return rc;
}

int gnn_store_verify(struct gnn_store *s, struct gnn_store_counts *out)
{
	struct survey survey = {
		.store = s, .path = gnn_container_path(s->container), .counts = out};
	int rc = GNN_OK;

	memset(out, 0, sizeof(*out));
	survey.progress = gnn_progress_begin("verify", "values", count_values(s->container));
	GNN_TRY(pass_topology(&survey, true));
	GNN_TRY(pass_labels(&survey));
	GNN_TRY(check_recorded(s, out));
	for (int i = 0; i < GNN_SPLIT_COUNT; i++)
		GNN_TRY(pass_rows(&survey, s->split[i], false));
	GNN_TRY(pass_rows(&survey, s->original_id, true));
	GNN_TRY(pass_rows(&survey, s->feature_rank, true));
	GNN_TRY(gnn_store_attach(s)); /* they are those that they were */
	GNN_TRY(pass_others(s, survey.progress));
out:
	gnn_progress_end(survey.progress);
	return rc;
}
