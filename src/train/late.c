/* train/late.c - see late.h. */
#include "train/late.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"

#include <pthread.h>
#include <string.h>

/* Of the super-batch that is trained and of the next one slices are made. */
enum { SLOTS = 2 };

struct slot {
	uint64_t super_batch, slices;
	struct gnn_onehop_counts counts;
};

struct gnn_late {
	pthread_mutex_t lock;     /* guards all below it */
	pthread_cond_t  changed;
	enum gnn_late_mode mode;
	uint64_t        slices;   /* of each super-batch */
	uint64_t        told;     /* super-batches below it are as the log says */
	struct slot     made[SLOTS], settled;
	uint64_t        due;      /* 1 + the last super-batch that was asked for */
	bool            any_settled, cancelled;
	struct gnn_decision *log;
	uint64_t        count, room;
};

static const struct gnn_decisions_kind kind = {"--late", "gnnrun-late 1",
	"steps in a super-batch"};

int gnn_late_create(struct gnn_late **out, const struct gnn_late_opts *o)
{
	struct gnn_late *l = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(l, GNN_MEM_MISC);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	l->mode = o->mode;
	l->slices = o->super_batch;
	l->told = o->mode == GNN_LATE_REPLAY ? UINT64_MAX : gnn_ceil_div(o->step, o->super_batch);
	l->count = l->room = o->count;
	if (o->count > 0) {
		GNN_NEW_ARRAY(l->log, o->count, GNN_MEM_MISC);
		memcpy(l->log, o->log, o->count * sizeof(*l->log));
	}
	*out = l;
	l = NULL;
out:
	gnn_late_destroy(l);
	return rc;
}

enum gnn_late_mode gnn_late_mode_of(const struct gnn_late *l)
{
	return l->mode;
}

void gnn_late_destroy(struct gnn_late *l)
{
	if (l == NULL)
		return;
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	gnn_mem_free(l->log);
	gnn_mem_free(l);
}

void gnn_late_made(struct gnn_late *l, uint64_t super_batch, uint64_t slices,
	const struct gnn_onehop_counts *counts)
{
	pthread_mutex_lock(&l->lock);
	l->made[super_batch % SLOTS] = (struct slot){super_batch, slices, *counts};
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

/* What the log says of a super-batch, in whose order it is. */
static uint64_t logged(const struct gnn_late *l, uint64_t super_batch)
{
	uint64_t first = 0, end = l->count;

	while (first < end) {
		const uint64_t middle = (first + end) / 2;

		if (l->log[middle].at < super_batch)
			first = middle + 1;
		else
			end = middle;
	}
	return first < l->count && l->log[first].at == super_batch ? l->log[first].value
		: l->slices;
}

static bool is_settled(const struct gnn_late *l, uint64_t super_batch)
{
	return l->any_settled && l->settled.super_batch >= super_batch;
}

bool gnn_late_is_over(struct gnn_late *l, uint64_t super_batch, uint64_t slices)
{
	bool over;

	pthread_mutex_lock(&l->lock);
	over = is_settled(l, super_batch) ||
		(super_batch < l->told && slices >= logged(l, super_batch));
	pthread_mutex_unlock(&l->lock);
	return over;
}

void gnn_late_due(struct gnn_late *l, uint64_t step)
{
	pthread_mutex_lock(&l->lock);
	l->due = step / l->slices + 1;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void report(const struct gnn_late *l, const struct slot *s)
{
	struct gnn_json *line = gnn_metrics_begin("late");

	gnn_log(GNN_LOG_INFO, "train", "super-batch %llu is due with %llu of %llu slices of its "
		"hot vertices: the others count as cold", (unsigned long long)s->super_batch,
		(unsigned long long)s->slices, (unsigned long long)l->slices);
	if (line == NULL)
		return;
	gnn_json_u64(line, "super_batch", s->super_batch);
	gnn_json_u64(line, "slices", s->slices);
	gnn_json_u64(line, "wanted", l->slices);
	gnn_metrics_end(line);
}

static int note(struct gnn_late *l, const struct slot *s)
{
	void *block = l->log;
	int rc = GNN_OK;

	if (l->count == l->room) {
		GNN_TRY(gnn_mem_resize(&block, 2 * l->room + 16, sizeof(*l->log), GNN_MEM_MISC));
		l->log = block;
		l->room = 2 * l->room + 16;
	}
	l->log[l->count++] = (struct gnn_decision){s->super_batch, s->slices};
	report(l, s);
out:
	return rc;
}

/* Waits until enough is made, or the trainer does not wait any more; of super-batch 0 all is. */
static int wait_for(struct gnn_late *l, uint64_t super_batch, struct slot *s)
{
	const bool told = super_batch < l->told;
	const uint64_t wanted = super_batch == 0 ? 0 : told ? logged(l, super_batch) : l->slices;
	const struct slot *made = &l->made[super_batch % SLOTS];

	for (;;) {
		*s = made->super_batch == super_batch ? *made
			: (struct slot){.super_batch = super_batch};
		if (s->slices >= wanted) {
			s->slices = super_batch == 0 ? l->slices : wanted;
			return GNN_OK;
		}
		if (l->mode == GNN_LATE_COLD && !told && l->due > super_batch)
			return note(l, s);
		if (l->cancelled)
			return gnn_err(GNN_ESTOP, "stopped");
		pthread_cond_wait(&l->changed, &l->lock);
	}
}

int gnn_late_settle(struct gnn_late *l, uint64_t super_batch, uint64_t *slices,
	struct gnn_onehop_counts *counts)
{
	struct slot s = {0};
	int rc = GNN_OK;

	pthread_mutex_lock(&l->lock);
	if (l->any_settled && l->settled.super_batch == super_batch)
		s = l->settled;
	else
		rc = wait_for(l, super_batch, &s);
	if (rc == GNN_OK) {
		l->settled = s;
		l->any_settled = true;
	}
	pthread_mutex_unlock(&l->lock);
	*slices = s.slices;
	*counts = s.counts;
	return rc;
}

bool gnn_late_is_settled(struct gnn_late *l, uint64_t super_batch)
{
	bool settled;

	pthread_mutex_lock(&l->lock);
	settled = is_settled(l, super_batch);
	pthread_mutex_unlock(&l->lock);
	return settled;
}

void gnn_late_cancel(struct gnn_late *l)
{
	pthread_mutex_lock(&l->lock);
	l->cancelled = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

int gnn_late_log(struct gnn_late *l, struct gnn_decision **log, uint64_t *count)
{
	int rc;

	pthread_mutex_lock(&l->lock);
	*log = NULL;
	*count = l->count;
	GNN_NEW_ARRAY(*log, gnn_max_u64(l->count, 1), GNN_MEM_MISC);
	if (l->count > 0)
		memcpy(*log, l->log, l->count * sizeof(**log));
out:
	pthread_mutex_unlock(&l->lock);
	return rc;
}

int gnn_late_write(const char *path, uint64_t super_batch, const struct gnn_decision *log,
	uint64_t count)
{
	return gnn_decisions_write(path, &kind, super_batch, log, count);
}

int gnn_late_read(const char *path, uint64_t super_batch, struct gnn_decision **log,
	uint64_t *count)
{
	int rc;

	GNN_TRY(gnn_decisions_read(path, &kind, super_batch, log, count));
	for (uint64_t i = 0; i < *count; i++)
		if ((*log)[i].at < (i > 0 ? (*log)[i - 1].at + 1 : 1) ||
			(*log)[i].value >= super_batch)
			GNN_FAIL(GNN_EDATA, "%s, line %llu: wanted a super-batch behind the one "
				"before, and fewer slices than it has", path,
				(unsigned long long)i + 2);
out:
	return rc;
}
