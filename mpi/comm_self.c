/* mpi/comm_self.c - a rank alone: nothing to wait for. */
#include "mpi/comm_ops.h"

#include "base/mem.h"

static void self_post(struct gnn_comm *c, struct gnn_comm_request *r)
{
	(void)c;
	GNN_ASSERT(r->kind == GNN_COMM_BARRIER || r->kind == GNN_COMM_BROADCAST);
}

static int self_wait(struct gnn_comm *c, struct gnn_comm_request *r)
{
	(void)c;
	gnn_mem_free(r);
	return GNN_OK;
}

static void self_fail(struct gnn_comm *c, int status)
{
	(void)c;
	(void)status;
}

static bool self_failed(struct gnn_comm *c)
{
	(void)c;
	return false;
}

static void self_phase(struct gnn_comm *c, const char *phase)
{
	(void)c;
	(void)phase;
}

static int self_end(struct gnn_comm *c, int rc, bool *said)
{
	*said = false;
	gnn_mem_free(c->ranks);
	gnn_mem_free(c);
	return rc;
}

static const struct gnn_comm_ops self_ops = {
	.post = self_post,
	.wait = self_wait,
	.fail = self_fail,
	.failed = self_failed,
	.phase = self_phase,
	.end = self_end,
};

int gnn_comm_self_start(struct gnn_comm **out)
{
	struct gnn_comm *c = NULL;
	bool said;
	int rc;

	*out = NULL;
	GNN_NEW(c, GNN_MEM_MISC);
	c->ops = &self_ops;
	c->size = 1;
	GNN_NEW(c->ranks, GNN_MEM_MISC);
	gnn_comm_describe(c->ranks);
	*out = c;
	c = NULL;
out:
	if (c != NULL)
		self_end(c, rc, &said);
	return rc;
}
