/* train/hybrid.c - see hybrid.h. */
#include "train/hybrid.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"

#include <pthread.h>
#include <string.h>

/* Waited seconds below this share of a super-batch are none; what is moved at once. */
#define NO_IDLE 0.01
enum { PARTS = 8 };

static const struct gnn_decisions_kind kind = {"--hybrid", "gnnrun-hybrid 1", "hot vertices"};

struct gnn_hybrid {
	pthread_mutex_t   lock;  /* guards the decisions */
	uint64_t          hot, count, room;
	struct gnn_decision *share;
	bool              replay;
};

int gnn_hybrid_create(struct gnn_hybrid **out, uint64_t hot,
	const struct gnn_decision *log, uint64_t count, bool replay)
{
	struct gnn_hybrid *h = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(h, GNN_MEM_MISC);
	pthread_mutex_init(&h->lock, NULL);
	h->hot = hot;
	h->replay = replay;
	h->count = count;
	h->room = count + PARTS + 2; /* each of them moves an eighth, or what there is room for */
	GNN_NEW_ARRAY(h->share, h->room, GNN_MEM_MISC);
	if (count > 0)
		memcpy(h->share, log, count * sizeof(*log));
	*out = h;
	h = NULL;
out:
	gnn_hybrid_destroy(h);
	return rc;
}

void gnn_hybrid_destroy(struct gnn_hybrid *h)
{
	if (h == NULL)
		return;
	pthread_mutex_destroy(&h->lock);
	gnn_mem_free(h->share);
	gnn_mem_free(h);
}

uint64_t gnn_hybrid_cpu(struct gnn_hybrid *h, uint64_t super_batch)
{
	uint64_t cpu = h->hot;

	pthread_mutex_lock(&h->lock);
	for (uint64_t i = 0; i < h->count && h->share[i].at <= super_batch; i++)
		cpu = h->share[i].value;
	pthread_mutex_unlock(&h->lock);
	return cpu;
}

static void report(const struct gnn_hybrid_seen *s, const struct gnn_decision *d,
	uint64_t moved)
{
	struct gnn_json *line = gnn_metrics_begin("hybrid");

	gnn_log(GNN_LOG_INFO, "train", "super-batch %llu waited %.4f of %.4f s for the CPU: %llu "
		"hot vertices go to the device, %llu stay, from super-batch %llu on",
		(unsigned long long)s->super_batch, s->idle_s, s->wall_s,
		(unsigned long long)moved, (unsigned long long)d->value,
		(unsigned long long)d->at);
	if (line == NULL)
		return;
	gnn_json_u64(line, "super_batch", s->super_batch);
	gnn_json_real(line, "idle_s", s->idle_s);
	gnn_json_real(line, "wall_s", s->wall_s);
	gnn_json_u64(line, "room_vertices", s->room);
	gnn_json_u64(line, "from", d->at);
	gnn_json_u64(line, "cpu_vertices", d->value);
	gnn_metrics_end(line);
}

void gnn_hybrid_decide(struct gnn_hybrid *h, const struct gnn_hybrid_seen *s)
{
	const struct gnn_decision *last = h->count > 0 ? &h->share[h->count - 1] : NULL;
	const uint64_t cpu = last != NULL ? last->value : h->hot;
	const uint64_t part = gnn_min_u64(gnn_ceil_div(h->hot, PARTS), gnn_min_u64(cpu, s->room));
	const struct gnn_decision next = {s->super_batch + GNN_HYBRID_DELAY, cpu - part};

	if (h->replay || part == 0 || s->idle_s <= NO_IDLE * s->wall_s ||
		(last != NULL && s->super_batch <= last->at) || h->count == h->room)
		return;
	pthread_mutex_lock(&h->lock);
	h->share[h->count++] = next;
	pthread_mutex_unlock(&h->lock);
	report(s, &next, part);
}

const struct gnn_decision *gnn_hybrid_log(const struct gnn_hybrid *h, uint64_t *count)
{
	*count = h->count;
	return h->share;
}

int gnn_hybrid_write(const struct gnn_hybrid *h, const char *path)
{
	return gnn_decisions_write(path, &kind, h->hot, h->share, h->count);
}

int gnn_hybrid_read(const char *path, uint64_t hot, struct gnn_decision **log, uint64_t *count)
{
	int rc;

	GNN_TRY(gnn_decisions_read(path, &kind, hot, log, count));
	for (uint64_t i = 0; i < *count; i++) {
		const struct gnn_decision *d = *log + i;
		const struct gnn_decision before = i > 0 ? d[-1] :
			(struct gnn_decision){GNN_HYBRID_DELAY, hot};

		if (d->at < before.at + (i > 0) || d->value >= before.value)
			GNN_FAIL(GNN_EDATA, "%s, line %llu: wanted a super-batch behind the one "
				"before, and fewer vertices", path, (unsigned long long)i + 2);
	}
out:
	return rc;
}
