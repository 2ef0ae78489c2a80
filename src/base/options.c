/* base/options.c - see options.h. The table, and how its rows are found. */
#include "base/options.h"

#include "base/choices_infer.h"
#include "base/choices_store.h"
#include "base/choices_train.h"
#include "base/log.h"
#include "base/nearest.h"

#include <string.h>

static const struct gnn_choice backend_choices[] = {
	{"auto", 0, "the fastest that this build and machine have"},
	{"cpu", 0, NULL},
	{"cuda", 0, "the GPU, or exit 69"},
	{NULL, 0, NULL},
};
static const struct gnn_choice io_choices[] = {
	{"auto", GNN_OPT_IO_AUTO, "io_uring where the kernel allows it, else pread"},
	{"uring", GNN_OPT_IO_URING, "io_uring, or exit 69"},
	{"pread", GNN_OPT_IO_PREAD, "a pool of threads that read"},
	{"map", GNN_OPT_IO_MAP, "infer maps the store: for tmpfs, or one in the page cache"},
	{NULL, 0, NULL},
};
static const struct gnn_choice verify_choices[] = {
	{"auto", GNN_OPT_AUTO, "on for files on disk, off for mapped ones"},
	{"on", GNN_OPT_ON, NULL},
	{"off", GNN_OPT_OFF, NULL},
	{NULL, 0, NULL},
};
static const struct gnn_choice progress_choices[] = {
	{"auto", GNN_OPT_AUTO, "one line in place on a terminal, a line now and then in a file"},
	{"never", GNN_OPT_OFF, NULL},
	{NULL, 0, NULL},
};
static const struct gnn_choice log_choices[] = {
	{"error", GNN_LOG_ERROR, NULL},
	{"warn", GNN_LOG_WARN, "and fall-backs, suspicious inputs"},
	{"info", GNN_LOG_INFO, "and what is being done"},
	{"debug", GNN_LOG_DEBUG, NULL},
	{NULL, 0, NULL},
};

static const struct gnn_choice seeded_choices[] = {
	{"gcn", 0, NULL}, {"sage", 0, NULL}, {"gin", 0, NULL}, {"gat", 0, NULL}, {NULL, 0, NULL},
};
static const struct gnn_choice arch_choices[] = {
	{"gcn", 0, NULL},
	{"sage", 1, "mean of the neighbours beside the own row"},
	{"gin", 2, "sum, then an MLP with batch norm"},
	{"gat", 3, NULL},
	{NULL, 0, NULL},
};
static const struct gnn_choice switch_choices[] = {
	{"on", GNN_OPT_ON, NULL},
	{"off", GNN_OPT_OFF, NULL},
	{NULL, 0, NULL},
};
static const struct gnn_choice metric_choices[] = {
	{"auto", GNN_OPT_METRIC_AUTO, "accuracy, or f1 where a vertex has many labels"},
	{"accuracy", GNN_OPT_ACCURACY, NULL},
	{"rocauc", GNN_OPT_ROCAUC, NULL},
	{"f1", GNN_OPT_F1, "micro over many labels a vertex, else macro over the classes"},
	{NULL, 0, NULL},
};

#define IMPORT        (1u << GNN_CMD_IMPORT)
#define GENERATE      (1u << GNN_CMD_GENERATE)
#define INFO          (1u << GNN_CMD_INFO)
#define REORDER       (1u << GNN_CMD_REORDER)
#define INFER         (1u << GNN_CMD_INFER)
#define TRAIN         (1u << GNN_CMD_TRAIN)
#define EXPORT        (1u << GNN_CMD_EXPORT)
#define MODEL         (1u << GNN_CMD_MODEL)
#define BENCH         (1u << GNN_CMD_BENCH)
#define REPORT        (1u << GNN_CMD_REPORT)
#define ALL           GNN_COMMANDS_ALL
#define FIELD(member) .offset = offsetof(struct gnn_config, member)
#define ROW(name_, TYPE, GROUP, commands_)                            \
	.name = (name_), .type = GNN_OPTION_##TYPE, .group = GNN_GROUP_##GROUP, \
	.commands = (commands_)

static const struct gnn_option options[] = {
	{ROW("format", TEXT, INPUT, IMPORT), FIELD(format), .preset = "auto", .wanted = "NAME",
		.help = "Layout of SOURCE; auto looks at names and first bytes"},
	{ROW("features", PATH, INPUT, IMPORT), FIELD(features), .wanted = "FILE",
		.help = "Vertex features: npy, npz (its one array, or scipy's CSR), raw with "
			"--shape and --dtype"},
	{ROW("labels", PATH, INPUT, IMPORT), FIELD(labels), .wanted = "FILE",
		.help = "Labels: npy, or text with lines `id label`; NaN and -1 are unlabelled"},
	{ROW("train", PATH, INPUT, IMPORT), FIELD(train), .wanted = "FILE",
		.help = "Training split: ids, or a boolean mask"},
	{ROW("valid", PATH, INPUT, IMPORT), FIELD(valid), .wanted = "FILE",
		.help = "Validation split"},
	{ROW("test", PATH, INPUT, IMPORT), FIELD(test), .wanted = "FILE", .help = "Test split"},
	{ROW("weights", PATH, INPUT, IMPORT), FIELD(weights), .wanted = "FILE",
		.help = "One number an edge, in the order of the edges"},
	{ROW("weight-column", COUNT, INPUT, IMPORT), FIELD(weight_column), .preset = "none",
		.zero_word = "none", .max = 64, .wanted = "N",
		.help = "Column of a text edge list, from 1, that holds the weight"},
	{ROW("edge-layout", CHOICE, INPUT, IMPORT), FIELD(edge_layout), .preset = "auto",
		.choices = gnn_choices_layout, .help = "Shape of an edge array"},
	{ROW("shape", TEXT, INPUT, IMPORT), FIELD(shape), .wanted = "RxC",
		.help = "Shape of a features file without a header, such as 100000x1024"},
	{ROW("dtype", TEXT, INPUT, IMPORT), FIELD(dtype), .wanted = "TYPE",
		.help = "Element type of a features file without a header, such as f32"},

	{ROW("vertices", COUNT, GRAPH, IMPORT), FIELD(vertices), .preset = "auto",
		.zero_word = "auto", .max = 0x1p48, .wanted = "N",
		.help = "Number of vertices at least; auto: what features, labels and ids show"},
	{ROW("expect-edges", COUNT, GRAPH, IMPORT), FIELD(expect_edges), .preset = "any",
		.zero_word = "any", .wanted = "N",
		.help = "Edges that the input must list; any other number is refused"},
	{ROW("undirected", FLAG, GRAPH, IMPORT), FIELD(undirected), .preset = "off",
		.help = "Add the reverse of every listed edge but self-loops"},
	{ROW("dedup", FLAG, GRAPH, IMPORT), FIELD(dedup), .preset = "off",
		.help = "Keep the first of equal edges (after --undirected)"},
	{ROW("remap", FLAG, GRAPH, IMPORT), FIELD(remap), .preset = "off",
		.help = "Compact gapped ids, ascending; the ids given are kept as external ids"},
	{ROW("normalize", CHOICE, GRAPH, IMPORT), FIELD(normalize), .preset = "none",
		.choices = gnn_choices_normalize, .help = "Scale the features"},
	{ROW("feature-dtype", CHOICE, GRAPH, IMPORT), FIELD(feature_dtype), .preset = "auto",
		.choices = gnn_choices_stored,
		.help = "Element type of the stored features; one narrower than the input's "
			"rounds"},

	{ROW("vertices", COUNT, GRAPH, GENERATE), FIELD(vertices), .preset = "none",
		.zero_word = "none", .max = 0x1p48, .wanted = "N", .help = "Number of vertices"},
	{ROW("scale", COUNT, GRAPH, GENERATE), FIELD(scale), .preset = "none",
		.zero_word = "none", .max = 48, .wanted = "S",
		.help = "2^S vertices, in place of --vertices"},
	{ROW("edges", COUNT, GRAPH, GENERATE), FIELD(edges), .preset = "none",
		.zero_word = "none", .max = 0x1p56, .wanted = "N", .help = "Number of edges"},
	{ROW("edge-factor", COUNT, GRAPH, GENERATE), FIELD(edge_factor), .preset = "auto",
		.zero_word = "auto", .max = 0x1p32, .wanted = "K",
		.help = "Edges a vertex, in place of --edges; auto: 16 without --edges"},
	{ROW("feat-dim", COUNT, GRAPH, GENERATE), FIELD(feat_dim), .preset = "64", .max = 0x1p24,
		.wanted = "F", .help = "Features a vertex; 0: none"},
	{ROW("dtype", CHOICE, GRAPH, GENERATE), FIELD(feature_dtype), .preset = "f32",
		.choices = gnn_choices_stored + 1, .help = "Element type of the features"},
	{ROW("classes", COUNT, GRAPH, GENERATE), FIELD(classes), .preset = "16", .max = 0x1p31,
		.wanted = "C", .help = "Number of classes; 0: no labels"},
	{ROW("communities", COUNT, GRAPH, GENERATE), FIELD(communities), .preset = "auto",
		.zero_word = "auto", .max = 0x1p40, .wanted = "K",
		.help = "Communities of sbm; auto: one a class. The label of a vertex is its "
			"community mod classes"},
	{ROW("mixing", REAL, GRAPH, GENERATE), FIELD(mixing), .preset = "0.05", .max = 1,
		.wanted = "X", .help = "Share of edges of sbm that leave the community"},
	{ROW("noise", REAL, GRAPH, GENERATE), FIELD(noise), .preset = "auto",
		.zero_word = "auto", .wanted = "X",
		.help = "Noise of sbm around the class centre; auto: so much that a linear model "
			"alone scores about 60 %"},
	{ROW("shuffle", FLAG, GRAPH, GENERATE), FIELD(shuffle), .preset = "on",
		.help = "Shuffle the ids; --no-shuffle keeps the generator's order"},
	{ROW("train-count", COUNT, GRAPH, GENERATE), FIELD(train_count), .preset = "auto",
		.zero_word = "auto", .wanted = "N",
		.help = "Vertices of the training split; auto: 60 %, with 20 % for each of the "
			"others"},

	{ROW("order", WORD, GRAPH, REORDER), FIELD(order), .preset = "taurus",
		.choices = gnn_choices_vertex_order, .help = "Which vertex comes when"},
	{ROW("bootstrap", WORD, GRAPH, REORDER), FIELD(bootstrap), .preset = "rcm",
		.choices = gnn_choices_bootstrap, .help = "Order that taurus begins with"},
	{ROW("iterations", COUNT, GRAPH, REORDER), FIELD(iterations), .preset = "5", .min = 1,
		.max = 1000, .wanted = "N",
		.help = "Iterations of taurus at most; the best order seen is kept"},
	{ROW("features", WORD, GRAPH, REORDER), FIELD(order_features), .preset = "relabel",
		.choices = gnn_choices_order_features, .help = "What becomes of the features"},

	{ROW("model", PATH, MODEL, INFER | BENCH), FIELD(model), .wanted = "FILE",
		.help = "Weights in safetensors, with the keys of PyG or DGL"},
	{ROW("seeded", WORD, MODEL, MODEL), FIELD(seeded), .choices = seeded_choices,
		.help = "Write a model of seeded weights instead, to run before any is trained"},
	{ROW("dims", TEXT, MODEL, MODEL), FIELD(dims), .wanted = "LIST",
		.help = "Widths of a seeded model: features, each layer; of each head for gat"},
	{ROW("heads", TEXT, MODEL, MODEL), FIELD(heads), .wanted = "LIST",
		.help = "Heads of a seeded gat, one number a layer; 1 each when not given"},
	{ROW("model-set", LIST, MODEL, INFER | MODEL | BENCH), FIELD(model_set),
		.wanted = "KEY=VALUE",
		.help = "What the weights cannot say, such as library=pyg; repeatable"},

	{ROW("arch", CHOICE, MODEL, TRAIN | BENCH), FIELD(arch), .preset = "sage",
		.choices = arch_choices, .help = "Architecture"},
	{ROW("layers", COUNT, MODEL, TRAIN | BENCH), FIELD(layers), .preset = "2", .min = 1,
		.max = 32, .wanted = "N", .help = "Layers"},
	{ROW("hidden", COUNT, MODEL, TRAIN | BENCH), FIELD(hidden), .preset = "256", .min = 1,
		.max = 0x1p24, .wanted = "N",
		.help = "Width of hidden layers; of each head for gat"},
	{ROW("heads", TEXT, MODEL, TRAIN | BENCH), FIELD(heads), .wanted = "LIST",
		.help = "Heads of gat: one number a layer, or one for all but the last, which "
			"has 1"},
	{ROW("dropout", REAL, MODEL, TRAIN | BENCH), FIELD(dropout), .preset = "0.5", .max = 0.999,
		.wanted = "X", .help = "Dropout of each layer's input, and of gat's attention"},

	{ROW("out", PATH, OUTPUT, TRAIN), FIELD(out), .wanted = "M.safetensors",
		.help = "Model of the best epoch; that of the last is written beside it"},
	{ROW("out", PATH, OUTPUT, INFER | BENCH), FIELD(out), .wanted = "FILE",
		.help = "Result: embeddings of every vertex in import order"},
	{ROW("out", PATH, OUTPUT, MODEL), FIELD(out), .wanted = "FILE",
		.help = "The seeded model"},
	{ROW("out", PATH, OUTPUT, REPORT), FIELD(out), .wanted = "FILE.html",
		.help = "The page; RUN.html beside RUN.jsonl when not given"},
	{ROW("predict", FLAG, OUTPUT, INFER), FIELD(predict), .preset = "off",
		.help = "Also write /prediction, the class of each vertex"},
	{ROW("save-layers", FLAG, OUTPUT, INFER), FIELD(save_layers), .preset = "off",
		.help = "Also write /layer/<l>, the output of hidden layers, from 1"},
	{ROW("metric", CHOICE, OUTPUT, INFER | TRAIN), FIELD(metric), .preset = "auto",
		.choices = metric_choices, .help = "Score on the splits"},
	{ROW("dataset", TEXT, OUTPUT, EXPORT), FIELD(dataset), .preset = "embeddings",
		.wanted = "NAME", .help = "Array of FILE.h5 to export"},
	{ROW("verify", FLAG, OUTPUT, INFO), FIELD(verify), .preset = "off",
		.help = "Read everything and compare checksums, ranges and order"},

	{ROW("fanout", TEXT, RUN, INFER), FIELD(fanout), .preset = "all", .wanted = "LIST",
		.help = "In-edges used of each vertex: all, or a number drawn without replacement; "
			"one for every layer, or a list from the last layer inwards"},
	{ROW("sample-scale", CHOICE, RUN, INFER), FIELD(sample_scale), .preset = "on",
		.choices = switch_choices,
		.help = "Sums over a sample are scaled to the whole; off: plain sums, as over a "
			"block of DGL or PyG"},
	{ROW("fanout", TEXT, RUN, TRAIN | BENCH), FIELD(fanouts), .preset = "10", .wanted = "LIST",
		.help = "In-edges drawn of each vertex: one number for all layers, or a list whose "
			"first is the hop next to the seeds; all: every one"},
	{ROW("sampler", CHOICE, RUN, TRAIN | BENCH), FIELD(sampler), .preset = "uniform",
		.choices = gnn_choices_sampler, .help = "How in-edges are drawn"},
	{ROW("batch-dependency", COUNT, RUN, TRAIN | BENCH), FIELD(dependency), .preset = "1",
		.min = 1, .max = 0x1p32, .wanted = "N",
		.help = "Steps that share the numbers labor draws by"},
	{ROW("batch-size", COUNT, RUN, TRAIN), FIELD(batch_size), .preset = "1024", .min = 1,
		.max = 0x1p30, .wanted = "N", .help = "Training vertices of a step"},
	{ROW("epochs", COUNT, RUN, TRAIN), FIELD(epochs), .preset = "20", .min = 1, .max = 0x1p32,
		.wanted = "N", .help = "Passes over the training vertices"},
	{ROW("optimizer", CHOICE, RUN, TRAIN), FIELD(optimizer), .preset = "adam",
		.choices = gnn_choices_optimizer, .help = "As in torch.optim"},
	{ROW("lr", REAL, RUN, TRAIN), FIELD(lr), .preset = "0.01", .max = 1e6, .wanted = "X",
		.help = "Learning rate"},
	{ROW("momentum", REAL, RUN, TRAIN), FIELD(momentum), .preset = "0.9", .max = 1,
		.wanted = "X", .help = "Of sgd"},
	{ROW("weight-decay", TEXT, RUN, TRAIN), FIELD(weight_decay), .preset = "0",
		.wanted = "LIST", .help = "One number, or one a layer, first layer first"},
	{ROW("schedule", CHOICE, RUN, TRAIN), FIELD(schedule), .preset = "constant",
		.choices = gnn_choices_schedule, .help = "Learning rate over time"},
	{ROW("clip", REAL, RUN, TRAIN), FIELD(clip), .preset = "off", .zero_word = "off",
		.max = 1e12, .wanted = "X", .help = "Largest norm of the gradient of all weights"},
	{ROW("eval-every", COUNT, RUN, TRAIN), FIELD(eval_every), .preset = "1", .min = 1,
		.max = 0x1p32, .wanted = "N", .help = "Epochs from one evaluation to the next"},
	{ROW("patience", COUNT, RUN, TRAIN), FIELD(patience), .preset = "off", .zero_word = "off",
		.max = 0x1p32, .wanted = "N",
		.help = "End after so many epochs without a better validation figure"},
	{ROW("orchestration", CHOICE, RUN, TRAIN), FIELD(orchestration), .preset = "auto",
		.choices = gnn_choices_orchestration, .help = "Who samples, gathers and trains"},
	{ROW("reuse", CHOICE, RUN, TRAIN), FIELD(reuse), .preset = "off",
		.choices = gnn_choices_reuse, .help = "What of --orchestration layer is kept"},
	{ROW("super-batch", COUNT, RUN, TRAIN | BENCH), FIELD(super_batch), .preset = "4", .min = 1,
		.max = 0x1p32, .wanted = "N", .help = "Steps that share what is reused"},
	{ROW("hot-ratio", REAL, RUN, TRAIN | BENCH), FIELD(hot_ratio), .preset = "auto",
		.zero_word = "auto", .max = 1, .wanted = "X", .help = "Share of the vertices that "
			"are hot, at most; auto: 0.2, of embeddings 0.02"},
	{ROW("hot-policy", CHOICE, RUN, TRAIN), FIELD(hot_policy), .preset = "presample",
		.choices = gnn_choices_hot, .help = "Which vertices are hot"},
	{ROW("hybrid", CHOICE, RUN, TRAIN), FIELD(hybrid), .preset = "off",
		.choices = gnn_choices_hybrid, .help = "Who makes the rows of --reuse embeddings"},
	{ROW("hybrid-log", TEXT, RUN, TRAIN), FIELD(hybrid_log), .wanted = "F",
		.help = "Decisions of --hybrid, written or replayed; OUT.hybrid when not given"},
	{ROW("late", CHOICE, RUN, TRAIN), FIELD(late), .preset = "wait",
		.choices = gnn_choices_late,
		.help = "Rows of --reuse embeddings that are late for their super-batch"},
	{ROW("late-log", TEXT, RUN, TRAIN), FIELD(late_log), .wanted = "F",
		.help = "What was late, written or replayed; OUT.late when not given"},
	{ROW("hot-backward", CHOICE, RUN, TRAIN), FIELD(hot_backward), .preset = "auto",
		.choices = gnn_choices_backward,
		.help = "The gradient of rows of --reuse embeddings"},
	{ROW("bottom", CHOICE, RUN, TRAIN), FIELD(bottom), .preset = "sampled",
		.choices = gnn_choices_bottom, .help = "What the first layer aggregates"},
	{ROW("gather", CHOICE, RUN, TRAIN | BENCH), FIELD(gather), .preset = "auto",
		.choices = gnn_choices_gather, .help = "How rows of features reach a GPU"},
	{ROW("cache-ratio", REAL, RUN, TRAIN), FIELD(cache_ratio), .preset = "0", .max = 1,
		.wanted = "X", .help = "Share of the vertices whose rows a GPU keeps, at most"},
	{ROW("cache-policy", CHOICE, RUN, TRAIN), FIELD(cache_policy), .preset = "presample",
		.choices = gnn_choices_cache, .help = "Which vertices have rows in the cache"},
	{ROW("pipeline", CHOICE, RUN, TRAIN | BENCH), FIELD(pipeline), .preset = "on",
		.choices = switch_choices, .help = "Prepare batches while others are trained on"},
	{ROW("checkpoint", PATH, RUN, TRAIN), FIELD(checkpoint), .wanted = "DIR",
		.help = "Folder of what --resume goes on from; OUT.ckpt when not given"},
	{ROW("resume", FLAG, RUN, REORDER), FIELD(resume), .preset = "off",
		.help = "Go on with what a killed or failed run has kept: its order, and features "
			"that it sorted"},
	{ROW("resume", FLAG, RUN, TRAIN), FIELD(resume), .preset = "off",
		.help = "Go on from the checkpoint; without one, from the beginning"},
	{ROW("baseline", CHOICE, RUN, BENCH), FIELD(baseline), .preset = "gather",
		.choices = gnn_choices_baseline, .help = "How bench infer computes: as others do"},
	{ROW("batch-size", COUNT, RUN, BENCH), FIELD(batch_size), .preset = "auto",
		.zero_word = "auto", .max = 0x1p30, .wanted = "N",
		.help = "Destinations that bench infer gathers for at a time, auto: 32768; "
			"training vertices of a step of bench train, auto: 1024"},
	{ROW("batches", COUNT, RUN, BENCH), FIELD(batches), .preset = "all", .zero_word = "all",
		.wanted = "N", .help = "Only so many batches of the first layer of bench infer, "
			"spread evenly, and the time of all is extrapolated; steps of bench "
			"train, all: an epoch's"},
	{ROW("runs", COUNT, RUN, BENCH), FIELD(runs), .preset = "3", .min = 1, .max = 64,
		.wanted = "N",
		.help = "Of each measurement, but of bench infer"},
	{ROW("bytes", SIZE, RUN, BENCH), FIELD(bytes), .preset = "256M", .min = 4096,
		.max = 0x1p40, .wanted = "SIZE", .help = "Of bench io; of bench gather's table"},
	{ROW("blocks", TEXT, RUN, BENCH), FIELD(blocks), .preset = "1M,8M", .wanted = "LIST",
		.help = "Sizes of the requests of bench io, of the messages of bench collective"},
	{ROW("depths", TEXT, RUN, BENCH), FIELD(depths), .preset = "1,8", .wanted = "LIST",
		.help = "Requests in flight of bench io"},
	{ROW("widths", TEXT, RUN, BENCH), FIELD(widths), .preset = "47,128,256",
		.wanted = "LIST", .help = "Columns of the messages of bench aggregate"},
	{ROW("row-bytes", TEXT, RUN, BENCH), FIELD(row_bytes),
		.preset = "64,128,256,400,512,1K,2K,4K,8K", .wanted = "LIST",
		.help = "Rows of bench gather, multiples of 4; also with 4 bytes more"},
	{ROW("chunk-bytes", SIZE, RUN, INFER), FIELD(chunk_bytes), .preset = "8M", .min = 1,
		.max = 0x1p40, .wanted = "SIZE",
		.help = "Ceiling of one chunk of rows; one panel of 256 rows at least"},
	{ROW("queue-depth", COUNT, RUN, INFER), FIELD(queue_depth), .preset = "4", .min = 1,
		.max = 256, .wanted = "N", .help = "Chunks read ahead"},
	{ROW("plan", CHOICE, RUN, INFER), FIELD(plan), .preset = "auto",
		.choices = gnn_choices_plan, .help = "Where the states of a layer live"},
	{ROW("shards", COUNT, RUN, INFER), FIELD(shards), .preset = "auto", .zero_word = "auto",
		.max = 0x1p31, .wanted = "N",
		.help = "Ranges of vertices of the partitioned plan; at most one a panel"},
	{ROW("explain", FLAG, RUN, INFER), FIELD(explain), .preset = "off",
		.help = "Print the plan, with predicted bytes and seconds; do not run"},
	{ROW("resume", FLAG, RUN, INFER), FIELD(resume), .preset = "off",
		.help = "Go on where a stopped or killed run has sealed its work; from the "
			"beginning where there is none"},
	{ROW("seal-after", COUNT, RUN, INFER), FIELD(seal_after), .preset = "30",
		.max = 0x1p30, .wanted = "SECONDS",
		.help = "Rows of a layer that stay in memory (--plan tiered) are written too, as a "
			"point for --resume, when a kill would undo so much work; 0: always"},
	{ROW("evict", CHOICE, RUN, INFER), FIELD(evict), .preset = "belady",
		.choices = gnn_choices_evict,
		.help = "Whose state leaves a full store (--plan tiered)"},
	{ROW("hot-store", TEXT, RUN, INFER), FIELD(hot_store), .wanted = "SIZE|min",
		.help = "States in host memory (--plan tiered), on a GPU those that its own store "
			"has no room for; min: the smallest legal store; what the budget leaves "
			"when not given"},
	{ROW("gpu-store", TEXT, RUN, INFER), FIELD(gpu_store), .wanted = "SIZE|min",
		.help = "States in device memory (--plan tiered); min: the smallest legal store; "
			"what the budget leaves when not given. On the CPU: part of --hot-store "
			"for vertices of highest in-degree, which stay; min: none; those with "
			"an edge from nearly every chunk when not given"},
	{ROW("graduation-bytes", SIZE, RUN, INFER), FIELD(graduation_bytes), .preset = "auto",
		.zero_word = "auto", .max = 0x1p40, .wanted = "SIZE",
		.help = "States that are finished at once (--plan tiered); whole panels"},
	{ROW("message-order", CHOICE, RUN, INFER | MODEL | BENCH), FIELD(message_order),
		.preset = "auto",
		.choices = gnn_choices_order, .help = "What is done first where the order is free"},
	{ROW("design", CHOICE, RUN, INFER), FIELD(design), .preset = "own",
		.choices = gnn_choices_design,
		.help = "How layers are computed, for comparisons; the same numbers within "
			"rounding"},

	{ROW("backend", WORD, MACHINE, ALL), FIELD(backend), .preset = "auto",
		.choices = backend_choices, .help = "What computes"},
	{ROW("threads", COUNT, MACHINE, ALL), FIELD(threads), .preset = "auto",
		.zero_word = "auto", .max = 4096, .wanted = "N",
		.help = "Threads that compute; auto: the cores of the affinity mask"},
	{ROW("host-memory", SIZE, MACHINE, ALL), FIELD(host_memory), .preset = "auto",
		.zero_word = "auto", .max = 0x1p56, .wanted = "SIZE",
		.help = "Budget of host memory; auto: what is free, the cgroup respected, less a "
			"reserve"},
	{ROW("gpu-memory", SIZE, MACHINE, ALL), FIELD(gpu_memory), .preset = "auto",
		.zero_word = "auto", .max = 0x1p56, .wanted = "SIZE",
		.help = "Budget of device memory; auto: what is free, less a reserve"},
	{ROW("scratch", PATH, MACHINE, ALL), FIELD(scratch), .wanted = "DIR",
		.help = "Folder of temporary files; beside the output when not given"},
	{ROW("io", CHOICE, MACHINE, ALL), FIELD(io), .preset = "auto", .choices = io_choices,
		.help = "Engine of direct I/O"},
	{ROW("verify-reads", CHOICE, MACHINE, ALL), FIELD(verify_reads), .preset = "auto",
		.choices = verify_choices, .help = "Compare checksums of what is read"},
	{ROW("seed", COUNT, MACHINE, ALL), FIELD(seed), .preset = "0", .wanted = "N",
		.help = "Seed of everything random"},
	{ROW("peer-timeout", COUNT, MACHINE, ALL), FIELD(peer_timeout), .preset = "60", .min = 1,
		.max = 86400, .wanted = "SECONDS",
		.help = "A rank that others have not heard of for so long has failed"},
	{ROW("oversubscribe-gpu", FLAG, MACHINE, INFER | TRAIN | BENCH),
		FIELD(oversubscribe_gpu), .preset = "off", .help = "Let several ranks use one GPU"},
	{ROW("allow-singleton", FLAG, MACHINE, ALL), FIELD(allow_singleton), .preset = "off",
		.help = "Run although the launcher started several tasks"},

	{ROW("json", FLAG, REPORT, ALL), FIELD(json), .preset = "off",
		.help = "One JSON object on standard output at the end, and nothing else there"},
	{ROW("progress", CHOICE, REPORT, ALL), FIELD(progress), .preset = "auto",
		.choices = progress_choices, .help = "How far the work is, on standard error"},
	{ROW("log", CHOICE, REPORT, ALL), FIELD(log_level), .preset = "info",
		.choices = log_choices, .help = "Least important lines shown on standard error"},
	{ROW("metrics", PATH, REPORT, ALL), FIELD(metrics), .wanted = "FILE",
		.help = "Figures of the run as JSON lines"},
	{ROW("trace", PATH, REPORT, ALL), FIELD(trace), .wanted = "FILE",
		.help = "Chrome trace of stages and threads, for ui.perfetto.dev"},

	{ROW("config", PATH, CONFIG, ALL), FIELD(config_path), .flags = GNN_OPTION_NO_FILE,
		.wanted = "FILE", .help = "YAML file of `name: value` lines, the flags' own names"},
	{ROW("print-config", FLAG, CONFIG, ALL), FIELD(print_config), .preset = "off",
		.flags = GNN_OPTION_NO_FILE,
		.help = "Print every option, its value and where it comes from; do not run"},
	{ROW("help", FLAG, CONFIG, ALL), FIELD(help), .preset = "off",
		.flags = GNN_OPTION_NO_FILE, .help = "This text; after a command, its options"},
	{ROW("version", FLAG, CONFIG, ALL), FIELD(version), .preset = "off",
		.flags = GNN_OPTION_NO_FILE, .help = "Print the version"},
	{ROW("faults", TEXT, CONFIG, ALL), FIELD(faults), .wanted = "SPEC",
		.flags = GNN_OPTION_HIDDEN | GNN_OPTION_NO_FILE,
		.help = "Faults to inject (base/fault.h)"},
	{ROW("list-crash-points", FLAG, CONFIG, ALL), FIELD(list_crash_points), .preset = "off",
		.flags = GNN_OPTION_HIDDEN | GNN_OPTION_NO_FILE,
		.help = "Print the points of --faults crash:NAME@n and signal:NAME@n"},
	{ROW("dump-options-md", FLAG, CONFIG, ALL), FIELD(dump_options), .preset = "off",
		.flags = GNN_OPTION_HIDDEN | GNN_OPTION_NO_FILE, .help = "Print docs/config.md"},
};

_Static_assert(GNN_COUNT_OF(options) <= GNN_OPTIONS_MAX, "config remembers each row's origin");

static const char *const group_names[GNN_GROUP_COUNT] = {
	[GNN_GROUP_INPUT] = "Inputs",   [GNN_GROUP_GRAPH] = "Graph",
	[GNN_GROUP_MODEL] = "Model",    [GNN_GROUP_OUTPUT] = "Result",
	[GNN_GROUP_RUN] = "Execution",  [GNN_GROUP_MACHINE] = "Machine",
	[GNN_GROUP_REPORT] = "Reports", [GNN_GROUP_CONFIG] = "Configuration",
};

const struct gnn_option *gnn_options(uint32_t *count)
{
	*count = GNN_COUNT_OF(options);
	return options;
}

const char *gnn_option_group_name(enum gnn_option_group group)
{
	return group_names[group];
}

bool gnn_option_taken_by(const struct gnn_option *o, enum gnn_command_id command)
{
	if (command == GNN_CMD_COUNT)
		return o->commands == GNN_COMMANDS_ALL;
	return (o->commands >> command & 1) != 0;
}

static const struct gnn_option *find_plain(const char *name, size_t len,
	enum gnn_command_id command)
{
	for (size_t i = 0; i < GNN_COUNT_OF(options); i++)
		if (gnn_option_taken_by(&options[i], command) &&
			strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
			return &options[i];
	return NULL;
}

const struct gnn_option *gnn_option_find(const char *name, size_t len,
	enum gnn_command_id command, bool *negated)
{
	const struct gnn_option *o = find_plain(name, len, command);

	*negated = false;
	if (o == NULL && len > 3 && memcmp(name, "no-", 3) == 0) {
		o = find_plain(name + 3, len - 3, command);
		if (o != NULL && o->type != GNN_OPTION_FLAG)
			o = NULL;
		*negated = o != NULL;
	}
	return o;
}

bool gnn_option_given(const struct gnn_config *c, const char *name)
{
	const struct gnn_option *o = find_plain(name, strlen(name), c->command);

	GNN_ASSERT(o != NULL);
	return c->origin[o - options].source != GNN_FROM_DEFAULT;
}

static const char *nearest_name(const char *name, enum gnn_command_id command)
{
	const char *words[GNN_COUNT_OF(options)];
	uint32_t count = 0;

	for (size_t i = 0; i < GNN_COUNT_OF(options); i++)
		if (gnn_option_taken_by(&options[i], command) &&
			(options[i].flags & GNN_OPTION_HIDDEN) == 0)
			words[count++] = options[i].name;
	return gnn_nearest(name, words, count);
}

int gnn_option_unknown(int status, const char *dashes, const char *name,
	enum gnn_command_id command, const struct gnn_command *commands)
{
	const char *of = command == GNN_CMD_COUNT ? "every command" : commands[command].name;
	bool negated;

	for (int other = 0; other < GNN_CMD_COUNT; other++)
		if (commands[other].name != NULL &&
			gnn_option_find(name, strlen(name), (enum gnn_command_id)other,
				&negated) != NULL)
			return gnn_err(status, "%s%s is an option of %s, not of %s", dashes, name,
				commands[other].name, of);
	return gnn_err(status, "there is no option %s%s; the nearest is %s%s", dashes, name, dashes,
		nearest_name(name, command));
}
