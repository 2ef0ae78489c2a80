/* cuda/backend_cuda.c - the CUDA backend: fills op's vtable from device, rows and launchers. */
#include "cuda/backend.h"

#include "base/mem.h"

#include <string.h>

static struct gnn_cuda *cuda_of(struct gnn_backend *b)
{
	struct gnn_cuda *c = (struct gnn_cuda *)b;

	gnn_cuda_here(&c->device);
	return c;
}

static void free_group(struct gnn_cuda *c)
{
	struct gnn_cuda_group *g = &c->group;
	void *block[] = {g->key[0], g->key[1], g->weight[0], g->weight[1], g->vertex, g->carry,
		g->first, g->src, g->head, g->counter, g->scratch};

	for (uint32_t i = 0; i < GNN_COUNT_OF(block); i++)
		gnn_cuda_free(&c->device, block[i]);
	if (g->broken != NULL)
		cudaFreeHost(g->broken);
	*g = (struct gnn_cuda_group){0};
}

static void destroy(struct gnn_backend *b)
{
	struct gnn_cuda *c = cuda_of(b);

	cudaDeviceSynchronize();
	free_group(c);
	gnn_cuda_grad_fini(c);
	gnn_cuda_sample_fini(c);
	gnn_cuda_rows_fini(&c->rows);
	gnn_cuda_device_fini(&c->device);
	gnn_mem_free(c);
}

/* The device whose context pins: any thread reads from disk. */
static int pinning_device;

static bool register_host(void *block, uint64_t bytes)
{
	if (cudaSetDevice(pinning_device) == cudaSuccess &&
		cudaHostRegister(block, bytes, cudaHostRegisterDefault) == cudaSuccess)
		return true;
	cudaGetLastError(); /* slower copies, the same bytes */
	return false;
}

static void unregister_host(void *block)
{
	if (cudaHostUnregister(block) != cudaSuccess)
		cudaGetLastError();
}

static const struct gnn_mem_pinner pinner = {register_host, unregister_host};

static int create(struct gnn_backend **out, const struct gnn_backend_opts *o)
{
	struct gnn_cuda *c = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(c, GNN_MEM_MISC);
	c->base.ops = &gnn_backend_cuda;
	GNN_TRY(gnn_cuda_device_init(&c->device, o->beside == NULL ? NULL
		: &cuda_of(o->beside)->device, o->device));
	if (o->beside == NULL) {
		c->device.own_held.limit = o->memory_bytes;
		c->device.own_held.sharers = (uint32_t)gnn_max_u64(o->sharers, 1);
		pinning_device = c->device.ordinal;
	}
	gnn_cuda_rows_init(&c->rows, &c->device);
	gnn_mem_pin_io(&pinner);
	*out = &c->base;
	c = NULL;
out:
	gnn_mem_free(c);
	return rc;
}

static int alloc(struct gnn_backend *b, void **out, uint64_t bytes)
{
	return gnn_cuda_alloc(&cuda_of(b)->device, out, bytes);
}

static void free_buffer(struct gnn_backend *b, void *buffer)
{
	gnn_cuda_free(&cuda_of(b)->device, buffer);
}

/* Pinned as all buffers of its kind are. */
static int alloc_host(struct gnn_backend *b, void **out, uint64_t bytes)
{
	(void)b;
	return gnn_mem_pages(out, bytes, GNN_MEM_IO);
}

static void free_host(struct gnn_backend *b, void *buffer)
{
	(void)b;
	gnn_mem_free(buffer);
}

static int pin(struct gnn_backend *b, const void *host, uint64_t bytes)
{
	/* Read-only mappings want the first; drivers without it take the second for others. */
	static const unsigned flags[] = {cudaHostRegisterReadOnly, cudaHostRegisterDefault};
	cudaError_t error = cudaSuccess;

	(void)b;
	for (uint32_t i = 0; i < GNN_COUNT_OF(flags); i++) {
		error = cudaHostRegister((void *)(uintptr_t)host, bytes, flags[i]);
		if (error == cudaSuccess)
			return GNN_OK;
		cudaGetLastError();
	}
	gnn_err(GNN_SKIPPED, "CUDA does not register %.1f MiB of host memory: %s",
		(double)bytes / 1048576.0, cudaGetErrorString(error));
	return GNN_SKIPPED;
}

static void unpin(struct gnn_backend *b, const void *host)
{
	(void)b;
	if (cudaHostUnregister((void *)(uintptr_t)host) != cudaSuccess)
		cudaGetLastError();
}

static int fill(struct gnn_backend *b, float *to, float value, uint64_t count)
{
	return gnn_cuda_run_fill(to, value, count, cuda_of(b)->device.compute);
}

static int copy(struct gnn_backend *b, void *to, uint64_t to_pitch, const void *from,
	uint64_t from_pitch, uint64_t width, uint64_t rows)
{
	const bool whole = rows == 1 || (to_pitch == width && from_pitch == width);
	int rc = GNN_OK;

	if (whole && width > 0)
		GNN_TRY_CUDA(cudaMemcpyAsync(to, from, width * rows, cudaMemcpyDefault,
			cuda_of(b)->device.compute));
	else if (width > 0 && rows > 0)
		GNN_TRY_CUDA(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows,
			cudaMemcpyDefault, cuda_of(b)->device.compute));
out:
	return rc;
}

static int move(struct gnn_backend *b, const struct gnn_move_args *a)
{
	return gnn_cuda_run_move(a, cuda_of(b)->device.compute);
}

static int reserve(struct gnn_backend *b, enum gnn_stage_kind kind, uint64_t bytes)
{
	return gnn_cuda_reserve(&cuda_of(b)->device, kind, bytes);
}

static int stage(struct gnn_backend *b, enum gnn_stage_kind kind, const void *host, uint64_t bytes,
	const void **out)
{
	return gnn_cuda_stage(&cuda_of(b)->device, kind, host, bytes, out);
}

static int mark(struct gnn_backend *b, uint64_t *ticket)
{
	return gnn_cuda_mark(&cuda_of(b)->device, ticket);
}

static int wait_ticket(struct gnn_backend *b, uint64_t ticket)
{
	struct gnn_cuda *c = cuda_of(b);
	int rc;

	GNN_TRY(gnn_cuda_wait(&c->device, ticket));
	if (c->group.broken != NULL && *(volatile uint32_t *)c->group.broken != 0)
		GNN_FAIL(GNN_EDATA, "topology/out/neighbors: a neighbour outside the %llu "
			"vertices of the graph", (unsigned long long)c->group.vertices);
out:
	return rc;
}

static int fetch(struct gnn_backend *b, void *host, const void *from, uint64_t bytes,
	uint64_t *ticket)
{
	return gnn_cuda_fetch(&cuda_of(b)->device, host, from, bytes, ticket);
}

static int fetched(struct gnn_backend *b, uint64_t ticket)
{
	return gnn_cuda_fetched(&cuda_of(b)->device, ticket);
}

static int sync_all(struct gnn_backend *b)
{
	return gnn_cuda_settle(&cuda_of(b)->device);
}

static int fork_work(struct gnn_backend *b, void **stream)
{
	return gnn_cuda_fork(&cuda_of(b)->device, stream);
}

static int join_work(struct gnn_backend *b)
{
	return gnn_cuda_join(&cuda_of(b)->device);
}

static void watch(struct gnn_backend *b, int (*check)(void *arg, bool first), void *arg)
{
	struct gnn_cuda_device *d = &cuda_of(b)->device;

	d->check = check;
	d->check_arg = arg;
}

static void identify(const struct gnn_backend *b, struct gnn_device_id *id)
{
	gnn_cuda_identify(&((const struct gnn_cuda *)b)->device, id);
}

static int check_dense(struct gnn_backend *b, uint32_t dim_in, uint32_t dim_out)
{
	return gnn_cuda_dense_check(&cuda_of(b)->rows.dense, dim_in, dim_out);
}

static int rows(struct gnn_backend *b, const struct gnn_rows_args *a)
{
	return gnn_cuda_rows_run(&cuda_of(b)->rows, a);
}

static int factors(struct gnn_backend *b, const struct gnn_factors_args *a)
{
	return gnn_cuda_run_factors(a, cuda_of(b)->device.compute);
}

static int aggregate(struct gnn_backend *b, const struct gnn_aggregate_args *a)
{
	struct gnn_cuda *c = cuda_of(b);
	struct gnn_aggregate_args there = *a;
	int rc;

	if (!gnn_combine_is_pair(a->combine))
		return gnn_cuda_run_aggregate(a, c->device.compute);
	GNN_TRY(gnn_cuda_rows_weight(&c->rows, a->att, a->width, &there.att));
	GNN_TRY(gnn_cuda_run_pair(&there, c->device.compute));
out:
	return rc;
}

static int moments(struct gnn_backend *b, const struct gnn_moments_args *a)
{
	return gnn_cuda_run_moments(a, cuda_of(b)->device.compute);
}

static int merge(struct gnn_backend *b, const struct gnn_merge_args *a)
{
	return gnn_cuda_run_merge(a, cuda_of(b)->device.compute);
}

static int alloc_group(struct gnn_cuda *c, bool weighted)
{
	struct gnn_cuda_group *g = &c->group;
	struct {
		void   **block;
		uint64_t bytes;
	} wanted[] = {
		{(void **)&g->key[0], g->entries * 8}, {(void **)&g->key[1], g->entries * 8},
		{(void **)&g->vertex, g->entries * 8}, {(void **)&g->carry, g->entries * 8},
		{(void **)&g->first, (g->entries + 1) * 8}, {(void **)&g->src, g->entries * 4},
		{(void **)&g->head, g->entries}, {(void **)&g->counter, 16},
		{(void **)&g->weight[0], g->entries * 4}, {(void **)&g->weight[1], g->entries * 4},
	};
	const uint32_t count = GNN_COUNT_OF(wanted) - (weighted ? 0 : 2);
	int rc = GNN_OK;

	for (uint32_t i = 0; i < count; i++)
		GNN_TRY(gnn_cuda_alloc(&c->device, wanted[i].block, wanted[i].bytes));
	GNN_TRY(gnn_cuda_group_scratch(g, &g->scratch_bytes));
	GNN_TRY(gnn_cuda_alloc(&c->device, &g->scratch, g->scratch_bytes));
	GNN_TRY_CUDA(cudaHostAlloc((void **)&g->broken, sizeof(*g->broken), cudaHostAllocMapped));
	*g->broken = 0;
out:
	return rc;
}

static int prepare(struct gnn_backend *b, const struct gnn_graph_info *info)
{
	struct gnn_cuda *c = cuda_of(b);

	free_group(c);
	c->group = (struct gnn_cuda_group){.vertices = info->vertices,
		.vertex_bits = gnn_index_bits(info->vertices + 1), /* V itself: dropped */
		.row_bits = gnn_index_bits(info->chunk_rows_max) + 1, .entries = info->entries_max,
		.hub_bits = info->hub_bits, .hub_rank = info->hub_rank};
	GNN_ASSERT(c->group.vertex_bits + c->group.row_bits <= 64);
	return alloc_group(c, info->weighted);
}

static int group(struct gnn_backend *b, const struct gnn_edge_list *l, struct gnn_edge_batch *out)
{
	return gnn_cuda_run_group(&cuda_of(b)->group, l, out, cuda_of(b)->device.compute);
}

static uint64_t peak_bytes(const struct gnn_backend *b)
{
	return ((const struct gnn_cuda *)b)->device.held->peak;
}

static uint64_t room_bytes(const struct gnn_backend *b)
{
	return gnn_cuda_room(&((const struct gnn_cuda *)b)->device);
}

const struct gnn_backend_ops gnn_backend_cuda = {
	.name = "cuda",
	.panel_rows = GNN_CUDA_PANEL_ROWS,
	.create = create,
	.destroy = destroy,
	.alloc = alloc,
	.free = free_buffer,
	.alloc_host = alloc_host,
	.free_host = free_host,
	.pin = pin,
	.unpin = unpin,
	.fill = fill,
	.copy = copy,
	.reserve = reserve,
	.stage = stage,
	.mark = mark,
	.wait = wait_ticket,
	.fetch = fetch,
	.fetched = fetched,
	.rows = rows,
	.move = move,
	.factors = factors,
	.aggregate = aggregate,
	.moments = moments,
	.merge = merge,
	.check_dense = check_dense,
	.sync = sync_all,
	.fork = fork_work,
	.join = join_work,
	.watch = watch,
	.identify = identify,
	.prepare = prepare,
	.group = group,
	.peak_bytes = peak_bytes,
	.room_bytes = room_bytes,
	.grad = &gnn_grad_cuda,
	.sample = &gnn_sample_cuda,
	.places = &gnn_places_cuda,
};
