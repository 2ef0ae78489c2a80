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

static void add(struct gnn_rehearsed *r, const struct gnn_carrier_opts *o,
	const struct gnn_there *t, double compute_s)
{
	r->steps++;
	r->input_vertices += o->batches.onehop != NULL ? t->bottom.gathered : t->sample.id_count;
	r->h2d_bytes += t->copied_bytes;
	r->sample_s += t->sample_s;
	r->collect_s += t->collect_s;
	r->transfer_s += t->transfer_s;
	r->compute_s += compute_s;
}

static int run(struct gnn_net *n, const struct gnn_carrier_opts *o, uint64_t skipped,
	struct gnn_rehearsed *out)
{
	struct gnn_backend *b = o->batches.backend;
	struct gnn_carrier *carrier = NULL;
	struct gnn_rehearsed r = {0};
	struct gnn_there *t;
	uint64_t start, begun, done = 0;
	int rc;

	GNN_TRY(gnn_carrier_start(&carrier, o));
	start = gnn_clock_ns();
	while ((rc = gnn_carrier_next(carrier, &t)) == GNN_OK) {
		begun = gnn_clock_ns();
		if (t->seed_count > 0) /* of several ranks one may have none */
			GNN_TRY(differentiate(n, &o->batches, t));
		GNN_TRY(b->ops->sync(b));
		if (done >= skipped)
			add(&r, o, t, gnn_clock_s_since(begun));
		gnn_carrier_put(carrier, t);
		if (++done == skipped)
			start = gnn_clock_ns();
	}
	if (rc != GNN_EOF)
		goto out;
	rc = GNN_OK;
	r.ns = gnn_clock_ns() - start;
	if (r.ns < out->ns)
		*out = r;
out:
	gnn_carrier_stop(carrier);
	return rc;
}

int gnn_rehearse(const struct gnn_carrier_opts *o, uint32_t runs, uint64_t skipped,
	struct gnn_rehearsed *out)
{
	struct gnn_net *n = NULL;
	int rc;

	*out = (struct gnn_rehearsed){.ns = UINT64_MAX};
	GNN_TRY(gnn_net_create_like(&n, o->batches.net));
	for (uint32_t i = 0; i < runs; i++)
		GNN_TRY(run(n, o, skipped, out));
out:
	gnn_net_destroy(n);
	return rc;
}
