/* train/evaluate.c - see evaluate.h. */
#include "train/evaluate.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "infer/infer.h"
#include "infer/score.h"
#include "mpi/comm.h"
#include "io/file.h"
#include "train/model_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From so many vertices on, what the layers keep of the whole graph is given back each time. */
enum { TRIM_VERTICES = 1 << 17, PATH_BYTES = 4096 };

struct gnn_evaluator {
	struct gnn_evaluator_opts o;
	const char              *name;
	struct gnn_block         block;
	struct gnn_block         bottom; /* of the first layer over aggregates: bare */
	float                   *x;     /* (V, dim) */
	bool                     owns_x;
	char                     model[PATH_BYTES], result[PATH_BYTES];
};

/* The table itself where it is of floats, else all of it widened. */
static int widen(struct gnn_evaluator *e)
{
	const struct gnn_train_source *s = e->o.source;
	const uint64_t vertices = s->store->vertices;
	gnn_vid *id = NULL;
	void *block;
	int rc = GNN_OK;

	e->x = s->bottom != NULL ? s->bottom->table : s->table;
	if (s->bottom != NULL || s->dtype == GNN_F32)
		return GNN_OK;
	GNN_TRY(gnn_mem_pages(&block, vertices * s->dim * sizeof(float), GNN_MEM_STATE));
	e->x = block;
	e->owns_x = true;
	GNN_NEW_ARRAY(id, vertices, GNN_MEM_MISC);
	for (gnn_vid v = 0; v < vertices; v++)
		id[v] = v;
	GNN_TRY(e->o.backend->ops->grad->gather(e->o.backend, &(struct gnn_gather_args){
		.table = s->table, .dtype = s->dtype, .width = s->dim, .id = id, .rows = vertices,
		.to = e->x}));
out:
	gnn_mem_free(id);
	return rc;
}

static int name_files(struct gnn_evaluator *e)
{
	const char *folder = e->o.folder;

	if (snprintf(e->model, PATH_BYTES, "%s/evaluation.safetensors", folder) >= PATH_BYTES ||
		snprintf(e->result, PATH_BYTES, "%s/evaluation.h5", folder) >= PATH_BYTES)
		return gnn_err(GNN_ECREAT, "%.60s...: the name of the checkpoint is too long",
			folder);
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		return gnn_err_sys(GNN_ECREAT, errno, "%s", folder);
	return GNN_OK;
}

/*
 * Whether a pass over the whole graph fits beside what training takes: the graph as a block, its
 * features as floats, every layer's rows in the buffers that a step has too.
 */
static bool fits_memory(const struct gnn_evaluator *e)
{
	const struct gnn_train_source *s = e->o.source;
	const uint64_t vertices = s->store->vertices, entries = s->lists->edges + vertices;
	uint64_t first;
	const struct gnn_block whole = {.dst_count = vertices, .src_count = vertices,
		.entry_count = entries, .first = &first};
	struct gnn_net_load load = e->o.foreseen->load;
	uint64_t bytes = entries * (sizeof(uint32_t) + sizeof(float)) * 5 / 4 +
		vertices * 2 * sizeof(uint64_t);

	if (s->bottom == NULL && s->dtype != GNN_F32)
		bytes += vertices * s->dim * sizeof(float);
	for (uint32_t l = 0; l < gnn_net_shape_of(e->o.net)->layers; l++)
		gnn_net_load_layer(&load, e->o.net, l,
			l == 0 && s->bottom != NULL ? &e->bottom : &whole, false);
	bytes += gnn_net_load_bytes(&load) + e->o.foreseen->batches + e->o.foreseen->others;
	if (bytes <= gnn_foresee_room(e->o.backend))
		return true;
	gnn_log(GNN_LOG_INFO, "train", "evaluation streams the store: in memory it and the "
		"training would take %.1f MiB", (double)bytes / 0x1p20);
	return false;
}

static int run_in_memory(struct gnn_evaluator *e, double figure[GNN_SPLIT_COUNT])
{
	const struct gnn_train_source *s = e->o.source;
	const uint64_t vertices = s->store->vertices;
	struct gnn_score *score = NULL;
	float *y = e->x;
	int rc;

	GNN_TRY(gnn_score_create(&score, s->store, s->classes, e->o.metric, false));
	if (score == NULL)
		goto out;
	e->name = gnn_score_name(score);
	for (uint32_t l = 0; l < gnn_net_shape_of(e->o.net)->layers; l++) {
		const bool bare = l == 0 && s->bottom != NULL;
		const struct gnn_layer_input in = {.block = bare ? &e->bottom : &e->block, .x = y};

		GNN_TRY(gnn_net_layer(e->o.net, l, &in, &y));
	}
	GNN_TRY(gnn_score_rows(score, 0, vertices, y));
	GNN_TRY(gnn_score_end(score, NULL, figure));
	if (vertices >= TRIM_VERTICES)
		gnn_net_trim(e->o.net);
out:
	gnn_score_destroy(score);
	return rc;
}

static int write_model(struct gnn_evaluator *e)
{
	const struct gnn_params *p = gnn_net_params(e->o.net);
	const uint64_t bytes = p->floats * sizeof(float);
	struct gnn_backend *b = e->o.backend;
	float *weights = NULL;
	int rc;

	if (gnn_comm_rank(e->o.comm) > 0)
		return GNN_OK;
	GNN_NEW_ARRAY(weights, p->floats, GNN_MEM_MODEL);
	GNN_TRY(b->ops->copy(b, weights, bytes, gnn_net_weights(e->o.net), bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
	GNN_TRY(gnn_model_file_write(e->model, gnn_net_shape_of(e->o.net), p, weights, 0));
out:
	gnn_mem_free(weights);
	return rc;
}

/* The engine streams the features once, or with `plan_only` says whether it could. */
static int run_engine(struct gnn_evaluator *e, bool plan_only, struct gnn_infer_report *report)
{
	struct gnn_store *store = e->o.source->store;
	struct gnn_model *model = NULL;
	int rc;

	GNN_TRY(gnn_comm_agree(e->o.comm, write_model(e)));
	GNN_TRY(gnn_model_load(&model, &(struct gnn_model_opts){.path = e->model}));
	GNN_TRY(gnn_infer_run(&(struct gnn_infer_opts){.store = store, .model = model,
		.comm = e->o.comm, .inner = true, .backend = e->o.backend,
		.devices_shared = e->o.devices_shared, .explain = plan_only,
		.out_path = e->result, .model_path = e->model,
		.chunk_bytes = 4 << 20, .queue_depth = 2, .threads = e->o.threads,
		.metric = e->o.metric, .scratch = e->o.scratch,
		.engine = gnn_container_options(store->container)->engine}, report));
out:
	/* Behind a failure others may be about to read it; the next evaluation writes it anew. */
	if (gnn_comm_size(e->o.comm) == 1 || (gnn_comm_rank(e->o.comm) == 0 && rc >= 0)) {
		unlink(e->result);
		unlink(e->model);
	}
	gnn_model_destroy(model);
	return rc;
}

/* What the layers keep makes room for it. */
static int run_from_disk(struct gnn_evaluator *e, double figure[GNN_SPLIT_COUNT])
{
	struct gnn_infer_report *report = NULL;
	int rc;

	gnn_net_trim(e->o.net);
	GNN_NEW(report, GNN_MEM_MISC);
	GNN_TRY(run_engine(e, false, report));
	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		figure[k] = report->metric != NULL ? report->score[k] : NAN;
	e->name = report->metric;
out:
	gnn_mem_free(report);
	return rc;
}

/* Whether an inference has a plan beside what the training will hold of the host's memory. */
static int foresee_inference(struct gnn_evaluator *e)
{
	const uint64_t bytes = e->o.foreseen->batches + e->o.foreseen->others;
	struct gnn_infer_report *report = NULL;
	const int taken = gnn_mem_take(bytes, GNN_MEM_STATE);
	int rc;

	GNN_TRY(gnn_comm_agree(e->o.comm, taken));
	GNN_NEW(report, GNN_MEM_MISC);
	GNN_TRY(run_engine(e, true, report));
out:
	if (rc < 0)
		gnn_err_place(rc, "evaluation beside %.1f MiB of batches",
			(double)e->o.foreseen->batches / 0x1p20);
	gnn_mem_free(report);
	if (taken == GNN_OK)
		gnn_mem_give(bytes, GNN_MEM_STATE);
	return rc;
}

int gnn_evaluator_create(struct gnn_evaluator **out, const struct gnn_evaluator_opts *o)
{
	const struct gnn_edge_rule rule = gnn_net_rule(gnn_net_shape_of(o->net)->arch);
	struct gnn_evaluator *e = NULL;
	int rc;

	*out = NULL;
	GNN_NEW(e, GNN_MEM_MISC);
	e->o = *o;
	GNN_TRY(name_files(e));
	e->o.folder = NULL;
	gnn_block_bare(&e->bottom, o->source->store->vertices);
	if (gnn_source_in_memory(o->source) && o->backend->ops->unified &&
		gnn_comm_size(o->comm) == 1 && fits_memory(e)) {
		GNN_TRY(gnn_block_whole(&e->block, o->source->lists, &rule, o->threads));
		GNN_TRY(widen(e));
	} else if (o->backend->ops->unified) {
		GNN_TRY(foresee_inference(e));
	}
	e->o.foreseen = NULL;
	*out = e;
	e = NULL;
out:
	gnn_evaluator_destroy(e);
	return rc;
}

int gnn_evaluator_run(struct gnn_evaluator *e, double figure[GNN_SPLIT_COUNT])
{
	const uint64_t span = gnn_trace_begin();
	int rc;

	for (int k = 0; k < GNN_SPLIT_COUNT; k++)
		figure[k] = NAN;
	rc = e->x != NULL ? run_in_memory(e, figure) : run_from_disk(e, figure);
	gnn_trace_end(span, "evaluate");
	return rc;
}

const char *gnn_evaluator_metric(const struct gnn_evaluator *e)
{
	return e->name;
}

void gnn_evaluator_destroy(struct gnn_evaluator *e)
{
	if (e == NULL)
		return;
	gnn_block_fini(&e->block);
	if (e->owns_x)
		gnn_mem_free(e->x);
	gnn_mem_free(e);
}
