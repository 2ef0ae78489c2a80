/*
 * tests/mpi/device_probe.c - one rank of tests/devices_test.py: inference on a device that is host
 * memory. It has blocks of its own that stages copy into, and groups edges by itself: what ranks do
 * on a GPU, but for the GPU. With link=1 its rows go by NCCL, of which there is a stub then.
 *
 * usage: device_probe STORE MODEL OUT [fanout=N] [chunk=BYTES] [shards=N] [room=BYTES] [link=1]
 *        [tiered=POLICY] [top=BYTES] [host=BYTES]: 1 is the smallest
 */
#include "base/log.h"
#include "base/mem.h"
#include "infer/infer.h"
#include "infer/program.h"
#include "mpi/comm.h"
#include "nccl_stub.h"
#include "tier/evict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 2 };

static struct gnn_backend_ops device_ops;
static uint64_t room = UINT64_C(1) << 30;
static struct {
	void    *slot[SLOTS];
	uint64_t bytes, count;
} stages[GNN_STAGE_KINDS];
static struct stub_stream side; /* of rows that go by NCCL */
static struct {
	int (*check)(void *arg, bool first);
	void *arg;
} watching;
static struct gnn_graph_info graph;
static struct gnn_grouper grouper;
static struct gnn_program program;

static int create(struct gnn_backend **out, const struct gnn_backend_opts *o)
{
	int rc = gnn_backend_cpu.create(out, o);

	if (rc == GNN_OK)
		(*out)->ops = &device_ops;
	return rc;
}

static uint64_t room_bytes(const struct gnn_backend *b)
{
	(void)b;
	return room;
}

static int reserve(struct gnn_backend *b, enum gnn_stage_kind kind, uint64_t bytes)
{
	int rc = GNN_OK;

	(void)b;
	for (int i = 0; i < SLOTS; i++)
		GNN_TRY(gnn_mem_resize(&stages[kind].slot[i], gnn_max_u64(bytes, 1), 1,
			GNN_MEM_IO));
	stages[kind].bytes = bytes;
out:
	return rc;
}

/* What was lent the time before last is broken, so that reading it shows. */
static int stage(struct gnn_backend *b, enum gnn_stage_kind kind, const void *host, uint64_t bytes,
	const void **out)
{
	void *slot = stages[kind].slot[stages[kind].count++ % SLOTS];

	(void)b;
	GNN_ASSERT(bytes <= stages[kind].bytes);
	memset(slot, 0x7f, stages[kind].bytes);
	if (bytes > 0)
		memcpy(slot, host, bytes);
	*out = slot;
	return GNN_OK;
}

static int prepare(struct gnn_backend *b, const struct gnn_graph_info *info)
{
	(void)b;
	graph = *info;
	return GNN_OK;
}

static int add_rows(const struct gnn_edge_list *l)
{
	uint32_t item = gnn_dtype_bytes(l->dtype);
	int rc = GNN_OK;

	for (uint64_t r = 0; r < l->rows; r++) {
		uint64_t source = l->source != NULL ? l->source[r] : r;
		bool here = l->source == NULL || source < l->own_rows;
		gnn_vid v = l->first_vertex + source;
		gnn_eid begin = gnn_max_u64(l->offsets[r], l->edge_begin);
		gnn_eid end = gnn_min_u64(l->offsets[r + 1], l->edge_end);

		if (l->own && r >= l->row_begin && r < l->row_end && here &&
			v - l->to.first < l->to.count)
			gnn_grouper_own(&grouper, v, (uint32_t)source);
		if (begin < end)
			GNN_TRY(gnn_grouper_edges(&grouper, v, (uint32_t)source,
				(const char *)l->neighbors + (begin - l->edge_begin) * item,
				l->weighted ? l->weights + (begin - l->edge_begin) : NULL,
				l->dtype, end - begin));
	}
out:
	return rc;
}

static int group(struct gnn_backend *b, const struct gnn_edge_list *l, struct gnn_edge_batch *out)
{
	static struct gnn_degrees degrees;
	uint64_t entries = l->edge_end - l->edge_begin + (l->own ? l->row_end - l->row_begin : 0);
	int rc;

	(void)b;
	GNN_ASSERT(entries <= graph.entries_max && l->rows <= graph.chunk_rows_max);
	gnn_grouper_fini(&grouper);
	gnn_program_fini(&program);
	degrees = (struct gnn_degrees){.vertices = graph.vertices, .hub_count = 1,
		.in = (uint32_t *)(uintptr_t)l->sample.in,
		.hub_bits = (uint64_t *)(uintptr_t)graph.hub_bits,
		.hub_rank = (uint64_t *)(uintptr_t)graph.hub_rank};
	GNN_TRY(gnn_grouper_init(&grouper, &degrees, &l->to, graph.chunk_rows_max, entries + 1,
		l->drop_loops));
	GNN_TRY(gnn_program_init(&program, entries + 1, graph.vertices));
	if (l->weighted || (l->sample.fanout != 0 && l->sample.scaled))
		GNN_TRY(gnn_program_weigh(&program, entries + 1));
	if (l->weighted)
		GNN_TRY(gnn_grouper_weigh(&grouper, l->own_weights));
	if (l->sample.fanout != 0)
		gnn_grouper_sample(&grouper, &l->sample, l->drawn);
	GNN_TRY(add_rows(l));
	gnn_grouper_end(&grouper, &program);
	*out = program.batch;
out:
	return rc;
}

static int fork_work(struct gnn_backend *b, void **stream)
{
	(void)b;
	*stream = &side;
	return GNN_OK;
}

/* Operations are done when they return: what others issued is done now, not before. */
static int join_work(struct gnn_backend *b)
{
	int rc = GNN_OK;

	(void)b;
	for (bool first = true; rc == GNN_OK && side.step != NULL && !side.step(side.comm);
		first = false) {
		rc = watching.check(watching.arg, first);
		usleep(100);
	}
	side.step = NULL;
	return rc;
}

static void watch(struct gnn_backend *b, int (*check)(void *arg, bool first), void *arg)
{
	(void)b;
	watching.check = check;
	watching.arg = arg;
}

static void make_device(bool linked)
{
	device_ops = gnn_backend_cpu;
	device_ops.name = "device";
	device_ops.unified = false;
	device_ops.create = create;
	device_ops.reserve = reserve;
	device_ops.stage = stage;
	device_ops.prepare = prepare;
	device_ops.group = group;
	device_ops.room_bytes = room_bytes;
	if (linked) {
		device_ops.fork = fork_work;
		device_ops.join = join_work;
		device_ops.watch = watch;
	}
}

struct words {
	const char *store, *model, *out, *fanout, *evict; /* evict: of the tiered plan; NULL */
	uint64_t    chunk, shards, top, host;
	bool        linked;
};

static enum gnn_evict_policy policy_of(const char *name)
{
	uint32_t i = 0;

	while (name != NULL && i < GNN_EVICT_COUNT - 1 &&
		strcmp(name, gnn_evict_ops_of((enum gnn_evict_policy)i)->name) != 0)
		i++;
	return (enum gnn_evict_policy)i;
}

static uint64_t store_bytes(const char *value)
{
	uint64_t bytes = strtoull(value, NULL, 10);

	return bytes == 1 ? GNN_STORE_MIN : bytes;
}

static int read_words(struct words *w, int argc, char **argv)
{
	*w = (struct words){.store = argv[1], .model = argv[2], .out = argv[3], .fanout = "all",
		.chunk = 8 << 20};
	for (int i = 4; i < argc; i++) {
		const char *value = strchr(argv[i], '=');

		if (value == NULL)
			return gnn_err(GNN_EUSAGE, "%s has no value", argv[i]);
		value++;
		if (strncmp(argv[i], "fanout=", 7) == 0)
			w->fanout = value;
		else if (strncmp(argv[i], "chunk=", 6) == 0)
			w->chunk = strtoull(value, NULL, 10);
		else if (strncmp(argv[i], "shards=", 7) == 0)
			w->shards = strtoull(value, NULL, 10);
		else if (strncmp(argv[i], "room=", 5) == 0)
			room = strtoull(value, NULL, 10);
		else if (strncmp(argv[i], "tiered=", 7) == 0)
			w->evict = value;
		else if (strncmp(argv[i], "top=", 4) == 0)
			w->top = store_bytes(value);
		else if (strncmp(argv[i], "host=", 5) == 0)
			w->host = store_bytes(value);
		else if (strncmp(argv[i], "link=", 5) == 0)
			w->linked = *value == '1';
		else
			return gnn_err(GNN_EUSAGE, "%s is not known", argv[i]);
	}
	return GNN_OK;
}

static int work(struct gnn_comm *c, const struct words *w)
{
	struct gnn_infer_report report;
	struct gnn_backend *backend = NULL;
	struct gnn_store *store = NULL;
	struct gnn_model *model = NULL;
	struct gnn_infer_opts o;
	int rc;

	make_device(w->linked);
	GNN_TRY(gnn_store_open(&store, &(struct gnn_container_opts){.path = w->store,
		.engine = GNN_DIO_PREAD}));
	GNN_TRY(gnn_model_load(&model, &(struct gnn_model_opts){.path = w->model}));
	GNN_TRY(gnn_model_set_fanout(model, w->fanout, true));
	GNN_TRY(create(&backend, &(struct gnn_backend_opts){.threads = 2}));
	o = (struct gnn_infer_opts){.store = store, .model = model, .comm = c, .backend = backend,
		.out_path = w->out, .model_path = w->model, .chunk_bytes = w->chunk,
		.shards = (uint32_t)w->shards, .threads = 6, .queue_depth = 2,
		.plan = w->evict != NULL ? GNN_PLAN_TIERED :
			w->shards > 0 ? GNN_PLAN_PARTITIONED : GNN_PLAN_RESIDENT,
		.evict = (int)policy_of(w->evict), .gpu_store = w->top, .hot_store = w->host,
		.engine = GNN_DIO_PREAD, .provenance = "{}"};
	GNN_TRY(gnn_infer_run(&o, &report));
	if (gnn_comm_rank(c) == 0)
		fprintf(stderr, "evictions %llu\n", (unsigned long long)report.layer[0].evictions);
out:
	gnn_grouper_fini(&grouper);
	gnn_program_fini(&program);
	for (int k = 0; k < GNN_STAGE_KINDS; k++)
		for (int i = 0; i < SLOTS; i++)
			gnn_mem_free(stages[k].slot[i]);
	gnn_backend_destroy(backend);
	gnn_model_destroy(model);
	gnn_store_close(store);
	return rc;
}

int main(int argc, char **argv)
{
	struct gnn_comm *c = NULL;
	struct words words;
	bool said = false;
	int rc;

	if (argc < 4)
		return 64;
	rc = gnn_comm_start(&c, &(struct gnn_comm_opts){.peer_timeout_s = 10});
	if (rc == GNN_OK)
		rc = read_words(&words, argc, argv);
	if (rc == GNN_OK)
		rc = work(c, &words);
	rc = gnn_comm_end(&c, rc, &said);
	if (rc < 0 && !said)
		gnn_log_failure(gnn_err_text());
	return rc < 0 ? -rc : 0;
}
