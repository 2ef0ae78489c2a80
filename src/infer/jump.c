/* infer/jump.c - see jump.h. */
#include "infer/jump.h"

#include <math.h>

uint64_t gnn_jump_bytes(const struct gnn_model *m, uint64_t vertices)
{
	const struct gnn_jump *jump = gnn_model_jump(m);

	return jump != NULL ? vertices * jump->width * sizeof(float) : 0;
}

int gnn_jump_init(struct gnn_jump_run *j, struct gnn_backend *b, const struct gnn_model *m,
	uint64_t vertices, uint64_t block_rows)
{
	const struct gnn_jump *jump = gnn_model_jump(m);
	void *block;
	int rc = GNN_OK;

	*j = (struct gnn_jump_run){.backend = b, .jump = jump};
	if (jump == NULL)
		return GNN_OK;
	GNN_TRY(b->ops->alloc(b, &block, gnn_jump_bytes(m, vertices)));
	j->rows = block;
	GNN_TRY(b->ops->alloc(b, &block, block_rows * jump->width * sizeof(float)));
	j->part = block;
	GNN_TRY(b->ops->fill(b, j->rows, jump->how == GNN_MERGE_SUM ? 0.0f : -INFINITY,
		vertices * jump->width));
out:
	return rc;
}

void gnn_jump_fini(struct gnn_jump_run *j)
{
	if (j->backend == NULL)
		return;
	j->backend->ops->free(j->backend, j->rows);
	j->backend->ops->free(j->backend, j->part);
	*j = (struct gnn_jump_run){0};
}

int gnn_jump_add(struct gnn_jump_run *j, const struct gnn_conv *c, uint64_t first, uint64_t rows,
	const float *h)
{
	struct gnn_backend *b = j->backend;
	uint32_t width = c->jump.dim_out;
	int rc;

	GNN_TRY(b->ops->rows(b, &(struct gnn_rows_args){.prog = &c->jump, .from = h,
		.from_dtype = GNN_F32, .from_pitch = c->dim_out, .to = j->part, .to_pitch = width,
		.rows = rows}));
	GNN_TRY(b->ops->merge(b, &(struct gnn_merge_args){.how = j->jump->how, .from = j->part,
		.from_pitch = width, .to = j->rows + first * j->jump->width + c->jump_first,
		.to_pitch = j->jump->width, .rows = rows, .width = width}));
out:
	return rc;
}

int gnn_jump_finish(struct gnn_jump_run *j, uint64_t first, uint64_t rows, float *to)
{
	return j->backend->ops->rows(j->backend, &(struct gnn_rows_args){
		.prog = &j->jump->finish, .from = j->rows + first * j->jump->width,
		.from_dtype = GNN_F32, .from_pitch = j->jump->width, .to = to,
		.to_pitch = j->jump->finish.dim_out, .rows = rows});
}
