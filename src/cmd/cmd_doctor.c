/* cmd/cmd_doctor.c - gnnrun doctor: what a bug report should begin with. */
#include "base/hardware.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "io/container_h5.h"
#include "io/dio.h"
#include "op/backend.h"

struct record {
	const char *folder;
	struct gnn_memory_state memory;
	struct gnn_hardware hardware;
	struct gnn_dio_probe disk;
	struct gnn_err_state tried; /* whether the folder could be tried */
	struct gnn_err_state gpu;   /* whether a GPU can be used */
	char kernel[GNN_KERNEL_BYTES];
	char hdf5[GNN_UNITS_BYTES];
};

static void look(struct record *r, const struct gnn_config *c)
{
	struct gnn_backend *gpu;

	gnn_machine_memory(&r->memory, "");
	gnn_machine_kernel(r->kernel);
	gnn_hardware_look(&r->hardware);
	gnn_h5_version(r->hdf5, sizeof(r->hdf5));
	gnn_err_clear();
	gnn_err_save(&r->tried, gnn_dio_probe(r->folder, &r->disk));
	gnn_err_clear();
	gnn_err_save(&r->gpu, gnn_backend_create(&gpu, "cuda",
		&(struct gnn_backend_opts){.threads = (uint32_t)c->threads}));
	gnn_backend_destroy(gpu);
}

/* A limit in bytes, or "none". */
static const char *limit_text(char *to, uint64_t bytes)
{
	return bytes == UINT64_MAX ? "none" : gnn_units_bytes(to, (double)bytes);
}

static void print_hardware(const struct gnn_hardware *h)
{
	char bytes[GNN_UNITS_BYTES];

	gnn_out("processor  %s\n", h->model[0] != '\0' ? h->model : "not named");
	gnn_out("           %u packages, %u cores, %u hardware threads, %u NUMA nodes\n",
		h->packages, h->cores, h->threads, h->numa_nodes);
	for (int i = 0; i < GNN_CACHE_LEVELS; i++)
		if (h->cache[i].count > 0)
			gnn_out("%s L%d %u x %s", i == 0 ? "caches    " : ",", i + 1,
				h->cache[i].count,
				gnn_units_bytes(bytes, (double)h->cache[i].bytes));
	gnn_out("%s\n", h->cache[0].count > 0 ? "" : "caches     not told");
}

static void print_text(const struct gnn_config *c, const struct record *r)
{
	char a[GNN_UNITS_BYTES], b[GNN_UNITS_BYTES], m[GNN_UNITS_BYTES];

	gnn_out("gnnrun     " GNN_VERSION ", gcc " __VERSION__ ", " GNN_BUILD_TYPE "\n");
	gnn_out("kernel     %s\n", r->kernel);
	gnn_out("cores      %u in the affinity mask, %llu threads\n", gnn_machine_cores(),
		(unsigned long long)c->threads);
	print_hardware(&r->hardware);
	gnn_out("memory     %s available, cgroup limit %s, budget %s\n",
		gnn_units_bytes(a, (double)r->memory.available_bytes),
		limit_text(m, r->memory.cgroup_bytes), gnn_units_bytes(b, (double)c->host_memory));
	gnn_out("memlock    %s\n", limit_text(a, gnn_machine_memlock()));
	gnn_out("BLAS       %s\n", gnn_backend_blas());
	gnn_out("HDF5       %s\n", r->hdf5);
	gnn_out("liburing   " GNN_URING_VERSION "\n");
	gnn_out("GPU        %s\n", r->gpu.status < 0 ? r->gpu.text : "works");
	if (r->tried.status < 0) {
		gnn_out("folder     %s: cannot be tried: %s\n", r->folder, r->tried.text);
		return;
	}
	gnn_out("folder     %s\n", r->folder);
	gnn_out("  O_DIRECT %s", r->disk.direct ? "works" : "is refused: I/O goes through the "
		"page cache");
	if (r->disk.direct_align > 0)
		gnn_out(", offsets are multiples of %u", r->disk.direct_align);
	gnn_out("\n  io_uring %s%s\n", r->disk.uring ? "works" : "does not: ", r->disk.uring_why);
}

/* No limit is null. */
static void json_limit(struct gnn_json *j, const char *key, uint64_t bytes)
{
	if (bytes == UINT64_MAX)
		gnn_json_text(j, key, NULL);
	else
		gnn_json_u64(j, key, bytes);
}

static void json_hardware(struct gnn_json *j, const struct gnn_hardware *h)
{
	gnn_json_open_object(j, "processor");
	gnn_json_text(j, "model", h->model[0] != '\0' ? h->model : NULL);
	gnn_json_u64(j, "packages", h->packages);
	gnn_json_u64(j, "cores", h->cores);
	gnn_json_u64(j, "hardware_threads", h->threads);
	gnn_json_u64(j, "numa_nodes", h->numa_nodes);
	gnn_json_open_array(j, "caches");
	for (int i = 0; i < GNN_CACHE_LEVELS; i++) {
		gnn_json_open_object(j, NULL);
		gnn_json_u64(j, "level", (uint64_t)i + 1);
		gnn_json_u64(j, "count", h->cache[i].count);
		gnn_json_u64(j, "bytes", h->cache[i].bytes);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
	gnn_json_shut(j);
}

static int print_json(const struct gnn_config *c, const struct record *r)
{
	struct gnn_json *j = NULL;
	int rc = GNN_OK;

	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "command", "doctor");
	gnn_json_text(j, "version", GNN_VERSION);
	gnn_json_text(j, "compiler", "gcc " __VERSION__);
	gnn_json_text(j, "build", GNN_BUILD_TYPE);
	gnn_json_text(j, "kernel", r->kernel);
	gnn_json_u64(j, "cores", gnn_machine_cores());
	gnn_json_u64(j, "threads", c->threads);
	json_hardware(j, &r->hardware);
	gnn_json_u64(j, "available_bytes", r->memory.available_bytes);
	json_limit(j, "cgroup_limit_bytes", r->memory.cgroup_bytes);
	gnn_json_u64(j, "host_memory_bytes", c->host_memory);
	json_limit(j, "memlock_bytes", gnn_machine_memlock());
	gnn_json_text(j, "blas", gnn_backend_blas());
	gnn_json_text(j, "hdf5", r->hdf5);
	gnn_json_text(j, "liburing", GNN_URING_VERSION);
	gnn_json_bool(j, "gpu", r->gpu.status >= 0);
	gnn_json_text(j, "gpu_why", r->gpu.status < 0 ? r->gpu.text : NULL);
	gnn_json_text(j, "folder", r->folder);
	gnn_json_text(j, "folder_why", r->tried.status < 0 ? r->tried.text : NULL);
	gnn_json_bool(j, "direct_io", r->disk.direct);
	gnn_json_u64(j, "direct_align_bytes", r->disk.direct_align);
	gnn_json_bool(j, "io_uring", r->disk.uring);
	gnn_json_text(j, "io_uring_why", r->disk.uring ? NULL : r->disk.uring_why);
	rc = gnn_json_print(j);
out:
	gnn_json_destroy(j);
	return rc;
}

/* A folder that was named and cannot be tried is an error; the working folder is a courtesy. */
int gnn_cmd_doctor(const struct gnn_config *c)
{
	struct record r = {.folder = c->arg_count > 0 ? c->args[0] : "."};
	int rc = GNN_OK;

	look(&r, c);
	if (c->json)
		GNN_TRY(print_json(c, &r));
	else
		print_text(c, &r);
	if (c->arg_count > 0)
		rc = gnn_err_restore(&r.tried);
out:
	return rc;
}
