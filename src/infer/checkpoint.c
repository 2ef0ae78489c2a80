/*
 * infer/checkpoint.c - the run as its scratch folder holds it: written at borders, recalled; see
 * run.h.
 *
 * Files of kept rows are sealed where they are. What lies in memory (states, carry, scores, rows
 * kept there) is written only when a signal stops the run inside a pass, and scores behind the
 * pass that makes them. Such copies carry a number, so that those that the last manifest names
 * stay until the next is there.
 */
#include "infer/identity.h"
#include "infer/planner.h"
#include "infer/tiered.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* --- copies of memory --- */

/* Memory of the backend and its name in the folder. */
struct copy {
	char     label[GNN_LABEL_BYTES];
	float   *memory;
	uint64_t floats; /* 0: there is none */
};

enum { COPIES_MAX = 9 };

static uint64_t kept_floats(const struct gnn_kept *k, bool all)
{
	uint64_t width = (uint64_t)k->o.width + k->o.own_width;

	return k->memory == NULL ? 0 : (all ? k->o.vertices : k->put_rows) * width;
}

static void add_copy(struct copy *list, uint32_t *count, uint32_t l, const char *what,
	float *memory, uint64_t floats)
{
	struct copy *c = &list[*count];

	if (memory == NULL || floats == 0)
		return;
	snprintf(c->label, sizeof(c->label), "layer%u-%s", l + 1, what);
	c->memory = memory;
	c->floats = floats;
	(*count)++;
}

/* What the passes in front of the sums leave of every vertex. */
static void add_scores(const struct gnn_layer_run *lr, uint32_t l, struct copy list[COPIES_MAX],
	uint32_t *count)
{
	const struct gnn_conv *c = lr->o.conv;
	uint64_t v = lr->o.degrees->vertices;
	uint64_t least = lr->least != NULL ? c->heads : 0;

	add_copy(list, count, l, "scores", lr->scores, v * (gnn_conv_score_width(c) - least));
	add_copy(list, count, l, "least", lr->least, v * least);
	add_copy(list, count, l, "targets", lr->targets, v * c->width);
}

/* Memory that the position needs; the sizes follow from the plan and the position alone. */
static uint32_t list_copies(const struct gnn_run *r, const struct gnn_position *at,
	struct copy list[COPIES_MAX])
{
	const struct gnn_layer_run *lr = &r->layer;
	uint64_t width = lr->o.conv != NULL ? lr->o.conv->state_width : 0;
	uint32_t count = 0;

	if (at->step == GNN_STEP_PERMUTE)
		return 0;
	if (r->jump.jump != NULL)
		add_copy(list, &count, at->layer, "jump", r->jump.rows,
			r->degrees->vertices * r->jump.jump->width);
	if (at->pass > 0 || at->states)
		add_scores(lr, at->layer, list, &count);
	if (!at->states)
		return count;
	add_copy(list, &count, at->layer, "state", lr->state, lr->to.count * width);
	add_copy(list, &count, at->layer, "carry", lr->carry, lr->o.carry_rows * width);
	if (r->input != NULL)
		add_copy(list, &count, at->layer, "input", r->input->memory,
			kept_floats(r->input, true));
	if (r->messages != NULL)
		add_copy(list, &count, at->layer, "messages", r->messages->memory,
			kept_floats(r->messages, at->pass > 0));
	if (r->next != NULL)
		add_copy(list, &count, at->layer + 1, "input", r->next->memory,
			kept_floats(r->next, false));
	return count;
}

static void set_path(const struct gnn_run *r, const char *label, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/%s", gnn_folder_path(r->folder), label);
}

static void numbered(char to[GNN_LABEL_BYTES], const char *label, uint64_t number)
{
	snprintf(to, GNN_LABEL_BYTES, "%.24s.%llu", label, (unsigned long long)number % 100000);
}

static int push_floats(struct gnn_run *r, struct gnn_rowfile *f, const struct copy *c)
{
	struct gnn_backend *b = r->o->backend;
	uint64_t block = r->bounce_floats, ticket;
	int rc = GNN_OK;

	if (b->ops->unified)
		return gnn_rowfile_push(f, c->memory, c->floats);
	for (uint64_t at = 0; at < c->floats; at += block) {
		uint64_t count = gnn_min_u64(block, c->floats - at), bytes = count * sizeof(float);

		GNN_TRY(b->ops->copy(b, r->host, bytes, c->memory + at, bytes, bytes, 1));
		GNN_TRY(b->ops->mark(b, &ticket));
		GNN_TRY(b->ops->wait(b, ticket));
		GNN_TRY(gnn_rowfile_push(f, r->host, count));
	}
out:
	return rc;
}

static int note_file(struct gnn_manifest *m, const struct gnn_rowfile *f)
{
	uint64_t blocks = gnn_rowfile_blocks(f->sealed_rows, f->row_bytes);
	struct gnn_manifest_file *to = gnn_manifest_add(m, strrchr(f->path, '/') + 1, blocks);

	if (to == NULL)
		return GNN_EOS;
	to->first_row = f->first_row;
	to->rows = f->rows;
	to->row_bytes = f->row_bytes;
	to->sealed_rows = f->sealed_rows;
	memcpy(to->sums, f->sums, blocks * sizeof(*to->sums));
	return GNN_OK;
}

/* The copy of this name that the manifest lists, whatever its number. */
static const struct gnn_manifest_file *find_copy(const struct gnn_manifest *m, const char *label)
{
	size_t len = strlen(label);

	for (uint32_t i = 0; i < m->file_count; i++)
		if (strncmp(m->file[i].label, label, len) == 0 && m->file[i].label[len] == '.' &&
			m->file[i].label[len + 1] >= '0' && m->file[i].label[len + 1] <= '9')
			return &m->file[i];
	return NULL;
}

/* Scores stand once the sums begin: the copy that the last manifest names is still right. */
static const struct gnn_manifest_file *settled_copy(const struct gnn_run *r,
	const struct gnn_position *at, const struct copy *c)
{
	const struct gnn_position *then = &r->recalled.position;
	uint32_t sums = gnn_plan_passes(&r->plan, at->layer, r->layer.o.conv) -
		r->plan.layer[at->layer].shards;
	bool moves = c->memory == r->layer.state || c->memory == r->layer.carry ||
		c->memory == r->jump.rows;

	if (moves || then->layer != at->layer || then->pass < sums || at->pass < sums)
		return NULL;
	return find_copy(&r->recalled, c->label);
}

static int reuse_copy(struct gnn_manifest *m, const struct gnn_manifest_file *f)
{
	struct gnn_manifest_file *to = gnn_manifest_add(m, f->label, f->sum_count);

	if (to == NULL)
		return GNN_EOS;
	to->rows = f->rows;
	to->row_bytes = f->row_bytes;
	to->sealed_rows = f->sealed_rows;
	memcpy(to->sums, f->sums, f->sum_count * sizeof(*to->sums));
	return GNN_OK;
}

int gnn_run_create_copy(struct gnn_run *r, struct gnn_rowfile **out, const char *label,
	uint64_t rows, uint64_t row_bytes)
{
	char name[GNN_LABEL_BYTES], path[PATH_BYTES];

	numbered(name, label, r->copy_number);
	set_path(r, name, path);
	return gnn_rowfile_create(out, &(struct gnn_rowfile_opts){.path = path, .name = label,
		.engine = r->o->engine, .rows = rows, .row_bytes = row_bytes,
		.slot_bytes = r->plan.slot_bytes});
}

int gnn_run_seal_copy(struct gnn_run *r, struct gnn_rowfile *f, struct gnn_manifest *m)
{
	int rc;

	GNN_TRY(gnn_rowfile_seal(f));
	r->copied_bytes += f->sealed_rows * f->row_bytes;
	GNN_TRY(note_file(m, f));
out:
	return rc;
}

static int write_copy(struct gnn_run *r, struct gnn_manifest *m, const struct copy *c)
{
	struct gnn_rowfile *f = NULL;
	int rc;

	GNN_TRY(gnn_run_create_copy(r, &f, c->label, c->floats, sizeof(float)));
	GNN_TRY(push_floats(r, f, c));
	GNN_TRY(gnn_run_seal_copy(r, f, m));
out:
	gnn_rowfile_close(f);
	return rc;
}

static int put_copy(struct gnn_run *r, struct gnn_manifest *m, const struct gnn_position *at,
	const struct copy *c)
{
	const struct gnn_manifest_file *settled = settled_copy(r, at, c);

	return settled != NULL && settled->sealed_rows == c->floats ? reuse_copy(m, settled) :
		write_copy(r, m, c);
}

static int pull_floats(struct gnn_run *r, const struct gnn_rowfile *f, const struct copy *c)
{
	struct gnn_backend *b = r->o->backend;
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	uint64_t ticket;
	int rc;

	GNN_TRY(gnn_rowfile_read(&stream, f, 0, c->floats, r->plan.slot_bytes / sizeof(float), 2,
		1));
	while ((rc = gnn_stream_next(stream, &piece)) == GNN_OK) {
		GNN_TRY(b->ops->copy(b, (char *)c->memory + piece->first_byte, piece->bytes,
			piece->data, piece->bytes, piece->bytes, 1));
		GNN_TRY(b->ops->mark(b, &ticket));
		GNN_TRY(b->ops->wait(b, ticket));
		gnn_stream_put(stream, piece);
	}
	r->report->read_bytes += gnn_stream_read_bytes(stream);
out:
	gnn_stream_close(stream);
	return rc == GNN_EOF ? GNN_OK : rc;
}

int gnn_run_open_copy(struct gnn_run *r, struct gnn_rowfile **out, const char *label,
	uint64_t row_bytes)
{
	const struct gnn_manifest_file *file = find_copy(&r->recalled, label);
	char path[PATH_BYTES];

	*out = NULL;
	if (file == NULL || file->row_bytes != row_bytes)
		return gnn_err(GNN_EDATA, "%s: the manifest names no such %s as this run has; "
			"without --resume it begins anew", gnn_folder_path(r->folder), label);
	set_path(r, file->label, path);
	return gnn_rowfile_reopen(out, &(struct gnn_rowfile_opts){.path = path, .name = label,
		.engine = r->o->engine, .rows = file->sealed_rows, .row_bytes = row_bytes,
		.slot_bytes = r->plan.slot_bytes}, file->sealed_rows, file->sums);
}

static int read_copy(struct gnn_run *r, const struct copy *c)
{
	struct gnn_rowfile *f = NULL;
	int rc;

	GNN_TRY(gnn_run_open_copy(r, &f, c->label, sizeof(float)));
	if (f->rows != c->floats)
		GNN_FAIL(GNN_EDATA, "%s: %s has %llu values, wanted %llu; without --resume the "
			"run begins anew", gnn_folder_path(r->folder), c->label,
			(unsigned long long)f->rows, (unsigned long long)c->floats);
	GNN_TRY(pull_floats(r, f, c));
out:
	gnn_rowfile_close(f);
	return rc;
}

int gnn_run_restore(struct gnn_run *r, const struct gnn_position *at)
{
	gnn_vid row = gnn_min_u64(at->row, r->degrees->vertices); /* a round may end past it */
	struct copy list[COPIES_MAX];
	uint32_t count;
	int rc = GNN_OK;

	if (r->next != NULL)
		r->next->put_rows = gnn_max_u64(r->next->put_rows, row);
	if (r->messages != NULL && r->messages->memory != NULL) {
		r->messages->put_rows = row;
		r->messages->finished = at->pass > 0;
	}
	count = list_copies(r, at, list);
	for (uint32_t i = 0; i < count; i++)
		GNN_TRY(read_copy(r, &list[i]));
	if (gnn_run_has_stores(r, at))
		GNN_TRY(gnn_tiered_restore(r));
out:
	return rc;
}

/* --- writing --- */

static int note_runs(struct gnn_manifest *m, const struct gnn_kept *k)
{
	char label[GNN_LABEL_BYTES];
	struct gnn_manifest_file *to;

	snprintf(label, sizeof(label), "%.32s." GNN_KEPT_RUNS, k->label);
	to = gnn_manifest_add(m, label, 0);
	if (to == NULL)
		return GNN_EOS;
	to->rows = k->o.vertices;
	to->row_bytes = gnn_kept_row_bytes(&k->o);
	to->sealed_rows = gnn_runs_file_rows(k->runs);
	to->sealed_bytes = gnn_runs_file_bytes(k->runs);
	return GNN_OK;
}

static int seal_kept(struct gnn_manifest *m, struct gnn_kept *k)
{
	int rc = GNN_OK;

	if (k == NULL || (k->rows == NULL && k->runs == NULL))
		return GNN_OK;
	GNN_TRY(gnn_kept_seal(k));
	if (k->runs != NULL)
		return note_runs(m, k);
	GNN_TRY(note_file(m, k->rows));
	if (k->own != NULL)
		GNN_TRY(note_file(m, k->own));
out:
	return rc;
}

static void describe(const struct gnn_run *r, struct gnn_manifest *m,
	const struct gnn_position *at)
{
	memcpy(m->fact, r->facts.fact, sizeof(m->fact));
	m->fact_count = r->facts.fact_count;
	m->plan = r->plan.kind;
	m->level = r->plan.level;
	m->chunk_bytes = r->chunk_bytes;
	m->layer_count = r->plan.layer_count;
	for (uint32_t l = 0; l < r->plan.layer_count; l++) {
		m->shards[l] = r->plan.layer[l].shards;
		m->messages[l] = r->report->layer[l].messages;
	}
	/* In front of a layer the messages in memory are still those of the layer before. */
	if (at->layer < m->layer_count)
		m->messages[at->layer] = at->pass > 0 || at->row > 0 ? r->layer.messages : 0;
	m->position = *at;
}

static void remove_old_copies(const struct gnn_run *r, const struct gnn_manifest *now)
{
	char path[PATH_BYTES];

	for (uint32_t i = 0; i < r->recalled.file_count; i++) {
		const char *label = r->recalled.file[i].label, *dot = strrchr(label, '.');

		if (dot == NULL || dot[1] < '0' || dot[1] > '9' ||
			gnn_manifest_find(now, label) != NULL)
			continue;
		set_path(r, label, path);
		unlink(path);
	}
}

bool gnn_run_has_stores(const struct gnn_run *r, const struct gnn_position *at)
{
	uint32_t shard;

	return r->plan.kind == GNN_PLAN_TIERED && at->states && at->layer < r->plan.layer_count &&
		gnn_plan_pass(&r->plan, at->layer, gnn_model_conv(r->o->model, at->layer), at->pass,
			&shard) == GNN_PASS_COMBINE;
}

int gnn_run_checkpoint(struct gnn_run *r, const struct gnn_position *at)
{
	struct gnn_manifest m = {0};
	struct copy list[COPIES_MAX];
	uint32_t count;
	int rc;

	r->copy_number++;
	describe(r, &m, at);
	GNN_TRY(seal_kept(&m, r->input));
	GNN_TRY(seal_kept(&m, r->messages));
	GNN_TRY(seal_kept(&m, r->next));
	for (uint32_t l = 0; l < r->plan.layer_count; l++)
		GNN_TRY(seal_kept(&m, r->output[l]));
	count = at->layer < r->plan.layer_count ? list_copies(r, at, list) : 0;
	for (uint32_t i = 0; i < count; i++)
		GNN_TRY(put_copy(r, &m, at, &list[i]));
	if (gnn_run_has_stores(r, at))
		GNN_TRY(gnn_tiered_seal(r, &m));
	gnn_crash_point("infer.files_sealed");
	/* Ranks go on only from one point of all: they name it when all have what it is made of. */
	GNN_TRY(gnn_comm_agree(r->o->comm, GNN_OK));
	GNN_TRY(gnn_manifest_write(&m, gnn_folder_path(r->folder)));
	r->has_manifest = true;
	r->sealed_ns = gnn_clock_ns();
	GNN_TRY(gnn_comm_agree(r->o->comm, GNN_OK));
	gnn_crash_point("infer.manifest_written");
	remove_old_copies(r, &m);
	gnn_manifest_fini(&r->recalled);
	r->recalled = m;
	m = (struct gnn_manifest){0};
out:
	gnn_manifest_fini(&m);
	return rc;
}

/* --- recalling --- */

static uint64_t number_of(const struct gnn_manifest *m)
{
	uint64_t most = 0, number;
	char end;

	for (uint32_t i = 0; i < m->file_count; i++) {
		const char *dot = strrchr(m->file[i].label, '.');
		unsigned long long n;

		if (dot != NULL && sscanf(dot + 1, "%llu%c", &n, &end) == 1) {
			number = n;
			most = gnn_max_u64(most, number);
		}
	}
	return most;
}

int gnn_run_recall(struct gnn_run *r)
{
	struct gnn_manifest *m = &r->recalled;
	int rc;

	GNN_TRY(gnn_manifest_read(m, gnn_folder_path(r->folder)));
	if (rc == GNN_SKIPPED)
		return rc;
	r->has_manifest = true;
	GNN_TRY(gnn_identity_compare(m, &r->facts));
	GNN_TRY(gnn_identity_same_plan(m, r->o));
	GNN_TRY(gnn_identity_same_shards(m, r->o));
	if (m->layer_count != gnn_model_layers(r->o->model) ||
		m->position.layer > m->layer_count || m->plan == GNN_PLAN_AUTO ||
		m->plan >= GNN_PLAN_KINDS)
		GNN_FAIL(GNN_EDATA, "%s: the manifest does not fit the model",
			gnn_folder_path(r->folder));
	r->at = m->position;
	r->resuming = true;
	r->copy_number = number_of(m);
	for (uint32_t l = 0; l < m->layer_count; l++)
		r->report->layer[l].messages = m->messages[l];
	gnn_log(GNN_LOG_INFO, "infer", "goes on at layer %u, pass %u, row %llu",
		r->at.layer + 1, r->at.pass + 1, (unsigned long long)r->at.row);
out:
	return rc;
}

/* What ranks must have in common to go on; padding would not compare. */
struct point {
	uint64_t resuming, layer, pass, step, states, row, plan, level, chunk_bytes;
	uint64_t shards[GNN_LAYERS_MAX];
};

static void describe_point(const struct gnn_run *r, struct point *p)
{
	const struct gnn_manifest *m = &r->recalled;

	memset(p, 0, sizeof(*p));
	if (!r->resuming)
		return;
	*p = (struct point){.resuming = 1, .layer = r->at.layer, .pass = r->at.pass,
		.step = (uint64_t)r->at.step, .states = r->at.states,
		.row = r->at.step == GNN_STEP_STREAM ? r->at.row : 0, .plan = (uint64_t)m->plan,
		.level = m->level, .chunk_bytes = m->chunk_bytes};
	for (uint32_t l = 0; l < m->layer_count; l++)
		p->shards[l] = m->shards[l];
}

/* As if nothing had been found. */
static int forget(struct gnn_run *r)
{
	int rc = GNN_OK;

	r->resuming = r->has_manifest = false;
	r->at = (struct gnn_position){0};
	for (uint32_t l = 0; l < r->recalled.layer_count; l++)
		r->report->layer[l].messages = 0;
	gnn_manifest_fini(&r->recalled);
	r->recalled = (struct gnn_manifest){0};
	if (r->folder != NULL)
		GNN_TRY(gnn_folder_clear(r->folder));
out:
	return rc;
}

int gnn_run_agree_recalled(struct gnn_run *r)
{
	uint32_t size = gnn_comm_size(r->o->comm);
	struct point mine, *all = NULL;
	bool same = true;
	int rc;

	describe_point(r, &mine);
	GNN_NEW_ARRAY(all, size, GNN_MEM_MISC);
	GNN_TRY(gnn_comm_gather(r->o->comm, &mine, sizeof(mine), all));
	for (uint32_t q = 1; q < size; q++)
		same = same && memcmp(&all[0], &all[q], sizeof(mine)) == 0;
	if (!same) {
		gnn_log(GNN_LOG_WARN, "infer", "the ranks were at different points when they "
			"ended: all begin anew");
		GNN_TRY(forget(r));
	}
out:
	gnn_comm_keep(r->o->comm, all);
	return rc;
}

/* What an earlier process has left of kept rows. */
void gnn_run_reopen(const struct gnn_run *r, struct gnn_kept_opts *o, const char *label)
{
	const struct gnn_manifest_file *f;
	char name[GNN_LABEL_BYTES];

	if (!r->resuming || (o->kind != GNN_ROWS_FILE && o->kind != GNN_ROWS_RUNS))
		return;
	if (o->kind == GNN_ROWS_RUNS) {
		snprintf(name, sizeof(name), "%s." GNN_KEPT_RUNS, label);
		f = gnn_manifest_find(&r->recalled, name);
		o->sealed_bytes = f != NULL ? f->sealed_bytes : 0;
		return;
	}
	snprintf(name, sizeof(name), "%s." GNN_KEPT_ROWS, label);
	f = gnn_manifest_find(&r->recalled, name);
	if (f == NULL || f->rows != o->vertices || f->row_bytes != o->width * sizeof(float))
		return;
	o->reopen = true;
	o->sealed_rows = f->sealed_rows;
	o->row_sums = f->sums;
	snprintf(name, sizeof(name), "%s." GNN_KEPT_OWN, label);
	f = gnn_manifest_find(&r->recalled, name);
	if (f != NULL) {
		o->sealed_own = f->sealed_rows;
		o->own_sums = f->sums;
	}
}
