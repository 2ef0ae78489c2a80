/* layer/conv.c - see conv.h. */
#include "layer/conv.h"

#include "base/mem.h"

#include <math.h>

int gnn_conv_block(struct gnn_conv *c, uint64_t count, float **out)
{
	int rc;

	*out = NULL;
	if (c->block_count == GNN_CONV_BLOCKS_MAX)
		GNN_FAIL(GNN_EBUG, "a layer of more than %d derived weights", GNN_CONV_BLOCKS_MAX);
	GNN_NEW_ARRAY(*out, count, GNN_MEM_MODEL);
	c->block[c->block_count++] = *out;
out:
	return rc;
}

void gnn_conv_fini(struct gnn_conv *c)
{
	for (uint32_t i = 0; i < c->block_count; i++)
		gnn_mem_free(c->block[i]);
	c->block_count = 0;
}

float gnn_norm_of(enum gnn_norm norm, const struct gnn_conv *c, uint64_t degree,
	uint64_t self_loops)
{
	uint64_t deg = degree - (c->drop_loops ? self_loops : 0) + (c->own_counts ? 1 : 0);

	GNN_DASSERT(self_loops <= degree);
	return gnn_norm_value(norm, (double)deg);
}

/* SOFTMAX: both scalars and the maximum, for scores that may fall the minimum too. */
uint32_t gnn_conv_score_width(const struct gnn_conv *c)
{
	if (c->combine == GNN_COMBINE_SOFTMAX)
		return (c->slope < 0 ? 4 : 3) * c->heads;
	return c->combine == GNN_COMBINE_PAIR_SOFTMAX ? c->heads : 0;
}

bool gnn_conv_needs_out_degrees(const struct gnn_conv *c)
{
	for (int k = 0; k < GNN_ROW_VECTORS; k++)
		if (gnn_norm_is_out(c->message_vec[k]) || gnn_norm_is_out(c->finish_vec[k]))
			return true;
	return false;
}
