/* order/order.c - see order.h: the table of orders, and the measuring around one. */
#include "order/order.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/trace.h"
#include "op/backend.h"

#include <string.h>

static const struct gnn_order *const orders[] = {
	&gnn_order_taurus, &gnn_order_rcm, &gnn_order_atlas, &gnn_order_random,
	&gnn_order_original,
};

enum { OFFSET_BYTES = 2 * 8 };

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

/* Of host memory a vertex; what a bootstrap took is free when the places take theirs. */
static uint64_t vertex_bytes(const struct gnn_order_work *w, const struct gnn_order *order,
	const struct gnn_order *bootstrap)
{
	const struct gnn_place_ops *places = w->backend->ops->places;

	return gnn_max_u64(bootstrap->vertex_bytes, order->moves ? places->move_bytes
		: order->vertex_bytes) + places->measure_bytes + OFFSET_BYTES;
}

static int open_lists(struct gnn_order_work *w, const struct gnn_order *order,
	const struct gnn_order *bootstrap)
{
	const struct gnn_order_opts *o = w->o;
	uint64_t bytes = vertex_bytes(w, order, bootstrap) * w->vertices;

	return gnn_lists_open(&w->lists, &(struct gnn_lists_opts){.store = o->store,
		.memory_bytes = o->memory_bytes - gnn_min_u64(bytes, o->memory_bytes),
		.at_random = order->at_random || bootstrap->at_random, .threads = o->threads});
}

/* What the places will be asked for; their longest list is not known yet. */
static struct gnn_places_opts needs(const struct gnn_order_work *w, const struct gnn_order *order)
{
	const struct gnn_store *s = w->o->store;

	return (struct gnn_places_opts){.vertices = s->vertices, .edges = s->edges,
		.moves = order->moves, .wide = s->out.neighbors->dtype != GNN_U32};
}

static int create_backend(struct gnn_order_work *w, const char *name)
{
	return gnn_backend_create(&w->backend, name, &(struct gnn_backend_opts){
		.threads = w->o->threads, .memory_bytes = w->o->gpu_memory});
}

/* "auto" is the CPU where the device has too little memory. */
static int open_backend(struct gnn_order_work *w, const struct gnn_order *order)
{
	const struct gnn_places_opts o = needs(w, order);
	int rc;

	GNN_TRY(create_backend(w, w->o->backend));
	rc = w->backend->ops->places->fits(w->backend, &o);
	if (rc < 0 && strcmp(w->o->backend, "auto") == 0) {
		gnn_log(GNN_LOG_WARN, "order", "the CPU orders: %s", gnn_err_text());
		gnn_backend_destroy(w->backend);
		rc = create_backend(w, gnn_backend_cpu.name);
	}
out:
	return rc;
}

/* Lists in memory that a device reads again with each pass. */
static bool is_read_again(const struct gnn_order_work *w)
{
	return w->places != NULL && w->places->reads && gnn_lists_resident(w->lists) &&
		w->o->store->edges > 0;
}

static int open_ranks(struct gnn_order_work *w, const struct gnn_order *order)
{
	struct gnn_backend *b = w->backend;
	struct gnn_places_opts o = needs(w, order);
	int rc;

	o.longest = gnn_lists_longest(w->lists);
	GNN_TRY(b->ops->places->create(&w->places, b, &o));
	for (int d = 0; d < GNN_DIRECTIONS && is_read_again(w); d++)
		if (b->ops->pin(b, gnn_lists_all(w->lists, (enum gnn_direction)d),
			w->o->store->out.neighbors->bytes) != GNN_OK)
			gnn_log(GNN_LOG_DEBUG, "order", "%s", gnn_err_text());
out:
	return rc;
}

static void close_ranks(struct gnn_order_work *w)
{
	struct gnn_backend *b = w->backend;

	for (int d = 0; d < GNN_DIRECTIONS && is_read_again(w); d++)
		b->ops->unpin(b, gnn_lists_all(w->lists, (enum gnn_direction)d));
	if (w->places != NULL)
		w->places->ops->destroy(w->places);
}

/* The order of `rank`, measured and told. */
static int measure(const struct gnn_order_work *w, const char *name, uint64_t *rank,
	struct gnn_spread *out)
{
	struct gnn_order_step step = {.wall_s = 0.0};
	uint64_t start = gnn_clock_ns();
	int rc;

	GNN_TRY(w->places->ops->put(w->places, rank));
	GNN_TRY(gnn_spread_measure(&step.spread, w->lists, w->places));
	step.wall_s = gnn_clock_s_since(start);
	gnn_order_tell(name, 0, &step);
	*out = step.spread;
out:
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
	GNN_TRY(open_backend(&w, order));
	GNN_TRY(open_lists(&w, order, bootstrap));
	GNN_TRY(open_ranks(&w, order));
	GNN_TRY(make(&w, order, rank));
	r->backend = w.backend->ops->name;
	r->peak_device_bytes = w.backend->ops->peak_bytes(w.backend);
	r->resident = gnn_lists_resident(w.lists);
	r->read_bytes = gnn_lists_read_bytes(w.lists);
	r->wall_s = gnn_clock_s_since(start);
out:
	close_ranks(&w);
	gnn_backend_destroy(w.backend);
	gnn_lists_close(w.lists);
	return rc;
}

void gnn_order_report_fini(struct gnn_order_report *r)
{
	gnn_mem_free(r->iteration);
	r->iteration = NULL;
}
