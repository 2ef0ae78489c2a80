/* mpi/link_none.c - see link.h: in builds without NCCL ranks have no link, and say so. */
#include "mpi/link.h"

int gnn_link_open(struct gnn_link **out, struct gnn_comm *c)
{
	(void)c;
	*out = NULL;
	gnn_err(GNN_SKIPPED, "NCCL is not part of this build");
	return GNN_SKIPPED;
}

void gnn_link_close(struct gnn_link *l)
{
	GNN_ASSERT(l == NULL);
}

const char *gnn_link_version(const struct gnn_link *l)
{
	GNN_ASSERT(l == NULL);
	return "none";
}

int gnn_link_exchange(struct gnn_link *l, const struct gnn_link_message *m, uint32_t count,
	void *stream)
{
	(void)m;
	(void)count;
	(void)stream;
	GNN_ASSERT(l == NULL);
	return gnn_err(GNN_EBUG, "no link to other ranks");
}

int gnn_link_sum(struct gnn_link *l, float *data, uint64_t count, void *stream)
{
	(void)data;
	(void)count;
	(void)stream;
	GNN_ASSERT(l == NULL);
	return gnn_err(GNN_EBUG, "no link to other ranks");
}

int gnn_link_check(void *arg, bool first)
{
	(void)first;
	GNN_ASSERT(arg == NULL);
	return GNN_OK;
}
