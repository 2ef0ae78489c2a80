/* order/journal.c - see journal.h. */
#include "order/journal.h"

#include "base/fault.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/scratch.h"
#include "io/store_schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { NAME_BYTES = 16, ID_BYTES = 17 };

#define RANKS_MAGIC UINT64_C(0x314b4e4152524e47) /* "GNRRANK1" */
#define AT_MAGIC    UINT64_C(0x3154415252524e47)

/* What must be as it was; options that do not change the order are left out. */
struct facts {
	uint64_t store; /* hash */
	uint64_t vertices, iterations, seed;
	uint64_t keep;  /* features: 1 or 0 */
	char     version[NAME_BYTES], order[NAME_BYTES], bootstrap[NAME_BYTES];
};

/* Steps and ranks follow. */
struct ranks_head {
	uint64_t     magic;
	struct facts facts;
	char         backend[NAME_BYTES];
	struct gnn_order_report report; /* without what it points to */
	uint64_t     body_sum;          /* of steps, then ranks: the hash of the first seeds */
	uint64_t     sum;               /* of all in front of it */
};

struct at_file {
	uint64_t                magic, id;
	struct gnn_journal_rows rows;
	uint64_t                sum;
};

struct gnn_journal {
	struct facts facts;
	uint64_t     id;
	char         id_text[ID_BYTES];
	const char  *out_path; /* borrowed */
	char        *ranks_path, *at_path, *rows_path;
	struct gnn_journal_rows rows;
	bool         kept;
};

/* --- its life --- */

static void set_name(char to[NAME_BYTES], const char *name)
{
	snprintf(to, NAME_BYTES, "%s", name);
}

static int collect(struct facts *f, const struct gnn_order_opts *o)
{
	const bool taurus = strcmp(o->name, gnn_order_taurus.name) == 0;
	int rc;

	memset(f, 0, sizeof(*f));
	GNN_TRY(gnn_store_hash(o->store, &f->store));
	f->vertices = o->store->vertices;
	f->iterations = taurus ? o->iterations : 0;
	f->seed = strcmp(o->name, gnn_order_random.name) == 0 ? o->seed : 0;
	set_name(f->version, GNN_VERSION);
	set_name(f->order, o->name);
	set_name(f->bootstrap, taurus ? o->bootstrap : "");
out:
	return rc;
}

int gnn_journal_open(struct gnn_journal **out, const struct gnn_order_opts *o, bool keep,
	const char *out_path, const char *scratch)
{
	struct gnn_journal *j = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(j, GNN_MEM_MISC);
	j->out_path = out_path;
	GNN_TRY(collect(&j->facts, o));
	j->facts.keep = keep;
	j->id = XXH3_64bits(&j->facts, sizeof(j->facts));
	snprintf(j->id_text, sizeof(j->id_text), "%016" PRIx64, j->id);
	GNN_TRY(gnn_scratch_path(&j->ranks_path, out_path, scratch, ".ranks"));
	GNN_TRY(gnn_scratch_path(&j->at_path, out_path, scratch, ".at"));
	GNN_TRY(gnn_scratch_path(&j->rows_path, out_path, scratch, ".features"));
	*out = j;
	j = NULL;
out:
	gnn_journal_close(j);
	return rc;
}

void gnn_journal_close(struct gnn_journal *j)
{
	if (j == NULL)
		return;
	gnn_mem_free(j->ranks_path);
	gnn_mem_free(j->at_path);
	gnn_mem_free(j->rows_path);
	gnn_mem_free(j);
}

const char *gnn_journal_id(const struct gnn_journal *j)
{
	return j->id_text;
}

bool gnn_journal_is_done(const struct gnn_journal *j)
{
	struct gnn_store *s = NULL;
	const char *found;
	bool done = false;

	if (!gnn_file_exists(j->out_path))
		return false;
	if (gnn_store_open(&s, &(struct gnn_container_opts){.path = j->out_path,
		.engine = GNN_DIO_AUTO}) == GNN_OK) {
		found = gnn_container_text(s->container, GNN_ATTR_ORDER_RUN);
		done = found != NULL && strcmp(found, j->id_text) == 0;
	}
	gnn_err_clear();
	gnn_store_close(s);
	return done;
}

void gnn_journal_remove(struct gnn_journal *j)
{
	unlink(j->ranks_path);
	unlink(j->at_path);
	unlink(j->rows_path);
	j->kept = false;
	j->rows = (struct gnn_journal_rows){0};
}

/* What a process that was killed while it published a file left beside it goes. */
static int clean(const char *path)
{
	struct gnn_pub *pub = NULL;
	int rc = gnn_pub_begin(&pub, path);

	gnn_pub_abort(pub);
	return rc;
}

int gnn_journal_begin(struct gnn_journal *j)
{
	int rc;

	GNN_TRY(clean(j->ranks_path));
	GNN_TRY(clean(j->at_path));
	gnn_journal_remove(j);
out:
	return rc;
}

bool gnn_journal_kept(const struct gnn_journal *j)
{
	return j->kept;
}

/* --- ranks --- */

static uint64_t body_sum(const struct gnn_order_report *r, const uint64_t *rank, uint64_t vertices)
{
	const uint64_t steps = XXH3_64bits(r->iteration, r->iterations * sizeof(*r->iteration));

	return XXH3_64bits_withSeed(rank, vertices * sizeof(*rank), steps);
}

static uint64_t head_sum(const struct ranks_head *h)
{
	return XXH3_64bits(h, offsetof(struct ranks_head, sum));
}

int gnn_journal_keep(struct gnn_journal *j, const uint64_t *rank, const struct gnn_order_report *r)
{
	const uint64_t vertices = j->facts.vertices;
	struct gnn_pub *pub = NULL;
	struct ranks_head h;
	int rc;

	memset(&h, 0, sizeof(h));
	h.magic = RANKS_MAGIC;
	h.facts = j->facts;
	set_name(h.backend, r->backend);
	h.report = *r;
	h.report.iteration = NULL;
	h.report.backend = NULL;
	h.body_sum = body_sum(r, rank, vertices);
	h.sum = head_sum(&h);
	GNN_TRY(gnn_pub_begin(&pub, j->ranks_path));
	GNN_TRY(gnn_pub_write(pub, &h, sizeof(h)));
	GNN_TRY(gnn_pub_write(pub, r->iteration, r->iterations * sizeof(*r->iteration)));
	GNN_TRY(gnn_pub_write(pub, rank, vertices * sizeof(*rank)));
	GNN_TRY(gnn_pub_commit(&pub));
	j->kept = true;
	gnn_crash_point("reorder.ordered");
out:
	gnn_pub_abort(pub);
	return rc;
}

static int refuse(const struct gnn_journal *j, const char *what)
{
	return gnn_err(GNN_ECONFIG, "--resume: %s has changed since the run that left %s; give the "
		"old one, or leave --resume away to begin anew", what, j->ranks_path);
}

static int compare(const struct gnn_journal *j, const struct facts *then)
{
	const struct facts *now = &j->facts;

	if (strncmp(then->version, now->version, NAME_BYTES) != 0)
		return refuse(j, "the program");
	if (then->store != now->store)
		return refuse(j, "the store");
	if (strncmp(then->order, now->order, NAME_BYTES) != 0)
		return refuse(j, "--order");
	if (strncmp(then->bootstrap, now->bootstrap, NAME_BYTES) != 0)
		return refuse(j, "--bootstrap");
	if (then->keep != now->keep)
		return refuse(j, "--features");
	if (then->iterations != now->iterations)
		return refuse(j, "--iterations");
	return then->seed != now->seed ? refuse(j, "--seed") : GNN_OK;
}

static int damaged(const char *path)
{
	return gnn_err(GNN_EDATA, "%s: damaged; without --resume the run begins anew", path);
}

static int read_head(const struct gnn_journal *j, struct gnn_file *file, struct ranks_head *h)
{
	uint64_t got;
	int rc;

	GNN_TRY(gnn_file_read(file, h, sizeof(*h), &got));
	if (got != sizeof(*h) || h->magic != RANKS_MAGIC || h->sum != head_sum(h))
		return damaged(j->ranks_path);
	GNN_TRY(compare(j, &h->facts));
out:
	return rc;
}

static int read_ranks(struct gnn_journal *j, uint64_t *rank, struct gnn_order_report *r)
{
	const uint64_t bytes = j->facts.vertices * sizeof(*rank);
	struct gnn_file *file = NULL;
	struct ranks_head h;
	uint64_t got, steps;
	bool one_to_one;
	int rc;

	GNN_TRY(gnn_file_open(&file, j->ranks_path));
	GNN_TRY(read_head(j, file, &h));
	*r = h.report;
	r->backend = strncmp(h.backend, "cuda", NAME_BYTES) == 0 ? "cuda" : "cpu";
	GNN_NEW_ARRAY(r->iteration, r->iterations, GNN_MEM_MISC);
	GNN_TRY(gnn_file_read(file, r->iteration, r->iterations * sizeof(*r->iteration), &steps));
	GNN_TRY(gnn_file_read(file, rank, bytes, &got));
	if (steps != r->iterations * sizeof(*r->iteration) || got != bytes ||
		h.body_sum != body_sum(r, rank, j->facts.vertices))
		GNN_TRY(damaged(j->ranks_path));
	GNN_TRY(gnn_order_check(rank, j->facts.vertices, &one_to_one));
	GNN_ASSERT(one_to_one);
out:
	gnn_file_close(file);
	return rc;
}

/* --- rows --- */

static int read_at(struct gnn_journal *j)
{
	struct gnn_file *file = NULL;
	struct at_file a;
	uint64_t got;
	int rc;

	if (!gnn_file_exists(j->at_path))
		return GNN_OK;
	GNN_TRY(gnn_file_open(&file, j->at_path));
	GNN_TRY(gnn_file_read(file, &a, sizeof(a), &got));
	if (got != sizeof(a) || a.magic != AT_MAGIC || a.id != j->id || a.rows.range_rows == 0 ||
		a.sum != XXH3_64bits(&a, offsetof(struct at_file, sum)))
		rc = damaged(j->at_path);
	else
		j->rows = a.rows;
out:
	gnn_file_close(file);
	return rc;
}

int gnn_journal_restore(struct gnn_journal *j, uint64_t *rank, struct gnn_order_report *r)
{
	int rc;

	if (!gnn_file_exists(j->ranks_path))
		return GNN_SKIPPED;
	GNN_TRY(clean(j->ranks_path));
	GNN_TRY(clean(j->at_path));
	GNN_TRY(read_ranks(j, rank, r));
	GNN_TRY(read_at(j));
	j->kept = true;
out:
	return rc;
}

const char *gnn_journal_rows_path(const struct gnn_journal *j)
{
	return j->rows_path;
}

struct gnn_journal_rows gnn_journal_rows(const struct gnn_journal *j)
{
	return j->rows;
}

int gnn_journal_seal(struct gnn_journal *j, struct gnn_journal_rows rows)
{
	struct at_file a = {.magic = AT_MAGIC, .id = j->id, .rows = rows};
	struct gnn_pub *pub = NULL;
	int rc;

	a.sum = XXH3_64bits(&a, offsetof(struct at_file, sum));
	GNN_TRY(gnn_pub_begin(&pub, j->at_path));
	GNN_TRY(gnn_pub_write(pub, &a, sizeof(a)));
	GNN_TRY(gnn_pub_commit(&pub));
	j->rows = rows;
	gnn_crash_point("reorder.rows_sealed");
out:
	gnn_pub_abort(pub);
	return rc;
}
