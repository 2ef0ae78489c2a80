/* cuda/device.c - see device.h. */
#include "cuda/device.h"

#include "base/fault.h"
#include "base/mem.h"
#include "base/usage.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	BLAS_WORK_BYTES = 32 << 20, /* what cuBLAS recommends for this architecture */
	RESERVE_SHARE = 32,         /* of the device: for the driver and for others */
	SPINS = 256,                /* questions before the first sleep: some 200 us */
	NAP_US = 20,
};

struct gnn_cuda_block {
	struct gnn_cuda_block *next;
	void                  *memory;
	uint64_t               bytes;
};

int gnn_cuda_failed(cudaError_t error, const char *what)
{
	cudaGetLastError();
	return gnn_err(GNN_EOS, "CUDA: %s: %s", what, cudaGetErrorString(error));
}

/* --- memory --- */

/* Counts bytes that are to be taken, within the limit. */
static int hold(struct gnn_cuda_held *h, uint64_t bytes)
{
	uint64_t now = __atomic_load_n(&h->bytes, __ATOMIC_RELAXED), peak;

	do {
		if (h->limit != 0 && now + bytes > h->limit)
			return gnn_err(GNN_EOS, "device memory: %.1f MiB asked, %.1f in use here, "
				"--gpu-memory allows %.1f", (double)bytes / 1048576.0,
				(double)now / 1048576.0, (double)h->limit / 1048576.0);
	} while (!__atomic_compare_exchange_n(&h->bytes, &now, now + bytes, true,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	peak = __atomic_load_n(&h->peak, __ATOMIC_RELAXED);
	while (now + bytes > peak && !__atomic_compare_exchange_n(&h->peak, &peak, now + bytes,
		true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return GNN_OK;
}

static void release(struct gnn_cuda_held *h, uint64_t bytes)
{
	__atomic_sub_fetch(&h->bytes, bytes, __ATOMIC_RELAXED);
}

int gnn_cuda_alloc(struct gnn_cuda_device *d, void **out, uint64_t bytes)
{
	struct gnn_cuda_block *block = NULL;
	size_t free_bytes = 0, total_bytes = 0;
	bool refused, held = false;
	int rc;

	*out = NULL;
	GNN_TRY(hold(d->held, bytes));
	held = true;
	GNN_NEW(block, GNN_MEM_MISC);
	refused = gnn_fault_next(GNN_FAULT_ALLOC).action == GNN_FAULT_FAIL;
	/* A size of 0 gives a valid block too. */
	if (refused || cudaMalloc(&block->memory, gnn_max_u64(bytes, 1)) != cudaSuccess) {
		cudaGetLastError();
		cudaMemGetInfo(&free_bytes, &total_bytes);
		GNN_FAIL(GNN_EOS, "device memory: %.1f MiB asked, %.1f in use here, %.1f of %.1f "
			"free", (double)bytes / 1048576.0, (double)d->held->bytes / 1048576.0,
			(double)free_bytes / 1048576.0, (double)total_bytes / 1048576.0);
	}
	block->bytes = bytes;
	block->next = d->blocks;
	d->blocks = block;
	*out = block->memory;
	block = NULL;
	held = false;
out:
	if (held)
		release(d->held, bytes);
	gnn_mem_free(block);
	return rc;
}

void gnn_cuda_free(struct gnn_cuda_device *d, void *memory)
{
	struct gnn_cuda_block **at = &d->blocks, *block;

	if (memory == NULL)
		return;
	while (*at != NULL && (*at)->memory != memory)
		at = &(*at)->next;
	GNN_ASSERT(*at != NULL);
	block = *at;
	*at = block->next;
	release(d->held, block->bytes);
	cudaFree(memory); /* waits for the device: it is done between layers only */
	gnn_mem_free(block);
}

uint64_t gnn_cuda_room(const struct gnn_cuda_device *d)
{
	size_t free_bytes = 0, total_bytes = 0;
	uint64_t room;

	if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess)
		cudaGetLastError();
	room = free_bytes - gnn_min_u64(free_bytes, total_bytes / RESERVE_SHARE);
	if (d->held->limit == 0)
		return room / d->held->sharers;
	return gnn_min_u64(room, d->held->limit - gnn_min_u64(d->held->limit, d->held->bytes));
}

/* --- staging and tickets --- */

int gnn_cuda_reserve(struct gnn_cuda_device *d, enum gnn_stage_kind kind, uint64_t bytes)
{
	struct gnn_cuda_stage *s = &d->stage[kind];
	int rc = GNN_OK;

	/* To free waits for the device, but not for the other ranks: that is done before. */
	if (bytes > s->bytes && s->bytes > 0 && d->check != NULL) {
		GNN_TRY(gnn_cuda_join(d));
		GNN_TRY(gnn_cuda_settle(d));
	}
	for (int i = 0; i < GNN_CUDA_STAGE_SLOTS && bytes > s->bytes; i++) {
		gnn_cuda_free(d, s->slot[i]);
		s->slot[i] = NULL;
		GNN_TRY(gnn_cuda_alloc(d, &s->slot[i], bytes));
	}
	s->bytes = gnn_max_u64(s->bytes, bytes);
out:
	return rc;
}

int gnn_cuda_stage(struct gnn_cuda_device *d, enum gnn_stage_kind kind, const void *host,
	uint64_t bytes, const void **out)
{
	struct gnn_cuda_stage *s = &d->stage[kind];
	void *slot = s->slot[s->count % GNN_CUDA_STAGE_SLOTS];
	int rc = GNN_OK;

	GNN_ASSERT(bytes <= s->bytes);
	/* Who read this slot was issued before the stage in between. */
	if (s->count > 0)
		GNN_TRY_CUDA(cudaStreamWaitEvent(d->copy, s->computed, 0));
	GNN_TRY_CUDA(cudaEventRecord(s->computed, d->compute));
	if (bytes > 0)
		GNN_TRY_CUDA(cudaMemcpyAsync(slot, host, bytes, cudaMemcpyHostToDevice, d->copy));
	GNN_TRY_CUDA(cudaEventRecord(s->copied, d->copy));
	GNN_TRY_CUDA(cudaStreamWaitEvent(d->compute, s->copied, 0));
	s->count++;
	*out = slot;
out:
	return rc;
}

int gnn_cuda_mark(struct gnn_cuda_device *d, uint64_t *ticket)
{
	int rc = GNN_OK;

	*ticket = d->ticket_count++;
	GNN_TRY_CUDA(cudaEventRecord(d->ticket[*ticket % GNN_CUDA_TICKETS], d->compute));
out:
	return rc;
}

/*
 * The host sleeps between questions that found nothing, for it shares its cores with the work. A
 * check that fails has ended what other ranks were waited for: the rest comes to its end by itself.
 */
static int ask_until(struct gnn_cuda_device *d, cudaEvent_t event)
{
	cudaError_t error;
	int rc = GNN_OK;

	for (uint32_t asked = 0; (error = cudaEventQuery(event)) == cudaErrorNotReady; asked++) {
		rc = d->check(d->check_arg, asked == 0);
		if (rc < 0) {
			cudaEventSynchronize(event);
			goto out;
		}
		if (asked > SPINS)
			usleep(NAP_US);
	}
	GNN_TRY_CUDA(error);
out:
	return rc;
}

static int wait_for(struct gnn_cuda_device *d, cudaEvent_t event)
{
	int rc = GNN_OK;

	if (d->check == NULL)
		GNN_TRY_CUDA(cudaEventSynchronize(event));
	else
		GNN_TRY(ask_until(d, event));
out:
	return rc;
}

int gnn_cuda_wait(struct gnn_cuda_device *d, uint64_t ticket)
{
	int rc = GNN_OK;

	/* An older event may have been recorded anew, later in the same order: that is past it. */
	GNN_ASSERT(ticket < d->ticket_count);
	GNN_TRY(wait_for(d, d->ticket[ticket % GNN_CUDA_TICKETS]));
out:
	return rc;
}

int gnn_cuda_settle(struct gnn_cuda_device *d)
{
	uint64_t ticket;
	int rc = GNN_OK;

	if (d->check == NULL) {
		GNN_TRY_CUDA(cudaStreamSynchronize(d->compute));
		goto out;
	}
	GNN_TRY(gnn_cuda_mark(d, &ticket));
	GNN_TRY(gnn_cuda_wait(d, ticket));
out:
	return rc;
}

/* --- work of others --- */

static int make_side(struct gnn_cuda_device *d)
{
	int rc = GNN_OK, least, most;

	if (d->joined != NULL)
		return GNN_OK;
	/* What others wait for does not stand behind the sums that it is issued before. */
	GNN_TRY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &most));
	GNN_TRY_CUDA(cudaStreamCreateWithPriority(&d->side, cudaStreamNonBlocking, most));
	GNN_TRY_CUDA(cudaEventCreateWithFlags(&d->forked, cudaEventDisableTiming));
	GNN_TRY_CUDA(cudaEventCreateWithFlags(&d->joined, cudaEventDisableTiming));
out:
	return rc;
}

int gnn_cuda_fork(struct gnn_cuda_device *d, void **stream)
{
	int rc;

	*stream = NULL;
	GNN_TRY(make_side(d));
	GNN_TRY_CUDA(cudaEventRecord(d->forked, d->compute));
	GNN_TRY_CUDA(cudaStreamWaitEvent(d->side, d->forked, 0));
	*stream = d->side;
out:
	return rc;
}

int gnn_cuda_join(struct gnn_cuda_device *d)
{
	int rc = GNN_OK;

	if (d->joined == NULL) /* nobody has forked */
		return GNN_OK;
	GNN_TRY_CUDA(cudaEventRecord(d->joined, d->side));
	GNN_TRY_CUDA(cudaStreamWaitEvent(d->compute, d->joined, 0));
out:
	return rc;
}

int gnn_cuda_fetch(struct gnn_cuda_device *d, void *host, const void *from, uint64_t bytes,
	uint64_t *ticket)
{
	uint64_t slot = d->fetch_count % GNN_FETCHES_MAX;
	int rc = GNN_OK;

	*ticket = d->fetch_count++;
	GNN_TRY_CUDA(cudaEventRecord(d->fetch_ready[slot], d->compute));
	GNN_TRY_CUDA(cudaStreamWaitEvent(d->back, d->fetch_ready[slot], 0));
	if (bytes > 0)
		GNN_TRY_CUDA(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, d->back));
	GNN_TRY_CUDA(cudaEventRecord(d->fetch_done[slot], d->back));
out:
	return rc;
}

int gnn_cuda_fetched(struct gnn_cuda_device *d, uint64_t ticket)
{
	int rc = GNN_OK;

	/* As with tickets: an event recorded anew is past the one asked for. */
	GNN_ASSERT(ticket < d->fetch_count);
	GNN_TRY(wait_for(d, d->fetch_done[ticket % GNN_FETCHES_MAX]));
out:
	return rc;
}

/* --- device --- */

/* The one that calls of the thread go to, known so that asking costs nothing. */
static __thread int here;

void gnn_cuda_here(const struct gnn_cuda_device *d)
{
	if (here != d->ordinal && cudaSetDevice(d->ordinal) == cudaSuccess)
		here = d->ordinal;
}

static int find_device(struct gnn_cuda_device *d, uint32_t index)
{
	int count = 0, driver = 0, runtime = 0;
	cudaError_t error = cudaGetDeviceCount(&count);

	if (error == cudaSuccess && count > 0) {
		d->ordinal = (int)(index % (uint32_t)count);
		return GNN_OK;
	}
	cudaGetLastError();
	cudaDriverGetVersion(&driver);
	cudaRuntimeGetVersion(&runtime);
	return gnn_err(GNN_EUNAVAIL, "backend cuda: %s (driver %d.%d, built for %d.%d)",
		error != cudaSuccess ? cudaGetErrorString(error) : "no device", driver / 1000,
		driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

static int make_events(struct gnn_cuda_device *d)
{
	int rc = GNN_OK;

	for (int i = 0; i < GNN_CUDA_TICKETS; i++)
		GNN_TRY_CUDA(cudaEventCreateWithFlags(&d->ticket[i], cudaEventDisableTiming));
	for (int i = 0; i < GNN_FETCHES_MAX; i++) {
		GNN_TRY_CUDA(cudaEventCreateWithFlags(&d->fetch_ready[i], cudaEventDisableTiming));
		GNN_TRY_CUDA(cudaEventCreateWithFlags(&d->fetch_done[i], cudaEventDisableTiming));
	}
	for (int k = 0; k < GNN_STAGE_KINDS; k++) {
		GNN_TRY_CUDA(cudaEventCreateWithFlags(&d->stage[k].copied, cudaEventDisableTiming));
		GNN_TRY_CUDA(cudaEventCreateWithFlags(&d->stage[k].computed,
			cudaEventDisableTiming));
	}
out:
	return rc;
}

static int open_blas(struct gnn_cuda_device *d)
{
	struct gnn_cuda_blas *b = &d->blas;
	int rc;

	GNN_TRY(gnn_cuda_blas_load(b));
	GNN_TRY_BLAS(d, b->create(&d->blas_handle));
	GNN_TRY(gnn_cuda_alloc(d, &d->blas_work, BLAS_WORK_BYTES));
	GNN_TRY_BLAS(d, b->set_stream(d->blas_handle, d->compute));
	GNN_TRY_BLAS(d, b->set_workspace(d->blas_handle, d->blas_work, BLAS_WORK_BYTES));
	GNN_TRY_BLAS(d, b->set_math_mode(d->blas_handle, CUBLAS_PEDANTIC_MATH));
out:
	return rc;
}

/* The node of the host's memory that a device is near to, as the kernel says; -1: it does not. */
static int32_t numa_of(const char *bus)
{
	char path[96], lower[32] = {0};
	int node = -1;
	FILE *f;

	for (size_t i = 0; i + 1 < sizeof(lower) && bus[i] != '\0'; i++)
		lower[i] = (char)tolower((unsigned char)bus[i]);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", lower);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fscanf(f, "%d", &node) != 1)
		node = -1;
	fclose(f);
	return node;
}

void gnn_cuda_identify(const struct gnn_cuda_device *d, struct gnn_device_id *id)
{
	struct cudaDeviceProp p;

	*id = (struct gnn_device_id){.numa = -1};
	if (cudaGetDeviceProperties(&p, d->ordinal) != cudaSuccess ||
		cudaDeviceGetPCIBusId(id->bus, sizeof(id->bus), d->ordinal) != cudaSuccess) {
		cudaGetLastError();
		return;
	}
	snprintf(id->name, sizeof(id->name), "%.*s", (int)sizeof(id->name) - 1, p.name);
	memcpy(id->uuid, p.uuid.bytes, sizeof(id->uuid));
	id->numa = numa_of(id->bus);
}

int gnn_cuda_device_init(struct gnn_cuda_device *d, struct gnn_cuda_device *beside,
	uint32_t index)
{
	int rc, least, most;
	char bus_id[32];

	*d = (struct gnn_cuda_device){.own_held.sharers = 1};
	d->held = beside != NULL ? beside->held : &d->own_held;
	GNN_TRY(find_device(d, beside != NULL ? (uint32_t)beside->ordinal : index));
	GNN_TRY_CUDA(cudaSetDevice(d->ordinal));
	here = d->ordinal;
	if (cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), d->ordinal) == cudaSuccess)
		gnn_usage_gpu(bus_id);
	/* What others prepare gives way to who computes. */
	GNN_TRY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &most));
	GNN_TRY_CUDA(cudaStreamCreateWithPriority(&d->compute, cudaStreamNonBlocking,
		beside != NULL ? least : most));
	GNN_TRY_CUDA(cudaStreamCreateWithPriority(&d->copy, cudaStreamNonBlocking,
		beside != NULL ? least : most));
	GNN_TRY_CUDA(cudaStreamCreateWithFlags(&d->back, cudaStreamNonBlocking));
	GNN_TRY(make_events(d));
	GNN_TRY(open_blas(d));
out:
	if (rc < 0)
		gnn_cuda_device_fini(d);
	return rc;
}

void gnn_cuda_device_fini(struct gnn_cuda_device *d)
{
	if (d->compute != NULL)
		cudaStreamSynchronize(d->compute);
	if (d->copy != NULL)
		cudaStreamSynchronize(d->copy);
	if (d->back != NULL)
		cudaStreamSynchronize(d->back);
	if (d->blas_handle != NULL)
		d->blas.destroy(d->blas_handle);
	gnn_cuda_blas_unload(&d->blas);
	while (d->blocks != NULL)
		gnn_cuda_free(d, d->blocks->memory);
	for (int i = 0; i < GNN_CUDA_TICKETS; i++)
		if (d->ticket[i] != NULL)
			cudaEventDestroy(d->ticket[i]);
	for (int i = 0; i < GNN_FETCHES_MAX; i++) {
		if (d->fetch_ready[i] != NULL)
			cudaEventDestroy(d->fetch_ready[i]);
		if (d->fetch_done[i] != NULL)
			cudaEventDestroy(d->fetch_done[i]);
	}
	for (int k = 0; k < GNN_STAGE_KINDS; k++) {
		if (d->stage[k].copied != NULL)
			cudaEventDestroy(d->stage[k].copied);
		if (d->stage[k].computed != NULL)
			cudaEventDestroy(d->stage[k].computed);
	}
	if (d->compute != NULL)
		cudaStreamDestroy(d->compute);
	if (d->copy != NULL)
		cudaStreamDestroy(d->copy);
	if (d->side != NULL)
		cudaStreamDestroy(d->side);
	if (d->forked != NULL)
		cudaEventDestroy(d->forked);
	if (d->joined != NULL)
		cudaEventDestroy(d->joined);
	if (d->back != NULL)
		cudaStreamDestroy(d->back);
	*d = (struct gnn_cuda_device){0};
}
