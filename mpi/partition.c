/* mpi/partition.c - see partition.h. */
#include "mpi/partition.h"

#include "base/mem.h"

/* The first panel at which the weight below reaches `wanted`, by bisection from panel `low`. */
static int find_bound(uint64_t wanted, uint64_t low, uint64_t panels, uint32_t panel_rows,
	gnn_weight_fn weight, void *arg, uint64_t *out)
{
	uint64_t high = panels, below;
	int rc = GNN_OK;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		GNN_TRY(weight(arg, middle * panel_rows, &below));
		if (below < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	*out = low;
out:
	return rc;
}

/* total * r / ranks without leaving 64 bits. */
static uint64_t share_of(uint64_t total, uint32_t r, uint32_t ranks)
{
	return total / ranks * r + total % ranks * r / ranks;
}

int gnn_partition_init(struct gnn_partition *p, uint64_t vertices, uint32_t ranks,
	uint32_t panel_rows, gnn_weight_fn weight, void *arg)
{
	uint64_t panels = vertices / panel_rows, panel = 0, total;
	int rc;

	*p = (struct gnn_partition){.ranks = ranks};
	GNN_ASSERT(ranks > 0 && panel_rows > 0);
	GNN_NEW_ARRAY(p->bound, (uint64_t)ranks + 1, GNN_MEM_MISC);
	GNN_TRY(weight(arg, vertices, &total));
	for (uint32_t r = 1; r < ranks; r++) {
		GNN_TRY(find_bound(share_of(total, r, ranks), panel, panels, panel_rows, weight,
			arg, &panel));
		p->bound[r] = panel * panel_rows;
	}
	p->bound[ranks] = vertices;
out:
	if (rc < 0)
		gnn_partition_fini(p);
	return rc;
}

void gnn_partition_fini(struct gnn_partition *p)
{
	gnn_mem_free(p->bound);
	p->bound = NULL;
}

uint32_t gnn_partition_owner(const struct gnn_partition *p, gnn_vid v)
{
	uint32_t low = 0, high = p->ranks;

	GNN_ASSERT(v < p->bound[p->ranks]);
	/* The last range that begins at or below v: empty ones share their bound with the next. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (p->bound[middle] <= v)
			low = middle;
		else
			high = middle;
	}
	return low;
}
