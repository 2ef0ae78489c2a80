/* order/order_random.c - a permutation that a seed keys: what reordering is held against. */
#include "base/shuffle.h"
#include "order/order.h"

enum { STREAM = 0x6f72646572 }; /* of base/rng.h: "order" */

static int make(const struct gnn_order_work *w, uint64_t *rank)
{
	struct gnn_shuffle s;

	if (w->vertices == 0)
		return GNN_OK;
	gnn_shuffle_init(&s, w->vertices, w->o->seed, STREAM);
#pragma omp parallel for schedule(static) num_threads((int)w->o->threads)
	for (uint64_t v = 0; v < w->vertices; v++)
		rank[v] = gnn_shuffle_map(&s, v);
	return GNN_OK;
}

const struct gnn_order gnn_order_random = {.name = "random", .make = make};
