/* mpi/comm.c - see comm.h: the calls in terms of a transport's requests. */
#include "mpi/comm.h"

#include "base/machine.h"
#include "base/mem.h"
#include "mpi/comm_ops.h"
#include "mpi/launch.h"

#include <string.h>
#include <unistd.h>

enum {
	SLICES_MIN = 1 << 11, /* items: fewer are combined by every rank itself, in one step */
	TAG_SLICE = 30000, TAG_REDUCED, /* past those of other callers */
};

int gnn_comm_start(struct gnn_comm **out, const struct gnn_comm_opts *o)
{
	struct gnn_launch launch;

	*out = NULL;
	gnn_launch_read(&launch);
	if (o->allow_singleton || !launch.speaks_mpi) {
		if (launch.tasks > 1 && !o->allow_singleton)
			return gnn_launch_refuse(&launch);
		return gnn_comm_self_start(out);
	}
	return gnn_comm_mpi_start(out, o);
}

void gnn_comm_describe(struct gnn_comm_rank *me)
{
	*me = (struct gnn_comm_rank){.local_size = 1, .cores = gnn_machine_cores(), .sharers = 1,
		.core_set = gnn_machine_core_set()};
	if (gethostname(me->host, sizeof(me->host) - 1) != 0)
		memcpy(me->host, "unknown", sizeof("unknown"));
}

int gnn_comm_end(struct gnn_comm **c, int rc, bool *said)
{
	struct gnn_comm *mine = *c;

	*c = NULL;
	*said = false;
	return mine != NULL ? mine->ops->end(mine, rc, said) : rc;
}

uint32_t gnn_comm_rank(const struct gnn_comm *c)
{
	return c != NULL ? c->rank : 0;
}

uint32_t gnn_comm_size(const struct gnn_comm *c)
{
	return c != NULL ? c->size : 1;
}

const struct gnn_comm_rank *gnn_comm_ranks(const struct gnn_comm *c)
{
	return c->ranks;
}

void gnn_comm_phase(struct gnn_comm *c, const char *phase)
{
	if (c != NULL)
		c->ops->phase(c, phase);
}

static int post(struct gnn_comm *c, const struct gnn_comm_request *want,
	struct gnn_comm_request **out)
{
	struct gnn_comm_request *r;
	int rc;

	*out = NULL;
	GNN_ASSERT(want->peer < c->size);
	GNN_NEW(r, GNN_MEM_MISC);
	*r = *want;
	c->ops->post(c, r);
	*out = r;
out:
	return rc;
}

int gnn_comm_wait(struct gnn_comm *c, struct gnn_comm_request **r)
{
	struct gnn_comm_request *mine = *r;

	*r = NULL;
	return mine != NULL ? c->ops->wait(c, mine) : GNN_OK;
}

static int collective(struct gnn_comm *c, const struct gnn_comm_request *want)
{
	struct gnn_comm_request *r;
	int rc;

	GNN_TRY(post(c, want, &r));
	GNN_TRY(gnn_comm_wait(c, &r));
out:
	return rc;
}

int gnn_comm_agree(struct gnn_comm *c, int rc)
{
	if (gnn_comm_size(c) == 1)
		return rc;
	if (rc < 0) {
		c->ops->fail(c, rc);
		return rc;
	}
	return collective(c, &(struct gnn_comm_request){.kind = GNN_COMM_BARRIER});
}

int gnn_comm_gather(struct gnn_comm *c, const void *mine, uint64_t bytes, void *all)
{
	void *block = NULL;
	int rc;

	if (gnn_comm_size(c) == 1) {
		memcpy(all, mine, bytes);
		return GNN_OK;
	}
	GNN_TRY(gnn_mem_new(&block, c->size, bytes, GNN_MEM_MISC));
	memcpy((char *)block + c->rank * bytes, mine, bytes);
	GNN_TRY(collective(c, &(struct gnn_comm_request){.kind = GNN_COMM_GATHER, .to = block,
		.bytes = bytes}));
	memcpy(all, block, c->size * bytes);
out:
	gnn_comm_keep(c, block);
	return rc;
}

int gnn_comm_broadcast(struct gnn_comm *c, uint32_t root, void *data, uint64_t bytes)
{
	void *block = NULL;
	int rc;

	if (gnn_comm_size(c) == 1)
		return GNN_OK;
	GNN_TRY(gnn_mem_new(&block, bytes, 1, GNN_MEM_MISC));
	if (c->rank == root)
		memcpy(block, data, bytes);
	GNN_TRY(collective(c, &(struct gnn_comm_request){.kind = GNN_COMM_BROADCAST, .to = block,
		.bytes = bytes, .peer = root}));
	memcpy(data, block, bytes);
out:
	gnn_comm_keep(c, block);
	return rc;
}

int gnn_comm_time_mpi(struct gnn_comm *c, bool sum, const void *from, void *to, uint64_t bytes,
	double *seconds)
{
	GNN_ASSERT(c->size > 1 && bytes <= GNN_COMM_TIMED_MAX);
	return collective(c, &(struct gnn_comm_request){.kind = sum ? GNN_COMM_MPI_SUM :
		GNN_COMM_MPI_EXCHANGE, .from = from, .to = to, .bytes = bytes,
		.seconds = seconds});
}

static uint64_t combine_u64(enum gnn_reduce how, uint64_t a, uint64_t b)
{
	if (how == GNN_REDUCE_SUM)
		return a + b;
	return how == GNN_REDUCE_MIN ? gnn_min_u64(a, b) : gnn_max_u64(a, b);
}

static double combine_f64(enum gnn_reduce how, double a, double b)
{
	if (how == GNN_REDUCE_SUM)
		return a + b;
	return (how == GNN_REDUCE_MIN) == (b < a) ? b : a;
}

/* to = to, from of the next rank; count items of 8 bytes. */
typedef void (*combine_fn)(enum gnn_reduce how, void *to, const void *from, uint64_t count);

static void combine_all_u64(enum gnn_reduce how, void *to, const void *from, uint64_t count)
{
	uint64_t *a = to;
	const uint64_t *b = from;

	for (uint64_t i = 0; i < count; i++)
		a[i] = combine_u64(how, a[i], b[i]);
}

static void combine_all_f64(enum gnn_reduce how, void *to, const void *from, uint64_t count)
{
	double *a = to;
	const double *b = from;

	for (uint64_t i = 0; how == GNN_REDUCE_SUM && i < count; i++)
		a[i] += b[i];
	for (uint64_t i = 0; how != GNN_REDUCE_SUM && i < count; i++)
		a[i] = combine_f64(how, a[i], b[i]);
}

/* Of `count` items those that rank q combines. */
static uint64_t slice_of(const struct gnn_comm *c, uint64_t count, uint32_t q)
{
	return count * q / c->size;
}

/* Every rank gets its slice of all and combines it; then all get the slices of each. */
struct reduction {
	uint64_t  count;
	uint64_t *whole; /* (count) of this rank, then of all */
	uint64_t *parts; /* (size, slice) of all, by rank */
	struct gnn_comm_request **request; /* (2 size) */
};

static int wait_requests(struct gnn_comm *c, struct gnn_comm_request **r)
{
	int rc = GNN_OK;

	for (uint32_t i = 0; i < 2 * c->size; i++)
		GNN_TRY(gnn_comm_wait(c, &r[i]));
out:
	return rc;
}

static int gather_slices(struct gnn_comm *c, struct reduction *d)
{
	uint64_t first = slice_of(c, d->count, c->rank);
	uint64_t mine = slice_of(c, d->count, c->rank + 1) - first;
	int rc = GNN_OK;

	memcpy(d->parts + c->rank * mine, d->whole + first, mine * sizeof(*d->whole));
	for (uint32_t q = 0; q < c->size; q++) {
		uint64_t at = slice_of(c, d->count, q), end = slice_of(c, d->count, q + 1);

		if (q == c->rank)
			continue;
		GNN_TRY(gnn_comm_recv(c, q, TAG_SLICE, d->parts + q * mine,
			mine * sizeof(*d->parts), &d->request[2 * q]));
		GNN_TRY(gnn_comm_send(c, q, TAG_SLICE, d->whole + at,
			(end - at) * sizeof(*d->whole), &d->request[2 * q + 1]));
	}
	GNN_TRY(wait_requests(c, d->request));
out:
	return rc;
}

static int spread_slices(struct gnn_comm *c, struct reduction *d)
{
	uint64_t first = slice_of(c, d->count, c->rank);
	uint64_t mine = slice_of(c, d->count, c->rank + 1) - first;
	int rc = GNN_OK;

	for (uint32_t q = 0; q < c->size; q++) {
		uint64_t at = slice_of(c, d->count, q), end = slice_of(c, d->count, q + 1);

		if (q == c->rank)
			continue;
		GNN_TRY(gnn_comm_recv(c, q, TAG_REDUCED, d->whole + at,
			(end - at) * sizeof(*d->whole), &d->request[2 * q]));
		GNN_TRY(gnn_comm_send(c, q, TAG_REDUCED, d->parts, mine * sizeof(*d->parts),
			&d->request[2 * q + 1]));
	}
	memcpy(d->whole + first, d->parts, mine * sizeof(*d->whole));
	GNN_TRY(wait_requests(c, d->request));
out:
	return rc;
}

static int reduce_slices(struct gnn_comm *c, enum gnn_reduce how, void *value, uint64_t count,
	combine_fn combine)
{
	uint64_t slice = slice_of(c, count, c->rank + 1) - slice_of(c, count, c->rank);
	struct reduction d = {.count = count};
	int rc;

	GNN_NEW_ARRAY(d.whole, count, GNN_MEM_MISC);
	GNN_NEW_ARRAY(d.parts, c->size * slice, GNN_MEM_MISC);
	GNN_NEW_ARRAY(d.request, 2 * (uint64_t)c->size, GNN_MEM_MISC);
	memcpy(d.whole, value, count * sizeof(*d.whole));
	GNN_TRY(gather_slices(c, &d));
	for (uint32_t q = 1; q < c->size; q++)
		combine(how, d.parts, d.parts + q * slice, slice);
	GNN_TRY(spread_slices(c, &d));
	memcpy(value, d.whole, count * sizeof(*d.whole));
out:
	gnn_comm_keep(c, d.whole);
	gnn_comm_keep(c, d.parts);
	gnn_mem_free(d.request);
	return rc;
}

static int reduce(struct gnn_comm *c, enum gnn_reduce how, void *value, uint64_t count,
	combine_fn combine)
{
	uint64_t bytes = count * sizeof(uint64_t);
	char *all = NULL;
	int rc = GNN_OK;

	if (gnn_comm_size(c) == 1)
		return GNN_OK;
	if (count >= SLICES_MIN && count >= c->size)
		return reduce_slices(c, how, value, count, combine);
	GNN_TRY(gnn_mem_new((void **)&all, c->size, bytes, GNN_MEM_MISC));
	GNN_TRY(gnn_comm_gather(c, value, bytes, all));
	memcpy(value, all, bytes);
	for (uint32_t q = 1; q < c->size; q++)
		combine(how, value, all + q * bytes, count);
out:
	gnn_mem_free(all);
	return rc;
}

int gnn_comm_reduce_u64(struct gnn_comm *c, enum gnn_reduce how, uint64_t *value, uint32_t count)
{
	return reduce(c, how, value, count, combine_all_u64);
}

int gnn_comm_reduce_f64(struct gnn_comm *c, enum gnn_reduce how, double *value, uint32_t count)
{
	return reduce(c, how, value, count, combine_all_f64);
}

int gnn_comm_send(struct gnn_comm *c, uint32_t to, uint32_t tag, const void *data,
	uint64_t bytes, struct gnn_comm_request **out)
{
	return post(c, &(struct gnn_comm_request){.kind = GNN_COMM_SEND, .from = data,
		.bytes = bytes, .peer = to, .tag = tag}, out);
}

int gnn_comm_recv(struct gnn_comm *c, uint32_t from, uint32_t tag, void *data, uint64_t bytes,
	struct gnn_comm_request **out)
{
	return post(c, &(struct gnn_comm_request){.kind = GNN_COMM_RECV, .to = data,
		.bytes = bytes, .peer = from, .tag = tag}, out);
}

bool gnn_comm_failed(struct gnn_comm *c)
{
	return c != NULL && c->ops->failed(c);
}

void gnn_comm_keep(struct gnn_comm *c, void *block)
{
	void *list = NULL;

	if (block == NULL)
		return;
	if (!gnn_comm_failed(c)) {
		gnn_mem_free(block);
		return;
	}
	list = c->kept;
	/* Without memory for the list the block stays for good: the process is about to end. */
	if (gnn_mem_resize(&list, c->kept_count + 1, sizeof(*c->kept), GNN_MEM_MISC) < 0)
		return;
	c->kept = list;
	c->kept[c->kept_count++] = block;
}
