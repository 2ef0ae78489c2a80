/* base/progress.c - see progress.h. */
#include "base/progress.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/ticker.h"
#include "base/units.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Seconds. */
#define TICK_TERMINAL 0.2
#define TICK_FILE     1.0
#define LINE_AT_LEAST 2.0
#define LINE_AT_MOST  30.0
#define LINE_SHARE    0.05 /* of the whole */
#define SMOOTHING     2.0  /* time over which rates are averaged */

enum { TEXT_BYTES = 192, NAME_BYTES = 24 };
#define NO_GAUGE UINT64_MAX

static const struct {
	const char *key, *shown;
} gauges[GNN_GAUGE_COUNT] = {
	[GNN_GAUGE_HOT_ROWS] = {"hot_rows", "hot"},
	[GNN_GAUGE_COLD_ROWS] = {"cold_rows", "cold"},
	[GNN_GAUGE_EVICTIONS] = {"evictions", "evicted"},
};

struct gnn_progress {
	char what[NAME_BYTES];
	const char *unit;
	uint64_t total;
	bool terminal;
	atomic_uint_fast64_t items, bytes; /* partners: add, and the watching thread */

	atomic_uint_fast64_t gauge[GNN_GAUGE_COUNT]; /* the same; NO_GAUGE: not there */
	struct gnn_ticker *watcher;

	/* The watching thread's own. */
	uint64_t start_ns, tick_ns, line_ns;
	uint64_t tick_items, tick_bytes;
	double line_share;
	double items_s, bytes_s; /* smoothed rates; negative before the first tick */
};

static atomic_bool enabled;

void gnn_progress_enable(bool on)
{
	atomic_store(&enabled, on);
}

static double smooth(double old, double now, double seconds)
{
	return old < 0.0 ? now : old + (now - old) * (1.0 - exp(-seconds / SMOOTHING));
}

static void measure(struct gnn_progress *p, uint64_t now)
{
	uint64_t items = atomic_load(&p->items), bytes = atomic_load(&p->bytes);
	double seconds = (double)(now - p->tick_ns) * 1e-9;

	if (seconds <= 0.0)
		return;
	p->items_s = smooth(p->items_s, (double)(items - p->tick_items) / seconds, seconds);
	p->bytes_s = smooth(p->bytes_s, (double)(bytes - p->tick_bytes) / seconds, seconds);
	p->tick_items = items;
	p->tick_bytes = bytes;
	p->tick_ns = now;
}

static double share_of(const struct gnn_progress *p)
{
	return p->total > 0 ? fmin((double)p->tick_items / (double)p->total, 1.0) : 0.0;
}

static void format(const struct gnn_progress *p, char to[TEXT_BYTES])
{
	char done[GNN_UNITS_BYTES], bytes[GNN_UNITS_BYTES], rate[GNN_UNITS_BYTES];
	char left[GNN_UNITS_BYTES];
	double rest = (double)(p->total - gnn_min_u64(p->total, p->tick_items));

	if (p->total > 0)
		snprintf(done, sizeof(done), "%3.0f %%", floor(share_of(p) * 100.0));
	else
		gnn_units_count(done, (double)p->tick_items);
	snprintf(to, TEXT_BYTES, "%-16s %9s %12s %18s  %s%s", p->what, done,
		gnn_units_rate(bytes, p->bytes_s, "B"), gnn_units_rate(rate, p->items_s, p->unit),
		p->total > 0 ? "left " : "",
		p->total > 0 ? gnn_units_time(left, rest / p->items_s) : "");
}

/* Behind the rates: "  hot 12.3 k  cold 400  evicted 1.2 k". */
static void append_gauges(struct gnn_progress *p, char to[TEXT_BYTES])
{
	char value[GNN_UNITS_BYTES];

	for (int i = 0; i < GNN_GAUGE_COUNT; i++) {
		uint64_t now = atomic_load(&p->gauge[i]);
		size_t used = strlen(to);

		if (now != NO_GAUGE)
			snprintf(to + used, TEXT_BYTES - used, "  %s %s", gauges[i].shown,
				gnn_units_count(value, (double)now));
	}
}

static void report(struct gnn_progress *p)
{
	struct gnn_json *line = gnn_metrics_begin("progress");

	if (line == NULL)
		return;
	gnn_json_text(line, "phase", p->what);
	gnn_json_text(line, "unit", p->unit);
	gnn_json_u64(line, "items", p->tick_items);
	gnn_json_u64(line, "items_total", p->total);
	gnn_json_u64(line, "done_bytes", p->tick_bytes);
	for (int i = 0; i < GNN_GAUGE_COUNT; i++)
		if (atomic_load(&p->gauge[i]) != NO_GAUGE)
			gnn_json_u64(line, gauges[i].key, atomic_load(&p->gauge[i]));
	gnn_json_real(line, "wall_s", (double)(p->tick_ns - p->start_ns) * 1e-9);
	gnn_metrics_end(line);
}

static bool line_is_due(const struct gnn_progress *p)
{
	double waited = (double)(p->tick_ns - p->line_ns) * 1e-9;

	return waited >= LINE_AT_MOST ||
		(waited >= LINE_AT_LEAST && share_of(p) >= p->line_share + LINE_SHARE);
}

static void tick(void *arg)
{
	struct gnn_progress *p = arg;
	bool shown = atomic_load(&enabled) && gnn_log_enabled(GNN_LOG_INFO);
	char text[TEXT_BYTES];

	measure(p, gnn_clock_ns());
	format(p, text);
	append_gauges(p, text);
	if (shown && p->terminal)
		gnn_log_status(text);
	if (!line_is_due(p))
		return;
	p->line_ns = p->tick_ns;
	p->line_share = share_of(p);
	report(p);
	if (shown && !p->terminal)
		gnn_log(GNN_LOG_INFO, "progress", "%s", text);
}

struct gnn_progress *gnn_progress_begin(const char *what, const char *unit, uint64_t total)
{
	struct gnn_progress *p;
	void *block;

	if (!atomic_load(&enabled) && !gnn_metrics_enabled())
		return NULL;
	if (gnn_mem_new(&block, 1, sizeof(*p), GNN_MEM_MISC) < 0)
		return NULL;
	p = block;
	snprintf(p->what, sizeof(p->what), "%s", what);
	p->unit = unit;
	p->total = total;
	p->terminal = gnn_log_on_terminal();
	p->start_ns = p->tick_ns = p->line_ns = gnn_clock_ns();
	p->items_s = p->bytes_s = -1.0;
	for (int i = 0; i < GNN_GAUGE_COUNT; i++)
		atomic_init(&p->gauge[i], NO_GAUGE);
	if (gnn_ticker_start(&p->watcher, "progress", p->terminal ? TICK_TERMINAL : TICK_FILE, tick,
		p) < 0) {
		gnn_progress_end(p);
		return NULL;
	}
	return p;
}

void gnn_progress_add(struct gnn_progress *p, uint64_t items, uint64_t bytes)
{
	if (p == NULL)
		return;
	atomic_fetch_add_explicit(&p->items, items, memory_order_relaxed);
	atomic_fetch_add_explicit(&p->bytes, bytes, memory_order_relaxed);
}

void gnn_progress_gauge(struct gnn_progress *p, enum gnn_gauge gauge, uint64_t value)
{
	if (p != NULL)
		atomic_store_explicit(&p->gauge[gauge], value, memory_order_relaxed);
}

void gnn_progress_end(struct gnn_progress *p)
{
	if (p == NULL)
		return;
	gnn_ticker_stop(&p->watcher);
	if (p->terminal)
		gnn_log_status(NULL);
	gnn_mem_free(p);
}
