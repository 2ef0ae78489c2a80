/* train/hybrid.c - see hybrid.h. */
#include "train/hybrid.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "io/file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "gnnrun-hybrid 1"

/* Waited seconds below this share of a super-batch are none; what is moved at once. */
#define NO_IDLE 0.01
enum { PARTS = 8, LOG_BYTES = 1 << 24, LINE_BYTES = 64 };

struct gnn_hybrid {
	pthread_mutex_t   lock;  /* guards the decisions */
	uint64_t          hot, count, room;
	struct gnn_hybrid_share *share;
	bool              replay;
};

int gnn_hybrid_create(struct gnn_hybrid **out, uint64_t hot,
	const struct gnn_hybrid_share *log, uint64_t count, bool replay)
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
	for (uint64_t i = 0; i < h->count && h->share[i].from <= super_batch; i++)
		cpu = h->share[i].cpu;
	pthread_mutex_unlock(&h->lock);
	return cpu;
}

static void report(const struct gnn_hybrid_seen *s, const struct gnn_hybrid_share *d,
	uint64_t moved)
{
	struct gnn_json *line = gnn_metrics_begin("hybrid");

	gnn_log(GNN_LOG_INFO, "train", "super-batch %llu waited %.4f of %.4f s for the CPU: %llu "
		"hot vertices go to the device, %llu stay, from super-batch %llu on",
		(unsigned long long)s->super_batch, s->idle_s, s->wall_s,
		(unsigned long long)moved, (unsigned long long)d->cpu,
		(unsigned long long)d->from);
	if (line == NULL)
		return;
	gnn_json_u64(line, "super_batch", s->super_batch);
	gnn_json_real(line, "idle_s", s->idle_s);
	gnn_json_real(line, "wall_s", s->wall_s);
	gnn_json_u64(line, "room_vertices", s->room);
	gnn_json_u64(line, "from", d->from);
	gnn_json_u64(line, "cpu_vertices", d->cpu);
	gnn_metrics_end(line);
}

void gnn_hybrid_decide(struct gnn_hybrid *h, const struct gnn_hybrid_seen *s)
{
	const struct gnn_hybrid_share *last = h->count > 0 ? &h->share[h->count - 1] : NULL;
	const uint64_t cpu = last != NULL ? last->cpu : h->hot;
	const uint64_t part = gnn_min_u64(gnn_ceil_div(h->hot, PARTS), gnn_min_u64(cpu, s->room));
	const struct gnn_hybrid_share next = {s->super_batch + GNN_HYBRID_DELAY, cpu - part};

	if (h->replay || part == 0 || s->idle_s <= NO_IDLE * s->wall_s ||
		(last != NULL && s->super_batch <= last->from) || h->count == h->room)
		return;
	pthread_mutex_lock(&h->lock);
	h->share[h->count++] = next;
	pthread_mutex_unlock(&h->lock);
	report(s, &next, part);
}

const struct gnn_hybrid_share *gnn_hybrid_log(const struct gnn_hybrid *h, uint64_t *count)
{
	*count = h->count;
	return h->share;
}

int gnn_hybrid_write(const struct gnn_hybrid *h, const char *path)
{
	struct gnn_pub *pub = NULL;
	char line[LINE_BYTES];
	int rc;

	GNN_TRY(gnn_pub_begin(&pub, path));
	snprintf(line, sizeof(line), "%s %llu\n", HEAD, (unsigned long long)h->hot);
	GNN_TRY(gnn_pub_write(pub, line, strlen(line)));
	for (uint64_t i = 0; i < h->count; i++) {
		snprintf(line, sizeof(line), "%llu %llu\n", (unsigned long long)h->share[i].from,
			(unsigned long long)h->share[i].cpu);
		GNN_TRY(gnn_pub_write(pub, line, strlen(line)));
	}
	GNN_TRY(gnn_pub_commit(&pub));
out:
	gnn_pub_abort(pub);
	return rc;
}

/* Two numbers of a line; false: something else. */
static bool read_line(const char *at, struct gnn_hybrid_share *s)
{
	char *end;

	s->from = strtoull(at, &end, 10);
	if (end == at || *end != ' ')
		return false;
	at = end + 1;
	s->cpu = strtoull(at, &end, 10);
	return end != at && *end == '\n';
}

static int read_lines(const char *path, const char *text, struct gnn_hybrid_share *log,
	uint64_t hot, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++, text = strchr(text, '\n') + 1) {
		const struct gnn_hybrid_share before = i > 0 ? log[i - 1] :
			(struct gnn_hybrid_share){GNN_HYBRID_DELAY, hot};

		if (!read_line(text, &log[i]) || log[i].from < before.from + (i > 0) ||
			log[i].cpu >= before.cpu)
			return gnn_err(GNN_EDATA, "%s, line %llu: wanted a super-batch behind the "
				"one before, and fewer vertices", path, (unsigned long long)i + 2);
	}
	return GNN_OK;
}

int gnn_hybrid_read(const char *path, uint64_t hot, struct gnn_hybrid_share **log,
	uint64_t *count)
{
	char head[LINE_BYTES], *text = NULL;
	uint64_t bytes;
	int rc;

	*log = NULL;
	*count = 0;
	GNN_TRY(gnn_file_slurp(path, LOG_BYTES, &text, &bytes));
	snprintf(head, sizeof(head), "%s %llu\n", HEAD, (unsigned long long)hot);
	if (bytes < strlen(HEAD) || memcmp(text, HEAD, strlen(HEAD)) != 0 ||
		text[bytes - 1] != '\n')
		GNN_FAIL(GNN_EDATA, "%s: no log of --hybrid", path);
	if (strncmp(text, head, strlen(head)) != 0)
		GNN_FAIL(GNN_ECONFIG, "%s is of a training with other hot vertices: found '%.*s', "
			"wanted %llu", path, (int)strcspn(text + strlen(HEAD), "\n"),
			text + strlen(HEAD), (unsigned long long)hot);
	for (uint64_t i = strlen(head); i < bytes; i++)
		*count += text[i] == '\n';
	GNN_NEW_ARRAY(*log, *count, GNN_MEM_MISC);
	GNN_TRY(read_lines(path, text + strlen(head), *log, hot, *count));
out:
	gnn_mem_free(text);
	return rc;
}
