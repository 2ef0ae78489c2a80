/* cmd/cmd_infer.c - gnnrun infer: embeddings of every vertex of a store. */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/options.h"
#include "base/setting.h"
#include "base/stop.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/devices.h"
#include "cmd/infer_explain.h"
#include "infer/infer.h"
#include "io/file.h"
#include "mpi/comm.h"
#include "tier/evict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FACT_BYTES = 512 };

_Static_assert((int)GNN_OPT_IO_URING == (int)GNN_DIO_URING &&
	(int)GNN_OPT_IO_PREAD == (int)GNN_DIO_PREAD && (int)GNN_OPT_IO_MAP == (int)GNN_DIO_MAP,
	"the option's choices are the engines");
_Static_assert((int)GNN_OPT_ORDER_TRANSFORM == (int)GNN_ORDER_TRANSFORM_FIRST &&
	(int)GNN_OPT_ORDER_AGGREGATE == (int)GNN_ORDER_AGGREGATE_FIRST,
	"the option's choices are the orders");
_Static_assert((int)GNN_OPT_PLAN_RESIDENT == (int)GNN_PLAN_RESIDENT &&
	(int)GNN_OPT_PLAN_PARTITIONED == (int)GNN_PLAN_PARTITIONED &&
	(int)GNN_OPT_PLAN_TIERED == (int)GNN_PLAN_TIERED,
	"the option's choices are the plans");
_Static_assert((int)GNN_OPT_ACCURACY == (int)GNN_METRIC_ACCURACY &&
	(int)GNN_OPT_ROCAUC == (int)GNN_METRIC_ROCAUC && (int)GNN_OPT_F1 == (int)GNN_METRIC_F1,
	"the option's choices are the metrics");

_Static_assert((int)GNN_OPT_EVICT_PENDING == (int)GNN_EVICT_PENDING &&
	(int)GNN_OPT_EVICT_LRU == (int)GNN_EVICT_LRU &&
	(int)GNN_OPT_EVICT_FIFO == (int)GNN_EVICT_FIFO &&
	(int)GNN_OPT_EVICT_RANDOM == (int)GNN_EVICT_RANDOM,
	"the option's choices are the policies");

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* What the result file says of its origin. */
static int make_provenance(const struct gnn_config *c, char **text)
{
	struct gnn_json *j;
	int rc;

	GNN_TRY(gnn_json_create(&j));
	gnn_json_text(j, "command", "infer");
	gnn_json_text(j, "version", GNN_VERSION);
	gnn_json_text(j, "store", base_name(c->args[0]));
	gnn_json_text(j, "model", base_name(c->model));
	gnn_json_text(j, "fanout", c->fanout);
	gnn_json_u64(j, "seed", c->seed);
	gnn_json_open_array(j, "model_set");
	for (uint32_t i = 0; i < c->model_set.count; i++)
		gnn_json_text(j, NULL, c->model_set.item[i]);
	gnn_json_shut(j);
	rc = gnn_json_line(j, text);
	gnn_json_destroy(j);
out:
	return rc;
}

static void print_layer(struct gnn_json *j, const struct gnn_layer_report *l, uint32_t index)
{
	gnn_json_open_object(j, NULL);
	gnn_json_u64(j, "index", index);
	gnn_json_text(j, "plan", l->plan);
	gnn_json_u64(j, "shards", l->shards);
	gnn_json_text(j, "message_order", l->message_order);
	gnn_json_u64(j, "message_dim", l->message_dim);
	gnn_json_real(j, "wall_s", l->wall_s);
	gnn_json_u64(j, "read_bytes", l->read_bytes);
	gnn_json_u64(j, "written_bytes", l->written_bytes);
	gnn_json_u64(j, "messages", l->messages);
	gnn_json_u64(j, "evictions", l->evictions);
	gnn_json_u64(j, "reloads", l->reloads);
	gnn_json_u64(j, "cold_written_bytes", l->cold_written_bytes);
	gnn_json_u64(j, "cold_read_bytes", l->cold_read_bytes);
	gnn_json_u64(j, "exchanged_rows", l->exchanged_rows);
	gnn_json_real(j, "peer_wait_s", l->peer_wait_s);
	gnn_json_u64(j, "hot_rows", l->hot_rows);
	gnn_json_u64(j, "cold_rows", l->cold_rows);
	gnn_json_u64(j, "pinned_vertices", l->pinned_vertices);
	gnn_json_u64(j, "pinned_messages", l->pinned_messages);
	gnn_json_u64(j, "pairs", l->pairs);
	gnn_json_u64(j, "pinned_pairs", l->pinned_pairs);
	gnn_json_open_array(j, "reloaded_vertices");
	for (uint32_t i = 0; i < GNN_RELOADED_BINS; i++)
		gnn_json_u64(j, NULL, l->reloaded_vertices[i]);
	gnn_json_shut(j);
	gnn_explain_layer(j, l);
	gnn_json_shut(j);
}

static int print_json(const struct gnn_config *config, const struct gnn_store *s,
	const struct gnn_backend *b, const struct gnn_infer_report *r)
{
	struct gnn_json *j;
	int rc = gnn_json_create(&j);

	if (rc < 0)
		return rc;
	gnn_json_text(j, "command", "infer");
	gnn_json_text(j, "backend", b->ops->name);
	gnn_json_u64(j, "ranks", gnn_comm_size(config->comm));
	gnn_json_u64(j, "vertices", s->vertices);
	gnn_json_u64(j, "edges", s->edges);
	gnn_json_real(j, "wall_s", r->wall_s);
	gnn_json_text(j, "resumed", r->finished_before ? "finished" : r->resumed ? "yes" : "no");
	gnn_json_real(j, "startup_s", r->startup_s);
	gnn_json_real(j, "stream_s", r->stream_s);
	gnn_json_real(j, "feature_s", r->feature_s);
	gnn_json_u64(j, "read_bytes", r->read_bytes);
	gnn_json_u64(j, "written_bytes", r->written_bytes);
	gnn_json_u64(j, "feature_bytes", r->feature_bytes);
	gnn_json_u64(j, "peak_host_bytes", r->peak_host_bytes);
	gnn_json_u64(j, "peak_device_bytes", r->peak_device_bytes);
	gnn_json_u64(j, "predicted_read_bytes", r->predicted_read_bytes);
	gnn_json_u64(j, "predicted_written_bytes", r->predicted_written_bytes);
	gnn_json_real(j, "predicted_s", r->predicted_s);
	if (s->feature_rank != NULL)
		gnn_explain_permute(j, r);
	gnn_json_text(j, "metric", r->metric);
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		gnn_json_real(j, gnn_split_name((enum gnn_split)k), r->score[k]);
	gnn_json_open_array(j, "layers");
	for (uint32_t l = 0; l < r->layer_count; l++)
		print_layer(j, &r->layer[l], l + 1);
	gnn_json_shut(j);
	rc = gnn_json_print(j);
	gnn_json_destroy(j);
	return rc;
}

/* The last line of --metrics but the end: the whole, and what was foreseen of it. */
static void tell_metrics(const struct gnn_infer_report *r)
{
	struct gnn_json *line = gnn_metrics_begin("result");

	if (line == NULL)
		return;
	gnn_json_real(line, "predicted_s", r->predicted_s);
	gnn_json_real(line, "stream_s", r->stream_s);
	gnn_json_u64(line, "predicted_read_bytes", r->predicted_read_bytes);
	gnn_json_u64(line, "read_bytes", r->read_bytes);
	gnn_json_u64(line, "predicted_written_bytes", r->predicted_written_bytes);
	gnn_json_u64(line, "written_bytes", r->written_bytes);
	gnn_json_text(line, "metric", r->metric);
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		gnn_json_real(line, gnn_split_name((enum gnn_split)k), r->score[k]);
	gnn_metrics_end(line);
}

static void print_text(const struct gnn_config *c, const struct gnn_store *s,
	const struct gnn_backend *b, const struct gnn_infer_report *r)
{
	char x[GNN_UNITS_BYTES], y[GNN_UNITS_BYTES], z[GNN_UNITS_BYTES];

	gnn_out("vertices    %llu, edges %llu, backend %s\n", (unsigned long long)s->vertices,
		(unsigned long long)s->edges, b->ops->name);
	gnn_out("features    %s at %s\n", gnn_units_bytes(x, (double)r->feature_bytes),
		gnn_units_rate(y, (double)r->feature_bytes / fmax(r->feature_s, 1e-9), "B"));
	if (r->permute_written_bytes > 0)
		gnn_out("sorted      into the order of the vertices in %s: read %s, written %s\n",
			gnn_units_time(x, r->permute_s),
			gnn_units_bytes(y, (double)r->permute_read_bytes),
			gnn_units_bytes(z, (double)r->permute_written_bytes));
	for (uint32_t l = 0; l < r->layer_count; l++)
		gnn_out("layer %-5u %s, %s, %u wide: %s messages in %s\n", l + 1, r->layer[l].plan,
			r->layer[l].message_order, r->layer[l].message_dim,
			gnn_units_count(x, (double)r->layer[l].messages),
			gnn_units_time(y, r->layer[l].wall_s));
	gnn_out("time        %s: start-up %s, stream %s\n", gnn_units_time(x, r->wall_s),
		gnn_units_time(y, r->startup_s), gnn_units_time(z, r->stream_s));
	gnn_out("read        %s, written %s, peak memory %s\n",
		gnn_units_bytes(x, (double)r->read_bytes),
		gnn_units_bytes(y, (double)r->written_bytes),
		gnn_units_bytes(z, (double)r->peak_host_bytes));
	if (r->metric != NULL) {
		gnn_out("%-11s", r->metric);
		for (int k = 0; k < GNN_SPLIT_COUNT; k++)
			if (r->score[k] == r->score[k]) /* not NaN: there is such a split */
				gnn_out(" %s %.4f", gnn_split_name((enum gnn_split)k), r->score[k]);
		gnn_out("\n");
	}
	gnn_out("result      %s\n", c->out);
}

static int check_paths(const struct gnn_config *c)
{
	const char *const inputs[] = {c->args[0], c->model};

	if (c->model == NULL)
		return gnn_err(GNN_EUSAGE, "infer needs --model FILE.safetensors");
	if (c->design == GNN_OPT_DESIGN_PUBLISHED &&
		c->message_order == GNN_OPT_ORDER_TRANSFORM)
		return gnn_err(GNN_ECONFIG, "--design published aggregates first where the order "
			"is free, --message-order transform-first does not: give one of them");
	if (c->out == NULL && c->explain)
		return GNN_OK;
	if (c->out == NULL)
		return gnn_err(GNN_EUSAGE, "infer needs --out FILE.h5");
	return gnn_file_check_output(c->out, inputs, GNN_COUNT_OF(inputs));
}

/* Features that another store has, which must not become the output; they take the CPU. */
static int open_features(struct gnn_store *s, struct gnn_config *c)
{
	char path[GNN_STORE_PATH_BYTES];
	const char *const inputs[] = {path};
	int rc;

	if (s->feature_rank == NULL)
		return GNN_OK;
	GNN_TRY(gnn_store_attach(s));
	GNN_TRY(gnn_store_features_path(s, path));
	if (c->out != NULL)
		GNN_TRY(gnn_file_check_output(c->out, inputs, 1));
	if (strcmp(c->backend, "auto") == 0)
		c->backend = "cpu";
out:
	return rc;
}

/* A size, or the smallest legal; 0: not given. */
static int parse_store(const char *name, const char *text, uint64_t *bytes)
{
	*bytes = 0;
	if (text == NULL)
		return GNN_OK;
	if (strcmp(text, "min") == 0) {
		*bytes = GNN_STORE_MIN;
		return GNN_OK;
	}
	if (!gnn_units_parse_size(text, bytes) || *bytes == 0)
		return gnn_err(GNN_EUSAGE, "--%s %s is neither a size nor min", name, text);
	return GNN_OK;
}

/* What only the tiered plan takes. */
static int parse_tiered(const struct gnn_config *c, struct gnn_infer_opts *o)
{
	static const char *const names[] = {"evict", "hot-store", "gpu-store", "graduation-bytes"};
	int rc = GNN_OK;

	for (uint32_t i = 0; i < GNN_COUNT_OF(names) && c->plan != GNN_OPT_PLAN_TIERED; i++)
		if (gnn_option_given(c, names[i]))
			return gnn_err(GNN_ECONFIG, "--%s is for the tiered plan: add --plan "
				"tiered", names[i]);
	o->evict = c->evict;
	o->seed = c->seed;
	o->graduation_bytes = c->graduation_bytes;
	GNN_TRY(parse_store("hot-store", c->hot_store, &o->hot_store));
	GNN_TRY(parse_store("gpu-store", c->gpu_store, &o->gpu_store));
out:
	return rc;
}

static bool is_verified(const struct gnn_config *c)
{
	if (c->verify_reads == GNN_OPT_AUTO)
		return c->io != GNN_OPT_IO_MAP;
	return c->verify_reads == GNN_OPT_ON;
}

/* Options that change the result: a run is gone on with only under the same. */
static const char *const fact_names[] = {"message-order", "design", "fanout", "sample-scale",
	"seed"};

struct facts {
	struct gnn_option_fact fact[GNN_COUNT_OF(fact_names) + 1];
	char value[GNN_COUNT_OF(fact_names) + 1][FACT_BYTES];
};

static void collect_facts(const struct gnn_config *c, struct facts *f)
{
	uint32_t n = GNN_COUNT_OF(fact_names), at = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool negated;
		const struct gnn_option *o = gnn_option_find(fact_names[i], strlen(fact_names[i]),
			c->command, &negated);
		const char *text = gnn_setting_text(o, c, f->value[i], FACT_BYTES);

		f->fact[i] = (struct gnn_option_fact){fact_names[i], text != NULL ? text : ""};
	}
	f->value[n][0] = '\0';
	for (uint32_t i = 0; i < c->model_set.count && at < FACT_BYTES; i++)
		at += (uint32_t)snprintf(f->value[n] + at, FACT_BYTES - at, "%s ",
			c->model_set.item[i]);
	f->fact[n] = (struct gnn_option_fact){"model-set", f->value[n]};
}

int gnn_cmd_infer(const struct gnn_config *given)
{
	struct gnn_config mine = *given, *c = &mine;
	struct gnn_backend *backend = NULL;
	struct gnn_store *store = NULL;
	struct gnn_model *model = NULL;
	struct gnn_infer_report report;
	struct gnn_infer_opts opts;
	struct facts facts;
	char *provenance = NULL;
	bool shared;
	int rc;

	GNN_TRY(check_paths(c));
	GNN_TRY(gnn_store_open(&store, &(struct gnn_container_opts){.path = c->args[0],
		.engine = (enum gnn_dio_engine)c->io}));
	GNN_TRY(open_features(store, c));
	GNN_TRY(gnn_model_load(&model, &(struct gnn_model_opts){.path = c->model,
		.set = c->model_set.item, .set_count = c->model_set.count,
		.order = (enum gnn_message_order)c->message_order,
		.published = c->design == GNN_OPT_DESIGN_PUBLISHED}));
	GNN_TRY(gnn_model_set_fanout(model, c->fanout, c->sample_scale == GNN_OPT_ON));
	GNN_TRY(make_provenance(c, &provenance));
	GNN_TRY(gnn_devices_open(&backend, c, &shared));
	collect_facts(c, &facts);
	gnn_stop_listen();
	opts = (struct gnn_infer_opts){.store = store, .model = model, .comm = c->comm,
		.backend = backend, .devices_shared = shared, .out_path = c->out,
		.scratch = c->scratch,
		.model_path = c->model, .fact = facts.fact,
		.fact_count = GNN_COUNT_OF(facts.fact), .resume = c->resume, .explain = c->explain,
		.seal_after_s = (double)c->seal_after,
		.plan = (enum gnn_plan_kind)c->plan, .shards = (uint32_t)c->shards,
		.gpu_memory = c->gpu_memory, .threads = (uint32_t)c->threads,
		.chunk_bytes = c->chunk_bytes,
		.queue_depth = (uint32_t)c->queue_depth,
		.seed = c->seed,
		.verify_reads = is_verified(c), .predict = c->predict,
		.save_layers = c->save_layers, .metric = (enum gnn_metric)c->metric,
		.engine = (enum gnn_dio_engine)c->io, .provenance = provenance};
	GNN_TRY(parse_tiered(c, &opts));
	GNN_TRY(gnn_infer_run(&opts, &report));
	if (gnn_comm_rank(c->comm) > 0) /* rank 0 says it */
		goto out;
	if (!c->explain)
		tell_metrics(&report);
	if (c->explain && c->json) {
		GNN_TRY(gnn_explain_json(&report, store, backend, gnn_comm_size(c->comm)));
		goto out;
	}
	if (c->explain) {
		gnn_explain_print(&report, store, gnn_comm_size(c->comm));
		goto out;
	}
	if (report.finished_before)
		gnn_log(GNN_LOG_INFO, "infer", "%s is there, by the same run: nothing to do",
			c->out);
	if (c->json)
		GNN_TRY(print_json(c, store, backend, &report));
	else if (!report.finished_before)
		print_text(c, store, backend, &report);
out:
	gnn_backend_destroy(backend);
	gnn_model_destroy(model);
	gnn_store_close(store);
	gnn_mem_free(provenance);
	return rc;
}
