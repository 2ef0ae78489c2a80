/*
 * infer/opts.h - what an inference is asked for, and what it reports.
 *
 * Flow     cmd -> [opts] -> infer and its parts -> [report] -> cmd
 * Owns     nothing; everything is borrowed for the run
 * Lends    nothing
 * Thread   constant during the run; the report is filled by its one caller
 * Fails    never
 */
#ifndef GNN_INFER_OPTS_H
#define GNN_INFER_OPTS_H

#include "io/store.h"
#include "layer/model.h"

enum { GNN_LAYERS_MAX = 64, GNN_RELOADED_BINS = 16 };
enum gnn_metric { GNN_METRIC_AUTO, GNN_METRIC_ACCURACY, GNN_METRIC_ROCAUC, GNN_METRIC_F1 };

enum gnn_plan_kind {
	GNN_PLAN_AUTO,
	GNN_PLAN_RESIDENT,
	GNN_PLAN_PARTITIONED,
	GNN_PLAN_TIERED,
	GNN_PLAN_KINDS
};

#define GNN_STORE_MIN UINT64_MAX /* a store of the smallest legal size */

/* An option that changes the result, for --resume to compare. */
struct gnn_option_fact {
	const char *name, *value;
};

struct gnn_share; /* infer/share.h */
struct gnn_comm;  /* mpi/comm.h */

struct gnn_infer_opts {
	struct gnn_store    *store;
	struct gnn_comm     *comm;  /* the ranks that work together; NULL: this one is alone */
	const struct gnn_share *share; /* set inside: of several ranks; `store` then is its view */
	struct gnn_model    *model;
	struct gnn_backend  *backend;
	bool                 devices_shared; /* by several ranks: no link between them can be */
	const char          *out_path;
	const char          *model_path;  /* of the weights; NULL: there are none */
	const struct gnn_option_fact *fact; /* (fact_count) */
	uint32_t             fact_count;
	bool                 resume;
	double               seal_after_s; /* of work: with less to lose rows stay unsealed */
	bool                 explain;     /* plans and predicts; does not run */
	const char          *scratch;     /* folder for the run's own; NULL: beside the output */
	enum gnn_plan_kind   plan;
	uint32_t             shards;      /* 0: as many as the budgets want */
	int                  evict;       /* enum gnn_evict_policy, of the tiered plan */
	uint64_t             seed;        /* of samples, and of evictions at random */
	uint64_t             hot_store;   /* bytes of its states in host memory; 0: what is free */
	/* The same of a device's memory; of a unified backend: of hot_store for pinned hubs. */
	uint64_t             gpu_store;
	uint64_t             graduation_bytes; /* of states that are finished at once; 0: chosen */
	uint64_t             gpu_memory;  /* device budget; 0: what is free */
	uint64_t             chunk_bytes; /* a ceiling; at least one panel */
	uint32_t             threads;     /* that draw; of the CPU backend: they have scratch */
	uint32_t             queue_depth; /* chunks read ahead */
	bool                 verify_reads;
	bool                 predict;     /* also /prediction */
	bool                 save_layers; /* also /layer/<l>, hidden layers from 1 */
	bool                 inner;       /* the ranks go on together when a signal stops it */
	bool                 raw;         /* rows in the store's order, not scored: for training */
	enum gnn_metric      metric;
	enum gnn_dio_engine  engine;
	const char          *provenance;
};

struct gnn_layer_report {
	const char *plan;          /* "resident", "partitioned", "tiered" */
	uint32_t    shards;        /* passes that combine, one a range of destinations */
	const char *message_order; /* "transform-first", "aggregate-first" */
	uint32_t    message_dim;
	double      wall_s;
	uint64_t    read_bytes, written_bytes;
	uint64_t    messages;      /* own rows included */
	uint64_t    exchanged_rows; /* that ranks sent each other */
	double      peer_wait_s;   /* of this rank's host, for rows of others */
	/* Tiered: rows that left the store in memory, came back, and what that cost the disk. */
	uint64_t    evictions, reloads, cold_written_bytes, cold_read_bytes;
	uint64_t    hot_rows, cold_rows; /* of the stores in memory, and spilled at once at most */
	uint64_t    pinned_vertices, pinned_messages;
	uint64_t    pairs, pinned_pairs; /* (work item, destination) */
	uint64_t    reloaded_vertices[GNN_RELOADED_BINS]; /* 1, 2, ... times; with metrics only */
	uint32_t    state_dim;
	uint64_t    state_bytes, score_bytes, row_bytes; /* planned; rows kept in memory */
	uint64_t    host_store_bytes; /* of states below those of a device */
	uint64_t    buffer_bytes, device_buffer_bytes;
	uint64_t    predicted_read_bytes, predicted_written_bytes;
	double      predicted_s;
	uint64_t    predicted_evictions, predicted_reloads;
};

struct gnn_infer_report {
	bool     resumed, finished_before; /* went on; had nothing left to do */
	double   startup_s, stream_s, feature_s, wall_s;
	uint64_t read_bytes, written_bytes, feature_bytes;
	uint64_t peak_host_bytes, peak_device_bytes;
	const char *plan;
	uint64_t host_budget_bytes, device_budget_bytes; /* left for the plan; UINT64_MAX: none */
	uint64_t plan_host_bytes, plan_device_bytes;     /* at the plan's peak */
	double   read_bytes_s, write_bytes_s;            /* of the disk, as measured */
	uint64_t predicted_read_bytes, predicted_written_bytes;
	double   predicted_s;
	/* Of layer 0's: features of another order, brought into that of the vertices. */
	uint64_t permute_read_bytes, permute_written_bytes;
	double   permute_s;
	uint64_t predicted_permute_read_bytes, predicted_permute_written_bytes;
	bool     permutes_messages; /* message rows are, else the features themselves */
	uint32_t permute_width;     /* items of such a row */
	const char *other_plan;              /* that was thought of and dearer, or NULL */
	double   other_predicted_s;
	uint64_t reorder_saves_bytes;        /* with --explain: at most, read and written */
	double   reorder_saves_s;            /* at the rates of the disk */
	uint64_t reorder_costs_bytes;        /* with --explain: once, at least */
	double   reorder_costs_s;
	uint64_t reorder_keep_costs_bytes;   /* where features stay as they are: once, */
	uint64_t reorder_keep_bytes;         /* and each run more than where they do not */
	double   reorder_keep_s;
	const char *metric;                  /* "accuracy" ..., NULL without labels or splits */
	double   score[GNN_SPLIT_COUNT];     /* NaN where there is no such split */
	uint32_t layer_count;
	struct gnn_layer_report layer[GNN_LAYERS_MAX];
};

#endif
