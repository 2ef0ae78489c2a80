/* infer/regroup.c - see regroup.h. */
#include "infer/regroup.h"

#include "base/log.h"
#include "base/mem.h"
#include "infer/identity.h"
#include "infer/share.h"
#include "io/file.h"
#include "io/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_SUFFIX ".gnnrun-scratch"
#define BEGIN_ANEW    "leave --resume away to begin anew"

enum { PATH_BYTES = GNN_SCRATCH_PATH_BYTES, PIECE_BYTES = 1 << 20, AHEAD = 2 };

/* What `ranks` ranks have left. */
struct gnn_regroup {
	const struct gnn_infer_opts *o;
	uint32_t             ranks;
	struct gnn_manifest *manifest; /* (ranks) */
	uint64_t             read_bytes;
};

/* --- names --- */

static const char *name_in_folder(const struct gnn_infer_opts *o)
{
	const char *slash = strrchr(o->out_path, '/');

	return slash != NULL ? slash + 1 : o->out_path;
}

/* Where scratch folders stand, with the slash behind it. */
static int set_place(const struct gnn_infer_opts *o, char place[PATH_BYTES])
{
	int n = o->scratch != NULL ? snprintf(place, PATH_BYTES, "%s/", o->scratch) :
		snprintf(place, PATH_BYTES, "%.*s", (int)(name_in_folder(o) - o->out_path),
			o->out_path);

	return n < PATH_BYTES ? GNN_OK :
		gnn_err(GNN_ECREAT, "the name of the scratch folder is too long");
}

int gnn_regroup_folder(const struct gnn_infer_opts *o, uint32_t rank, uint32_t ranks,
	char path[PATH_BYTES])
{
	char place[PATH_BYTES], of[32] = "";
	int rc, n;

	GNN_TRY(set_place(o, place));
	if (ranks > 1) /* ranks may share a disk */
		snprintf(of, sizeof(of), ".rank%uof%u", rank, ranks);
	n = snprintf(path, PATH_BYTES, "%s%s%s" FOLDER_SUFFIX, place, name_in_folder(o), of);
	if (n >= PATH_BYTES)
		rc = gnn_err(GNN_ECREAT, "the name of the scratch folder is too long");
out:
	return rc;
}

/* Whose folder it is, if one of a run with this output. */
static bool parse(const struct gnn_infer_opts *o, const char *name, uint32_t *rank,
	uint32_t *ranks)
{
	const char *base = name_in_folder(o);
	size_t bytes = strlen(base);
	int end = 0;

	*rank = 0;
	*ranks = 1;
	if (strncmp(name, base, bytes) != 0)
		return false;
	if (strcmp(name + bytes, FOLDER_SUFFIX) == 0)
		return true;
	return sscanf(name + bytes, ".rank%uof%u" FOLDER_SUFFIX "%n", rank, ranks, &end) == 2 &&
		end > 0 && name[bytes + (size_t)end] == '\0' && *ranks > 1 && *rank < *ranks;
}

typedef int (*gnn_folder_fn)(const struct gnn_infer_opts *o, uint32_t rank, uint32_t ranks,
	void *arg);

/* Each folder of another number of ranks that is seen from here. */
static int each_folder(const struct gnn_infer_opts *o, gnn_folder_fn fn, void *arg)
{
	char place[PATH_BYTES];
	uint32_t rank, ranks;
	struct dirent *entry;
	DIR *dir = NULL;
	int rc;

	GNN_TRY(set_place(o, place));
	dir = opendir(place[0] != '\0' ? place : ".");
	while (dir != NULL && rc == GNN_OK && (entry = readdir(dir)) != NULL)
		if (parse(o, entry->d_name, &rank, &ranks) && ranks != gnn_comm_size(o->comm))
			rc = fn(o, rank, ranks, arg);
	if (dir != NULL)
		closedir(dir);
out:
	return rc;
}

/* --- what is there --- */

void gnn_regroup_destroy(struct gnn_regroup *g)
{
	if (g == NULL)
		return;
	for (uint32_t q = 0; g->manifest != NULL && q < g->ranks; q++)
		gnn_manifest_fini(&g->manifest[q]);
	gnn_mem_free(g->manifest);
	gnn_mem_free(g);
}

enum gnn_plan_kind gnn_regroup_plan(const struct gnn_regroup *g)
{
	return g->manifest[0].plan;
}

uint32_t gnn_regroup_layer(const struct gnn_regroup *g)
{
	return g->manifest[0].position.layer;
}

uint64_t gnn_regroup_messages(const struct gnn_regroup *g, uint32_t layer)
{
	uint64_t sum = 0;

	for (uint32_t q = 0; q < g->ranks; q++)
		sum += g->manifest[q].messages[layer];
	return sum;
}

uint64_t gnn_regroup_read_bytes(const struct gnn_regroup *g)
{
	return g->read_bytes;
}

static int not_visible(const struct gnn_regroup *g, const char *path)
{
	return gnn_err(GNN_ECONFIG, "--resume: the run was stopped with %u ranks and has %u now, "
		"and %s is not to be seen from rank %u: other ranks go on only where each sees "
		"the run files of all; start %u, or " BEGIN_ANEW, g->ranks,
		gnn_comm_size(g->o->comm), path, gnn_comm_rank(g->o->comm), g->ranks);
}

/* The manifests of all of them; *count of those that are there. */
static int read_manifests(struct gnn_regroup *g, const struct gnn_manifest *facts, uint32_t *count)
{
	char path[PATH_BYTES];
	int rc = GNN_OK;

	*count = 0;
	for (uint32_t q = 0; q < g->ranks; q++) {
		GNN_TRY(gnn_regroup_folder(g->o, q, g->ranks, path));
		if (!gnn_file_is_dir(path))
			return not_visible(g, path);
		GNN_TRY(gnn_manifest_read(&g->manifest[q], path));
		if (rc == GNN_SKIPPED)
			continue;
		(*count)++;
		GNN_TRY(gnn_identity_compare(&g->manifest[q], facts));
		GNN_TRY(gnn_identity_same_plan(&g->manifest[q], g->o));
	}
	rc = GNN_OK;
out:
	return rc;
}

/* They were within one layer, of one plan; else they ended between two manifests. */
static bool is_one_point(const struct gnn_regroup *g)
{
	for (uint32_t q = 1; q < g->ranks; q++)
		if (g->manifest[q].position.layer != gnn_regroup_layer(g) ||
			g->manifest[q].plan != gnn_regroup_plan(g))
			return false;
	return true;
}

static int check_point(const struct gnn_regroup *g)
{
	const struct gnn_model *m = g->o->model;

	if (g->manifest[0].layer_count != gnn_model_layers(m) ||
		gnn_regroup_layer(g) > gnn_model_layers(m))
		return gnn_err(GNN_EDATA, "the manifests of %u ranks do not fit the model",
			g->ranks);
	if (gnn_regroup_plan(g) == GNN_PLAN_RESIDENT || gnn_regroup_layer(g) == 0)
		return gnn_err(GNN_ECONFIG, "--resume: the run was stopped with %u ranks%s, so "
			"that only as many can go on with it; start %u, or " BEGIN_ANEW, g->ranks,
			gnn_regroup_plan(g) == GNN_PLAN_RESIDENT ? " in the resident plan, which "
			"seals no layer" : " before it had sealed a layer", g->ranks);
	if (gnn_model_jump(m) != NULL)
		return gnn_err(GNN_ECONFIG, "--resume: the run was stopped with %u ranks, and what "
			"jumping knowledge has joined lies by their ranges; start %u, or "
			BEGIN_ANEW, g->ranks, g->ranks);
	return GNN_OK;
}

/* What `ranks` ranks have left: NULL where no rank of them has come to a manifest. */
static int look(struct gnn_regroup **out, const struct gnn_infer_opts *o,
	const struct gnn_manifest *facts, uint32_t ranks)
{
	struct gnn_regroup *g = NULL;
	uint32_t count;
	int rc;

	*out = NULL;
	GNN_NEW(g, GNN_MEM_MISC);
	g->o = o;
	g->ranks = ranks;
	GNN_NEW_ARRAY(g->manifest, ranks, GNN_MEM_MISC);
	GNN_TRY(read_manifests(g, facts, &count));
	if (count > 0 && (count < ranks || !is_one_point(g))) {
		if (gnn_comm_rank(o->comm) == 0)
			gnn_log(GNN_LOG_WARN, "infer", "the %u ranks of before were at different "
				"points when they ended: all begin anew", ranks);
		count = 0;
	}
	if (count == 0)
		goto out;
	GNN_TRY(check_point(g));
	*out = g;
	g = NULL;
out:
	gnn_regroup_destroy(g);
	return rc;
}

/* The smallest number of ranks past arg[0] that has a folder. */
static int next_number(const struct gnn_infer_opts *o, uint32_t rank, uint32_t ranks, void *arg)
{
	uint64_t *past = arg;

	(void)o;
	(void)rank;
	if (ranks > past[0])
		past[1] = gnn_min_u64(past[1], ranks);
	return GNN_OK;
}

/* Of two that could be gone on from the one that has come further. */
static void keep_best(struct gnn_regroup **best, struct gnn_regroup *g)
{
	bool better = g != NULL && (*best == NULL ||
		gnn_regroup_layer(g) > gnn_regroup_layer(*best));

	gnn_regroup_destroy(better ? *best : g);
	if (better)
		*best = g;
}

/* For all ranks or for none; what is in the way of this one is kept. */
static int try_number(struct gnn_regroup **best, const struct gnn_infer_opts *o,
	const struct gnn_manifest *facts, uint32_t ranks, struct gnn_err_state *first)
{
	struct gnn_regroup *g;
	uint64_t usable;
	int rc = look(&g, o, facts, ranks);

	if (rc < 0 && first->status == GNN_OK)
		gnn_err_save(first, rc);
	usable = g != NULL;
	rc = gnn_comm_reduce_u64(o->comm, GNN_REDUCE_MIN, &usable, 1);
	if (rc == GNN_OK && usable != 0)
		keep_best(best, g);
	else
		gnn_regroup_destroy(g);
	return rc;
}

int gnn_regroup_find(struct gnn_regroup **out, const struct gnn_infer_opts *o,
	const struct gnn_manifest *facts)
{
	struct gnn_regroup *best = NULL;
	struct gnn_err_state first = {0};
	uint64_t past[2] = {0};
	int rc;

	*out = NULL;
	for (;;) {
		past[1] = UINT64_MAX;
		GNN_TRY(each_folder(o, next_number, past));
		GNN_TRY(gnn_comm_reduce_u64(o->comm, GNN_REDUCE_MIN, &past[1], 1));
		if (past[1] == UINT64_MAX)
			break;
		past[0] = past[1];
		GNN_TRY(try_number(&best, o, facts, (uint32_t)past[0], &first));
	}
	if (best == NULL && first.status < 0)
		return gnn_err_restore(&first);
	GNN_TRY(gnn_comm_agree(o->comm, GNN_OK));
	if (best != NULL && gnn_comm_rank(o->comm) == 0)
		gnn_log(GNN_LOG_INFO, "infer", "goes on at layer %u with what %u ranks have left",
			gnn_regroup_layer(best) + 1, best->ranks);
	*out = best;
	best = NULL;
out:
	gnn_regroup_destroy(best);
	return rc;
}

/* --- rows --- */

/* A file of kept rows in a folder of before, and the part of it that is wanted here. */
struct part {
	const struct gnn_manifest_file *file;
	char     path[PATH_BYTES];
	uint64_t first, rows; /* of its rows; they go behind those that were taken before */
};

static int open_part(struct gnn_regroup *g, uint32_t q, const char *label, uint64_t row_bytes,
	struct part *p)
{
	char folder[PATH_BYTES];
	int rc;

	GNN_TRY(gnn_regroup_folder(g->o, q, g->ranks, folder));
	p->file = gnn_manifest_find(&g->manifest[q], label);
	if (p->file == NULL || p->file->sealed_rows != p->file->rows ||
		(p->file->row_bytes != row_bytes && p->file->rows > 0))
		GNN_FAIL(GNN_EDATA, "%s: the manifest names no such %s as this run takes; "
			"without --resume it begins anew", folder, label);
	if (snprintf(p->path, PATH_BYTES, "%s/%s", folder, label) >= PATH_BYTES)
		rc = gnn_err(GNN_ECREAT, "the name of the scratch folder is too long");
out:
	return rc;
}

/* Rows of the blocks that hold those that are wanted: only whole blocks can be compared. */
static void widen(const struct part *p, gnn_vid *begin, gnn_vid *end)
{
	uint64_t row = p->file->row_bytes;

	*begin = gnn_align_down(p->first * row, GNN_BLOCK_BYTES) / row;
	*end = gnn_min_u64(gnn_ceil_div(gnn_align_up((p->first + p->rows) * row,
		GNN_BLOCK_BYTES), row), p->file->rows);
}

static int push_wanted(const struct part *p, const struct gnn_piece *piece, struct gnn_rowfile *to)
{
	uint64_t row = p->file->row_bytes, at = piece->first_byte / row;
	gnn_vid first = gnn_max_u64(at, p->first);
	gnn_vid end = gnn_min_u64(at + piece->bytes / row, p->first + p->rows);

	return first >= end ? GNN_OK : gnn_rowfile_push(to, (const char *)piece->data +
		(first - at) * row, end - first);
}

static int copy_rowfile(struct gnn_regroup *g, const struct part *p, struct gnn_rowfile *to)
{
	const struct gnn_manifest_file *file = p->file;
	struct gnn_rowfile *from = NULL;
	struct gnn_stream *stream = NULL;
	struct gnn_piece *piece;
	gnn_vid begin, end;
	int rc;

	widen(p, &begin, &end);
	GNN_TRY(gnn_rowfile_reopen(&from, &(struct gnn_rowfile_opts){.path = p->path,
		.name = to->name, .engine = to->engine, .rows = file->rows,
		.row_bytes = file->row_bytes}, file->sealed_rows, file->sums));
	GNN_TRY(gnn_rowfile_read(&stream, from, begin, end - begin,
		gnn_max_u64(PIECE_BYTES / file->row_bytes, 1), AHEAD, 1));
	while ((rc = gnn_stream_next(stream, &piece)) == GNN_OK) {
		rc = push_wanted(p, piece, to);
		gnn_stream_put(stream, piece);
		if (rc < 0)
			goto out;
	}
	g->read_bytes += gnn_stream_read_bytes(stream);
out:
	gnn_stream_close(stream);
	gnn_rowfile_close(from);
	return rc == GNN_EOF ? GNN_OK : rc;
}

static int copy_ranges(struct gnn_runs_reader *reader, const struct part *p, uint64_t row_bytes,
	struct gnn_runs *to, gnn_vid *at)
{
	struct gnn_runs_range range;
	int rc;

	while ((rc = gnn_runs_reader_next(reader, &range)) == GNN_OK &&
		range.first < p->first + p->rows) {
		gnn_vid first = gnn_max_u64(range.first, p->first);
		gnn_vid end = gnn_min_u64(range.first + range.rows, p->first + p->rows);

		GNN_TRY(gnn_runs_push(to, NULL, *at, (const char *)range.data +
			(first - range.first) * row_bytes, end - first));
		*at += end - first;
	}
out:
	return rc < 0 ? rc : GNN_OK;
}

static int copy_runs(struct gnn_regroup *g, const struct part *p, struct gnn_runs *to, gnn_vid *at)
{
	struct gnn_runs_opts o = {.path = p->path, .engine = g->o->engine, .named = true,
		.sealed_bytes = p->file->sealed_bytes};
	struct gnn_runs_reader *reader = NULL;
	struct gnn_runs *from = NULL;
	int rc;

	GNN_TRY(gnn_runs_look(&o));
	if (o.ids != p->file->rows || o.row_bytes != p->file->row_bytes)
		GNN_FAIL(GNN_EDATA, "run file %s: is not what the manifest names", p->path);
	GNN_TRY(gnn_runs_create(&from, &o));
	if (!gnn_runs_ended(from))
		GNN_FAIL(GNN_EDATA, "run file %s: has fewer rows than the manifest names", p->path);
	GNN_TRY(gnn_runs_reader_open(&reader, from, 1));
	gnn_runs_reader_skip(reader, p->first / o.range_rows);
	GNN_TRY(copy_ranges(reader, p, o.row_bytes, to, at));
	g->read_bytes += gnn_runs_reader_read_bytes(reader);
out:
	gnn_runs_reader_close(reader);
	gnn_runs_destroy(from);
	return rc;
}

/* From one file for each rank of before, by their ranges, what this rank's range has of it. */
static int take_files(struct gnn_regroup *g, const struct gnn_kept *k, const char *suffix,
	uint64_t row_bytes, struct gnn_rowfile *to)
{
	const struct gnn_store *s = g->o->store;
	gnn_vid begin = s->first, end = s->first + s->vertices, base = 0, at = 0;
	char label[GNN_LABEL_BYTES];
	struct part p;
	int rc = GNN_OK;

	snprintf(label, sizeof(label), "%.32s.%s", k->label, suffix);
	for (uint32_t q = 0; q < g->ranks; q++) {
		gnn_vid first, last;

		GNN_TRY(open_part(g, q, label, row_bytes, &p));
		first = gnn_max_u64(begin, base);
		last = gnn_min_u64(end, base + p.file->rows);
		p.first = first - base;
		p.rows = last > first ? last - first : 0;
		base += p.file->rows;
		if (p.rows > 0)
			GNN_TRY(to != NULL ? copy_rowfile(g, &p, to) :
				copy_runs(g, &p, k->runs, &at));
	}
	if (base != s->whole_vertices)
		rc = gnn_err(GNN_EDATA, "%s of %u ranks has %llu rows, wanted %llu; without "
			"--resume the run begins anew", label, g->ranks, (unsigned long long)base,
			(unsigned long long)s->whole_vertices);
out:
	return rc;
}

int gnn_regroup_take(struct gnn_regroup *g, struct gnn_kept *k)
{
	int rc;

	if (k->runs != NULL)
		GNN_TRY(take_files(g, k, GNN_KEPT_RUNS, gnn_kept_row_bytes(&k->o), NULL));
	else
		GNN_TRY(take_files(g, k, GNN_KEPT_ROWS, k->rows->row_bytes, k->rows));
	if (k->own != NULL)
		GNN_TRY(take_files(g, k, GNN_KEPT_OWN, k->own->row_bytes, k->own));
	k->put_rows = k->o.vertices;
	GNN_TRY(gnn_kept_finish(k));
out:
	return rc;
}

/* --- what is needed no more --- */

/* Each is removed by one rank; one that is seen from other hosts alone stays. */
static int remove_folder(const struct gnn_infer_opts *o, uint32_t rank, uint32_t ranks, void *arg)
{
	struct gnn_folder *folder;
	char path[PATH_BYTES];
	int rc = GNN_OK;

	(void)arg;
	if (rank % gnn_comm_size(o->comm) != gnn_comm_rank(o->comm))
		return GNN_OK;
	GNN_TRY(gnn_regroup_folder(o, rank, ranks, path));
	GNN_TRY(gnn_folder_open(&folder, path));
	gnn_folder_remove(folder);
out:
	return rc;
}

int gnn_regroup_sweep(const struct gnn_infer_opts *o)
{
	return each_folder(o, remove_folder, NULL);
}
