/*
 * infer/graduate.c - rows that are done are gathered into panels, finished, and sent on by vertex.
 * The bits of a row do not depend on its place in a panel, so neither on who graduates beside it.
 */
#include "infer/tiered.h"

#include "base/trace.h"

/* One 4-byte value a vertex, of the vertices of the panel. */
static int gather_values(struct gnn_run *r, const void *from, const void *to,
	const struct gnn_move *vertices, uint64_t rows)
{
	struct gnn_backend *b = r->o->backend;

	if (from == NULL)
		return GNN_OK;
	return b->ops->move(b, &(struct gnn_move_args){.from = from, .from_pitch = 1,
		.to = (float *)(uintptr_t)to, .to_pitch = 1, .width = 1, .moves = vertices,
		.count = rows, .rule = GNN_MOVE_GATHER});
}

/* The vertices of the panel where the backend can read them. */
static int list_vertices(struct gnn_run *r, uint64_t rows, const struct gnn_move **there)
{
	struct gnn_backend *b = r->o->backend;
	struct gnn_tiered *t = r->tiered;
	uint32_t k = t->flushes++ % GNN_TIERED_LISTS;
	const void *staged;
	int rc;

	if (t->flushes > GNN_TIERED_LISTS)
		GNN_TRY(b->ops->wait(b, t->list_ticket[k]));
	for (uint64_t i = 0; i < rows; i++)
		t->list[k][i] = (struct gnn_move){.from = (uint32_t)t->vertex[i]};
	GNN_TRY(b->ops->stage(b, GNN_STAGE_VERTICES, t->list[k], rows * sizeof(*t->list[k]),
		&staged));
	GNN_TRY(b->ops->mark(b, &t->list_ticket[k]));
	*there = staged;
out:
	return rc;
}

static int gather_degrees(struct gnn_run *r, uint64_t rows)
{
	struct gnn_degrees *to = &r->tiered->degrees;
	const struct gnn_degrees *d = r->degrees;
	const struct gnn_move *list;
	int rc;

	GNN_TRY(list_vertices(r, rows, &list));
	GNN_TRY(gather_values(r, d->in_there, to->in_there, list, rows));
	GNN_TRY(gather_values(r, d->out_there, to->out_there, list, rows));
	GNN_TRY(gather_values(r, d->loops_there, to->loops_there, list, rows));
	GNN_TRY(gather_values(r, d->weighted_there, to->weighted_there, list, rows));
out:
	return rc;
}

/* Finished rows as the next layer's input. */
static int keep_for_next(struct gnn_run *r, uint32_t l, uint64_t rows)
{
	const float *from = r->finished;
	int rc = GNN_OK;

	if (r->next == NULL)
		return GNN_OK;
	if (r->plan.layer[l + 1].input_message) {
		GNN_TRY(gnn_layer_run_messages(r->o->backend, gnn_model_conv(r->o->model, l + 1),
			&r->tiered->degrees, r->layer.vec, 0, rows, r->finished, GNN_F32,
			r->converted));
		from = r->converted;
	}
	GNN_TRY(gnn_kept_put_any(r->next, r->tiered->vertex, rows, from));
out:
	return rc;
}

int gnn_tiered_flush(struct gnn_run *r, uint32_t l)
{
	struct gnn_tiered *t = r->tiered;
	uint64_t span = gnn_trace_begin(), rows = t->waiting;
	int rc = GNN_OK;

	if (rows == 0)
		return GNN_OK;
	GNN_TRY(gather_degrees(r, rows));
	GNN_TRY(gnn_layer_run_finish_states(&r->layer, &t->degrees, t->panel, rows, r->finished));
	GNN_TRY(keep_for_next(r, l, rows));
	if (r->output[l] != NULL)
		GNN_TRY(gnn_kept_put_any(r->output[l], t->vertex, rows, r->finished));
	t->waiting = 0;
	gnn_progress_add(r->progress, rows, 0);
	gnn_trace_end(span, "graduate");
out:
	return rc;
}

int gnn_tiered_graduate(struct gnn_run *r, uint32_t l, const struct gnn_move *done,
	const struct gnn_move *there, uint64_t count)
{
	struct gnn_backend *b = r->o->backend;
	struct gnn_tiered *t = r->tiered;
	uint32_t width = r->layer.o.conv->state_width;
	int rc = GNN_OK;

	while (count > 0) {
		uint64_t some = gnn_min_u64(count, r->plan.finish_rows - t->waiting);

		for (uint64_t i = 0; i < some; i++)
			t->vertex[t->waiting + i] = done[i].to;
		GNN_TRY(b->ops->move(b, &(struct gnn_move_args){.from = t->tier->top,
			.from_pitch = width, .to = t->panel + t->waiting * width,
			.to_pitch = width, .width = width, .moves = there, .count = some,
			.rule = GNN_MOVE_GATHER}));
		t->waiting += some;
		done += some;
		there += some;
		count -= some;
		if (t->waiting == r->plan.finish_rows)
			GNN_TRY(gnn_tiered_flush(r, l));
	}
out:
	return rc;
}
