/*
 * cmd/bench_io.c - gnnrun bench io: what the disk of a store gives and takes, and what the reader
 * of the runs reaches on it.
 *
 * Reading is of the features, in order, `depth` requests in flight; writing of a file as large,
 * beside the store or in --scratch, synced within the time. "reader" rows are the stream that
 * inference reads with: its pieces and read-ahead stand in the columns of blocks and depth.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trial.h"
#include "base/units.h"
#include "cmd/bench.h"
#include "io/store.h"
#include "io/stream.h"
#include "io/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, PATH_BYTES = 4096 };

struct bench {
	const struct gnn_config *c;
	struct gnn_store *store;
	struct gnn_json *json; /* NULL: a table */
	char path[PATH_BYTES]; /* of the file that is written; "" until it is there */
	uint64_t bytes;
	struct gnn_bench_list blocks, depths;
};

/* One row of the table: the bytes moved once are one run. */
struct row {
	struct bench *bench;
	struct gnn_dio *dio;
	bool write;
	uint64_t offset, block_bytes;
	uint32_t depth;
	char *buffer; /* (depth, block_bytes) */
	struct gnn_dio_request request[DEPTH_MAX];
	struct gnn_stream_opts stream;
};

/* --- the engines --- */

static int send(struct row *w, struct gnn_dio_request *r, uint64_t *at)
{
	*r = (struct gnn_dio_request){
		.write = w->write,
		.offset = w->offset + *at,
		.bytes = gnn_min_u64(w->block_bytes, w->bench->bytes - *at),
		.buffer = w->buffer + (uint64_t)(r - w->request) * w->block_bytes,
	};
	r->wanted = r->bytes;
	*at += r->bytes;
	return gnn_dio_submit(w->dio, r);
}

/* Puts what was written on the disk. */
static int sync_file(const char *path)
{
	int fd = gnn_sys_open(path, O_RDWR), rc;

	if (fd < 0)
		return gnn_sys_open_failed(GNN_ECREAT, -fd, path);
	rc = gnn_sys_fsync(fd);
	if (rc < 0)
		rc = gnn_err_sys(GNN_EIO, -rc, "%s: fsync failed", path);
	gnn_sys_close(fd);
	return rc;
}

static int move_bytes(void *arg)
{
	struct row *w = arg;
	struct gnn_dio_request *r;
	uint64_t at = 0;
	int rc = GNN_OK;

	for (uint32_t i = 0; i < w->depth && at < w->bench->bytes; i++)
		GNN_TRY(send(w, &w->request[i], &at));
	while ((rc = gnn_dio_reap(w->dio, &r)) == GNN_OK)
		if (at < w->bench->bytes)
			GNN_TRY(send(w, r, &at));
	if (rc == GNN_EOF && w->write)
		rc = sync_file(w->bench->path);
out:
	return rc < 0 ? rc : GNN_OK;
}

static int read_stream(void *arg)
{
	const struct row *w = arg;
	struct gnn_stream *s = NULL;
	struct gnn_piece *piece;
	int rc;

	GNN_TRY(gnn_stream_open(&s, &w->stream));
	while ((rc = gnn_stream_next(s, &piece)) == GNN_OK)
		gnn_stream_put(s, piece);
out:
	gnn_stream_close(s);
	return rc < 0 ? rc : GNN_OK;
}

/* --- rows --- */

static void print_row(const struct bench *b, const struct row *w, const char *engine,
	const struct gnn_trial *t)
{
	double bytes = (double)b->bytes;
	char size[GNN_UNITS_BYTES];

	if (b->json == NULL) {
		gnn_out("%-18s  %-5s  %8s  %5u  %8.3f  %8.3f  %8.3f\n", engine,
			w->write ? "write" : "read", gnn_units_size(size, w->block_bytes), w->depth,
			bytes * 1e-9 / t->median_s, bytes * 1e-9 / t->max_s,
			bytes * 1e-9 / t->min_s);
		return;
	}
	gnn_json_open_object(b->json, NULL);
	gnn_json_text(b->json, "engine", engine);
	gnn_json_text(b->json, "op", w->write ? "write" : "read");
	gnn_json_u64(b->json, "block_bytes", w->block_bytes);
	gnn_json_u64(b->json, "depth", w->depth);
	gnn_json_real(b->json, "bytes_s", bytes / t->median_s);
	gnn_json_real(b->json, "bytes_s_min", bytes / t->max_s);
	gnn_json_real(b->json, "bytes_s_max", bytes / t->min_s);
	gnn_json_shut(b->json);
}

static int measure_engine(struct bench *b, enum gnn_dio_engine engine, struct row *w)
{
	struct gnn_trial t;
	void *buffer = NULL;
	int rc;

	GNN_TRY(gnn_dio_open(&w->dio, &(struct gnn_dio_opts){
		.path = w->write ? b->path : b->c->args[1],
		.mode = w->write ? GNN_DIO_WRITE : GNN_DIO_READ, .engine = engine,
		.depth = w->depth}));
	GNN_TRY(gnn_mem_pages(&buffer, w->depth * w->block_bytes, GNN_MEM_IO));
	memset(buffer, 1, w->depth * w->block_bytes);
	w->buffer = buffer;
	GNN_TRY(gnn_trial_run(&t, (uint32_t)b->c->runs, true, move_bytes, w));
	print_row(b, w, gnn_dio_name(w->dio), &t);
out:
	gnn_dio_abort(w->dio);
	w->dio = NULL;
	gnn_mem_free(buffer);
	/* Where an engine was not asked for by name, one that is not here has no rows. */
	return rc == GNN_EUNAVAIL && b->c->io == GNN_OPT_IO_AUTO ? GNN_OK : rc;
}

static int measure_reader(struct bench *b, bool verify, struct row *w)
{
	struct gnn_trial t;
	int rc;

	w->stream = (struct gnn_stream_opts){.container = b->store->container,
		.array = b->store->features, .bytes = b->bytes, .piece_bytes = w->block_bytes,
		.ahead = w->depth, .lent = 1, .verify = verify};
	GNN_TRY(gnn_trial_run(&t, (uint32_t)b->c->runs, true, read_stream, w));
	print_row(b, w, verify ? "reader, verified" : "reader", &t);
out:
	return rc;
}

/* One kind of row for each block size and depth. */
static int measure_sizes(struct bench *b, bool write, bool reader, int which)
{
	int rc = GNN_OK;

	for (uint32_t s = 0; s < b->blocks.count; s++)
		for (uint32_t d = 0; d < b->depths.count; d++) {
			struct row w = {.bench = b, .write = write,
				.offset = write ? 0 : b->store->features->offset,
				.block_bytes = b->blocks.value[s],
				.depth = (uint32_t)b->depths.value[d]};

			GNN_TRY(reader ? measure_reader(b, which != 0, &w) :
				measure_engine(b, (enum gnn_dio_engine)which, &w));
		}
out:
	return rc;
}

static int measure_all(struct bench *b)
{
	int rc = GNN_OK;

	for (int op = 0; op < 2; op++)
		for (int engine = GNN_DIO_URING; engine <= GNN_DIO_PREAD; engine++)
			if (b->c->io == GNN_OPT_IO_AUTO || b->c->io == engine)
				GNN_TRY(measure_sizes(b, op == 1, false, engine));
	GNN_TRY(measure_sizes(b, false, true, 0));
	GNN_TRY(measure_sizes(b, false, true, 1));
out:
	return rc;
}

/* --- preparing --- */

static int check_options(struct bench *b)
{
	int rc;

	if (b->c->io == GNN_OPT_IO_MAP)
		return gnn_err(GNN_EUSAGE, "bench io measures transfers: --io map has none");
	GNN_TRY(gnn_bench_list(&b->blocks, "blocks", b->c->blocks));
	GNN_TRY(gnn_bench_list(&b->depths, "depths", b->c->depths));
	for (uint32_t i = 0; i < b->blocks.count; i++)
		if (b->blocks.value[i] % GNN_PAGE_BYTES != 0)
			return gnn_err(GNN_EUSAGE, "--blocks %s: sizes are multiples of 4K",
				b->c->blocks);
	for (uint32_t i = 0; i < b->depths.count; i++)
		if (b->depths.value[i] > DEPTH_MAX)
			return gnn_err(GNN_EUSAGE, "--depths %s: at most %d", b->c->depths,
				DEPTH_MAX);
out:
	return rc;
}

/* A file of no bytes yet, which nobody else has. */
static int make_file(struct bench *b)
{
	char path[PATH_BYTES];
	int fd, n = b->c->scratch != NULL ?
		snprintf(path, sizeof(path), "%s/gnnrun-bench-io-%llx", b->c->scratch,
			(unsigned long long)getpid()) :
		snprintf(path, sizeof(path), "%s.bench-io-%llx", b->c->args[1],
			(unsigned long long)getpid());

	if (n < 0 || n >= PATH_BYTES)
		return gnn_err(GNN_ECREAT, "the name of the file to write is too long");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return gnn_err_sys(GNN_ECREAT, errno, "%s: cannot be made; give --scratch", path);
	close(fd);
	memcpy(b->path, path, sizeof(path));
	return GNN_OK;
}

static int run(struct bench *b)
{
	const struct gnn_array *features;
	int rc;

	GNN_TRY(check_options(b));
	GNN_TRY(gnn_store_open(&b->store, &(struct gnn_container_opts){.path = b->c->args[1],
		.engine = (enum gnn_dio_engine)b->c->io}));
	GNN_TRY(gnn_store_check_own(b->store));
	features = b->store->features;
	b->bytes = features != NULL ?
		gnn_align_down(gnn_min_u64(features->bytes, b->c->bytes), GNN_PAGE_BYTES) : 0;
	if (b->bytes == 0)
		GNN_FAIL(GNN_ECONFIG, "%s: features of a page or more are wanted, which bench io "
			"reads", b->c->args[1]);
	GNN_TRY(make_file(b));
	if (b->json == NULL) {
		gnn_out("%-18s  %-5s  %8s  %5s  %8s  %8s  %8s\n", "engine", "op", "block", "depth",
			"GB/s", "min", "max");
	} else {
		gnn_json_text(b->json, "command", "bench io");
		gnn_json_u64(b->json, "bytes", b->bytes);
		gnn_json_u64(b->json, "runs", b->c->runs);
		gnn_json_open_array(b->json, "rows");
	}
	GNN_TRY(measure_all(b));
	if (b->json != NULL) {
		gnn_json_shut(b->json);
		GNN_TRY(gnn_json_print(b->json));
	}
out:
	return rc;
}

int gnn_bench_io(const struct gnn_config *c)
{
	struct bench b = {.c = c};
	int rc = GNN_OK;

	if (c->json)
		GNN_TRY(gnn_json_create(&b.json));
	rc = run(&b);
out:
	if (b.path[0] != '\0')
		unlink(b.path);
	gnn_store_close(b.store);
	gnn_json_destroy(b.json);
	return rc;
}
