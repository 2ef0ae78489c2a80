/* base/choices_train.c - see choices_train.h. */
#include "base/choices_train.h"

#include <stddef.h>

const struct gnn_choice gnn_choices_sampler[] = {
	{"uniform", GNN_OPT_SAMPLER_UNIFORM, "distinct in-edges of each vertex"},
	{"labor", GNN_OPT_SAMPLER_LABOR, "as many on average, with sources shared in a batch"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_optimizer[] = {
	{"adam", GNN_OPT_ADAM, NULL}, {"adamw", GNN_OPT_ADAMW, NULL},
	{"sgd", GNN_OPT_SGD, "with --momentum"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_schedule[] = {
	{"constant", GNN_OPT_SCHEDULE_CONSTANT, NULL},
	{"linear", GNN_OPT_SCHEDULE_LINEAR, "down to 0 over all steps"},
	{"cosine", GNN_OPT_SCHEDULE_COSINE, "down to 0 along half a cosine"},
	{"step", GNN_OPT_SCHEDULE_STEP, "a tenth after each third of the steps"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_orchestration[] = {
	{"auto", GNN_OPT_ORCHESTRATION_AUTO, "by --backend, --gather and what fits on a GPU"},
	{"step-cpu", GNN_OPT_STEP_CPU, "the CPU samples and gathers; --backend trains"},
	{"step-gpu-sample", GNN_OPT_STEP_GPU_SAMPLE, "the GPU samples, the CPU gathers"},
	{"step-gpu-gather", GNN_OPT_STEP_GPU_GATHER, "the CPU samples, the GPU gathers"},
	{"step-gpu", GNN_OPT_STEP_GPU, "the GPU samples and gathers"},
	{"layer", GNN_OPT_LAYER, "the CPU samples and aggregates the first layer, --backend trains "
		"on the aggregates; gcn, sage, gin, and gat with --reuse embeddings"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_reuse[] = {
	{"off", GNN_OPT_REUSE_OFF, "aggregates are made anew for each step"},
	{"aggregates", GNN_OPT_REUSE_AGGREGATES, "those of hot vertices once a super-batch"},
	{"embeddings", GNN_OPT_REUSE_EMBEDDINGS, "the first layer's rows of hot vertices, made by "
		"the CPU a super-batch ahead with the weights of then; --backend makes the others"},
	{"on", GNN_OPT_REUSE_EMBEDDINGS, "as embeddings"},
	{"auto", GNN_OPT_REUSE_AUTO, "off or aggregates, by steps or by layer, as the first steps "
		"are faster; never embeddings"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_hybrid[] = {
	{"off", GNN_OPT_HYBRID_OFF, "the CPU makes the rows of all hot vertices"},
	{"on", GNN_OPT_HYBRID_ON, "where they are waited for the least hot go to --backend, their "
		"features into the memory of a GPU; bits follow the clock"},
	{"replay", GNN_OPT_HYBRID_REPLAY, "as --hybrid-log says; equal bits"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_late[] = {
	{"wait", GNN_OPT_LATE_WAIT, "they are waited for"},
	{"cold", GNN_OPT_LATE_COLD, "they count as cold for that super-batch, with the newest "
		"weights; bits follow the clock"},
	{"replay", GNN_OPT_LATE_REPLAY, "as --late-log says; equal bits"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_backward[] = {
	{"auto", GNN_OPT_BACKWARD_AUTO, "aggregate for gcn and sage, else none"},
	{"none", GNN_OPT_BACKWARD_NONE, "hot rows give the first layer's weights none"},
	{"aggregate", GNN_OPT_BACKWARD_AGGREGATE, "by the aggregates that they were made of, which "
		"come along; gcn, sage"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_cache[] = {
	{"presample", GNN_OPT_HOT_PRESAMPLE, "most often in the batches of the first epoch, which "
		"are drawn before"},
	{"degree", GNN_OPT_HOT_DEGREE, "with the most out-edges"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_hot[] = {
	{"window", GNN_OPT_HOT_WINDOW, "in the most steps of the coming super-batch, two at least; "
		"of --reuse embeddings"},
	{"presample", GNN_OPT_HOT_PRESAMPLE, "most often in the batches of the first epoch, which "
		"are drawn before"},
	{"degree", GNN_OPT_HOT_DEGREE, "with the most out-edges"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_bottom[] = {
	{"sampled", GNN_OPT_BOTTOM_SAMPLED, "features of in-edges drawn for each step"},
	{"precomputed", GNN_OPT_BOTTOM_PRECOMPUTED, "all in-edges of every vertex, once, into a "
		"file beside the store; gcn, sage, gin"},
	{NULL, 0, NULL},
};
const struct gnn_choice gnn_choices_gather[] = {
	{"auto", GNN_OPT_GATHER_AUTO, "the whole table on the GPU where half of its memory holds "
		"it; else the fastest of the others, measured on a batch"},
	{"staged", GNN_OPT_GATHER_STAGED, "by the CPU into pinned memory, then copied"},
	{"zero-copy", GNN_OPT_GATHER_ZERO_COPY, "by the GPU from pinned host memory in place"},
	{"both", GNN_OPT_GATHER_BOTH, "a part zero-copy, the rest staged meanwhile, by measured "
		"rates"},
	{NULL, 0, NULL},
};
