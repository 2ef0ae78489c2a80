/*
 * bench/io_bench.c - how fast the engines of io/dio.h read and write: the ceiling of everything.
 *
 * usage: io_bench [--file F] [--bytes N] [--runs N] [--request N] [--depth N] [--engine E] [--json]
 *
 * Lays a file of N bytes, then moves it whole, in order, with `depth` requests in flight, for each
 * engine, request size and depth. GB/s are 1e9 bytes a second, the median of the runs. What takes
 * O_DIRECT never sees the page cache; "buffered" in the name of an engine says where it could not.
 */
#include "base/log.h"
#include "base/mem.h"
#include "base/trial.h"
#include "io/dio.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 8, DEPTH_MAX = 64 };

static const struct {
	const char *name;
	enum gnn_dio_engine which;
} engines[] = {{"uring", GNN_DIO_URING}, {"pread", GNN_DIO_PREAD}, {"null", GNN_DIO_NULL}};

struct bench {
	const char *path;
	uint64_t bytes;
	uint32_t runs;
	const char *engine;      /* NULL: all */
	uint64_t request[LIST_MAX];
	uint64_t depth[LIST_MAX];
	bool json;
	uint32_t rows_printed;
};

/* One row of the table: the file moved once is one run. */
struct row {
	struct gnn_dio *dio;
	bool write;
	uint64_t bytes, request_bytes;
	uint32_t depth;
	char *buffer; /* (depth, request_bytes) */
	struct gnn_dio_request request[DEPTH_MAX];
};

static int send(struct row *w, struct gnn_dio_request *r, uint64_t *at)
{
	*r = (struct gnn_dio_request){
		.write = w->write,
		.offset = *at,
		.bytes = gnn_min_u64(w->request_bytes, w->bytes - *at),
		.buffer = w->buffer + (uint64_t)(r - w->request) * w->request_bytes,
	};
	r->wanted = r->bytes;
	*at += r->bytes;
	return gnn_dio_submit(w->dio, r);
}

static int move_file(void *arg)
{
	struct row *w = arg;
	struct gnn_dio_request *r;
	uint64_t at = 0;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < w->depth && at < w->bytes; i++)
		GNN_TRY(send(w, &w->request[i], &at));
	while ((rc = gnn_dio_reap(w->dio, &r)) == GNN_OK)
		if (at < w->bytes)
			GNN_TRY(send(w, r, &at));
out:
	return rc == GNN_EOF ? GNN_OK : rc;
}

static void print_row(struct bench *b, const struct row *w, const struct gnn_trial *t)
{
	double gb = (double)w->bytes * 1e-9;
	const char *op = w->write ? "write" : "read";

	if (b->json)
		gnn_out("%s\n{\"engine\": \"%s\", \"op\": \"%s\", \"request_bytes\": %llu, "
			"\"depth\": %u, \"gb_s\": %.4f, \"gb_s_min\": %.4f, \"gb_s_max\": %.4f, "
			"\"runs\": %u}",
			b->rows_printed > 0 ? "," : "", gnn_dio_name(w->dio), op,
			(unsigned long long)w->request_bytes, w->depth, gb / t->median_s,
			gb / t->max_s, gb / t->min_s, t->runs);
	else
		gnn_out("%-15s  %-5s  %10llu  %5u  %8.3f  %8.3f  %8.3f\n", gnn_dio_name(w->dio), op,
			(unsigned long long)w->request_bytes, w->depth, gb / t->median_s,
			gb / t->max_s, gb / t->min_s);
	b->rows_printed++;
}

static int measure(struct bench *b, enum gnn_dio_engine engine, bool write, uint64_t request,
	uint32_t depth)
{
	struct gnn_dio_opts o = {b->path, write ? GNN_DIO_WRITE : GNN_DIO_READ, engine, depth};
	struct row w = {.write = write, .bytes = b->bytes, .request_bytes = request,
		.depth = depth};
	struct gnn_trial t;
	void *buffer = NULL;
	int rc;

	GNN_TRY(gnn_dio_open(&w.dio, &o));
	GNN_TRY(gnn_mem_pages(&buffer, depth * request, GNN_MEM_IO));
	memset(buffer, 1, depth * request);
	w.buffer = buffer;
	GNN_TRY(gnn_trial_run(&t, b->runs, false, move_file, &w));
	print_row(b, &w, &t);
out:
	gnn_dio_abort(w.dio);
	gnn_mem_free(buffer);
	return rc == GNN_EUNAVAIL ? GNN_OK : rc;
}

static int measure_all(struct bench *b)
{
	int rc = GNN_OK;

	for (size_t e = 0; e < GNN_COUNT_OF(engines); e++) {
		if (b->engine != NULL && strcmp(b->engine, engines[e].name) != 0)
			continue;
		/* Writing comes first: reading what was never written does not touch the disk. */
		for (int read = 0; read < 2; read++)
			for (int s = 0; s < LIST_MAX && b->request[s] != 0; s++)
				for (int k = 0; k < LIST_MAX && b->depth[k] != 0; k++)
					GNN_TRY(measure(b, engines[e].which, read == 0,
						b->request[s], (uint32_t)b->depth[k]));
	}
out:
	return rc;
}

static int run(struct bench *b)
{
	int fd = open(b->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return gnn_err(GNN_ECREAT, "%s: cannot be made, or is there already", b->path);
	close(fd);
	if (!b->json)
		gnn_out("%-15s  %-5s  %10s  %5s  %8s  %8s  %8s\n", "engine", "op", "request",
			"depth", "GB/s", "min", "max");
	else
		gnn_out("{\"bytes\": %llu, \"rows\": [", (unsigned long long)b->bytes);
	rc = measure_all(b);
	if (b->json)
		gnn_out("\n]}\n");
	unlink(b->path);
	return rc < 0 ? rc : gnn_out_finish();
}

/* "64K,1M,8": powers of 1024; an empty list when it cannot be read. */
static void scan_list(const char *text, uint64_t list[LIST_MAX])
{
	memset(list, 0, LIST_MAX * sizeof(list[0]));
	for (int i = 0; i < LIST_MAX && *text != '\0'; i++) {
		const char *const units = "KMG", *unit;
		char *end;

		list[i] = strtoull(text, &end, 10);
		unit = *end != '\0' ? strchr(units, *end) : NULL;
		if (unit != NULL) {
			list[i] <<= 10 * (unit - units + 1);
			end++;
		}
		text = *end == ',' ? end + 1 : end;
		if (end == text && *end != '\0')
			list[0] = 0;
	}
}

static bool is_sound(const struct bench *b)
{
	bool sound = b->bytes > 0 && b->bytes % GNN_PAGE_BYTES == 0 && b->runs > 0 &&
		b->runs <= GNN_TRIAL_RUNS_MAX && b->request[0] != 0 && b->depth[0] != 0;

	for (int i = 0; i < LIST_MAX; i++)
		sound = sound && b->request[i] % GNN_PAGE_BYTES == 0 && b->depth[i] <= DEPTH_MAX;
	return sound;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"file", required_argument, NULL, 'f'},    {"bytes", required_argument, NULL, 'b'},
		{"runs", required_argument, NULL, 'n'},    {"engine", required_argument, NULL, 'e'},
		{"request", required_argument, NULL, 'r'}, {"depth", required_argument, NULL, 'd'},
		{"json", no_argument, NULL, 'j'},          {NULL, 0, NULL, 0},
	};
	struct bench b = {.path = "io_bench.dat"};
	uint64_t bytes[LIST_MAX], runs[LIST_MAX];
	int c;

	scan_list("256M", bytes);
	scan_list("3", runs);
	scan_list("64K,1M,8M,64M", b.request);
	scan_list("1,2,8", b.depth);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'f': b.path = optarg; break;
		case 'b': scan_list(optarg, bytes); break;
		case 'n': scan_list(optarg, runs); break;
		case 'e': b.engine = optarg; break;
		case 'r': scan_list(optarg, b.request); break;
		case 'd': scan_list(optarg, b.depth); break;
		case 'j': b.json = true; break;
		default: return -GNN_EUSAGE;
		}
	}
	b.bytes = bytes[0];
	b.runs = (uint32_t)runs[0];
	c = is_sound(&b) ? run(&b) : gnn_err(GNN_EUSAGE, "sizes are multiples of 4K, depths and "
		"runs 1 to 64");
	if (c < 0)
		gnn_log(GNN_LOG_ERROR, "bench", "%s", gnn_err_text());
	return -c;
}
