/* cmd/cmd_train.c - gnnrun train: a model from the labels of a store. */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/setting.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/devices.h"
#include "cmd/train_job.h"
#include "io/file.h"
#include "mpi/comm.h"
#include "train/report.h"
#include "train/train.h"
#include "train/ways.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)GNN_OPT_REUSE_AGGREGATES == (int)GNN_REUSE_AGGREGATES &&
	(int)GNN_OPT_HYBRID_REPLAY == (int)GNN_HYBRID_REPLAY &&
	(int)GNN_OPT_LATE_COLD == (int)GNN_LATE_COLD &&
	(int)GNN_OPT_LATE_REPLAY == (int)GNN_LATE_REPLAY &&
	(int)GNN_OPT_REUSE_AUTO == (int)GNN_REUSE_AUTO &&
	(int)GNN_OPT_REUSE_EMBEDDINGS == (int)GNN_REUSE_EMBEDDINGS,
	"the choices are the module's");

enum { PATH_BYTES = 4096, SETTINGS_BYTES = 4096 };

/* What the options become: lists read, names made. */
struct job {
	struct gnn_train_opts o;
	char last[PATH_BYTES], checkpoint[PATH_BYTES], hybrid[PATH_BYTES], late[PATH_BYTES];
	char settings[SETTINGS_BYTES];
};

/* What a checkpoint must agree with. */
static const char *const settings[] = {"arch", "layers", "hidden", "heads", "dropout", "fanout",
	"sampler", "batch-dependency", "batch-size", "optimizer", "lr", "momentum", "weight-decay",
	"schedule", "clip", "eval-every", "metric", "bottom",
	"reuse", "super-batch", "hot-ratio", "hot-policy", "hot-backward", "hybrid", "late",
	"seed"};

/* "OUT.safetensors" to "OUT.last.safetensors". */
static int name_files(struct job *j, const struct gnn_config *c)
{
	static const char ending[] = ".safetensors";
	const size_t length = strlen(c->out), tail = sizeof(ending) - 1;
	const size_t stem = length > tail && strcmp(c->out + length - tail, ending) == 0
		? length - tail : length;
	const char *inputs[] = {c->args[0]};
	int rc;

	if (snprintf(j->last, PATH_BYTES, "%.*s.last%s", (int)stem, c->out, ending) >= PATH_BYTES ||
		snprintf(j->checkpoint, PATH_BYTES, "%s%s",
			c->checkpoint != NULL ? c->checkpoint : c->out,
			c->checkpoint != NULL ? "" : ".ckpt") >= PATH_BYTES ||
		snprintf(j->hybrid, PATH_BYTES, "%s%s", c->hybrid_log != NULL ? c->hybrid_log :
			c->out, c->hybrid_log != NULL ? "" : ".hybrid") >= PATH_BYTES ||
		snprintf(j->late, PATH_BYTES, "%s%s", c->late_log != NULL ? c->late_log : c->out,
			c->late_log != NULL ? "" : ".late") >= PATH_BYTES)
		return gnn_err(GNN_EUSAGE, "--out %.60s...: the name is too long", c->out);
	GNN_TRY(gnn_file_check_output(c->out, inputs, 1));
	GNN_TRY(gnn_file_check_output(j->last, inputs, 1));
	if (c->hybrid == GNN_OPT_HYBRID_ON)
		GNN_TRY(gnn_file_check_output(j->hybrid, inputs, 1));
	if (c->late == GNN_OPT_LATE_COLD)
		GNN_TRY(gnn_file_check_output(j->late, inputs, 1));
	j->o.out_path = c->out;
	j->o.last_path = j->last;
	j->o.checkpoint = j->checkpoint;
	j->o.hybrid_log = j->hybrid;
	j->o.late_log = j->late;
out:
	return rc;
}

/* "key=value" a line, as the options print; epochs only where the schedule follows them. */
static int list_settings(struct job *j, const struct gnn_config *c)
{
	size_t used = (size_t)snprintf(j->settings, SETTINGS_BYTES, "orchestration=%s\n",
		c->orchestration == GNN_OPT_LAYER ? "layer" : "step");
	bool negated;

	for (uint32_t i = 0; i <= GNN_COUNT_OF(settings); i++) {
		const bool extra = i == GNN_COUNT_OF(settings);
		const char *name = extra ? "epochs" : settings[i], *value;
		const struct gnn_option *o = gnn_option_find(name, strlen(name), GNN_CMD_TRAIN,
			&negated);
		char text[GNN_UNITS_BYTES];

		if (extra && c->schedule == GNN_OPT_SCHEDULE_CONSTANT)
			break;
		value = gnn_setting_text(o, c, text, sizeof(text));
		used += (size_t)snprintf(j->settings + used, SETTINGS_BYTES - used, "%s=%s\n", name,
			value != NULL ? value : "none");
		if (used >= SETTINGS_BYTES)
			return gnn_err(GNN_EUSAGE, "--%s is too long", name);
	}
	return GNN_OK;
}

/* Aggregates are all that the gradient of the first layer's weights takes. */
static bool has_aggregate_gradient(const struct gnn_config *c)
{
	return c->arch == GNN_ARCH_GCN || c->arch == GNN_ARCH_SAGE;
}

/* What only some reuses have. */
static int check_reuse(const struct gnn_config *c)
{
	static const char *const of_reuse[] = {"super-batch", "hot-ratio", "hot-policy"};

	for (uint32_t i = 0; i < GNN_COUNT_OF(of_reuse); i++)
		if (gnn_option_given(c, of_reuse[i]) && c->reuse == GNN_OPT_REUSE_OFF)
			return gnn_err(GNN_ECONFIG, "--%s is of --orchestration layer --reuse "
				"aggregates or embeddings", of_reuse[i]);
	if (gnn_option_given(c, "hot-backward") && c->reuse != GNN_OPT_REUSE_EMBEDDINGS)
		return gnn_err(GNN_ECONFIG, "--hot-backward is of --reuse embeddings: aggregates "
			"have the newest weights' gradient");
	if (c->hybrid != GNN_OPT_HYBRID_OFF && c->reuse != GNN_OPT_REUSE_EMBEDDINGS)
		return gnn_err(GNN_ECONFIG, "--hybrid is of --orchestration layer --reuse "
			"embeddings");
	if (c->late != GNN_OPT_LATE_WAIT && c->reuse != GNN_OPT_REUSE_EMBEDDINGS)
		return gnn_err(GNN_ECONFIG, "--late is of --orchestration layer --reuse "
			"embeddings");
	if (c->late != GNN_OPT_LATE_WAIT && c->hybrid != GNN_OPT_HYBRID_OFF)
		return gnn_err(GNN_ECONFIG, "--late %s: --hybrid learns from what is waited for",
			c->late == GNN_OPT_LATE_COLD ? "cold" : "replay");
	if (gnn_option_given(c, "late-log") && c->late == GNN_OPT_LATE_WAIT)
		return gnn_err(GNN_ECONFIG, "--late-log is of --late cold and replay");
	if (c->hot_policy == GNN_OPT_HOT_WINDOW && (c->reuse != GNN_OPT_REUSE_EMBEDDINGS ||
		c->hybrid != GNN_OPT_HYBRID_OFF))
		return gnn_err(GNN_ECONFIG, "--hot-policy window is of --reuse embeddings without "
			"--hybrid: which vertices are hot is known a super-batch before, and "
			"kept aggregates and a cache on the device take those of the whole run");
	if (c->hot_policy == GNN_OPT_HOT_WINDOW && c->super_batch < 2)
		return gnn_err(GNN_ECONFIG, "--hot-policy window: no two steps are in a "
			"--super-batch of one");
	if (gnn_option_given(c, "hybrid-log") && c->hybrid == GNN_OPT_HYBRID_OFF)
		return gnn_err(GNN_ECONFIG, "--hybrid-log is of --hybrid on and replay");
	if (c->reuse != GNN_OPT_REUSE_EMBEDDINGS)
		return GNN_OK;
	if (c->layers < 2)
		return gnn_err(GNN_ECONFIG, "--reuse embeddings: one layer makes the scores "
			"themselves, of vertices that are seeds once an epoch; give --layers 2");
	if (c->hot_backward == GNN_OPT_BACKWARD_AGGREGATE && !has_aggregate_gradient(c))
		return gnn_err(GNN_ECONFIG, "--hot-backward aggregate is of gcn and sage: the "
			"gradient of a %s layer takes more than the aggregate",
			gnn_arch_name((enum gnn_arch)c->arch));
	return GNN_OK;
}

/* What only some orchestrations and architectures have. */
static int check_layerwise(const struct gnn_config *c)
{
	if (c->reuse == GNN_OPT_REUSE_AUTO && c->orchestration == GNN_OPT_ORCHESTRATION_AUTO)
		return check_reuse(c);
	if (c->orchestration != GNN_OPT_LAYER && c->reuse != GNN_OPT_REUSE_OFF)
		return gnn_err(GNN_ECONFIG, "--reuse is of --orchestration layer, but for auto, "
			"which is of auto too");
	if (c->orchestration != GNN_OPT_LAYER)
		return check_reuse(c);
	if (c->arch == GNN_ARCH_GAT && c->reuse != GNN_OPT_REUSE_EMBEDDINGS)
		return gnn_err(GNN_ECONFIG, "--orchestration layer: what a gat layer aggregates "
			"depends on its attention weights, so that the CPU cannot make it ahead "
			"but as embeddings: give --reuse embeddings; gcn, sage and gin have "
			"aggregates that it can");
	if (c->bottom == GNN_OPT_BOTTOM_PRECOMPUTED)
		return gnn_err(GNN_ECONFIG, "--bottom precomputed leaves nothing of the first "
			"layer to --orchestration layer");
	return check_reuse(c);
}

static int check_options(const struct gnn_config *c)
{
	if (gnn_comm_size(c->comm) > 1 && c->reuse == GNN_OPT_REUSE_EMBEDDINGS)
		return gnn_err(GNN_ECONFIG, "--reuse embeddings runs as one rank, not as %u: which "
			"weights a row is made with depends on all rows of its super-batch; give "
			"--reuse aggregates", gnn_comm_size(c->comm));
	if (gnn_comm_size(c->comm) > 1 && strcmp(c->backend, "cuda") == 0 &&
		c->arch == GNN_ARCH_GIN)
		return gnn_err(GNN_ECONFIG, "train --arch gin --backend cuda runs as one rank, not "
			"as %u: its batch norms take the rows of all ranks, which ranks on cores "
			"do; give --backend cpu", gnn_comm_size(c->comm));
	if (c->out == NULL)
		return gnn_err(GNN_EUSAGE, "train needs --out M.safetensors");
	if (gnn_option_given(c, "momentum") && c->optimizer != GNN_OPT_SGD)
		return gnn_err(GNN_ECONFIG, "--momentum is of --optimizer sgd");
	if (c->momentum >= 1)
		return gnn_err(GNN_ECONFIG, "--momentum must be below 1");
	if (c->io == GNN_OPT_IO_MAP)
		return gnn_err(GNN_ECONFIG, "train reads the store into memory: --io map is of "
			"infer");
	if (c->verify_reads == GNN_OPT_OFF)
		return gnn_err(GNN_ECONFIG, "train verifies what it reads, once: --verify-reads "
			"off is of infer");
	return GNN_OK;
}

static int check_cache(const struct job *j, const struct gnn_config *c)
{
	if (c->cache_ratio == 0) {
		if (gnn_option_given(c, "cache-policy"))
			return gnn_err(GNN_ECONFIG, "--cache-policy is of a cache: give "
				"--cache-ratio");
		return GNN_OK;
	}
	if (j->o.backend->ops->unified)
		return gnn_err(GNN_ECONFIG, "--cache-ratio keeps rows on a GPU, and the backend is "
			"%s", j->o.backend->ops->name);
	if (j->o.precomputed || j->o.layerwise || c->reuse == GNN_OPT_REUSE_AUTO)
		return gnn_err(GNN_ECONFIG, "--cache-ratio keeps features on the GPU, which with "
			"--bottom precomputed gets aggregates; --orchestration layer, which "
			"--reuse auto may choose, has hot vertices of its own");
	return GNN_OK;
}

/* Who samples and who gathers, and what that leaves of --gather. */
static int choose_gather(struct job *j, const struct gnn_config *c)
{
	const enum gnn_gather_wish told = gnn_train_told_gather(c);
	struct gnn_table_wish *w = &j->o.device;
	const bool gpu = !j->o.backend->ops->unified;
	int rc;

	*w = gnn_train_wish((enum gnn_opt_orchestration)c->orchestration);
	if (c->reuse == GNN_OPT_REUSE_EMBEDDINGS)
		w->gather = GNN_WISH_AUTO;
	w->cached = c->cache_ratio > 0;
	GNN_TRY(check_cache(j, c));
	if (!gpu && (told != GNN_WISH_AUTO || w->sample == GNN_SAMPLE_DEVICE ||
		w->gather == GNN_WISH_DEVICE))
		return gnn_err(GNN_ECONFIG, "--gather and --orchestration step-gpu* take a GPU, "
			"and the backend is %s", j->o.backend->ops->name);
	if (j->o.precomputed && (told == GNN_WISH_ZERO_COPY || told == GNN_WISH_BOTH ||
		w->gather == GNN_WISH_DEVICE))
		return gnn_err(GNN_ECONFIG, "--bottom precomputed: the CPU gathers aggregates and "
			"stages them; --gather zero-copy and both, step-gpu-gather and step-gpu "
			"read features");
	if (told == GNN_WISH_AUTO)
		return GNN_OK;
	if ((w->gather == GNN_WISH_STAGED) != (told == GNN_WISH_STAGED) &&
		w->gather != GNN_WISH_AUTO)
		return gnn_err(GNN_ECONFIG, "--gather staged is of --orchestration step-cpu, "
			"step-gpu-sample and layer, zero-copy and both of step-gpu-gather and "
			"step-gpu");
	w->gather = told;
out:
	return rc;
}

static int make_job(struct job *j, const struct gnn_config *c)
{
	int rc;

	GNN_TRY(check_options(c));
	GNN_TRY(check_layerwise(c));
	GNN_TRY(name_files(j, c));
	GNN_TRY(gnn_train_read_batches(&j->o, c));
	GNN_TRY(gnn_train_read_learning(&j->o, c));
	GNN_TRY(list_settings(j, c));
	j->o.settings = j->settings;
	j->o.resume = c->resume;
	j->o.scratch = c->scratch;
	j->o.precomputed = c->bottom == GNN_OPT_BOTTOM_PRECOMPUTED;
	j->o.layerwise = c->orchestration == GNN_OPT_LAYER;
	j->o.reuse = (enum gnn_reuse)c->reuse;
	j->o.hybrid = (enum gnn_hybrid_mode)c->hybrid;
	j->o.late = (enum gnn_late_mode)c->late;
	j->o.hot_backward = c->hot_backward == GNN_OPT_BACKWARD_AGGREGATE ||
		(c->hot_backward == GNN_OPT_BACKWARD_AUTO && has_aggregate_gradient(c));
	j->o.cache_ratio = c->cache_ratio;
	j->o.cache_policy = (enum gnn_hot_policy)c->cache_policy;
out:
	return rc;
}

static void print_epoch(struct gnn_json *j, const struct gnn_epoch_report *e,
	uint64_t row_bytes, uint64_t stale_steps)
{
	gnn_json_open_object(j, NULL);
	gnn_json_u64(j, "epoch", e->epoch);
	gnn_json_real(j, "loss", e->loss);
	gnn_json_real(j, "train", e->train);
	gnn_json_real(j, "valid", e->valid);
	gnn_json_real(j, "wall_s", e->wall_s);
	gnn_json_real(j, "sample_s", e->sample_s);
	gnn_json_real(j, "collect_s", e->collect_s);
	gnn_json_real(j, "transfer_s", e->transfer_s);
	gnn_json_real(j, "compute_s", e->compute_s);
	gnn_json_real(j, "eval_s", e->eval_s);
	gnn_json_real(j, "cpu_embed_s", e->cpu_embed_s);
	gnn_json_u64(j, "aggregated_vertices", e->aggregated);
	gnn_json_u64(j, "reused_vertices", e->reused);
	gnn_json_u64(j, "max_sample_age", e->max_sample_age);
	gnn_json_real(j, "gpu_idle_s", e->idle_s);
	gnn_json_u64(j, "h2d_bytes", e->h2d_bytes);
	gnn_json_u64(j, "cache_hits", e->cache_hits);
	gnn_json_u64(j, "input_vertices", e->input_vertices);
	gnn_json_u64(j, "gathered_bytes", e->input_vertices * row_bytes);
	gnn_report_staleness(j, e, stale_steps);
	gnn_json_shut(j);
}

static int print_json(const struct job *job, const struct gnn_train_report *r)
{
	struct gnn_json *j;
	int rc = gnn_json_create(&j);

	if (rc < 0)
		return rc;
	gnn_json_text(j, "command", "train");
	gnn_json_text(j, "backend", job->o.backend->ops->name);
	gnn_json_u64(j, "ranks", gnn_comm_size(job->o.comm));
	gnn_json_text(j, "orchestration",
		r->layerwise ? "layer" : gnn_table_orchestration(r->gather, r->samples));
	gnn_json_text(j, "reuse", gnn_reuse_name(r->reuse));
	gnn_ways_print(j, &r->ways);
	gnn_json_text(j, "gather", gnn_gather_name(r->gather));
	gnn_json_real(j, "gather_share", r->gather_share);
	gnn_json_u64(j, "cache_rows", r->cache_rows);
	gnn_json_text(j, "bottom", job->o.precomputed ? "precomputed" : "sampled");
	gnn_json_bool(j, "bottom_made", r->bottom_made);
	gnn_json_real(j, "bottom_s", r->bottom_s);
	gnn_json_u64(j, "bottom_read_bytes", r->bottom_read_bytes);
	gnn_json_text(j, "metric", r->metric);
	gnn_json_real(j, "wall_s", r->wall_s);
	gnn_json_u64(j, "weights", r->weights);
	gnn_json_u64(j, "best_epoch", r->epoch[r->best].epoch);
	gnn_json_bool(j, "stopped_early", r->stopped_early);
	gnn_json_open_array(j, "epochs");
	for (uint64_t i = 0; i < r->epoch_count; i++)
		print_epoch(j, &r->epoch[i], r->row_bytes, gnn_train_stale_steps(&job->o));
	gnn_json_shut(j);
	gnn_json_real(j, "valid", r->epoch[r->best].valid);
	gnn_json_real(j, "test", r->epoch[r->best].test);
	rc = gnn_json_print(j);
	gnn_json_destroy(j);
	return rc;
}

static void print_text(const struct job *job, const struct gnn_train_report *r)
{
	const struct gnn_epoch_report *best = &r->epoch[r->best];
	char x[GNN_UNITS_BYTES];

	gnn_out("trained     %llu epochs of %llu batches, %llu weights, in %s%s\n",
		(unsigned long long)r->epoch_count, (unsigned long long)r->steps_an_epoch,
		(unsigned long long)r->weights, gnn_units_time(x, r->wall_s),
		r->stopped_early ? ": out of patience" : "");
	gnn_out("best        epoch %llu: loss %.4f\n", (unsigned long long)best->epoch, best->loss);
	if (r->metric != NULL) {
		gnn_out("%-11s train %.4f", r->metric, best->train);
		if (!isnan(best->valid))
			gnn_out(" valid %.4f", best->valid);
		if (!isnan(best->test))
			gnn_out(" test %.4f", best->test);
		gnn_out("\n");
	}
	gnn_out("model       %s; of the last epoch %s\n", job->o.out_path, job->o.last_path);
}

/* Batch norms over the rows of several ranks are of cores: auto takes them there. */
static int open_backend(struct job *j, const struct gnn_config *c)
{
	if (gnn_comm_size(c->comm) == 1 || strcmp(c->backend, "auto") != 0 ||
		c->arch != GNN_ARCH_GIN)
		return gnn_devices_open(&j->o.backend, c, &j->o.devices_shared);
	return gnn_backend_create(&j->o.backend, "cpu", &(struct gnn_backend_opts){
		.threads = (uint32_t)c->threads});
}

int gnn_cmd_train(const struct gnn_config *c)
{
	struct gnn_train_report report = {0};
	struct job *job = NULL;
	int rc;

	GNN_NEW(job, GNN_MEM_MISC);
	GNN_TRY(make_job(job, c));
	GNN_TRY(gnn_store_open(&job->o.store, &(struct gnn_container_opts){.path = c->args[0],
		.engine = (enum gnn_dio_engine)c->io}));
	job->o.comm = c->comm;
	GNN_TRY(open_backend(job, c));
	GNN_TRY(choose_gather(job, c));
	GNN_TRY(gnn_train_run(&job->o, &report));
	if (gnn_comm_rank(c->comm) > 0) /* rank 0 says it */
		goto out;
	if (c->json)
		GNN_TRY(print_json(job, &report));
	else
		print_text(job, &report);
out:
	gnn_train_report_fini(&report);
	if (job != NULL) {
		gnn_backend_destroy(job->o.backend);
		gnn_store_close(job->o.store);
	}
	gnn_mem_free(job);
	return rc;
}
