/*
 * cmd/bench_collective.c - gnnrun bench collective: what ranks exchange and sum, beside what MPI
 * does by itself.
 *
 * exchange: every rank sends as many bytes to every other, as rounds of an inference do. sum: f64
 * of host memory, or f32 of devices, become their sum on all ranks. The slowest rank counts. Rates
 * are of what a rank sends; of sums 2 (P - 1) / P of the bytes, which no algorithm can do without.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "cmd/bench.h"
#include "cmd/devices.h"
#include "mpi/link.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 1, RUNS_MAX = 64 };

struct bench {
	const struct gnn_config *c;
	struct gnn_comm    *comm;
	struct gnn_backend *backend;
	struct gnn_link    *link;
	struct gnn_json    *json; /* NULL: a table */
	struct gnn_comm_request **request; /* (2 ranks) */
	struct gnn_link_message  *message; /* (2 ranks) */
	struct gnn_bench_list blocks;
	uint64_t  bytes;   /* of the row at hand */
	char     *from, *to; /* (ranks, most bytes) */
	char     *there;   /* (2 ranks, most bytes) on the device */
	uint64_t  most;
};

/* Once, in *seconds. */
typedef int (*body_fn)(struct bench *b, double *seconds);

/* --- what is measured --- */

static int exchange_host(struct bench *b, double *seconds)
{
	uint32_t size = gnn_comm_size(b->comm), rank = gnn_comm_rank(b->comm);
	uint64_t start = gnn_clock_ns();
	int rc = GNN_OK;

	for (uint32_t q = 0; q < size; q++) {
		if (q == rank)
			continue;
		GNN_TRY(gnn_comm_recv(b->comm, q, TAG, b->to + q * b->bytes, b->bytes,
			&b->request[2 * q]));
		GNN_TRY(gnn_comm_send(b->comm, q, TAG, b->from + q * b->bytes, b->bytes,
			&b->request[2 * q + 1]));
	}
	for (uint32_t i = 0; i < 2 * size; i++)
		GNN_TRY(gnn_comm_wait(b->comm, &b->request[i]));
	*seconds = gnn_clock_s_since(start);
out:
	return rc;
}

static int exchange_mpi(struct bench *b, double *seconds)
{
	return gnn_comm_time_mpi(b->comm, false, b->from, b->to, b->bytes, seconds);
}

static int sum_host(struct bench *b, double *seconds)
{
	uint64_t start = gnn_clock_ns();
	int rc = gnn_comm_reduce_f64(b->comm, GNN_REDUCE_SUM, (double *)(void *)b->from,
		(uint32_t)(b->bytes / sizeof(double)));

	*seconds = gnn_clock_s_since(start);
	return rc;
}

static int sum_mpi(struct bench *b, double *seconds)
{
	return gnn_comm_time_mpi(b->comm, true, b->from, b->to, b->bytes, seconds);
}

/* What `issue` puts on the stream of the link, until it is done. */
static int time_link(struct bench *b, int (*issue)(struct bench *b, void *stream), double *seconds)
{
	struct gnn_backend *d = b->backend;
	uint64_t start = gnn_clock_ns(), ticket;
	void *stream;
	int rc, end;

	GNN_TRY(d->ops->fork(d, &stream));
	rc = issue(b, stream);
	end = d->ops->join(d);
	GNN_TRY(rc < 0 ? rc : end);
	GNN_TRY(d->ops->mark(d, &ticket));
	GNN_TRY(d->ops->wait(d, ticket));
	*seconds = gnn_clock_s_since(start);
out:
	return rc;
}

static int issue_exchange(struct bench *b, void *stream)
{
	uint32_t size = gnn_comm_size(b->comm), count = 0;

	for (uint32_t q = 0; q < size; q++) {
		if (q == gnn_comm_rank(b->comm))
			continue;
		b->message[count++] = (struct gnn_link_message){.peer = q, .sends = true,
			.data = b->there + q * b->bytes, .bytes = b->bytes};
		b->message[count++] = (struct gnn_link_message){.peer = q, .bytes = b->bytes,
			.data = b->there + (size + q) * b->bytes};
	}
	return gnn_link_exchange(b->link, b->message, count, stream);
}

static int issue_sum(struct bench *b, void *stream)
{
	return gnn_link_sum(b->link, (float *)(void *)b->there, b->bytes / sizeof(float), stream);
}

static int exchange_link(struct bench *b, double *seconds)
{
	return time_link(b, issue_exchange, seconds);
}

static int sum_link(struct bench *b, double *seconds)
{
	return time_link(b, issue_sum, seconds);
}

static const struct {
	const char *what;
	bool        sum, linked;
	body_fn     body;
} kinds[] = {
	{"exchange", false, false, exchange_host},
	{"exchange, MPI alone", false, false, exchange_mpi},
	{"exchange, NCCL", false, true, exchange_link},
	{"sum", true, false, sum_host},
	{"sum, MPI alone", true, false, sum_mpi},
	{"sum, NCCL", true, true, sum_link},
};

/* --- the table --- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_row(const struct bench *b, uint32_t kind, double *s)
{
	uint32_t runs = (uint32_t)b->c->runs, size = gnn_comm_size(b->comm);
	double moved = (double)b->bytes * (size - 1) * (kinds[kind].sum ? 2.0 / size : 1.0);
	char bytes[GNN_UNITS_BYTES];

	qsort(s, runs, sizeof(*s), compare);
	if (b->json == NULL) {
		gnn_out("%-20s  %9s  %10.1f  %10.1f  %10.1f  %8.3f\n", kinds[kind].what,
			gnn_units_bytes(bytes, (double)b->bytes), s[runs / 2] * 1e6, s[0] * 1e6,
			s[runs - 1] * 1e6, moved / s[runs / 2] / 1e9);
		return;
	}
	gnn_json_open_object(b->json, NULL);
	gnn_json_text(b->json, "what", kinds[kind].what);
	gnn_json_u64(b->json, "bytes", b->bytes);
	gnn_json_real(b->json, "median_s", s[runs / 2]);
	gnn_json_real(b->json, "min_s", s[0]);
	gnn_json_real(b->json, "max_s", s[runs - 1]);
	gnn_json_real(b->json, "bytes_s", moved / s[runs / 2]);
	gnn_json_shut(b->json);
}

static int measure(struct bench *b, uint32_t kind)
{
	double s[RUNS_MAX], warm;
	int rc;

	for (uint32_t i = 0; i <= b->c->runs; i++) {
		double *to = i == 0 ? &warm : &s[i - 1];

		GNN_TRY(gnn_comm_agree(b->comm, GNN_OK));
		GNN_TRY(kinds[kind].body(b, to));
		GNN_TRY(gnn_comm_reduce_f64(b->comm, GNN_REDUCE_MAX, to, 1));
	}
	if (gnn_comm_rank(b->comm) == 0)
		print_row(b, kind, s);
out:
	return rc;
}

static int measure_all(struct bench *b)
{
	int rc = GNN_OK;

	for (uint32_t k = 0; k < GNN_COUNT_OF(kinds); k++) {
		if (kinds[k].linked && b->link == NULL)
			continue;
		for (uint32_t i = 0; i < b->blocks.count; i++) {
			b->bytes = b->blocks.value[i];
			GNN_TRY(measure(b, k));
		}
	}
out:
	return rc;
}

static void begin_table(const struct bench *b)
{
	if (gnn_comm_rank(b->comm) > 0)
		return;
	if (b->json == NULL) {
		gnn_out("%u ranks, backend %s\n%-20s  %9s  %10s  %10s  %10s  %8s\n",
			gnn_comm_size(b->comm), b->backend->ops->name, "what", "bytes", "us", "min",
			"max", "GB/s");
		return;
	}
	gnn_json_text(b->json, "command", "bench collective");
	gnn_json_text(b->json, "backend", b->backend->ops->name);
	gnn_json_u64(b->json, "ranks", gnn_comm_size(b->comm));
	gnn_json_u64(b->json, "runs", b->c->runs);
	gnn_json_open_array(b->json, "rows");
}

/* --- preparing --- */

static int check_options(struct bench *b)
{
	uint64_t most = gnn_align_down(GNN_COMM_TIMED_MAX / gnn_comm_size(b->comm), 8);
	int rc;

	if (gnn_comm_size(b->comm) == 1)
		return gnn_err(GNN_ECONFIG, "bench collective measures ranks: start it by mpirun "
			"-np N or srun --mpi=pmix -n N, N at least 2");
	GNN_TRY(gnn_bench_list(&b->blocks, "blocks", b->c->blocks));
	for (uint32_t i = 0; i < b->blocks.count; i++) {
		b->most = gnn_max_u64(b->most, b->blocks.value[i]);
		if (b->blocks.value[i] % sizeof(double) != 0 || b->blocks.value[i] > most)
			return gnn_err(GNN_EUSAGE, "--blocks %s: sizes are multiples of 8, at most "
				"%llu for %u ranks", b->c->blocks, (unsigned long long)most,
				gnn_comm_size(b->comm));
	}
out:
	return rc;
}

static int open_link(struct bench *b, bool shared)
{
	uint64_t size = gnn_comm_size(b->comm);
	void *block;
	int rc;

	if (b->backend->ops->fork == NULL || shared)
		return GNN_OK;
	GNN_TRY(gnn_link_open(&b->link, b->comm));
	if (b->link == NULL) {
		gnn_log(GNN_LOG_WARN, "bench", "%s", gnn_err_text());
		return GNN_OK;
	}
	b->backend->ops->watch(b->backend, gnn_link_check, b->link);
	GNN_TRY(b->backend->ops->alloc(b->backend, &block, 2 * size * b->most));
	b->there = block;
	GNN_TRY(b->backend->ops->fill(b->backend, (float *)block, 1.0f,
		2 * size * b->most / sizeof(float)));
out:
	return rc;
}

static int run(struct bench *b)
{
	uint64_t size = gnn_comm_size(b->comm);
	bool shared;
	int rc;

	GNN_TRY(check_options(b));
	GNN_TRY(gnn_devices_open(&b->backend, b->c, &shared));
	GNN_NEW_ARRAY(b->request, 2 * size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(b->message, 2 * size, GNN_MEM_MISC);
	GNN_NEW_ARRAY(b->from, size * b->most, GNN_MEM_MISC);
	GNN_NEW_ARRAY(b->to, size * b->most, GNN_MEM_MISC);
	GNN_TRY(open_link(b, shared));
	begin_table(b);
	GNN_TRY(measure_all(b));
	if (b->json != NULL && gnn_comm_rank(b->comm) == 0) {
		gnn_json_shut(b->json);
		GNN_TRY(gnn_json_print(b->json));
	}
out:
	return rc;
}

static void close_link(struct bench *b)
{
	if (b->link == NULL)
		return;
	b->backend->ops->watch(b->backend, NULL, NULL);
	gnn_link_close(b->link);
	b->backend->ops->free(b->backend, b->there);
}

int gnn_bench_collective(const struct gnn_config *c)
{
	struct bench b = {.c = c, .comm = c->comm};
	int rc = GNN_OK;

	if (c->json)
		GNN_TRY(gnn_json_create(&b.json));
	rc = run(&b);
	if (rc < 0)
		(void)gnn_comm_agree(b.comm, rc);
out:
	close_link(&b);
	gnn_comm_keep(b.comm, b.from);
	gnn_comm_keep(b.comm, b.to);
	gnn_mem_free(b.request);
	gnn_mem_free(b.message);
	gnn_backend_destroy(b.backend);
	gnn_json_destroy(b.json);
	return rc;
}
