/*
 * base/config.h - the value of every option, as plain data, and the subcommands' rows.
 *
 * Flow     cmdline, config_file -> [config] -> main -> gnn_cmd_<name>()
 * Owns     text read from the file
 * Lends    itself, constant while a command runs; text lives until fini
 * Thread   filled by the main thread, then constant
 * Fails    GNN_EOS no memory for text
 *
 * The command line wins over the file, the file over the defaults; the origin is remembered. Names,
 * limits and help: base/options.c. Text not given is NULL, all else its default; 0 (NaN) is "auto".
 */
#ifndef GNN_BASE_CONFIG_H
#define GNN_BASE_CONFIG_H

#include "base/choices.h"
#include "base/err.h"

enum gnn_command_id {
	GNN_CMD_IMPORT,
	GNN_CMD_GENERATE,
	GNN_CMD_INFO,
	GNN_CMD_REORDER,
	GNN_CMD_INFER,
	GNN_CMD_TRAIN,
	GNN_CMD_EXPORT,
	GNN_CMD_MODEL,
	GNN_CMD_BENCH,
	GNN_CMD_REPORT,
	GNN_CMD_DOCTOR,
	GNN_CMD_COUNT, /* no command given */
};

enum { GNN_ARGS_MAX = 4, GNN_LIST_MAX = 64, GNN_OPTIONS_MAX = 160 };

struct gnn_text_list {
	const char *item[GNN_LIST_MAX];
	uint32_t    count;
};

enum gnn_source { GNN_FROM_DEFAULT, GNN_FROM_FILE, GNN_FROM_COMMAND_LINE };

struct gnn_origin {
	enum gnn_source source;
	uint32_t        line; /* of the file */
};

struct gnn_config {
	enum gnn_command_id command;
	const char *args[GNN_ARGS_MAX]; /* positional; their number was checked */
	uint32_t    arg_count;

	/* Every command. */
	const char *backend;      /* "auto", "cpu" */
	struct gnn_comm *comm;    /* the ranks that work together, in a run */
	uint64_t    threads;      /* main fills in the affinity mask for auto */
	uint64_t    seed;
	uint64_t    host_memory;  /* bytes; main fills in what is free for auto */
	uint64_t    gpu_memory;   /* bytes; 0: what is free */
	const char *scratch;      /* NULL: beside the output */
	int         io;           /* enum gnn_dio_engine: auto, uring, pread, map */
	int         verify_reads; /* enum gnn_opt_auto */
	int         progress;     /* GNN_OPT_AUTO or GNN_OPT_OFF */
	const char *metrics, *trace;
	int         log_level;    /* enum gnn_log_level */
	bool        json;
	bool        oversubscribe_gpu;
	bool        allow_singleton;
	uint64_t    peer_timeout; /* seconds */
	const char *config_path;
	bool        print_config, help, version, dump_options, list_crash_points;
	const char *faults;

	/* import; vertices and feature_dtype for generate too. */
	const char *format;        /* "auto", or a name the importers know */
	const char *features, *labels, *train, *valid, *test, *weights;
	uint64_t    vertices;      /* 0: not given */
	uint64_t    expect_edges;  /* 0: not given */
	bool        undirected, dedup, remap;
	uint64_t    weight_column; /* from 1; 0: not given */
	int         edge_layout;   /* enum gnn_opt_layout */
	int         normalize;     /* enum gnn_opt_normal */
	const char *shape, *dtype; /* of headerless files, as given: "10x4", "f32" */
	int         feature_dtype; /* enum gnn_dtype; GNN_DTYPE_COUNT: as lossless as the input */

	/* generate; its --dtype is feature_dtype. 0: not given. */
	uint64_t    scale, edges, edge_factor, feat_dim, classes, communities, train_count;
	double      mixing, noise; /* noise NaN: auto */
	bool        shuffle;

	/* info, export, reorder, bench */
	bool        verify;
	const char *dataset;
	const char *order, *bootstrap, *order_features;
	uint64_t    iterations, batches, runs, bytes; /* batches 0: all */
	const char *blocks, *depths, *widths, *row_bytes; /* lists as given: "64K,1M" */
	int         baseline;      /* enum gnn_opt_baseline */

	/* infer, model */
	const char *model, *out, *hot_store, *gpu_store; /* of infer; NULL: not given */
	uint64_t    chunk_bytes, queue_depth, shards, graduation_bytes, seal_after;
	int         plan, evict;   /* enum gnn_opt_plan, gnn_opt_evict */
	int         message_order, design; /* enum gnn_message_order, gnn_opt_design */
	const char *fanout;        /* "all", "10", "10,25" */
	int         sample_scale;  /* GNN_OPT_ON or GNN_OPT_OFF */
	int         metric;        /* enum gnn_metric */
	bool        predict, save_layers, resume, explain; /* resume: of train too */
	struct gnn_text_list model_set; /* "key=value" each */

	/* train; metric, out and heads as above. */
	int         arch;          /* enum gnn_arch */
	uint64_t    layers, hidden, batch_size, epochs, eval_every, patience, dependency;
	const char *fanouts, *weight_decay; /* lists as given: "5,10", "5e-4,0" */
	int         sampler, optimizer, schedule, orchestration, gather, bottom,
		pipeline;
	int         reuse, hot_policy, hot_backward, cache_policy, hybrid;
	const char *hybrid_log;    /* NULL: OUT.hybrid */
	int         late;
	const char *late_log;      /* NULL: OUT.late */
	uint64_t    super_batch;
	double      lr, momentum, dropout, clip, hot_ratio, cache_ratio;
	const char *checkpoint;    /* NULL: OUT.ckpt */

	/* model: a seeded one is made when `seeded` names an architecture. */
	const char *seeded, *dims, *heads; /* lists as given: "64,32,8" */

	struct gnn_origin origin[GNN_OPTIONS_MAX]; /* by row of the option table */
	struct gnn_text  *text_;                   /* what the file's values point into */
};

/* One subcommand; main has a table of them in the order of gnn_command_id. */
struct gnn_command {
	const char *name;
	const char *args;    /* as the usage line shows them: "STORE.h5 OUT.npy" */
	const char *summary;
	uint32_t    args_min, args_max;
	int       (*run)(const struct gnn_config *c);
};

GNN_BEGIN_DECLS

/* A copy of `front` and `text` in one, which lives until fini. */
int  gnn_config_keep(struct gnn_config *c, const char *front, const char *text,
	const char **kept);
void gnn_config_fini(struct gnn_config *c);

GNN_END_DECLS

#endif
