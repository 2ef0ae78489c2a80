/* cuda/sample_cuda.c - the blocks of a batch on the device: fills op/sample.h's vtable. */
#include "cuda/backend.h"
#include "cuda/gnn_cuda_sample.h"

static struct gnn_cuda *cuda_of(struct gnn_backend *b)
{
	struct gnn_cuda *c = (struct gnn_cuda *)b;

	gnn_cuda_here(&c->device);
	return c;
}

static void free_items(struct gnn_cuda *c)
{
	struct gnn_cuda_sample *s = &c->sample;
	void *block[] = {s->key, s->value, s->key_out, s->scratch};

	for (uint32_t i = 0; i < GNN_COUNT_OF(block); i++)
		gnn_cuda_free(&c->device, block[i]);
	*s = (struct gnn_cuda_sample){.answer = s->answer};
}

void gnn_cuda_sample_fini(struct gnn_cuda *c)
{
	free_items(c);
	if (c->sample.answer != NULL)
		cudaFreeHost(c->sample.answer);
	c->sample.answer = NULL;
}

static int take_items(struct gnn_cuda *c, uint64_t items)
{
	struct gnn_cuda_sample *s = &c->sample;
	const uint64_t more = items + items / 4 + 1;
	uint32_t **array[] = {&s->key, &s->value, &s->key_out};
	void *block;
	int rc = GNN_OK;

	if (s->answer == NULL)
		GNN_TRY_CUDA(cudaHostAlloc((void **)&s->answer, sizeof(*s->answer),
			cudaHostAllocMapped));
	if (items <= s->items)
		return GNN_OK;
	free_items(c);
	GNN_TRY(gnn_cuda_sample_scratch(more, &s->scratch_bytes));
	GNN_TRY(gnn_cuda_alloc(&c->device, &s->scratch, s->scratch_bytes));
	for (uint32_t i = 0; i < GNN_COUNT_OF(array); i++) {
		GNN_TRY(gnn_cuda_alloc(&c->device, &block, more * sizeof(**array[i])));
		*array[i] = block;
	}
	s->items = more;
out:
	return rc;
}

/* What the last kernel answered, waited for. */
static int read_answer(struct gnn_cuda *c, uint64_t *to)
{
	int rc = GNN_OK;

	GNN_TRY(gnn_cuda_settle(&c->device));
	*to = *(volatile uint64_t *)c->sample.answer;
out:
	return rc;
}

static int clear(struct gnn_backend *b, uint32_t *table, uint64_t vertices)
{
	int rc = GNN_OK;

	if (vertices > 0)
		GNN_TRY_CUDA(cudaMemsetAsync(table, 0xff, vertices * sizeof(*table),
			cuda_of(b)->device.compute));
out:
	return rc;
}

static int enter(struct gnn_backend *b, uint32_t *table, const uint64_t *id, uint64_t count)
{
	return gnn_cuda_run_enter(table, id, count, true, cuda_of(b)->device.compute);
}

static int forget(struct gnn_backend *b, uint32_t *table, const uint64_t *id, uint64_t count)
{
	return gnn_cuda_run_enter(table, id, count, false, cuda_of(b)->device.compute);
}

static int count(struct gnn_backend *b, const struct gnn_hop *h, const struct gnn_hop_rows *rows,
	uint64_t *entries)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc;

	GNN_TRY(take_items(c, rows->dst_count));
	GNN_TRY(gnn_cuda_run_count(&c->sample, h, rows, c->device.compute));
	GNN_TRY(read_answer(c, entries));
out:
	return rc;
}

static int list(struct gnn_backend *b, const struct gnn_hop *h, const struct gnn_hop_rows *rows,
	uint64_t *entry)
{
	return gnn_cuda_run_list(h, rows, entry, cuda_of(b)->device.compute);
}

static int number(struct gnn_backend *b, struct gnn_number_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	uint64_t rows = 0;
	int rc = GNN_OK;

	if (a->entry_count == 0)
		return GNN_OK;
	GNN_TRY(take_items(c, a->entry_count));
	GNN_TRY(gnn_cuda_run_number(&c->sample, a, c->device.compute));
	GNN_TRY(read_answer(c, &rows));
	a->id_count += rows;
out:
	return rc;
}

static int weigh(struct gnn_backend *b, const struct gnn_hop *h, const struct gnn_weigh_args *a)
{
	return gnn_cuda_run_weigh(h, a, cuda_of(b)->device.compute);
}

static int turn(struct gnn_backend *b, const struct gnn_turn_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc;

	GNN_TRY(take_items(c, a->entry_count));
	GNN_TRY(gnn_cuda_run_turn(&c->sample, a, c->device.compute));
out:
	return rc;
}

const struct gnn_sample_ops gnn_sample_cuda = {
	.clear = clear,
	.enter = enter,
	.forget = forget,
	.count = count,
	.list = list,
	.number = number,
	.weigh = weigh,
	.turn = turn,
};
