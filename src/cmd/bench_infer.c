/*
 * cmd/bench_infer.c - gnnrun bench infer: the gathering baseline, and what it fetches.
 *
 * The product's own run is `gnnrun infer --json`; both print the same kinds of figures, so that a
 * script can put them side by side.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/bench.h"
#include "infer/gather.h"
#include "infer/model_store.h"
#include "io/file.h"

#include <stdio.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, BATCH = 32768 };

_Static_assert((int)GNN_OPT_BASELINE_GATHER == (int)GNN_GATHER_LAYER_WISE &&
	(int)GNN_OPT_BASELINE_VERTEX_WISE == (int)GNN_GATHER_VERTEX_WISE,
	"the option's choices are the kinds");

static uint64_t batch_of(const struct gnn_config *c)
{
	return c->batch_size > 0 ? c->batch_size : BATCH;
}

static double redundancy(const struct gnn_gather_report *r)
{
	return r->unique > 0 ? (double)r->fetches / (double)r->unique : 0.0;
}

/* Time of all batches, when only some were done. */
static double whole_s(const struct gnn_gather_report *r)
{
	return r->batches > 0 ? r->wall_s * (double)r->batches_of / (double)r->batches : 0.0;
}

static void put_report(struct gnn_json *j, const struct gnn_gather_report *r, uint32_t index)
{
	gnn_json_open_object(j, NULL);
	gnn_json_u64(j, "index", index);
	gnn_json_u64(j, "batches", r->batches);
	gnn_json_u64(j, "batches_of", r->batches_of);
	gnn_json_u64(j, "fetches", r->fetches);
	gnn_json_u64(j, "unique_vertices", r->unique);
	gnn_json_real(j, "redundancy_factor", redundancy(r));
	gnn_json_real(j, "access_density_min", r->density[0]);
	gnn_json_real(j, "access_density_median", r->density[1]);
	gnn_json_real(j, "access_density_max", r->density[2]);
	gnn_json_u64(j, "row_bytes", r->row_bytes);
	gnn_json_u64(j, "requested_bytes", r->requested_bytes);
	gnn_json_u64(j, "requested_block_bytes", r->requested_block_bytes);
	gnn_json_u64(j, "loaded_bytes", r->loaded_bytes);
	gnn_json_real(j, "gather_s", r->gather_s);
	gnn_json_real(j, "compute_s", r->compute_s);
	gnn_json_real(j, "wall_s", r->wall_s);
	gnn_json_real(j, "extrapolated_s", whole_s(r));
	gnn_json_shut(j);
}

static int print_json(const struct gnn_config *c, const struct gnn_store *s,
	const struct gnn_gather_report *r, uint32_t count)
{
	struct gnn_json *j;
	int rc = gnn_json_create(&j);

	if (rc < 0)
		return rc;
	gnn_json_text(j, "command", "bench infer");
	gnn_json_text(j, "baseline", c->baseline == GNN_OPT_BASELINE_GATHER ? "gather" :
		"vertex-wise");
	gnn_json_u64(j, "vertices", s->vertices);
	gnn_json_u64(j, "edges", s->edges);
	gnn_json_u64(j, "batch_size", batch_of(c));
	gnn_json_u64(j, "feature_bytes", s->features->bytes);
	gnn_json_open_array(j, "layers");
	for (uint32_t i = 0; i < count; i++)
		put_report(j, &r[i], i + 1);
	gnn_json_shut(j);
	rc = gnn_json_print(j);
	gnn_json_destroy(j);
	return rc;
}

static void print_report(const struct gnn_config *c, const struct gnn_gather_report *r, uint32_t i)
{
	char x[GNN_UNITS_BYTES], y[GNN_UNITS_BYTES], z[GNN_UNITS_BYTES];

	if (c->baseline == GNN_OPT_BASELINE_GATHER)
		gnn_out("layer       %u\n", i + 1);
	gnn_out("rows        %s fetched of %s vertices: redundancy factor %.2f\n",
		gnn_units_count(x, (double)r->fetches), gnn_units_count(y, (double)r->unique),
		redundancy(r));
	gnn_out("density     %.4f of the id range of a batch [%.4f .. %.4f]\n", r->density[1],
		r->density[0], r->density[2]);
	gnn_out("bytes       %s of rows in %s of blocks, %s from the disk\n",
		gnn_units_bytes(x, (double)r->requested_bytes),
		gnn_units_bytes(y, (double)r->requested_block_bytes),
		gnn_units_bytes(z, (double)r->loaded_bytes));
	gnn_out("time        %s: gathering %s, computing %s\n", gnn_units_time(x, r->wall_s),
		gnn_units_time(y, r->gather_s), gnn_units_time(z, r->compute_s));
	if (r->batches < r->batches_of)
		gnn_out("batches     %llu of %llu, spread evenly; all would take %s\n",
			(unsigned long long)r->batches, (unsigned long long)r->batches_of,
			gnn_units_time(x, whole_s(r)));
}

static int check_options(const struct gnn_config *c)
{
	const char *const inputs[] = {c->args[1], c->model};

	if (c->model == NULL)
		return gnn_err(GNN_EUSAGE, "bench infer needs --model FILE.safetensors");
	if (c->batches > 0 && c->out != NULL)
		return gnn_err(GNN_EUSAGE, "--batches leaves vertices out: there is no --out");
	if (c->out == NULL)
		return GNN_OK;
	return gnn_file_check_output(c->out, inputs, GNN_COUNT_OF(inputs));
}

/* The layers between lie in a folder of this process, beside the output, or else the store. */
static int name_scratch(char to[PATH_BYTES], const struct gnn_config *c)
{
	const char *beside = c->out != NULL ? c->out : c->args[1];
	int n = c->scratch != NULL ?
		snprintf(to, PATH_BYTES, "%s/gnnrun-bench-%llx", c->scratch,
			(unsigned long long)getpid()) :
		snprintf(to, PATH_BYTES, "%s.gnnrun-bench-%llx", beside,
			(unsigned long long)getpid());

	return n > 0 && n < PATH_BYTES ? GNN_OK :
		gnn_err(GNN_ECREAT, "the name of the scratch folder is too long");
}

int gnn_bench_infer(const struct gnn_config *c)
{
	struct gnn_gather_report report[GNN_LAYERS_MAX];
	struct gnn_backend *backend = NULL;
	struct gnn_store *store = NULL;
	struct gnn_model *model = NULL;
	char scratch[PATH_BYTES];
	uint32_t count;
	int rc;

	GNN_TRY(check_options(c));
	GNN_TRY(name_scratch(scratch, c));
	GNN_TRY(gnn_store_open(&store, &(struct gnn_container_opts){.path = c->args[1]}));
	GNN_TRY(gnn_model_load(&model, &(struct gnn_model_opts){.path = c->model,
		.set = c->model_set.item, .set_count = c->model_set.count,
		.order = (enum gnn_message_order)c->message_order}));
	GNN_TRY(gnn_model_fits(model, store));
	GNN_TRY(gnn_backend_create(&backend, "cpu",
		&(struct gnn_backend_opts){.threads = (uint32_t)c->threads}));
	GNN_TRY(gnn_gather_run(&(struct gnn_gather_opts){.store = store, .model = model,
		.backend = backend, .kind = (enum gnn_gather_kind)c->baseline,
		.out_path = c->out, .scratch = scratch, .batch = batch_of(c),
		.batches = c->batches}, report, &count));
	if (c->json)
		GNN_TRY(print_json(c, store, report, count));
	for (uint32_t i = 0; i < count && !c->json; i++)
		print_report(c, &report[i], i);
out:
	gnn_backend_destroy(backend);
	gnn_model_destroy(model);
	gnn_store_close(store);
	return rc;
}
