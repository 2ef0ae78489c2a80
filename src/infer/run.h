/*
 * infer/run.h - what one inference holds while it runs; private to infer and its leaves.
 *
 * Flow     infer -> [run] -> its leaves
 * Owns     plan, states, kept rows, scratch folder, result
 * Lends    nothing
 * Thread   one caller
 * Fails    as its parts
 */
#ifndef GNN_INFER_RUN_H
#define GNN_INFER_RUN_H

#include "base/progress.h"
#include "infer/identity.h"
#include "infer/jump.h"
#include "infer/plan.h"
#include "infer/regroup.h"
#include "infer/result.h"
#include "infer/sampling.h"
#include "infer/score.h"
#include "io/folder.h"
#include "tier/inlists.h"

struct gnn_tiered;

struct gnn_run {
	const struct gnn_infer_opts *o;
	struct gnn_infer_report     *report;
	struct gnn_degrees          *degrees;
	uint64_t                     fanout[GNN_LAYERS_MAX];
	struct gnn_sampling         *sampling; /* NULL: every in-edge is used */
	struct gnn_plan              plan;
	struct gnn_result           *result;
	struct gnn_score            *score;
	struct gnn_folder           *folder;   /* of scratch; NULL: none is needed */
	struct gnn_layer_run         layer;
	struct gnn_tiered           *tiered;   /* the layer's stores, in the tiered plan */
	struct gnn_inlists           inlists;  /* for eviction by next use */
	struct gnn_kept             *input;    /* of the layer at work; NULL: the store */
	struct gnn_kept             *messages; /* of the layer at work, for its later passes */
	struct gnn_kept             *next;     /* input of the layer after it */
	struct gnn_kept             *output[GNN_LAYERS_MAX]; /* rows that wait for the result */
	struct gnn_jump_run          jump;
	float                       *finished; /* (finish_rows, widest output) */
	float                       *converted; /* (finish_rows, widest input) messages of them */
	float                       *host;     /* finished rows in host memory */
	const char                  *pinned;   /* the mapped store, or NULL */
	struct gnn_progress         *progress; /* of the layer: rows streamed, then finished */
	uint64_t                     bounce_floats; /* room of `host` */
	uint64_t                     chunk_bytes;   /* asked for, by the first of the processes */
	uint64_t                     stream_start_ns, sealed_ns; /* the last point to go on from */
	/* Where the run is, and what of it lies in scratch. */
	struct gnn_position          at;       /* the first thing that is not done */
	struct gnn_manifest          facts;    /* of this process */
	struct gnn_manifest          recalled; /* the manifest in force */
	bool                         resuming; /* until the first layer is open again */
	struct gnn_regroup          *regroup;  /* what other ranks have left; NULL: nothing */
	bool                         has_manifest;
	uint64_t                     copy_number; /* of the last copies of memory */
	uint64_t                     copied_bytes; /* by them, in the layer at work */
};

/* Information: a signal wants the run to stop; r->at says where it is. */
enum { GNN_STOPPED = 3 };

GNN_BEGIN_DECLS

/* Loads, plans, takes memory. GNN_SKIPPED when an earlier run has done all of it. */
int gnn_run_open(struct gnn_run *r);
/* Degrees, plan and what it will take, and what the plan wants to know of the graph. */
int gnn_run_plan(struct gnn_run *r);
int gnn_run_need_folder(struct gnn_run *r); /* of scratch */
/* Whether states of the passes in front of the sums go on: rows of h stand beside them. */
bool gnn_run_keeps_states(const struct gnn_run *r, uint32_t l);
/* The rows that the layer at work takes: of the store, or what the layer before it left. */
struct gnn_rows gnn_run_input(const struct gnn_run *r);
/*
 * Features of another order into r->input, open and empty or gone on with, from r->at.row on; see
 * permute.h. GNN_STOPPED.
 */
int gnn_run_permute(struct gnn_run *r);
/* The states that pass `index` of layer l fills, empty. */
int gnn_run_begin_pass(struct gnn_run *r, uint32_t l, uint32_t index);
/* The pass from r->at.row on: a reading of the graph, all its work absorbed. GNN_STOPPED. */
int gnn_run_pass   (struct gnn_run *r, uint32_t l, uint32_t index);
/*
 * The vertices whose states stand in memory become rows of the next layer and of the result, from
 * r->at.row on. GNN_STOPPED.
 */
int gnn_run_seal   (struct gnn_run *r, uint32_t l);
int gnn_run_publish(struct gnn_run *r);

/* Brings what is kept to the disk, and writes the manifest. */
int gnn_run_checkpoint(struct gnn_run *r, const struct gnn_position *at);
/* Takes r->at and r->recalled from the manifest, once compared; GNN_SKIPPED without one. */
int gnn_run_recall (struct gnn_run *r);
/* Of several ranks: all go on from the same point, or all begin anew. */
int gnn_run_agree_recalled(struct gnn_run *r);
/* Rows and states stand in the stores of a tiered layer at the position: tiered.h keeps them. */
bool gnn_run_has_stores(const struct gnn_run *r, const struct gnn_position *at);
/* A file of the checkpoint that is being written, which others replace; and what the last holds. */
int gnn_run_create_copy(struct gnn_run *r, struct gnn_rowfile **out, const char *label,
	uint64_t rows, uint64_t row_bytes);
int gnn_run_seal_copy  (struct gnn_run *r, struct gnn_rowfile *f, struct gnn_manifest *m);
int gnn_run_open_copy  (struct gnn_run *r, struct gnn_rowfile **out, const char *label,
	uint64_t row_bytes);
/* Kept rows of this label go on where the manifest says, when there are any. */
void gnn_run_reopen(const struct gnn_run *r, struct gnn_kept_opts *o, const char *label);
/* Memory of the backend as it was at the position. */
int gnn_run_restore(struct gnn_run *r, const struct gnn_position *at);

GNN_END_DECLS

#endif
