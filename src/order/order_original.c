/* order/order_original.c - the order in which the graph was imported. */
#include "io/stream.h"
#include "order/order.h"

static int make(const struct gnn_order_work *w, uint64_t *rank)
{
	const struct gnn_store *s = w->o->store;
	bool one_to_one;
	int rc;

	if (s->original_id == NULL) {
		for (uint64_t v = 0; v < w->vertices; v++)
			rank[v] = v;
		return GNN_OK;
	}
	GNN_TRY(gnn_array_load(s->container, s->original_id, 0, s->original_id->bytes, rank));
	GNN_TRY(gnn_order_check(rank, w->vertices, &one_to_one));
	if (!one_to_one)
		rc = gnn_err(GNN_EDATA, "%s: dataset %s does not hold each row once",
			gnn_container_path(s->container), s->original_id->name);
out:
	return rc;
}

const struct gnn_order gnn_order_original = {.name = "original", .make = make};
