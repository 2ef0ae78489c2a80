/*
 * infer/run.h - what one inference holds while it runs; private to infer, pass, seal and publish.
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
#include "infer/plan.h"
#include "infer/result.h"
#include "infer/score.h"
#include "io/folder.h"

struct gnn_run {
	const struct gnn_infer_opts *o;
	struct gnn_infer_report     *report;
	struct gnn_degrees          *degrees;
	struct gnn_plan              plan;
	struct gnn_result           *result;
	struct gnn_score            *score;
	struct gnn_folder           *folder;   /* of scratch; NULL: none is needed */
	struct gnn_layer_run         layer;
	struct gnn_kept             *input;    /* of the layer at work; NULL: the store */
	struct gnn_kept             *messages; /* of the layer at work, for its later passes */
	struct gnn_kept             *next;     /* input of the layer after it */
	struct gnn_kept             *output[GNN_LAYERS_MAX]; /* rows that wait for the result */
	float                       *finished; /* (finish_rows, widest output) */
	float                       *converted; /* (finish_rows, widest input) messages of them */
	float                       *host;     /* finished rows in host memory */
	const char                  *pinned;   /* the mapped store, or NULL */
	struct gnn_progress         *progress; /* of the layer: rows streamed, then finished */
	uint64_t                     stream_start_ns;
};

GNN_BEGIN_DECLS

/* A pass over the graph: pass `index` of layer l, all its work absorbed. */
int gnn_run_pass   (struct gnn_run *r, uint32_t l, uint32_t index);
/* The vertices whose states stand in memory become rows of the next layer and of the result. */
int gnn_run_seal   (struct gnn_run *r, uint32_t l);
int gnn_run_publish(struct gnn_run *r);

GNN_END_DECLS

#endif
