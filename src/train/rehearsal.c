/* train/rehearsal.c - see rehearsal.h. */
#include "train/rehearsal.h"

#include "base/clock.h"

/* Forward, loss and backward. */
static int differentiate(struct gnn_net *n, const struct gnn_batches_opts *o,
	const struct gnn_there *t)
{
	const struct gnn_net_input in = gnn_there_input(t);
	struct gnn_loss_args loss = {.label = t->label, .labels = t->labels, .dy = t->dy,
		.rows = t->seed_count, .width = o->source->classes};
	float *y;
	int rc;

	GNN_TRY(gnn_net_forward(n, &in, &y));
	loss.y = y;
	GNN_TRY(o->backend->ops->grad->loss(o->backend, &loss));
	GNN_TRY(gnn_net_backward(n, &in, t->dy));
out:
	return rc;
}

static int run(struct gnn_net *n, const struct gnn_carrier_opts *o, uint64_t skipped, uint64_t *ns)
{
	struct gnn_backend *b = o->batches.backend;
	struct gnn_carrier *carrier = NULL;
	struct gnn_there *t;
	uint64_t start, done = 0;
	int rc;

	GNN_TRY(gnn_carrier_start(&carrier, o));
	start = gnn_clock_ns();
	while ((rc = gnn_carrier_next(carrier, &t)) == GNN_OK) {
		if (t->seed_count > 0) /* of several ranks one may have none */
			GNN_TRY(differentiate(n, &o->batches, t));
		GNN_TRY(b->ops->sync(b));
		gnn_carrier_put(carrier, t);
		if (++done == skipped)
			start = gnn_clock_ns();
	}
	if (rc != GNN_EOF)
		goto out;
	rc = GNN_OK;
	*ns = gnn_min_u64(*ns, gnn_clock_ns() - start);
out:
	gnn_carrier_stop(carrier);
	return rc;
}

int gnn_rehearse(const struct gnn_carrier_opts *o, uint32_t runs, uint64_t skipped, uint64_t *ns)
{
	struct gnn_net *n = NULL;
	int rc;

	*ns = UINT64_MAX;
	GNN_TRY(gnn_net_create_like(&n, o->batches.net));
	for (uint32_t i = 0; i < runs; i++)
		GNN_TRY(run(n, o, skipped, ns));
out:
	gnn_net_destroy(n);
	return rc;
}
