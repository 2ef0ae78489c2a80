/* io/edgeremap.c - see edgeremap.h. */
#include "io/edgeremap.h"

static int tell(void *ids, const struct gnn_edges *e)
{
	int rc;

	GNN_TRY(gnn_idset_add(ids, e->src, e->count));
	GNN_TRY(gnn_idset_add(ids, e->dst, e->count));
out:
	return rc;
}

int gnn_edgeremap(const struct gnn_edgeremap_opts *o)
{
	int rc;

	GNN_TRY(gnn_edgepool_visit(o->pool, tell, o->ids));
	GNN_TRY(gnn_idset_seal(o->ids, o->merge_bytes, o->copy_bytes, o->threads));
	GNN_TRY(gnn_edgepool_relabel(o->pool, gnn_idset_rank, o->ids, gnn_idset_count(o->ids)));
out:
	return rc;
}
