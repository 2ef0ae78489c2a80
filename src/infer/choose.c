/* infer/choose.c - a run's plan: an earlier run's, or the cheapest within budget; see run.h. */
#include "infer/estimate.h"
#include "infer/model_store.h"
#include "infer/planner.h"
#include "infer/tiered.h"

#include "base/log.h"
#include "base/units.h"

static int load_degrees(struct gnn_run *r)
{
	const struct gnn_infer_opts *o = r->o;
	int rc;

	GNN_TRY(gnn_model_degrees(&r->degrees, o->model, o->store, o->backend, o->verify_reads));
	r->report->read_bytes += r->degrees->read_bytes;
out:
	return rc;
}

static int make_plan(struct gnn_run *r)
{
	const struct gnn_manifest *m = &r->recalled;
	struct gnn_infer_opts o = *r->o;

	r->chunk_bytes = r->resuming ? m->chunk_bytes : r->o->chunk_bytes;
	if (r->regroup != NULL)
		o.plan = gnn_regroup_plan(r->regroup);
	if (!r->resuming)
		return gnn_planner_make(&r->plan, &o, r->degrees);
	return gnn_planner_again(&r->plan, r->o, r->degrees, &(struct gnn_plan_choice){
		.kind = m->plan, .level = m->level, .chunk_bytes = m->chunk_bytes,
		.shards = m->shards});
}

static void note_other(struct gnn_infer_report *r, const struct gnn_infer_report *other)
{
	char a[GNN_UNITS_BYTES], b[GNN_UNITS_BYTES];

	r->other_plan = other->plan;
	r->other_predicted_s = other->predicted_s;
	gnn_log(GNN_LOG_INFO, "plan", "%s %s predicted, %s %s", r->plan,
		gnn_units_time(a, r->predicted_s), other->plan,
		gnn_units_time(b, other->predicted_s));
}

/* Takes the tiered plan in the place of the partitioned one, where it is legal and cheaper. */
static int try_tiered(struct gnn_run *r)
{
	struct gnn_infer_report report = *r->report;
	double seconds[2] = {r->report->predicted_s};
	struct gnn_infer_opts o = *r->o;
	struct gnn_plan plan;
	bool legal;
	int rc;

	o.plan = GNN_PLAN_TIERED;
	GNN_TRY(gnn_planner_try(&plan, &o, r->degrees, &legal));
	if (!legal)
		goto out;
	GNN_TRY(gnn_planner_legal(&o, gnn_estimate_fill(&report, &plan, &o, r->degrees), &legal));
	if (!legal)
		goto out;
	seconds[1] = report.predicted_s;
	if (o.share != NULL) /* the slowest of them */
		GNN_TRY(gnn_comm_reduce_f64(o.comm, GNN_REDUCE_MAX, seconds, 2));
	r->report->predicted_s = seconds[0];
	report.predicted_s = seconds[1];
	if (seconds[1] >= seconds[0]) {
		note_other(r->report, &report);
		goto out;
	}
	note_other(&report, r->report);
	r->plan = plan;
	*r->report = report;
out:
	return rc;
}

static double saved(uint64_t now, uint64_t then)
{
	return now > then ? (double)(now - then) : 0.0;
}

/*
 * What gnnrun reorder reads and writes: the store, its out-lists once more, and, unless they stay
 * where they are, the features, by way of runs when a third of the memory does not hold them. Runs
 * of edges would come on top.
 */
static void note_costs(struct gnn_run *r)
{
	const struct gnn_store *s = r->o->store;
	struct gnn_infer_report *now = r->report;
	uint64_t features = s->features->bytes, ranks = s->vertices * sizeof(uint64_t);
	uint64_t store = gnn_container_bytes(s->container), lists;
	double read, written;

	store -= s->feature_rank != NULL ? s->feature_rank->bytes : features;
	lists = s->out.offsets->bytes + s->out.neighbors->bytes;
	now->reorder_keep_costs_bytes = 2 * store + lists + ranks;
	if (features > now->host_budget_bytes / 3)
		features *= 2;
	read = (double)(store + lists + features);
	written = (double)(store + features);
	now->reorder_costs_bytes = (uint64_t)(read + written);
	now->reorder_costs_s = read / now->read_bytes_s + written / now->write_bytes_s;
}

/*
 * What another order of the vertices would save at most: all that is spilled, and in the place of a
 * partitioned plan all but what a tiered one takes that never evicts. Resident plans lose nothing
 * by their order.
 */
static int note_reorder(struct gnn_run *r)
{
	struct gnn_infer_report ideal = *r->report, *now = r->report;
	struct gnn_infer_opts o = *r->o;
	struct gnn_plan plan;
	double read, written;
	bool legal;
	int rc;

	if (r->plan.kind == GNN_PLAN_RESIDENT)
		return GNN_OK;
	o.plan = GNN_PLAN_TIERED;
	GNN_TRY(gnn_planner_try(&plan, &o, r->degrees, &legal));
	if (!legal)
		goto out;
	plan.never_evicts = true;
	GNN_TRY(gnn_planner_legal(&o, gnn_estimate_fill(&ideal, &plan, &o, r->degrees), &legal));
	if (!legal)
		goto out;
	read = saved(now->predicted_read_bytes, ideal.predicted_read_bytes);
	written = saved(now->predicted_written_bytes, ideal.predicted_written_bytes);
	now->reorder_saves_bytes = (uint64_t)(read + written);
	now->reorder_saves_s = read / now->read_bytes_s + written / now->write_bytes_s;
out:
	return rc;
}

/*
 * What each run takes more where features lie in another order than where they lie in that of the
 * vertices, in the same plan: one of the two is this store, the other is made up.
 */
static int note_keeping(struct gnn_run *r)
{
	struct gnn_infer_report other = *r->report, *now = r->report;
	struct gnn_infer_opts o = *r->o;
	struct gnn_store s = *o.store;
	bool kept = s.feature_rank != NULL;
	const struct gnn_infer_report *more = kept ? now : &other, *less = kept ? &other : now;
	struct gnn_plan plan;
	bool legal;
	int rc;

	o.store = &s;
	o.plan = r->plan.kind;
	s.feature_rank = kept ? NULL : s.out.offsets; /* of any content */
	GNN_TRY(gnn_planner_try(&plan, &o, r->degrees, &legal));
	if (!legal)
		goto out;
	GNN_TRY(gnn_planner_legal(&o, gnn_estimate_fill(&other, &plan, &o, r->degrees), &legal));
	if (!legal)
		goto out;
	now->reorder_keep_bytes = (uint64_t)(
		saved(more->predicted_read_bytes, less->predicted_read_bytes) +
		saved(more->predicted_written_bytes, less->predicted_written_bytes));
	now->reorder_keep_s = more->predicted_s > less->predicted_s ?
		more->predicted_s - less->predicted_s : 0.0;
out:
	return rc;
}

int gnn_run_plan(struct gnn_run *r)
{
	int rc;

	GNN_TRY(gnn_planner_check(r->o));
	GNN_TRY(load_degrees(r));
	GNN_TRY(make_plan(r));
	GNN_TRY(gnn_estimate_fill(r->report, &r->plan, r->o, r->degrees));
	if (r->plan.kind == GNN_PLAN_PARTITIONED && r->o->plan == GNN_PLAN_AUTO &&
		r->o->shards == 0 && !r->resuming && r->regroup == NULL)
		GNN_TRY(try_tiered(r));
	if (r->o->explain) {
		GNN_TRY(note_reorder(r));
		note_costs(r);
		if (r->o->share == NULL)
			GNN_TRY(note_keeping(r));
	} else {
		GNN_TRY(gnn_tiered_prepare(r));
	}
	if (r->o->share != NULL)
		GNN_TRY(gnn_estimate_join(r->report, r->o->share));
out:
	return rc;
}
