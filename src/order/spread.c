/* order/spread.c - see spread.h. */
#include "order/spread.h"

/* All lists of one direction, unless the places hold them. */
static int pass(struct gnn_lists *l, struct gnn_places *r, enum gnn_direction d,
	int (*take)(struct gnn_places *r, const struct gnn_place_lists *part))
{
	struct gnn_lists_part part;
	int rc;

	if (r->holds[d])
		return take(r, &(struct gnn_place_lists){.end = r->o.vertices});
	GNN_TRY(gnn_lists_begin(l, d));
	while ((rc = gnn_lists_next(l, &part)) == GNN_OK)
		GNN_TRY(take(r, &(struct gnn_place_lists){.first = part.first, .end = part.end,
			.offsets = part.offsets, .narrow = part.all.narrow,
			.wide = part.all.wide}));
out:
	return rc < 0 ? rc : GNN_OK;
}

int gnn_spread_measure(struct gnn_spread *out, struct gnn_lists *l, struct gnn_places *r)
{
	int rc;

	GNN_TRY(r->ops->begin(r));
	GNN_TRY(pass(l, r, GNN_IN, r->ops->spread));
	GNN_TRY(r->ops->end(r, out));
out:
	return rc;
}

int gnn_spread_pull(struct gnn_lists *l, struct gnn_places *r)
{
	return pass(l, r, GNN_OUT, r->ops->pull);
}
