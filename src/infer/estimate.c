/* infer/estimate.c - see estimate.h. */
#include "infer/estimate.h"

#include "base/log.h"
#include "base/units.h"
#include "infer/forecast.h"
#include "infer/nextuse.h"
#include "infer/permute.h"

enum { JOINED_MAX = 3 + 5 * GNN_LAYERS_MAX }; /* figures of all ranks */

#define PROBE_S      0.08 /* for each figure of the disk */
#define PROBE_RUNS_S 0.02 /* for each of a layer's three */
#define PROBE_SHARE  0.01 /* of the seconds that reading the features takes at 1 GB/s */

#define PROBE_LEAST  0.1  /* of the times above, where the features are */
#define PROBE_LARGE  (UINT64_C(64) << 20) /* bytes or more */

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Bytes of one pass. */
struct pass_bytes {
	double rows, own, topology, written;
	double control_s; /* of the control thread, beside grouping */
	double cold_read; /* of the spill, in pages of cold_page bytes */
	double cold_page;
	double moved_floats; /* between stores */
};

static double topology_bytes(const struct gnn_infer_opts *o, uint32_t l)
{
	const struct gnn_store *s = o->store;
	double item = gnn_dtype_bytes(s->out.neighbors->dtype);

	if (s->out.weights != NULL && gnn_model_conv(o->model, l)->edge_weights)
		item += sizeof(float);
	return (double)(s->vertices + 1) * sizeof(gnn_eid) + (double)s->edges * item;
}

/* Share of the vertices that are in one shard. */
static double shard_share(const struct gnn_layer_plan *lp)
{
	return 1.0 / (double)lp->shards;
}

static double input_row(const struct gnn_layer_plan *lp)
{
	double item = gnn_dtype_bytes(lp->input_dtype);

	if (lp->input == GNN_ROWS_MEMORY)
		return 0.0;
	if (lp->input == GNN_ROWS_RUNS) /* an id beside each */
		return (double)lp->input_width * item + sizeof(uint64_t);
	return (double)(lp->input_width - lp->input_own) * item;
}

/* One reading of a layer's input. */
static double input_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	struct gnn_kept_opts input = gnn_plan_input(p, l, o);

	if (l == 0 && p->permute_rows > 0) /* many short pieces: with what pads them */
		return (double)gnn_kept_scratch_bytes(&input);
	return gnn_kept_stays(&input) ? 0.0 :
		input_row(&p->layer[l]) * (double)o->store->vertices;
}

static struct pass_bytes bytes_of_pass(const struct gnn_plan *p, uint32_t l, uint32_t index,
	const struct gnn_infer_opts *o)
{
	const struct gnn_layer_plan *lp = &p->layer[l];
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	struct gnn_kept_opts messages = gnn_plan_messages(p, l, o);
	double v = (double)o->store->vertices, beside;
	struct pass_bytes b = {.topology = topology_bytes(o, l)};
	uint32_t shard;
	enum gnn_pass_kind kind = gnn_plan_pass(p, l, c, index, &shard);
	bool combines = kind == GNN_PASS_COMBINE;

	if (kind == GNN_PASS_SCORES && c->three_steps)
		return b;
	beside = combines ? (double)gnn_plan_touched_rows(p, l, shard, o) : 0.0;
	b.rows = input_bytes(p, l, o);
	if (lp->input_message) {
		if (lp->input == GNN_ROWS_FILE)
			b.own = (double)lp->input_own * sizeof(float) * beside;
		return b;
	}
	if (index == 0 && lp->messages == GNN_ROWS_FILE)
		b.written = (double)gnn_kept_scratch_bytes(&messages);
	if (index == 0 || lp->messages == GNN_ROWS_NONE)
		return b;
	b.rows = lp->messages == GNN_ROWS_FILE ? (double)c->width * sizeof(float) * v : 0.0;
	if (lp->messages == GNN_ROWS_FILE)
		b.own = beside * (c->keep.dim_out > 0 ? input_row(lp) :
			(double)(c->message.dim_out - c->width) * sizeof(float));
	return b;
}

/*
 * Rows handed on by the shards of a layer of so many seconds: the next input, and rows that wait
 * for the result.
 */
static double sealed_bytes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	double seconds, double *output)
{
	struct gnn_kept_opts k = gnn_plan_output(p, l, o);
	double bytes = 0.0;

	*output = gnn_kept_stays(&k) ? 0.0 : (double)gnn_kept_scratch_bytes(&k);
	if (l + 1 < p->layer_count) {
		k = gnn_plan_input(p, l + 1, o);
		if (!gnn_kept_stays(&k) || seconds >= o->seal_after_s)
			bytes = (double)gnn_kept_scratch_bytes(&k);
	}
	return bytes;
}

/* Whether scores are written behind each pass of a layer of so many seconds. */
static bool seals_passes(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o,
	double seconds)
{
	struct gnn_kept_opts input = gnn_plan_input(p, l, o);

	return p->kind != GNN_PLAN_RESIDENT && (p->kind != GNN_PLAN_TIERED ||
		seconds >= o->seal_after_s ||
		(input.kind != GNN_ROWS_STORE && !gnn_kept_stays(&input)));
}

static double seconds_of_pass(const struct pass_bytes *b, const struct gnn_layer_rates *rates,
	const struct gnn_rates *disk, const struct gnn_infer_opts *o, const struct gnn_plan *p,
	uint32_t l, uint32_t index)
{
	const struct gnn_layer_plan *lp = &p->layer[l];
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	double first;
	uint32_t shard;
	bool combines = gnn_plan_pass(p, l, c, index, &shard) == GNN_PASS_COMBINE;
	bool transforms = !lp->input_message && (index == 0 || lp->messages == GNN_ROWS_NONE);
	double entries = (double)o->store->edges + (double)o->store->vertices;
	double io = (b->rows + b->own + b->topology) / disk->read_bytes_s +
		b->written / disk->write_bytes_s, work = 0.0;
	double control = entries * (combines ? shard_share(lp) : 1.0) / disk->control_entries_s +
		b->control_s;

	if (transforms)
		work += (double)o->store->vertices / rates->message_rows_s;
	if (combines)
		work += entries * shard_share(lp) * c->width / rates->entry_floats_s;
	if (b->moved_floats > 0.0)
		work += b->moved_floats / rates->move_floats_s;
	if (b->cold_read > 0.0) /* a page takes as long as a small one, at least */
		io += larger(b->cold_read / disk->read_bytes_s, b->cold_read / b->cold_page *
			GNN_PAGE_BYTES / disk->page_bytes_s);
	if (work > 0.0)
		work += control / o->threads; /* on the same cores */
	if (entries <= 0.0) /* a rank may be without vertices */
		return larger(larger(io, control), work);
	first = larger((double)p->entries, (double)lp->chunk_rows / (double)o->store->vertices *
		entries) / entries;
	first = first < 1.0 ? first : 1.0; /* item, which nothing overlaps */
	return larger(larger(io, control), work) + first * (io + control + work -
		larger(larger(io, control), work));
}

/* In-lists in memory hold what the layer before took of them: see tier/inlists.h. */
static bool reads_lists_again(const struct gnn_plan *p, uint32_t l, const struct gnn_infer_opts *o)
{
	bool drawn = false, again = false;

	if (p->next_scratch || p->in_list_bytes == 0)
		return false;
	for (uint32_t i = 0; i <= l; i++) {
		const struct gnn_conv *c = gnn_model_conv(o->model, i);
		const struct gnn_conv *before = i > 0 ? gnn_model_conv(o->model, i - 1) : c;

		again = drawn && (c->fanout != 0 || before->fanout != 0 ||
			c->drop_loops != before->drop_loops);
		if (again || !drawn)
			drawn = c->fanout != 0 || o->share != NULL;
	}
	return again;
}

/* What the stores of a tiered layer add to the pass that combines. */
static int add_stores(struct gnn_layer_report *r, struct pass_bytes *b, const struct gnn_plan *p,
	uint32_t l, const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	struct gnn_forecast f;
	int rc;

	GNN_TRY(gnn_forecast_tiered(&f, p, l, o, d));
	if (p->next_scratch) {
		double file = (double)gnn_nextuse_file_bytes(o->store, p->next_piece_bytes);

		b->topology += (double)(o->store->vertices + 1) * sizeof(gnn_eid) +
			(double)o->store->edges *
				gnn_dtype_bytes(o->store->out.neighbors->dtype) + file;
		b->written += file;
	}
	if (reads_lists_again(p, l, o))
		b->topology += (double)gnn_inlists_bytes(o->store);
	if (p->never_evicts)
		f.read_bytes = f.written_bytes = f.evictions = f.reloads = 0.0;
	b->cold_read = f.read_bytes;
	b->cold_page = (double)p->layer[l].page_bytes;
	b->written += f.written_bytes;
	b->moved_floats = (2.0 * (double)d->vertices + f.evictions + f.reloads) *
		gnn_model_conv(o->model, l)->state_width;
	b->control_s = f.control_s;
	r->predicted_evictions = (uint64_t)f.evictions;
	r->predicted_reloads = (uint64_t)f.reloads;
out:
	return rc;
}

/*
 * What comes before layer 0 where features lie in another order; adds to what the layer takes, and
 * returns the seconds, but for writing.
 */
static double add_permute(struct gnn_infer_report *r, const struct gnn_plan *p,
	const struct gnn_infer_opts *o, const struct gnn_rates *disk,
	const struct gnn_layer_rates *rates, double *read, double *written)
{
	struct gnn_kept_opts input = gnn_plan_input(p, 0, o);
	double work = 0.0;

	r->predicted_permute_read_bytes = gnn_permute_read_bytes(o->store);
	r->predicted_permute_written_bytes = gnn_kept_scratch_bytes(&input);
	r->permutes_messages = p->layer[0].input_message;
	r->permute_width = p->layer[0].input_width;
	*read += (double)r->predicted_permute_read_bytes;
	*written += (double)r->predicted_permute_written_bytes;
	if (r->permutes_messages)
		work = (double)o->store->vertices / rates->message_rows_s;
	return larger((double)r->predicted_permute_read_bytes / disk->read_bytes_s, work);
}

static int fill_layer(struct gnn_infer_report *report, const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d, const struct gnn_rates *disk,
	double seconds)
{
	const struct gnn_conv *c = gnn_model_conv(o->model, l);
	struct gnn_layer_report *r = &report->layer[l];
	uint32_t passes = gnn_plan_passes(p, l, c);
	uint64_t row = (uint64_t)gnn_model_width(o->model, l) * sizeof(float);
	uint64_t v = o->store->vertices;
	struct gnn_kept_opts kept = gnn_plan_output(p, l, o);
	bool direct = l + 1 == p->layer_count && (p->kind == GNN_PLAN_RESIDENT ||
		gnn_kept_stays(&kept));
	struct gnn_layer_rates rates;
	double read = 0.0, written = 0.0, s = 0.0, output;
	int rc;

	GNN_TRY(gnn_rates_layer(&rates, o, l, gnn_min_u64(p->host_budget, p->device_budget),
		p->layer[l].chunk_rows, seconds));
	if (l == 0 && p->permute_rows > 0)
		s += add_permute(report, p, o, disk, &rates, &read, &written);
	for (uint32_t i = 0; i < passes; i++) {
		struct pass_bytes b = bytes_of_pass(p, l, i, o);

		if (p->kind == GNN_PLAN_TIERED && i + 1 == passes)
			GNN_TRY(add_stores(r, &b, p, l, o, d));
		read += b.rows + b.own + b.topology + b.cold_read;
		written += b.written;
		s += seconds_of_pass(&b, &rates, disk, o, p, l, i);
	}
	if (c->late.dim_out > 0) { /* the input once more */
		read += input_row(&p->layer[l]) * (double)v;
		s += input_row(&p->layer[l]) * (double)v / disk->read_bytes_s;
	}
	written += sealed_bytes(p, l, o, s, &output);
	if (seals_passes(p, l, o, s)) /* to go on from: see checkpoint.c */
		written += (double)p->layer[l].score_bytes * (passes - p->layer[l].shards);
	/* Rows that wait are read once more and written into the result. */
	s += (double)v / rates.finish_rows_s + (written + output) / disk->write_bytes_s +
		output / disk->read_bytes_s + (output > 0.0 || direct ? (double)(row * v) : 0.0) /
		disk->write_bytes_s;
	r->predicted_read_bytes = (uint64_t)(read + output);
	r->predicted_written_bytes = (uint64_t)(written + output);
	r->predicted_s = s;
out:
	return rc;
}

static void describe_layer(struct gnn_layer_report *r, const struct gnn_plan *p, uint32_t l,
	const struct gnn_infer_opts *o)
{
	const struct gnn_layer_plan *lp = &p->layer[l];

	r->plan = gnn_plan_name(p->kind);
	r->shards = lp->shards;
	r->state_dim = gnn_model_conv(o->model, l)->state_width;
	r->state_bytes = lp->state_bytes + lp->carry_bytes;
	r->host_store_bytes = lp->store_bytes;
	r->score_bytes = lp->score_bytes;
	r->row_bytes = lp->input_bytes + lp->message_bytes;
	r->buffer_bytes = lp->buffer_bytes;
	r->device_buffer_bytes = lp->device_buffer_bytes;
}

int gnn_estimate_fill(struct gnn_infer_report *r, const struct gnn_plan *p,
	const struct gnn_infer_opts *o, const struct gnn_degrees *d)
{
	double share = o->explain ? 1.0 : PROBE_SHARE * (double)o->store->features->bytes * 1e-9 /
		PROBE_S;
	struct gnn_rates disk;
	int rc;

	if (o->store->features->bytes >= PROBE_LARGE)
		share = larger(share, PROBE_LEAST);
	share = share < 1.0 ? share : 1.0;
	GNN_TRY(gnn_rates_disk(&disk, o, PROBE_S * share));
	GNN_TRY(gnn_rates_control(&disk.control_entries_s, o, d, o->backend->ops->group == NULL ||
		p->kind == GNN_PLAN_TIERED, PROBE_RUNS_S * share));
	r->read_bytes_s = disk.read_bytes_s;
	r->write_bytes_s = disk.write_bytes_s;
	r->host_budget_bytes = p->host_budget;
	r->device_budget_bytes = p->device_budget;
	r->plan_host_bytes = p->host_bytes;
	r->plan_device_bytes = p->device_bytes;
	r->plan = gnn_plan_name(p->kind);
	r->predicted_read_bytes = d->read_bytes;
	r->predicted_written_bytes = 0;
	r->predicted_s = 0.0;
	if (p->kind == GNN_PLAN_TIERED && !p->next_scratch && p->in_list_bytes > 0)
		r->predicted_read_bytes += gnn_inlists_bytes(o->store);
	for (uint32_t l = 0; l < p->layer_count; l++) {
		struct gnn_layer_report *lr = &r->layer[l];

		describe_layer(lr, p, l, o);
		GNN_TRY(fill_layer(r, p, l, o, d, &disk,
			 PROBE_RUNS_S * share / p->layer_count));
		r->predicted_read_bytes += lr->predicted_read_bytes;
		r->predicted_written_bytes += lr->predicted_written_bytes;
		r->predicted_s += lr->predicted_s;
		if (l + 1 == p->layer_count || o->save_layers)
			r->predicted_written_bytes += o->store->vertices * sizeof(float) *
				gnn_model_width(o->model, l);
	}
out:
	return rc;
}

/* What all ranks do together, and what the one that does most of it does. */
static uint32_t list_sums(struct gnn_infer_report *r, uint64_t **at)
{
	uint32_t n = 0;

	at[n++] = &r->predicted_read_bytes;
	at[n++] = &r->predicted_written_bytes;
	at[n++] = &r->reorder_saves_bytes;
	for (uint32_t l = 0; l < r->layer_count; l++) {
		at[n++] = &r->layer[l].predicted_read_bytes;
		at[n++] = &r->layer[l].predicted_written_bytes;
		at[n++] = &r->layer[l].predicted_evictions;
		at[n++] = &r->layer[l].predicted_reloads;
	}
	return n;
}

static uint32_t list_peaks(struct gnn_infer_report *r, uint64_t **at)
{
	uint32_t n = 0;

	at[n++] = &r->plan_host_bytes;
	at[n++] = &r->plan_device_bytes;
	for (uint32_t l = 0; l < r->layer_count; l++) {
		at[n++] = &r->layer[l].state_bytes;
		at[n++] = &r->layer[l].score_bytes;
		at[n++] = &r->layer[l].row_bytes;
		at[n++] = &r->layer[l].buffer_bytes;
		at[n++] = &r->layer[l].device_buffer_bytes;
	}
	return n;
}

static int join(const struct gnn_share *s, enum gnn_reduce how, uint64_t **at, uint32_t count)
{
	uint64_t value[JOINED_MAX];
	int rc;

	GNN_ASSERT(count <= JOINED_MAX);
	for (uint32_t i = 0; i < count; i++)
		value[i] = *at[i];
	GNN_TRY(gnn_comm_reduce_u64(s->comm, how, value, count));
	for (uint32_t i = 0; i < count; i++)
		*at[i] = value[i];
out:
	return rc;
}

int gnn_estimate_join(struct gnn_infer_report *r, const struct gnn_share *s)
{
	uint64_t *budgets[] = {&r->host_budget_bytes, &r->device_budget_bytes}, *at[JOINED_MAX];
	double seconds[2 + GNN_LAYERS_MAX] = {r->predicted_s, r->reorder_saves_s};
	int rc;

	for (uint32_t l = 0; l < r->layer_count; l++)
		seconds[2 + l] = r->layer[l].predicted_s;
	GNN_TRY(join(s, GNN_REDUCE_SUM, at, list_sums(r, at)));
	GNN_TRY(join(s, GNN_REDUCE_MAX, at, list_peaks(r, at)));
	GNN_TRY(join(s, GNN_REDUCE_MIN, budgets, GNN_COUNT_OF(budgets)));
	GNN_TRY(gnn_comm_reduce_f64(s->comm, GNN_REDUCE_MAX, seconds, 2 + r->layer_count));
	r->predicted_s = seconds[0];
	r->reorder_saves_s = seconds[1];
	for (uint32_t l = 0; l < r->layer_count; l++)
		r->layer[l].predicted_s = seconds[2 + l];
out:
	return rc;
}

void gnn_estimate_log(const struct gnn_infer_report *r)
{
	char a[GNN_UNITS_BYTES], b[GNN_UNITS_BYTES], c[GNN_UNITS_BYTES], d[GNN_UNITS_BYTES];

	for (uint32_t l = 0; l < r->layer_count; l++) {
		const struct gnn_layer_report *lr = &r->layer[l];

		gnn_log(GNN_LOG_INFO, "plan", "layer %u: %s and %s predicted, %s and %s taken",
			l + 1, gnn_units_bytes(a, (double)(lr->predicted_read_bytes +
				lr->predicted_written_bytes)),
			gnn_units_time(b, lr->predicted_s),
			gnn_units_bytes(c, (double)(lr->read_bytes + lr->written_bytes)),
			gnn_units_time(d, lr->wall_s));
	}
}
