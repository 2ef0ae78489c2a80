/* report/views.c - see views.h. */
#include "report/views.h"

#define OF_EPOCH  .event = "epoch", .x_key = "epoch", .x_title = "epoch", .x_unit = GNN_UNIT_COUNT
#define OVER_TIME .x_key = "time_s", .x_title = "time since the start", .x_unit = GNN_UNIT_TIME
#define OF_ORDER  .event = "order", .x_key = "iteration", .x_title = "iteration", \
	.x_unit = GNN_UNIT_COUNT

const struct gnn_plot_view gnn_plot_views[GNN_PLOT_COUNT] = {
	[GNN_PLOT_LOSS] = {OF_EPOCH, .title = "Loss by epoch", .y_unit = GNN_UNIT_NUMBER,
		.line = {{"loss", "loss"}}},
	[GNN_PLOT_SCORE] = {OF_EPOCH, .title = " by epoch", .of_metric = true,
		.y_unit = GNN_UNIT_NUMBER, .line = {{"train", "train"}, {"valid", "valid"}}},
	[GNN_PLOT_SCORE_TIME] = {.event = "epoch", OVER_TIME, .title = " against time",
		.of_metric = true, .y_unit = GNN_UNIT_NUMBER,
		.line = {{"train", "train"}, {"valid", "valid"}}},
	[GNN_PLOT_PARTS] = {OF_EPOCH, .title = "Parts of an epoch", .from_zero = true,
		.y_unit = GNN_UNIT_TIME, .line = {{"wall_s", "epoch"}, {"sample_s", "sample"},
		{"collect_s", "collect"}, {"transfer_s", "transfer"}, {"compute_s", "compute"},
		{"eval_s", "evaluate"}}},
	[GNN_PLOT_SPAN] = {OF_ORDER, .title = "Span by iteration", .from_zero = true,
		.y_unit = GNN_UNIT_COUNT, .line = {{"span", "span"}}},
	[GNN_PLOT_ACTIVE] = {OF_ORDER, .title = "Vertices active at a time", .from_zero = true,
		.y_unit = GNN_UNIT_COUNT,
		.line = {{"peak_active", "at most"}, {"mean_active", "on average"}}},
	[GNN_PLOT_DONE] = {.event = "progress", OVER_TIME, .title = "Work done",
		.from_zero = true, .y_unit = GNN_UNIT_RATE, .line = {{"", "bytes of the phase"}}},
	[GNN_PLOT_STORES] = {.event = "progress", OVER_TIME, .title = "Rows in the stores",
		.from_zero = true, .y_unit = GNN_UNIT_COUNT,
		.line = {{"hot_rows", "hot"}, {"cold_rows", "cold"}}},
	[GNN_PLOT_EVICTIONS] = {.event = "progress", OVER_TIME, .title = "Evictions so far",
		.from_zero = true, .y_unit = GNN_UNIT_COUNT,
		.line = {{"evictions", "evictions"}}},
	[GNN_PLOT_DISK] = {.event = "usage", OVER_TIME, .title = "Disk", .from_zero = true,
		.y_unit = GNN_UNIT_RATE, .line = {{"read_bytes_s", "read"},
		{"written_bytes_s", "written"}, {"disk_read_bytes_s", "read, by anybody"},
		{"disk_written_bytes_s", "written, by anybody"}}},
	[GNN_PLOT_CPU] = {.event = "usage", OVER_TIME, .title = "Processor", .from_zero = true,
		.y_unit = GNN_UNIT_NUMBER, .line = {{"cpu_cores", "cores that were busy"}}},
	[GNN_PLOT_MEMORY] = {.event = "usage", OVER_TIME, .title = "Memory", .from_zero = true,
		.y_unit = GNN_UNIT_BYTES, .line = {{"rss_bytes", "resident"}}},
	[GNN_PLOT_GPU] = {.event = "usage", OVER_TIME, .title = "GPU", .from_zero = true,
		.y_unit = GNN_UNIT_NUMBER, .line = {{"gpu_busy", "share of the time busy"}}},
	[GNN_PLOT_GPU_MEMORY] = {.event = "usage", OVER_TIME, .title = "Memory of the GPU",
		.from_zero = true, .y_unit = GNN_UNIT_BYTES,
		.line = {{"gpu_memory_bytes", "in use"}}},
};

static const struct gnn_column result[] = {
	{"stream_s", "time", GNN_UNIT_TIME}, {"predicted_s", "predicted", GNN_UNIT_TIME},
	{"read_bytes", "read", GNN_UNIT_BYTES},
	{"predicted_read_bytes", "predicted", GNN_UNIT_BYTES},
	{"written_bytes", "written", GNN_UNIT_BYTES},
	{"predicted_written_bytes", "predicted", GNN_UNIT_BYTES},
	{"metric", "metric", GNN_UNIT_TEXT},
	{"train", "train", GNN_UNIT_NUMBER}, {"valid", "valid", GNN_UNIT_NUMBER},
	{"test", "test", GNN_UNIT_NUMBER}, {NULL, NULL, GNN_UNIT_NUMBER},
};
static const struct gnn_column epochs[] = {
	{"epoch", "epoch", GNN_UNIT_COUNT}, {"loss", "loss", GNN_UNIT_NUMBER},
	{"train", "train", GNN_UNIT_NUMBER}, {"valid", "valid", GNN_UNIT_NUMBER},
	{"time_s", "at", GNN_UNIT_TIME}, {"wall_s", "time", GNN_UNIT_TIME},
	{"sample_s", "sample", GNN_UNIT_TIME}, {"collect_s", "collect", GNN_UNIT_TIME},
	{"transfer_s", "transfer", GNN_UNIT_TIME}, {"compute_s", "compute", GNN_UNIT_TIME},
	{"eval_s", "evaluate", GNN_UNIT_TIME}, {"cpu_embed_s", "embed", GNN_UNIT_TIME},
	{"gpu_idle_s", "GPU idle", GNN_UNIT_TIME},
	{"input_vertices", "inputs", GNN_UNIT_COUNT},
	{"gathered_bytes", "gathered", GNN_UNIT_BYTES}, {"h2d_bytes", "to the GPU", GNN_UNIT_BYTES},
	{"cache_hits", "cache hits", GNN_UNIT_COUNT}, {"reused_vertices", "reused", GNN_UNIT_COUNT},
	{"max_staleness", "staleness", GNN_UNIT_COUNT}, {NULL, NULL, GNN_UNIT_NUMBER},
};
static const struct gnn_column layers[] = {
	{"index", "layer", GNN_UNIT_COUNT}, {"plan", "plan", GNN_UNIT_TEXT},
	{"shards", "shards", GNN_UNIT_COUNT}, {"message_order", "order", GNN_UNIT_TEXT},
	{"message_dim", "width", GNN_UNIT_COUNT}, {"messages", "messages", GNN_UNIT_COUNT},
	{"wall_s", "time", GNN_UNIT_TIME}, {"predicted_s", "predicted", GNN_UNIT_TIME},
	{"read_bytes", "read", GNN_UNIT_BYTES},
	{"predicted_read_bytes", "predicted", GNN_UNIT_BYTES},
	{"written_bytes", "written", GNN_UNIT_BYTES},
	{"predicted_written_bytes", "predicted", GNN_UNIT_BYTES},
	{"hot_rows", "rows, hot", GNN_UNIT_COUNT}, {"cold_rows", "rows, cold", GNN_UNIT_COUNT},
	{"evictions", "evictions", GNN_UNIT_COUNT},
	{"predicted_evictions", "predicted", GNN_UNIT_COUNT},
	{"reloads", "reloads", GNN_UNIT_COUNT},
	{"cold_written_bytes", "spilled", GNN_UNIT_BYTES},
	{"cold_read_bytes", "read back", GNN_UNIT_BYTES}, {NULL, NULL, GNN_UNIT_NUMBER},
};
static const struct gnn_column orders[] = {
	{"iteration", "iteration", GNN_UNIT_COUNT}, {"order", "order", GNN_UNIT_TEXT},
	{"span", "span", GNN_UNIT_COUNT}, {"dispersion", "dispersion", GNN_UNIT_NUMBER},
	{"bandwidth", "bandwidth", GNN_UNIT_COUNT},
	{"peak_active", "active, at most", GNN_UNIT_COUNT},
	{"mean_active", "active, on average", GNN_UNIT_NUMBER}, {"wall_s", "time", GNN_UNIT_TIME},
	{NULL, NULL, GNN_UNIT_NUMBER},
};
static const struct gnn_column hybrid[] = {
	{"super_batch", "super-batch", GNN_UNIT_COUNT}, {"idle_s", "waited", GNN_UNIT_TIME},
	{"wall_s", "time", GNN_UNIT_TIME}, {"room_vertices", "room", GNN_UNIT_COUNT},
	{"from", "from", GNN_UNIT_COUNT}, {"cpu_vertices", "stay with the CPU", GNN_UNIT_COUNT},
	{NULL, NULL, GNN_UNIT_NUMBER},
};
static const struct gnn_column late[] = {
	{"super_batch", "super-batch", GNN_UNIT_COUNT}, {"slices", "slices", GNN_UNIT_COUNT},
	{"wanted", "of", GNN_UNIT_COUNT}, {NULL, NULL, GNN_UNIT_NUMBER},
};
static const struct gnn_column phases[] = {
	{"phase", "phase", GNN_UNIT_TEXT}, {"items", "done", GNN_UNIT_COUNT},
	{"items_total", "of", GNN_UNIT_COUNT}, {"unit", "unit", GNN_UNIT_TEXT},
	{"done_bytes", "bytes", GNN_UNIT_BYTES}, {"wall_s", "time", GNN_UNIT_TIME},
	{"evictions", "evictions", GNN_UNIT_COUNT}, {NULL, NULL, GNN_UNIT_NUMBER},
};

const struct gnn_sheet_view gnn_sheet_views[GNN_SHEET_COUNT] = {
	[GNN_SHEET_RESULT] = {"result", "Result", false, result},
	[GNN_SHEET_EPOCHS] = {"epoch", "Epochs", false, epochs},
	[GNN_SHEET_LAYERS] = {"layer", "Layers", false, layers},
	[GNN_SHEET_ORDERS] = {"order", "Orders", false, orders},
	[GNN_SHEET_HYBRID] = {"hybrid", "Hot vertices that went to the device", false, hybrid},
	[GNN_SHEET_LATE] = {"late", "Super-batches whose hot rows were late", false, late},
	[GNN_SHEET_PHASES] = {"progress", "Phases", true, phases},
};
