/*
 * train/opts.h - what a training is asked for, and what it reports.
 *
 * Flow     cmd -> [opts] -> train and its parts -> [report] -> cmd
 * Owns     nothing; everything is borrowed for the run, but the report owns its epochs
 * Lends    nothing
 * Thread   constant during the run; the report is filled by its one caller
 * Fails    never
 */
#ifndef GNN_TRAIN_OPTS_H
#define GNN_TRAIN_OPTS_H

#include "infer/opts.h"
#include "train/optim.h"
#include "train/sampler.h"
#include "train/hot.h"
#include "train/shelf.h"
#include "train/table.h"

/* What of hot vertices is used again over a super-batch. */
enum gnn_reuse { GNN_REUSE_OFF, GNN_REUSE_AGGREGATES, GNN_REUSE_EMBEDDINGS, GNN_REUSE_AUTO };

struct gnn_train_opts {
	struct gnn_store     *store;
	struct gnn_comm      *comm;       /* ranks that train together; NULL: one alone */
	struct gnn_backend   *backend;
	bool                  devices_shared; /* by several ranks */
	uint32_t              threads;
	const char           *out_path, *last_path; /* best and last model */
	const char           *checkpoint;           /* a folder */
	const char           *scratch;    /* folder; NULL: beside the checkpoint */
	bool                  resume;
	const char           *settings;   /* "key=value\n" of what a checkpoint must agree with */
	struct gnn_net_shape  shape;      /* without dim_in and the width of the last layer */
	double                dropout;
	enum gnn_sampling     sampling;
	uint64_t              dependency;
	uint64_t              fanout[GNN_NET_LAYERS_MAX];
	uint64_t              batch_size, epochs;
	struct gnn_optim_opts optim;
	uint64_t              eval_every, patience; /* epochs; patience 0: no end */
	enum gnn_metric       metric;
	bool                  pipeline;
	struct gnn_table_wish device;     /* who gathers and who samples */
	double                cache_ratio; /* of the vertices, whose rows stay on the device */
	enum gnn_hot_policy   cache_policy;
	bool                  precomputed; /* aggregates of the bottom layer */
	bool                  layerwise;   /* the CPU aggregates the bottom layer of each batch */
	enum gnn_reuse        reuse;       /* auto: settled with layerwise by train/ways.h */
	enum gnn_hybrid_mode  hybrid;
	const char           *hybrid_log;  /* written, or replayed */
	enum gnn_late_mode    late;
	const char           *late_log;    /* likewise */
	bool                  hot_backward; /* embeddings give a gradient, by their aggregates */
	uint64_t              super_batch; /* steps */
	double                hot_ratio;
	enum gnn_hot_policy   hot_policy;
	uint64_t              seed;
};

/* 8 bytes each: the checkpoint keeps them as they are. */
struct gnn_epoch_report {
	uint64_t epoch;         /* from 1 */
	double   loss;          /* mean over the epoch's training vertices */
	double   train, valid, test; /* NaN: not evaluated, or no such split */
	double   wall_s, sample_s, collect_s, transfer_s, compute_s, eval_s;
	uint64_t input_vertices, h2d_bytes, cache_hits;
	double   cpu_embed_s;   /* layerwise, as are: */
	uint64_t aggregated, reused; /* vertices of the bottom layer, by the CPU and from before */
	uint64_t max_sample_age; /* steps since the oldest that was reused was drawn */
	double   idle_s;         /* the trainer waited for its next batch */
	uint64_t cpu_hot;        /* hybrid: hot vertices left to the CPU */
	struct gnn_staleness staleness; /* of embeddings */
	double   max_weight_change;
	double   loss_sum;      /* so far */
	uint64_t counted;
};

/* A way of making batches that was tried (train/ways.h). */
struct gnn_way_seen {
	const char    *orchestration;
	enum gnn_reuse reuse;
	bool           samples;  /* the device did */
	double         step_s;
};

enum { GNN_WAYS_SEEN_MAX = 6 };

struct gnn_ways_seen {
	struct gnn_way_seen way[GNN_WAYS_SEEN_MAX];
	uint32_t count, chosen; /* count 0: there was one way only */
};

struct gnn_train_report {
	const char *metric;     /* NULL without a split to evaluate */
	struct gnn_epoch_report *epoch; /* freed by the caller */
	uint64_t    epoch_count;
	uint64_t    best;       /* place in epoch */
	uint64_t    steps_an_epoch, train_count;
	uint64_t    weights;
	double      wall_s;
	bool        stopped_early;
	enum gnn_gather gather; /* done */
	double      gather_share; /* of both: in place */
	uint64_t    cache_rows;
	bool        samples;    /* the device did */
	bool        layerwise;  /* settled, as is: */
	enum gnn_reuse reuse;
	struct gnn_ways_seen ways; /* what was measured for that */
	uint64_t    row_bytes;  /* gathered for one vertex */
	bool        bottom_made; /* precomputed, in this run */
	double      bottom_s;
	uint64_t    bottom_read_bytes;
};

#endif
