/*
 * base/choices.h - options that are choices: names and values.
 *
 * Flow     options -> [choices] -> commands
 * Owns     nothing; constants only
 * Lends    nothing
 * Thread   constant
 * Fails    never
 *
 * Where another module has such an enum, its command asserts that they are equal.
 */
#ifndef GNN_BASE_CHOICES_H
#define GNN_BASE_CHOICES_H

struct gnn_choice {
	const char *name; /* NULL ends the list */
	int         value;
	const char *help; /* NULL: says itself */
};

enum gnn_opt_io { GNN_OPT_IO_AUTO, GNN_OPT_IO_URING, GNN_OPT_IO_PREAD, GNN_OPT_IO_MAP = 4 };
enum gnn_opt_auto { GNN_OPT_AUTO, GNN_OPT_ON, GNN_OPT_OFF };
enum gnn_opt_layout { GNN_OPT_LAYOUT_AUTO, GNN_OPT_LAYOUT_2XE, GNN_OPT_LAYOUT_EX2 };
enum gnn_opt_normal { GNN_OPT_NORMALIZE_NONE, GNN_OPT_NORMALIZE_ROW };
enum gnn_opt_plan { GNN_OPT_PLAN_AUTO, GNN_OPT_PLAN_RESIDENT, GNN_OPT_PLAN_PARTITIONED,
	GNN_OPT_PLAN_TIERED };
enum gnn_opt_design { GNN_OPT_DESIGN_OWN, GNN_OPT_DESIGN_PUBLISHED };
enum gnn_opt_evict { GNN_OPT_EVICT_BELADY, GNN_OPT_EVICT_PENDING, GNN_OPT_EVICT_LRU,
	GNN_OPT_EVICT_FIFO, GNN_OPT_EVICT_RANDOM };
enum gnn_opt_order { GNN_OPT_ORDER_AUTO, GNN_OPT_ORDER_TRANSFORM, GNN_OPT_ORDER_AGGREGATE };
enum gnn_opt_sampler { GNN_OPT_SAMPLER_UNIFORM, GNN_OPT_SAMPLER_LABOR };
enum gnn_opt_optimizer { GNN_OPT_ADAM, GNN_OPT_ADAMW, GNN_OPT_SGD };
enum gnn_opt_schedule { GNN_OPT_SCHEDULE_CONSTANT, GNN_OPT_SCHEDULE_LINEAR,
	GNN_OPT_SCHEDULE_COSINE, GNN_OPT_SCHEDULE_STEP };
enum gnn_opt_orchestration { GNN_OPT_ORCHESTRATION_AUTO, GNN_OPT_STEP_CPU,
	GNN_OPT_STEP_GPU_SAMPLE, GNN_OPT_STEP_GPU_GATHER, GNN_OPT_STEP_GPU, GNN_OPT_LAYER };
enum gnn_opt_reuse { GNN_OPT_REUSE_OFF, GNN_OPT_REUSE_AGGREGATES, GNN_OPT_REUSE_EMBEDDINGS,
	GNN_OPT_REUSE_AUTO };
enum gnn_opt_backward { GNN_OPT_BACKWARD_AUTO, GNN_OPT_BACKWARD_NONE, GNN_OPT_BACKWARD_AGGREGATE };
enum gnn_opt_hybrid { GNN_OPT_HYBRID_OFF, GNN_OPT_HYBRID_ON, GNN_OPT_HYBRID_REPLAY };
enum gnn_opt_late { GNN_OPT_LATE_WAIT, GNN_OPT_LATE_COLD, GNN_OPT_LATE_REPLAY };
enum gnn_opt_hot { GNN_OPT_HOT_PRESAMPLE, GNN_OPT_HOT_DEGREE, GNN_OPT_HOT_WINDOW };
enum gnn_opt_gather { GNN_OPT_GATHER_AUTO, GNN_OPT_GATHER_STAGED, GNN_OPT_GATHER_ZERO_COPY,
	GNN_OPT_GATHER_BOTH };
enum gnn_opt_bottom { GNN_OPT_BOTTOM_SAMPLED, GNN_OPT_BOTTOM_PRECOMPUTED };
enum gnn_opt_baseline { GNN_OPT_BASELINE_GATHER, GNN_OPT_BASELINE_VERTEX_WISE };
enum gnn_opt_metric { GNN_OPT_METRIC_AUTO, GNN_OPT_ACCURACY, GNN_OPT_ROCAUC, GNN_OPT_F1 };

#endif
