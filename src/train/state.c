/* train/state.c - see state.h. */
#include "train/state.h"

#include "base/fault.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { WORDS = sizeof(struct gnn_epoch_report) / sizeof(uint64_t), SCALARS = 6, PATH_MAX_ = 4096,
	SPREAD_BYTES = 16 << 10 };

_Static_assert(sizeof(struct gnn_epoch_report) == WORDS * sizeof(uint64_t), "words only");

#define FORMAT "gnnrun-checkpoint 6"

int gnn_state_init(struct gnn_train_state *s, uint64_t floats)
{
	int rc;

	memset(s, 0, sizeof(*s));
	GNN_NEW_ARRAY(s->best, floats, GNN_MEM_MODEL);
out:
	return rc;
}

void gnn_state_fini(struct gnn_train_state *s)
{
	gnn_mem_free(s->best);
	gnn_mem_free(s->epoch);
	gnn_mem_free(s->history.data);
	gnn_mem_free(s->share);
	gnn_mem_free(s->late);
	s->history.data = NULL;
	s->share = s->late = NULL;
	s->best = NULL;
	s->epoch = NULL;
}

static int make_room(struct gnn_train_state *s, uint64_t count)
{
	void *block = s->epoch;
	int rc;

	if (count <= s->epoch_room)
		return GNN_OK;
	rc = gnn_mem_resize(&block, count + count / 2, sizeof(*s->epoch), GNN_MEM_MISC);
	if (rc < 0)
		return rc;
	s->epoch = block;
	s->epoch_room = count + count / 2;
	return rc;
}

int gnn_state_add(struct gnn_train_state *s)
{
	int rc = make_room(s, s->epoch_count + 1);

	if (rc == GNN_OK)
		s->epoch[s->epoch_count++] = s->current;
	return rc;
}

static int file_of(const struct gnn_state_key *key, char *path)
{
	if (snprintf(path, PATH_MAX_, "%s/state.safetensors", key->folder) >= PATH_MAX_)
		return gnn_err(GNN_ECREAT, "%.60s...: the name of the checkpoint is too long",
			key->folder);
	return GNN_OK;
}

/* The floats of weights and both moments, side by side on the host. */
struct floats {
	float   *data[3];
	uint64_t count[3];
};

static int copy_floats(struct floats *f, struct gnn_net *n, struct gnn_optim *p,
	struct gnn_backend *b, bool to_backend)
{
	float *there[] = {gnn_net_weights(n), gnn_optim_moment(p, 0), gnn_optim_moment(p, 1)};
	int rc = GNN_OK;

	for (int i = 0; i < 3; i++) {
		const uint64_t bytes = f->count[i] * sizeof(float);

		GNN_TRY(b->ops->copy(b, to_backend ? there[i] : f->data[i], bytes,
			to_backend ? f->data[i] : there[i], bytes, bytes, 1));
	}
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

static int new_floats(struct floats *f, struct gnn_net *n)
{
	const struct gnn_params *p = gnn_net_params(n);
	int rc = GNN_OK;

	f->count[0] = p->floats;
	f->count[1] = f->count[2] = p->learned;
	for (int i = 0; i < 3; i++)
		GNN_NEW_ARRAY(f->data[i], f->count[i], GNN_MEM_MODEL);
out:
	return rc;
}

static void free_floats(struct floats *f)
{
	for (int i = 0; i < 3; i++)
		gnn_mem_free(f->data[i]);
}

int gnn_state_save(const struct gnn_train_state *s, const struct gnn_state_key *key,
	struct gnn_net *n, struct gnn_optim *p, struct gnn_backend *b)
{
	const uint64_t scalars[SCALARS] = {s->step, s->best_epoch, s->has_best, s->finished,
		s->stopped_early, s->way};
	struct floats f = {{NULL}, {0}};
	char path[PATH_MAX_], graph[32], ranks[32];
	int rc;

	GNN_TRY(file_of(key, path));
	if (mkdir(key->folder, 0777) != 0 && errno != EEXIST)
		return gnn_err_sys(GNN_ECREAT, errno, "%s", key->folder);
	GNN_TRY(new_floats(&f, n));
	GNN_TRY(copy_floats(&f, n, p, b, false));
	snprintf(graph, sizeof(graph), "%016llx", (unsigned long long)key->graph);
	snprintf(ranks, sizeof(ranks), "%u", key->ranks);
	const struct gnn_tensor_out tensors[] = {
		{"weights", GNN_F32, 1, {f.count[0]}, f.data[0]},
		{"moment.0", GNN_F32, 1, {f.count[1]}, f.data[1]},
		{"moment.1", GNN_F32, 1, {f.count[2]}, f.data[2]},
		{"best", GNN_F32, 1, {f.count[0]}, s->best},
		{"scalars", GNN_U64, 1, {SCALARS}, scalars},
		{"current", GNN_U64, 1, {WORDS}, &s->current},
	};
	struct gnn_tensor_out all[GNN_COUNT_OF(tensors) + 4];
	uint64_t count = GNN_COUNT_OF(tensors);
	const struct gnn_tensor_text texts[] = {{"format", FORMAT}, {"version", GNN_VERSION},
		{"graph", graph}, {"ranks", ranks}, {"settings", key->settings}};

	memcpy(all, tensors, sizeof(tensors));
	if (s->epoch_count > 0)
		all[count++] = (struct gnn_tensor_out){"epochs", GNN_U64, 2,
			{s->epoch_count, WORDS}, s->epoch};
	if (s->share_count > 0)
		all[count++] = (struct gnn_tensor_out){"hybrid", GNN_U64, 2,
			{s->share_count, 2}, s->share};
	if (s->late_count > 0)
		all[count++] = (struct gnn_tensor_out){"late", GNN_U64, 2, {s->late_count, 2},
			s->late};
	if (s->history.count > 0)
		all[count++] = (struct gnn_tensor_out){"history", GNN_F32, 2,
			{s->history.count, s->history.floats}, s->history.data};
	GNN_TRY(gnn_safetensors_write(path, &(struct gnn_tensors_out){all, (uint32_t)count, texts,
		GNN_COUNT_OF(texts)}));
	gnn_crash_point("checkpoint");
out:
	free_floats(&f);
	return rc;
}

/* The first line of two texts that differs, for a message. */
static int refuse_settings(const char *path, const char *then, const char *now)
{
	while (*then != '\0' && *now != '\0') {
		const size_t a = strcspn(then, "\n"), b = strcspn(now, "\n");

		if (a != b || memcmp(then, now, a) != 0)
			return gnn_err(GNN_ECONFIG, "%s was made with %.*s, this run has %.*s: "
				"resume with the same settings, or start anew without --resume",
				path, (int)a, then, (int)b, now);
		then += a + (then[a] != '\0');
		now += b + (now[b] != '\0');
	}
	return *then == *now ? GNN_OK : gnn_err(GNN_ECONFIG, "%s was made with other settings",
		path);
}

static int check_key(const char *path, struct gnn_safetensors *file,
	const struct gnn_state_key *key)
{
	static const char *const names[] = {"format", "version", "graph"};
	const char *found[GNN_COUNT_OF(names)] = {NULL}, *settings = "", *ranks = "none";
	struct gnn_tensor_text text;
	char graph[32], here[32];

	snprintf(graph, sizeof(graph), "%016llx", (unsigned long long)key->graph);
	snprintf(here, sizeof(here), "%u", key->ranks);
	const char *const wanted[] = {FORMAT, GNN_VERSION, graph};

	for (uint32_t i = 0; gnn_safetensors_metadata(file, i, &text); i++) {
		for (uint32_t k = 0; k < GNN_COUNT_OF(names); k++)
			if (strcmp(text.key, names[k]) == 0)
				found[k] = text.value;
		if (strcmp(text.key, "settings") == 0)
			settings = text.value;
		if (strcmp(text.key, "ranks") == 0)
			ranks = text.value;
	}
	for (uint32_t k = 0; k < GNN_COUNT_OF(names); k++)
		if (found[k] == NULL || strcmp(found[k], wanted[k]) != 0)
			return gnn_err(GNN_ECONFIG, "%s is of another %s: found %.40s, wanted %s",
				path, names[k], found[k] != NULL ? found[k] : "none", wanted[k]);
	if (strcmp(ranks, here) != 0) /* they divide each batch: others would round otherwise */
		return gnn_err(GNN_ECONFIG, "%s was made by a number of ranks of %.20s, found %s: "
			"resume with as many, or begin anew without --resume", path, ranks, here);
	return refuse_settings(path, settings, key->settings);
}

static int read_tensor(const char *path, struct gnn_safetensors *file, struct gnn_file *bytes,
	const char *name, void *to, uint64_t count, uint64_t item_bytes)
{
	const struct gnn_tensor *t = gnn_safetensors_find(file, name);

	if (t == NULL || t->count != count || t->bytes != count * item_bytes)
		return gnn_err(GNN_EDATA, "%s: tensor %s: found %llu items, wanted %llu of %llu "
			"bytes", path, name, (unsigned long long)(t == NULL ? 0 : t->count),
			(unsigned long long)count, (unsigned long long)item_bytes);
	return gnn_file_pread(bytes, to, t->bytes, t->offset);
}

/* Decisions by the clock, where there are any: (super-batch, number) each. */
static int read_decisions(struct gnn_decision **to, uint64_t *count, const char *name,
	const char *path, struct gnn_safetensors *file, struct gnn_file *bytes)
{
	const struct gnn_tensor *t = gnn_safetensors_find(file, name);
	int rc = GNN_OK;

	if (t == NULL)
		return GNN_OK;
	gnn_mem_free(*to);
	*to = NULL;
	*count = t->count / 2;
	GNN_NEW_ARRAY(*to, *count, GNN_MEM_MISC);
	GNN_TRY(read_tensor(path, file, bytes, name, *to, 2 * *count, sizeof(uint64_t)));
out:
	return rc;
}

/* Versions of the first layer that go before the checkpoint's own weights. */
static int read_history(struct gnn_train_state *s, const char *path, struct gnn_safetensors *file,
	struct gnn_file *bytes)
{
	const struct gnn_tensor *t = gnn_safetensors_find(file, "history");
	struct gnn_history *h = &s->history;
	int rc = GNN_OK;

	if (t == NULL)
		return GNN_OK;
	if (t->rank != 2 || t->shape[0] > s->step)
		GNN_FAIL(GNN_EDATA, "%s: tensor history is not of versions before step %llu", path,
			(unsigned long long)s->step);
	gnn_mem_free(h->data);
	*h = (struct gnn_history){.first = s->step - t->shape[0], .count = t->shape[0],
		.floats = t->shape[1]};
	GNN_NEW_ARRAY(h->data, t->count, GNN_MEM_STATE);
	GNN_TRY(read_tensor(path, file, bytes, "history", h->data, t->count, sizeof(float)));
out:
	return rc;
}

static int read_state(struct gnn_train_state *s, const char *path, struct gnn_safetensors *file,
	struct gnn_file *bytes, struct floats *f)
{
	static const char *const names[] = {"weights", "moment.0", "moment.1"};
	const struct gnn_tensor *epochs = gnn_safetensors_find(file, "epochs");
	uint64_t scalars[SCALARS];
	int rc;

	for (int i = 0; i < 3; i++)
		GNN_TRY(read_tensor(path, file, bytes, names[i], f->data[i], f->count[i],
			sizeof(float)));
	GNN_TRY(read_tensor(path, file, bytes, "best", s->best, f->count[0], sizeof(float)));
	GNN_TRY(read_tensor(path, file, bytes, "scalars", scalars, SCALARS, sizeof(uint64_t)));
	GNN_TRY(read_tensor(path, file, bytes, "current", &s->current, WORDS, sizeof(uint64_t)));
	s->step = scalars[0];
	s->best_epoch = scalars[1];
	s->has_best = scalars[2] != 0;
	s->finished = scalars[3] != 0;
	s->stopped_early = scalars[4] != 0;
	s->way = scalars[5];
	s->epoch_count = epochs == NULL ? 0 : epochs->count / WORDS;
	if (s->has_best && s->best_epoch >= s->epoch_count)
		GNN_FAIL(GNN_EDATA, "%s: the best epoch, %llu, is not in its table of %llu", path,
			(unsigned long long)s->best_epoch, (unsigned long long)s->epoch_count);
	GNN_TRY(make_room(s, s->epoch_count));
	if (epochs != NULL)
		GNN_TRY(read_tensor(path, file, bytes, "epochs", s->epoch,
			s->epoch_count * WORDS, sizeof(uint64_t)));
	GNN_TRY(read_history(s, path, file, bytes));
	GNN_TRY(read_decisions(&s->share, &s->share_count, "hybrid", path, file, bytes));
	GNN_TRY(read_decisions(&s->late, &s->late_count, "late", path, file, bytes));
out:
	return rc;
}

int gnn_state_load(struct gnn_train_state *s, const struct gnn_state_key *key, struct gnn_net *n,
	struct gnn_optim *p, struct gnn_backend *b)
{
	struct gnn_safetensors *file = NULL;
	struct gnn_file *bytes = NULL;
	struct floats f = {{NULL}, {0}};
	char path[PATH_MAX_];
	int rc;

	GNN_TRY(file_of(key, path));
	if (!gnn_file_exists(path))
		return GNN_SKIPPED;
	GNN_TRY(gnn_safetensors_open(&file, path));
	GNN_TRY(check_key(path, file, key));
	GNN_TRY(gnn_file_open(&bytes, path));
	GNN_TRY(new_floats(&f, n));
	GNN_TRY(read_state(s, path, file, bytes, &f));
	GNN_TRY(copy_floats(&f, n, p, b, true));
out:
	free_floats(&f);
	gnn_file_close(bytes);
	gnn_safetensors_close(file);
	return rc;
}

/* The numbers of a state, for the other ranks. */
struct numbers {
	uint64_t step, best_epoch, has_best, finished, stopped_early, way, epoch_count;
	struct gnn_epoch_report current;
};

static struct numbers numbers_of(const struct gnn_train_state *s)
{
	return (struct numbers){s->step, s->best_epoch, s->has_best, s->finished,
		s->stopped_early, s->way, s->epoch_count, s->current};
}

static int take_numbers(struct gnn_train_state *s, const struct numbers *n)
{
	int rc = make_room(s, n->epoch_count);

	s->step = n->step;
	s->best_epoch = n->best_epoch;
	s->has_best = n->has_best != 0;
	s->finished = n->finished != 0;
	s->stopped_early = n->stopped_early != 0;
	s->way = n->way;
	s->epoch_count = n->epoch_count;
	s->current = n->current;
	return rc;
}

static int broadcast(struct gnn_comm *c, void *data, uint64_t bytes)
{
	int rc = GNN_OK;

	for (uint64_t at = 0; at < bytes; at += SPREAD_BYTES)
		GNN_TRY(gnn_comm_broadcast(c, 0, (char *)data + at,
			gnn_min_u64(SPREAD_BYTES, bytes - at)));
out:
	return rc;
}

int gnn_state_spread(struct gnn_train_state *s, struct gnn_comm *c, struct gnn_net *n,
	struct gnn_optim *p, struct gnn_backend *b)
{
	struct numbers numbers = numbers_of(s);
	struct floats f = {{NULL}, {0}};
	int rc;

	if (gnn_comm_size(c) == 1)
		return GNN_OK;
	GNN_TRY(broadcast(c, &numbers, sizeof(numbers)));
	GNN_TRY(take_numbers(s, &numbers));
	GNN_TRY(broadcast(c, s->epoch, s->epoch_count * sizeof(*s->epoch)));
	GNN_TRY(new_floats(&f, n));
	GNN_TRY(copy_floats(&f, n, p, b, false));
	for (int i = 0; i < 3; i++)
		GNN_TRY(broadcast(c, f.data[i], f.count[i] * sizeof(float)));
	GNN_TRY(broadcast(c, s->best, f.count[0] * sizeof(float)));
	GNN_TRY(copy_floats(&f, n, p, b, true));
out:
	free_floats(&f);
	return rc;
}
