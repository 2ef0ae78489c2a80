/* order/order.c - see order.h: the table of orders, and the measuring around one. */
#include "order/order.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/trace.h"

#include <string.h>

static const struct gnn_order *const orders[] = {
	&gnn_order_taurus, &gnn_order_rcm, &gnn_order_atlas, &gnn_order_random,
	&gnn_order_original,
};

/* Of measuring: the changes of activity, and offsets of both directions. */
enum { MEASURE_BYTES = 3 * 8 };

const struct gnn_order *gnn_order_find(const char *name)
{
	for (size_t i = 0; i < GNN_COUNT_OF(orders); i++)
		if (strcmp(orders[i]->name, name) == 0)
			return orders[i];
	return NULL;
}

void gnn_order_tell(const char *order, uint64_t iteration, const struct gnn_order_step *s)
{
	struct gnn_json *line = gnn_metrics_begin("order");

	if (line == NULL)
		return;
	gnn_json_text(line, "order", order);
	gnn_json_u64(line, "iteration", iteration);
	gnn_json_u64(line, "span", s->spread.span);
	gnn_json_real(line, "dispersion", s->spread.dispersion);
	gnn_json_u64(line, "bandwidth", s->spread.bandwidth);
	gnn_json_u64(line, "peak_active", s->spread.peak_active);
	gnn_json_real(line, "mean_active", s->spread.mean_active);
	gnn_json_real(line, "wall_s", s->wall_s);
	gnn_metrics_end(line);
}

static int open_lists(struct gnn_order_work *w, const struct gnn_order *order,
	const struct gnn_order *bootstrap)
{
	const struct gnn_order_opts *o = w->o;
	uint64_t bytes = gnn_max_u64(order->vertex_bytes, bootstrap->vertex_bytes) + MEASURE_BYTES;

	bytes *= w->vertices;
	return gnn_lists_open(&w->lists, &(struct gnn_lists_opts){.store = o->store,
		.memory_bytes = o->memory_bytes - gnn_min_u64(bytes, o->memory_bytes),
		.at_random = order->at_random || bootstrap->at_random, .threads = o->threads});
}

/* The order of `rank`, measured and told. */
static int measure(const struct gnn_order_work *w, const char *name, const uint64_t *rank,
	struct gnn_spread *out)
{
	struct gnn_order_step step = {.wall_s = 0.0};
	struct gnn_spread_work work = {.rank = rank, .threads = w->o->threads};
	uint64_t start = gnn_clock_ns();
	int rc;

	GNN_NEW_ARRAY(work.change, w->vertices + 1, GNN_MEM_TOPOLOGY);
	GNN_NEW_ARRAY(work.block, gnn_spread_blocks(w->vertices), GNN_MEM_TOPOLOGY);
	GNN_TRY(gnn_spread_measure(&step.spread, w->lists, w->vertices, &work));
	step.wall_s = gnn_clock_s_since(start);
	gnn_order_tell(name, 0, &step);
	*out = step.spread;
out:
	gnn_mem_free(work.change);
	gnn_mem_free(work.block);
	return rc;
}

int gnn_order_check(const uint64_t *rank, uint64_t vertices, bool *one_to_one)
{
	uint64_t *seen = NULL;
	int rc;

	*one_to_one = true;
	GNN_NEW_ARRAY(seen, vertices / 64 + 1, GNN_MEM_TOPOLOGY);
	for (uint64_t v = 0; v < vertices && *one_to_one; v++) {
		*one_to_one = rank[v] < vertices && (seen[rank[v] / 64] >> rank[v] % 64 & 1) == 0;
		if (*one_to_one)
			seen[rank[v] / 64] |= UINT64_C(1) << rank[v] % 64;
	}
out:
	gnn_mem_free(seen);
	return rc;
}

static int make(const struct gnn_order_work *w, const struct gnn_order *order, uint64_t *rank)
{
	uint64_t span = gnn_trace_begin();
	bool one_to_one;
	int rc;

	for (uint64_t v = 0; v < w->vertices; v++)
		rank[v] = v;
	GNN_TRY(measure(w, "before", rank, &w->report->before));
	GNN_TRY(order->make(w, rank));
	gnn_trace_end(span, order->name);
	GNN_TRY(gnn_order_check(rank, w->vertices, &one_to_one));
	GNN_ASSERT(one_to_one);
	GNN_TRY(measure(w, order->name, rank, &w->report->after));
out:
	return rc;
}

int gnn_order_make(const struct gnn_order_opts *o, uint64_t *rank, struct gnn_order_report *r)
{
	struct gnn_order_work w = {.o = o, .vertices = o->store->vertices, .report = r};
	const struct gnn_order *order = gnn_order_find(o->name), *bootstrap = order;
	uint64_t start = gnn_clock_ns();
	int rc;

	*r = (struct gnn_order_report){0};
	GNN_ASSERT(o->iterations > 0);
	if (order == NULL)
		return gnn_err(GNN_EUSAGE, "reorder: there is no order %s", o->name);
	if (order == &gnn_order_taurus)
		bootstrap = gnn_order_find(o->bootstrap);
	if (bootstrap == NULL)
		return gnn_err(GNN_EUSAGE, "reorder: there is no order %s", o->bootstrap);
	GNN_TRY(open_lists(&w, order, bootstrap));
	GNN_TRY(make(&w, order, rank));
	r->resident = gnn_lists_resident(w.lists);
	r->read_bytes = gnn_lists_read_bytes(w.lists);
	r->wall_s = gnn_clock_s_since(start);
out:
	gnn_lists_close(w.lists);
	return rc;
}

void gnn_order_report_fini(struct gnn_order_report *r)
{
	gnn_mem_free(r->iteration);
	r->iteration = NULL;
}
