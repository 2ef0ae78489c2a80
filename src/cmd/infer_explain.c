/* cmd/infer_explain.c - see infer_explain.h. */
#include "cmd/infer_explain.h"

#include "base/log.h"
#include "base/units.h"

static void print_budget(const char *name, uint64_t need, uint64_t budget)
{
	char x[GNN_UNITS_BYTES], y[GNN_UNITS_BYTES];

	if (need == 0)
		return;
	gnn_out("%-11s %s of %s\n", name, gnn_units_bytes(x, (double)need),
		budget == UINT64_MAX ? "no limit" : gnn_units_bytes(y, (double)budget));
}

/* Runs for which leaving the features where they are moves fewer bytes, in all. */
static uint64_t cheap_runs(const struct gnn_infer_report *r)
{
	/* Ranks take more than features of a few bytes a row. */
	if (r->reorder_keep_bytes == 0 || r->reorder_costs_bytes < r->reorder_keep_costs_bytes)
		return 0;
	return (r->reorder_costs_bytes - r->reorder_keep_costs_bytes) / r->reorder_keep_bytes;
}

static void print_keep(const struct gnn_infer_report *r)
{
	char s[2][GNN_UNITS_BYTES];
	uint64_t runs = cheap_runs(r);

	gnn_out("With --features keep it takes %s, and each run %s more: ",
		gnn_units_bytes(s[0], (double)r->reorder_keep_costs_bytes),
		gnn_units_bytes(s[1], (double)r->reorder_keep_bytes));
	if (runs == 0)
		gnn_out("with this model never fewer bytes in all.\n");
	else
		gnn_out("fewer bytes in all for up to %llu run%s with this model.\n",
			(unsigned long long)runs, runs == 1 ? "" : "s");
}

static void print_reorder(const struct gnn_infer_report *r)
{
	char s[4][GNN_UNITS_BYTES];

	if (r->reorder_saves_bytes == 0) {
		gnn_out("\nAnother order of the vertices saves nothing under this budget.\n");
		return;
	}
	gnn_out("\nAnother order of the vertices (gnnrun reorder) saves at most %s and "
		"%s a run. To reorder takes at least %s and %s of the disk, once.\n",
		gnn_units_bytes(s[0], (double)r->reorder_saves_bytes),
		gnn_units_time(s[1], r->reorder_saves_s),
		gnn_units_bytes(s[2], (double)r->reorder_costs_bytes),
		gnn_units_time(s[3], r->reorder_costs_s));
	if (r->reorder_keep_bytes > 0)
		print_keep(r);
}

static void print_permute(const struct gnn_infer_report *r, const struct gnn_store *store)
{
	char s[5][GNN_UNITS_BYTES];

	gnn_out("\nFeatures lie in the order of %s: layer 1 reads %s of them first, and writes "
		"%s of %s, %u wide, in its own order.\nIn a store that gnnrun reorder makes of "
		"that one with --features relabel a run moves %s less, %s; it takes at least %s, "
		"once.\n", gnn_container_path(store->features_in),
		gnn_units_bytes(s[0], (double)r->predicted_permute_read_bytes),
		gnn_units_bytes(s[1], (double)r->predicted_permute_written_bytes),
		r->permutes_messages ? "message rows" : "them", r->permute_width,
		gnn_units_bytes(s[2], (double)r->reorder_keep_bytes),
		gnn_units_time(s[3], r->reorder_keep_s),
		gnn_units_bytes(s[4], (double)r->reorder_costs_bytes));
}

void gnn_explain_print(const struct gnn_infer_report *r, const struct gnn_store *store,
	uint32_t ranks)
{
	char s[6][GNN_UNITS_BYTES];

	gnn_out("plan        %s\n", r->plan);
	if (ranks > 1)
		gnn_out("ranks       %u: bytes read and written are of all, memory and time of the "
			"one that takes most; what they send each other is not counted\n", ranks);
	if (r->other_plan != NULL)
		gnn_out("other plan  %s, %s\n", r->other_plan,
			gnn_units_time(s[0], r->other_predicted_s));
	print_budget("host", r->plan_host_bytes, r->host_budget_bytes);
	print_budget("device", r->plan_device_bytes, r->device_budget_bytes);
	gnn_out("disk        reads %s, writes %s\n", gnn_units_rate(s[0], r->read_bytes_s, "B"),
		gnn_units_rate(s[1], r->write_bytes_s, "B"));
	gnn_out("\nlayer  order            message  state  shards     states    buffers"
		"       read    written       time\n");
	for (uint32_t l = 0; l < r->layer_count; l++) {
		const struct gnn_layer_report *lr = &r->layer[l];

		gnn_out("%-6u %-16s %7u %6u %7u %10s %10s %10s %10s %10s\n", l + 1,
			lr->message_order, lr->message_dim, lr->state_dim, lr->shards,
			gnn_units_bytes(s[0], (double)(lr->state_bytes + lr->score_bytes +
				lr->row_bytes + lr->host_store_bytes)),
			gnn_units_bytes(s[1], (double)(lr->buffer_bytes +
				lr->device_buffer_bytes)),
			gnn_units_bytes(s[2], (double)lr->predicted_read_bytes),
			gnn_units_bytes(s[3], (double)lr->predicted_written_bytes),
			gnn_units_time(s[4], lr->predicted_s));
	}
	gnn_out("%-6s %62s %10s %10s %10s\n", "all", "",
		gnn_units_bytes(s[2], (double)r->predicted_read_bytes),
		gnn_units_bytes(s[3], (double)r->predicted_written_bytes),
		gnn_units_time(s[4], r->predicted_s));
	if (store->feature_rank != NULL)
		print_permute(r, store);
	else
		print_reorder(r);
}

void gnn_explain_permute(struct gnn_json *j, const struct gnn_infer_report *r)
{
	gnn_json_real(j, "permute_s", r->permute_s);
	gnn_json_u64(j, "permute_read_bytes", r->permute_read_bytes);
	gnn_json_u64(j, "permute_written_bytes", r->permute_written_bytes);
	gnn_json_text(j, "permute_rows", r->permutes_messages ? "messages" : "features");
	gnn_json_u64(j, "permute_width", r->permute_width);
	gnn_json_u64(j, "predicted_permute_read_bytes", r->predicted_permute_read_bytes);
	gnn_json_u64(j, "predicted_permute_written_bytes", r->predicted_permute_written_bytes);
}

void gnn_explain_layer(struct gnn_json *j, const struct gnn_layer_report *l)
{
	gnn_json_u64(j, "state_dim", l->state_dim);
	gnn_json_u64(j, "state_bytes", l->state_bytes);
	gnn_json_u64(j, "host_store_bytes", l->host_store_bytes);
	gnn_json_u64(j, "score_bytes", l->score_bytes);
	gnn_json_u64(j, "row_bytes", l->row_bytes);
	gnn_json_u64(j, "buffer_bytes", l->buffer_bytes);
	gnn_json_u64(j, "device_buffer_bytes", l->device_buffer_bytes);
	gnn_json_u64(j, "predicted_read_bytes", l->predicted_read_bytes);
	gnn_json_u64(j, "predicted_written_bytes", l->predicted_written_bytes);
	gnn_json_real(j, "predicted_s", l->predicted_s);
	gnn_json_u64(j, "predicted_evictions", l->predicted_evictions);
	gnn_json_u64(j, "predicted_reloads", l->predicted_reloads);
}

static void put_budget(struct gnn_json *j, const char *key, uint64_t budget)
{
	gnn_json_real(j, key, budget == UINT64_MAX ? 1.0 / 0.0 : (double)budget); /* null */
}

int gnn_explain_json(const struct gnn_infer_report *r, const struct gnn_store *s,
	const struct gnn_backend *b, uint32_t ranks)
{
	struct gnn_json *j;
	int rc = gnn_json_create(&j);

	if (rc < 0)
		return rc;
	gnn_json_text(j, "command", "infer");
	gnn_json_bool(j, "explain", true);
	gnn_json_text(j, "backend", b->ops->name);
	gnn_json_u64(j, "ranks", ranks);
	gnn_json_text(j, "plan", r->plan);
	if (r->other_plan != NULL) {
		gnn_json_text(j, "other_plan", r->other_plan);
		gnn_json_real(j, "other_predicted_s", r->other_predicted_s);
	}
	gnn_json_u64(j, "reorder_saves_bytes", r->reorder_saves_bytes);
	gnn_json_real(j, "reorder_saves_s", r->reorder_saves_s);
	gnn_json_u64(j, "reorder_costs_bytes", r->reorder_costs_bytes);
	gnn_json_real(j, "reorder_costs_s", r->reorder_costs_s);
	gnn_json_u64(j, "reorder_keep_costs_bytes", r->reorder_keep_costs_bytes);
	gnn_json_u64(j, "reorder_keep_bytes", r->reorder_keep_bytes);
	gnn_json_real(j, "reorder_keep_s", r->reorder_keep_s);
	if (s->feature_rank != NULL)
		gnn_explain_permute(j, r);
	put_budget(j, "host_budget_bytes", r->host_budget_bytes);
	put_budget(j, "device_budget_bytes", r->device_budget_bytes);
	gnn_json_u64(j, "host_bytes", r->plan_host_bytes);
	gnn_json_u64(j, "device_bytes", r->plan_device_bytes);
	gnn_json_real(j, "disk_read_bytes_s", r->read_bytes_s);
	gnn_json_real(j, "disk_write_bytes_s", r->write_bytes_s);
	gnn_json_u64(j, "predicted_read_bytes", r->predicted_read_bytes);
	gnn_json_u64(j, "predicted_written_bytes", r->predicted_written_bytes);
	gnn_json_real(j, "predicted_s", r->predicted_s);
	gnn_json_open_array(j, "layers");
	for (uint32_t l = 0; l < r->layer_count; l++) {
		gnn_json_open_object(j, NULL);
		gnn_json_u64(j, "index", l + 1);
		gnn_json_text(j, "plan", r->layer[l].plan);
		gnn_json_text(j, "message_order", r->layer[l].message_order);
		gnn_json_u64(j, "message_dim", r->layer[l].message_dim);
		gnn_json_u64(j, "shards", r->layer[l].shards);
		gnn_explain_layer(j, &r->layer[l]);
		gnn_json_shut(j);
	}
	gnn_json_shut(j);
	rc = gnn_json_print(j);
	gnn_json_destroy(j);
	return rc;
}
