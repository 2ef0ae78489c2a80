/* train/train.c - see train.h. */
#include "train/train.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/trace.h"
#include "train/ahead.h"
#include "train/cache.h"
#include "train/carrier.h"
#include "train/model_file.h"
#include "train/outfit.h"
#include "train/prepare.h"
#include "train/report.h"
#include "train/state.h"
#include "train/team.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A checkpoint at the end of an epoch, unless the last is younger than this. */
#define CHECKPOINT_S 5.0

struct run {
	const struct gnn_train_opts *o; /* of the outfit, settled */
	struct gnn_outfit    fit;
	struct gnn_train_source    *source;
	struct gnn_net       *net;
	struct gnn_optim     *optim;
	struct gnn_carrier   *carrier;
	struct gnn_team      *team;
	struct gnn_train_state state;
	struct gnn_state_key key;
	struct gnn_progress *progress;
	struct gnn_ahead    *ahead;
	uint64_t steps_an_epoch, steps;
	uint64_t epoch_start_ns, checkpoint_ns;
	bool     stopping;   /* a signal came, to some rank */
};

static bool is_first(const struct run *r)
{
	return gnn_comm_rank(r->o->comm) == 0;
}

uint64_t gnn_train_stale_steps(const struct gnn_train_opts *o)
{
	return o->reuse == GNN_REUSE_EMBEDDINGS ? o->super_batch : 0;
}

static int open_run(struct run *r)
{
	const struct gnn_train_opts *o = r->o;
	struct gnn_net_opts net = {.backend = o->backend, .shape = o->shape,
		.dropout = o->dropout, .seed = o->seed};
	int rc;

	GNN_TRY(gnn_prepare_source(&r->source, o));
	net.shape.dim_in = r->source->dim;
	net.shape.channels[net.shape.layers - 1] = r->source->classes;
	GNN_TRY(gnn_net_create(&r->net, &net));
	GNN_TRY(gnn_optim_create(&r->optim, &o->optim, r->net, o->backend));
	GNN_TRY(gnn_state_init(&r->state, gnn_net_params(r->net)->floats));
	GNN_TRY(gnn_team_open(&r->team, o->comm, r->net, o->backend));
	r->key = (struct gnn_state_key){.folder = o->checkpoint, .settings = o->settings,
		.graph = r->source->identity, .ranks = gnn_comm_size(o->comm)};
	r->steps_an_epoch = gnn_ceil_div(r->source->train_count, o->batch_size);
	r->steps = o->epochs * r->steps_an_epoch;
out:
	return rc;
}

static int start_ahead(struct run *r)
{
	const struct gnn_batches_opts batches = gnn_outfit_batches(&r->fit, r->state.step);

	return gnn_ahead_start(&r->ahead, &(struct gnn_ahead_opts){.train = r->o, .hot = r->fit.hot,
		.batches = &batches, .source = r->source, .net = r->net, .table = &r->fit.table,
		.state = &r->state, .steps = r->steps});
}

static int start_batches(struct run *r)
{
	const struct gnn_train_opts *o = r->o;
	const struct gnn_batches_opts batches = gnn_outfit_batches(&r->fit, r->state.step);

	return gnn_carrier_start(&r->carrier, &(struct gnn_carrier_opts){.batches = batches,
		.table = &r->fit.table, .shelves = gnn_ahead_shelves(r->ahead),
		.pipeline = o->pipeline, .threads = o->threads});
}

static int save(struct run *r)
{
	const float *w = gnn_net_weights(r->net);
	double squares;
	int rc;

	/* Weights that are no numbers would spoil the checkpoint that is there. */
	GNN_TRY(r->o->backend->ops->grad->sum_squares(r->o->backend, w,
		gnn_net_params(r->net)->floats, &squares));
	if (!isfinite(squares))
		GNN_FAIL(GNN_EDATA, "epoch %llu: weights are no longer finite: give a smaller --lr "
			"or --clip", (unsigned long long)(r->state.step / r->steps_an_epoch + 1));
	GNN_TRY(gnn_ahead_save(r->ahead));
	GNN_TRY(gnn_team_check(r->team));
	if (is_first(r))
		GNN_TRY(gnn_state_save(&r->state, &r->key, r->net, r->optim, r->o->backend));
	r->checkpoint_ns = gnn_clock_ns();
out:
	return rc;
}

static int refuse_loss(const struct run *r, const struct gnn_there *b, double loss)
{
	char seeds[96] = "";
	size_t used = 0;

	for (uint64_t i = 0; i < b->seed_count && i < GNN_THERE_SEEDS && used < sizeof(seeds); i++)
		used += (size_t)snprintf(seeds + used, sizeof(seeds) - used, "%s%llu",
			i > 0 ? ", " : "", (unsigned long long)b->seed[i]);
	return gnn_err(GNN_EDATA, "epoch %llu, batch %llu: the loss is %g; its vertices are %s%s. "
		"Features that are not finite, or a --lr too large? The last checkpoint is kept",
		(unsigned long long)(b->step / r->steps_an_epoch + 1),
		(unsigned long long)(b->step % r->steps_an_epoch + 1), loss, seeds,
		b->seed_count > GNN_THERE_SEEDS ? " ..." : "");
}

/* What the mean of the loss is over: every seed has a label. */
static uint64_t cells_of_step(const struct run *r, uint64_t step)
{
	uint64_t first;

	return gnn_batches_seeds(r->source, r->o->batch_size, step, &first) *
		(r->source->labels != NULL ? r->source->classes : 1);
}

/* What a batch took and gave, here and, when it returns, at all ranks. */
static int tally(struct run *r, const struct gnn_there *t, const struct gnn_loss_args *loss)
{
	struct gnn_epoch_report *e = &r->state.current;
	struct gnn_tally a = {.loss = loss->loss, .counted = loss->counted,
		.input_vertices = r->o->layerwise ? t->bottom.gathered : t->sample.id_count,
		.aggregated = t->bottom.computed, .reused = t->bottom.reused,
		.h2d_bytes = t->copied_bytes, .cache_hits = t->cache_hits,
		.age = t->bottom.age, .stop = gnn_stop_wanted()};
	int rc;

	GNN_TRY(gnn_team_tally(r->team, &a));
	GNN_ASSERT(a.counted == cells_of_step(r, t->step));
	e->loss_sum += a.loss;
	e->counted += a.counted;
	e->input_vertices += a.input_vertices;
	e->aggregated += a.aggregated;
	e->reused += a.reused;
	e->h2d_bytes += a.h2d_bytes;
	e->cache_hits += a.cache_hits;
	e->max_sample_age = gnn_max_u64(e->max_sample_age, a.age);
	r->stopping |= a.stop > 0;
out:
	return rc;
}

/* Forward, loss and backward of this rank's seeds. */
static int differentiate(struct run *r, const struct gnn_there *t, struct gnn_loss_args *loss)
{
	const struct gnn_net_input in = gnn_there_input(t);
	struct gnn_backend *b = r->o->backend;
	float *y;
	int rc;

	/* Cores take part with no rows too, for the sake of batch norms. */
	if (t->seed_count == 0 && !b->ops->unified)
		return b->ops->fill(b, gnn_net_gradient(r->net), 0.0f,
			gnn_net_params(r->net)->learned);
	GNN_TRY(gnn_team_begin(r->team, &t->sample));
	GNN_TRY(gnn_net_forward(r->net, &in, &y));
	loss->y = y;
	GNN_TRY(b->ops->grad->loss(b, loss));
	if (!isfinite(loss->loss))
		GNN_TRY(refuse_loss(r, t, loss->loss));
	GNN_TRY(gnn_net_backward(r->net, &in, t->dy));
out:
	return rc;
}

/* One step of the optimiser by a batch that is there. */
static int step(struct run *r, const struct gnn_there *t)
{
	struct gnn_epoch_report *e = &r->state.current;
	struct gnn_loss_args loss = {.label = t->label, .labels = t->labels, .dy = t->dy,
		.rows = t->seed_count, .width = r->source->classes,
		.total = cells_of_step(r, t->step)};
	const uint64_t start = gnn_clock_ns(), span = gnn_trace_begin();
	double change = 0.0;
	int rc;

	GNN_TRY(differentiate(r, t, &loss));
	GNN_TRY(tally(r, t, &loss));
	GNN_TRY(gnn_team_finish(r->team));
	GNN_TRY(gnn_optim_step(r->optim, t->step, r->steps, &change));
	gnn_trace_end(span, "compute");
	e->max_weight_change = fmax(e->max_weight_change, change);
	e->compute_s += gnn_clock_s_since(start);
out:
	return rc;
}

static int learn(struct run *r, const struct gnn_there *t)
{
	struct gnn_epoch_report *e = &r->state.current;
	int rc;

	GNN_TRY(step(r, t));
	e->cpu_embed_s += t->bottom.seconds;
	gnn_staleness_add(&e->staleness, &t->staleness);
	e->sample_s += t->sample_s;
	e->collect_s += t->collect_s;
	e->transfer_s += t->transfer_s;
	r->state.step = t->step + 1;
	GNN_TRY(gnn_ahead_publish(r->ahead, r->state.step));
out:
	return rc;
}

/* Without a validation figure the last epoch is the best. */
static int keep_best(struct run *r, uint64_t place)
{
	const struct gnn_epoch_report *e = &r->state.epoch[place];
	const struct gnn_epoch_report *best = &r->state.epoch[r->state.best_epoch];
	const uint64_t bytes = gnn_net_params(r->net)->floats * sizeof(float);
	struct gnn_backend *b = r->o->backend;
	int rc;

	if (r->state.has_best && !isnan(best->valid) && !(e->valid > best->valid))
		return GNN_OK;
	r->state.has_best = true;
	r->state.best_epoch = place;
	GNN_TRY(b->ops->copy(b, r->state.best, bytes, gnn_net_weights(r->net), bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
out:
	return rc;
}

/* Figures of the splits, at the asked-for epochs and the last. */
static int evaluate(struct run *r, uint64_t epoch)
{
	struct gnn_epoch_report *e = &r->state.current;
	const uint64_t start = gnn_clock_ns();
	double figure[GNN_SPLIT_COUNT] = {NAN, NAN, NAN};
	int rc = GNN_OK;

	if ((epoch + 1) % r->o->eval_every == 0 || epoch + 1 == r->o->epochs) {
		gnn_comm_phase(r->o->comm, "evaluation");
		GNN_TRY(gnn_evaluator_run(r->fit.evaluator, figure));
	}
	e->train = figure[GNN_TRAIN];
	e->valid = figure[GNN_VALID];
	e->test = figure[GNN_TEST];
	e->eval_s = gnn_clock_s_since(start);
out:
	return rc;
}

static bool is_out_of_patience(const struct run *r, uint64_t epoch)
{
	return r->o->patience > 0 && r->state.has_best &&
		epoch - r->state.best_epoch >= r->o->patience;
}

/* Rank 0 looks at the clock. */
static int save_if_due(struct run *r)
{
	uint64_t due = is_first(r) && (r->state.finished || r->checkpoint_ns == 0 ||
		gnn_clock_s_since(r->checkpoint_ns) >= CHECKPOINT_S);
	int rc;

	GNN_TRY(gnn_comm_reduce_u64(r->o->comm, GNN_REDUCE_MAX, &due, 1));
	if (due > 0)
		GNN_TRY(save(r));
out:
	return rc;
}

static int end_epoch(struct run *r, uint64_t epoch)
{
	struct gnn_train_state *s = &r->state;
	struct gnn_epoch_report *e = &s->current;
	const bool evaluated = (epoch + 1) % r->o->eval_every == 0 || epoch + 1 == r->o->epochs;
	int rc;

	gnn_progress_end(r->progress);
	r->progress = NULL;
	e->epoch = epoch + 1;
	e->loss = e->counted > 0 ? e->loss_sum / (double)e->counted : NAN;
	GNN_TRY(evaluate(r, epoch));
	e->wall_s += gnn_clock_s_since(r->epoch_start_ns);
	gnn_comm_phase(r->o->comm, "training");
	GNN_TRY(gnn_state_add(s));
	if (evaluated)
		GNN_TRY(keep_best(r, epoch));
	gnn_report_epoch(e, &(struct gnn_report_facts){
		.metric = gnn_evaluator_metric(r->fit.evaluator),
		.row_bytes = gnn_source_row_bytes(r->source),
		.stale_steps = gnn_train_stale_steps(r->o)});
	memset(e, 0, sizeof(*e));
	s->stopped_early = is_out_of_patience(r, epoch) && epoch + 1 < r->o->epochs;
	s->finished = s->stopped_early || epoch + 1 == r->o->epochs;
	GNN_TRY(save_if_due(r));
	r->epoch_start_ns = gnn_clock_ns();
out:
	return rc;
}

/* A checkpoint behind the step at work, for --resume. */
static int stop(struct run *r)
{
	const uint64_t step = r->state.step;
	int rc;

	r->state.current.wall_s += gnn_clock_s_since(r->epoch_start_ns);
	GNN_TRY(gnn_comm_agree(r->o->comm, save(r)));
	rc = gnn_err(GNN_ESTOP, "stopped by a signal in epoch %llu behind batch %llu of %llu: "
		"%s has the state, --resume goes on",
		(unsigned long long)(step / r->steps_an_epoch + 1),
		(unsigned long long)(step % r->steps_an_epoch),
		(unsigned long long)r->steps_an_epoch, r->o->checkpoint);
out:
	return rc;
}

/* Behind the last batch of an epoch that is not in the table yet. */
static int end_epoch_if_due(struct run *r)
{
	const uint64_t epochs = r->state.step / r->steps_an_epoch;
	int rc;

	if (r->state.step % r->steps_an_epoch != 0 || r->state.epoch_count == epochs)
		return GNN_OK;
	rc = end_epoch(r, epochs - 1);
	return rc == GNN_ESTOP ? stop(r) : rc;
}

static void begin_progress(struct run *r, uint64_t step)
{
	char what[32];

	if (r->progress != NULL)
		return;
	snprintf(what, sizeof(what), "epoch %llu",
		(unsigned long long)(step / r->steps_an_epoch + 1));
	r->progress = gnn_progress_begin(what, "batches",
		r->steps_an_epoch - step % r->steps_an_epoch);
}

/* The next batch; the thread that makes embeddings may be why there is none. */
static int next_batch(struct run *r, struct gnn_there **t)
{
	const uint64_t start = gnn_clock_ns();
	double waited_s;
	int rc;

	gnn_ahead_due(r->ahead, r->state.step);
	rc = gnn_ahead_reason(r->ahead, gnn_carrier_next(r->carrier, t));
	waited_s = gnn_clock_s_since(start);
	r->state.current.idle_s += waited_s;
	if (rc == GNN_OK)
		gnn_ahead_begin(r->ahead, *t, waited_s);
	return rc;
}

static int run_steps(struct run *r)
{
	struct gnn_there *t = NULL;
	int rc;

	GNN_TRY(start_ahead(r));
	GNN_TRY(start_batches(r));
	gnn_comm_phase(r->o->comm, "training");
	r->epoch_start_ns = gnn_clock_ns();
	GNN_TRY(end_epoch_if_due(r)); /* stopped while it was evaluated */
	while (!r->state.finished) {
		begin_progress(r, r->state.step);
		GNN_TRY(next_batch(r, &t));
		GNN_ASSERT(rc == GNN_OK);
		rc = learn(r, t);
		gnn_carrier_put(r->carrier, t);
		if (rc < 0)
			goto out;
		gnn_progress_add(r->progress, 1, 0);
		GNN_TRY(end_epoch_if_due(r));
		gnn_crash_point("step");
		if (gnn_comm_size(r->o->comm) == 1)
			r->stopping = gnn_stop_wanted(); /* perhaps while it was evaluated */
		if (r->stopping && !r->state.finished)
			GNN_TRY(stop(r));
	}
	rc = GNN_OK;
out:
	gnn_progress_end(r->progress);
	r->progress = NULL;
	gnn_carrier_stop(r->carrier);
	r->carrier = NULL;
	gnn_ahead_destroy(r->ahead);
	r->ahead = NULL;
	return rc;
}

/* Both models, from the checkpoint that says that training ended. */
static int publish(struct run *r)
{
	const struct gnn_params *p = gnn_net_params(r->net);
	const struct gnn_net_shape *shape = gnn_net_shape_of(r->net);
	const uint64_t bytes = p->floats * sizeof(float);
	struct gnn_backend *b = r->o->backend;
	float *last = NULL;
	int rc;

	if (!is_first(r))
		return GNN_OK;
	GNN_NEW_ARRAY(last, p->floats, GNN_MEM_MODEL);
	GNN_TRY(b->ops->copy(b, last, bytes, gnn_net_weights(r->net), bytes, bytes, 1));
	GNN_TRY(b->ops->sync(b));
	GNN_TRY(gnn_model_file_write(r->o->last_path, shape, p, last, r->state.step));
	GNN_TRY(gnn_model_file_write(r->o->out_path, shape, p, r->state.best,
		(r->state.best_epoch + 1) * r->steps_an_epoch));
out:
	gnn_mem_free(last);
	return rc;
}

static void close_run(struct run *r)
{
	gnn_carrier_stop(r->carrier);
	gnn_team_close(r->team);
	gnn_outfit_close(&r->fit);
	gnn_optim_destroy(r->optim);
	gnn_net_destroy(r->net);
	gnn_source_close(r->source);
	gnn_state_fini(&r->state);
}

static void fill_report(struct run *r, struct gnn_train_report *report)
{
	report->metric = gnn_evaluator_metric(r->fit.evaluator);
	report->epoch = r->state.epoch;
	report->epoch_count = r->state.epoch_count;
	report->best = r->state.best_epoch;
	report->stopped_early = r->state.stopped_early;
	report->gather = r->fit.table.gather;
	report->gather_share = r->fit.table.gather == GNN_GATHER_BOTH ? r->fit.table.share : 0;
	report->cache_rows = r->fit.cache != NULL ? r->fit.cache->count : 0;
	report->samples = r->fit.table.samples;
	report->ways = r->fit.ways;
	report->layerwise = r->o->layerwise;
	report->reuse = r->o->reuse;
	report->row_bytes = gnn_source_row_bytes(r->source);
	if (r->source->bottom != NULL) {
		report->bottom_made = r->source->bottom->made;
		report->bottom_s = r->source->bottom->made_s;
		report->bottom_read_bytes = r->source->bottom->read_bytes;
	}
	r->state.epoch = NULL;
}

int gnn_train_run(const struct gnn_train_opts *o, struct gnn_train_report *report)
{
	const uint64_t start = gnn_clock_ns();
	struct run r = {.o = o};
	int rc;

	memset(report, 0, sizeof(*report));
	gnn_stop_listen();
	gnn_comm_phase(o->comm, "loading");
	GNN_TRY(open_run(&r));
	report->steps_an_epoch = r.steps_an_epoch;
	report->train_count = r.source->train_count;
	report->weights = gnn_net_params(r.net)->learned;
	if (o->resume && is_first(&r))
		GNN_TRY(gnn_state_load(&r.state, &r.key, r.net, r.optim, o->backend));
	if (o->resume)
		GNN_TRY(gnn_state_spread(&r.state, o->comm, r.net, r.optim, o->backend));
	if (r.state.step > 0)
		gnn_log(GNN_LOG_INFO, "train", "resumed behind epoch %llu, batch %llu",
			(unsigned long long)(r.state.step / r.steps_an_epoch),
			(unsigned long long)(r.state.step % r.steps_an_epoch));
	if (r.state.step > r.steps)
		GNN_FAIL(GNN_ECONFIG, "%s is past epoch %llu already: give more --epochs",
			o->checkpoint, (unsigned long long)o->epochs);
	if (r.state.finished && !r.state.stopped_early && r.state.step < r.steps)
		r.state.finished = false; /* more epochs are asked for now */
	r.o = &r.fit.train;
	GNN_TRY(gnn_outfit_open(&r.fit, o, &(struct gnn_outfit_opts){.source = r.source,
		.net = r.net, .steps = r.steps}, &r.state.way));
	if (!r.state.finished)
		GNN_TRY(run_steps(&r));
	GNN_TRY(gnn_comm_agree(o->comm, publish(&r)));
	fill_report(&r, report);
	report->wall_s = gnn_clock_s_since(start);
out:
	if (rc < 0) /* others must hear why before what they need is gone */
		(void)gnn_comm_agree(o->comm, rc);
	close_run(&r);
	return rc;
}

void gnn_train_report_fini(struct gnn_train_report *r)
{
	gnn_mem_free(r->epoch);
	r->epoch = NULL;
}
