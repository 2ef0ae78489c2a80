/*
 * layer/bare.c - one layer without weights: what the first layer of a net aggregates.
 *
 *   GCN   sum of w c_u c_v x_u over in-edges and the own row, c = deg^-1/2, loops replaced
 *   SAGE  mean of x_u over in-edges
 *   GIN   sum of x_u over in-edges, and x_v
 */
#include "base/mem.h"
#include "layer/model.h"
#include "layer/model_parts.h"

static int lower_bare(struct gnn_conv *c, enum gnn_arch arch, uint32_t dim)
{
	const bool gcn = arch == GNN_ARCH_GCN;
	int rc = GNN_OK;

	GNN_ASSERT(gcn || arch == GNN_ARCH_SAGE || arch == GNN_ARCH_GIN);
	c->arch = gnn_arch_name(arch);
	c->dim_in = c->dim_out = c->width = c->state_width = dim;
	c->combine = GNN_COMBINE_SUM;
	c->drop_loops = c->own_counts = gcn;
	c->edge_weights = c->weighted_degrees = gcn;
	c->own = arch == GNN_ARCH_SAGE ? GNN_OWN_NONE : GNN_OWN_MESSAGE;
	c->own_factor = 1.0f;
	gnn_rowprog_init(&c->message, dim);
	gnn_rowprog_init(&c->finish, dim);
	if (arch == GNN_ARCH_GIN)
		return GNN_OK;
	c->finish_vec[0] = gcn ? GNN_NORM_RSQRT_IN : GNN_NORM_INV_IN;
	GNN_TRY(gnn_rowprog_scale(&c->finish, 0, dim, 0));
	if (!gcn)
		goto out;
	c->message_vec[0] = GNN_NORM_RSQRT_IN;
	GNN_TRY(gnn_rowprog_scale(&c->message, 0, dim, 0));
out:
	return rc;
}

int gnn_model_bare(struct gnn_model **out, enum gnn_arch arch, uint32_t dim)
{
	struct gnn_model *m = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(m, GNN_MEM_MODEL);
	m->layers = 1;
	GNN_NEW_ARRAY(m->conv, 1, GNN_MEM_MODEL);
	GNN_TRY(lower_bare(m->conv, arch, dim));
	*out = m;
	m = NULL;
out:
	gnn_model_destroy(m);
	return rc;
}
