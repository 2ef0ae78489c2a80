/*
 * train/batch.h - batches ready to train on: seeds, blocks, rows of features, labels.
 *
 * Flow     source, global step -> [batch] -> train
 * Owns     samplers, batches that circulate, with a pipeline the threads that fill them
 * Lends    batches, in the order of steps, each until put
 * Thread   next by one caller, put by one, who may be another
 * Fails    as the sampler; GNN_EOS memory or thread
 *
 * What is in a batch follows from (seed, global step) alone. Step e S + i is batch i of epoch e,
 * S batches an epoch, over the training rows in an order drawn anew for each epoch. Of several
 * ranks each has one range of a step's seeds; the last step of an epoch may leave it none.
 */
#ifndef GNN_TRAIN_BATCH_H
#define GNN_TRAIN_BATCH_H

#include "train/onehop.h"
#include "train/net.h"
#include "train/plan.h"
#include "train/source.h"

struct gnn_batch {
	uint64_t          step;
	uint64_t          seed_count;
	const gnn_vid    *seed;
	struct gnn_sample sample;  /* unless bare */
	struct gnn_mix    mix;     /* of the sample, where hot rows are made before */
	float            *x;       /* (parts id_count, dim), where rows are collected; of a mix the
	                              rows of features that its block takes */
	int64_t          *label;   /* (seed_count), or NULL: */
	uint8_t          *labels;  /* (seed_count, classes) */
	double            sample_s, collect_s;
	struct gnn_onehop_counts bottom; /* all 0 unless the CPU aggregates */
	struct gnn_room   room[3]; /* internal from here on: labels, seeds, mix */
	struct gnn_sample cold;    /* one hop of the cold rows */
	struct gnn_collect_room rows;
	uint32_t          worker;
};

struct gnn_batches_opts {
	const struct gnn_train_source *source;
	const struct gnn_net    *net;      /* which blocks are turned round; NULL: none */
	struct gnn_sampler_opts  sampler;  /* without the backend */
	uint32_t threads;                  /* where no worker prepares ahead */
	struct gnn_backend      *backend;  /* for whose sake host memory is pinned */
	uint64_t batch_size;
	uint64_t first_step, last_step;    /* [first, last) */
	uint32_t rank, ranks;              /* that divide each step's seeds; ranks 0: nobody */
	bool     collect;                  /* rows of features; else the device gathers them */
	bool     bare;                     /* seeds and labels only: the device samples; with
	                                      plans all but the last hop is there */
	uint32_t workers;                  /* that prepare ahead, one on half of `threads`, more on
	                                      a thread each; 0: none, next does it */
	const struct gnn_onehop_opts *onehop; /* the CPU aggregates; NULL: rows as they are */
	struct gnn_plans *plans;           /* which rows are made before; NULL: none are */
};

struct gnn_batches;

GNN_BEGIN_DECLS

/* Seeds of a step, of all ranks; *first: the place of the first in the epoch's order. */
uint64_t gnn_batches_seeds(const struct gnn_train_source *s, uint64_t batch_size, uint64_t step,
	uint64_t *first);
int  gnn_batches_start(struct gnn_batches **out, const struct gnn_batches_opts *o);
int  gnn_batches_next (struct gnn_batches *b, struct gnn_batch **batch); /* GNN_EOF */
void gnn_batches_put  (struct gnn_batches *b, struct gnn_batch *batch);
/* next ends with GNN_ESTOP, in another thread too. NULL is fine. */
void gnn_batches_cancel(struct gnn_batches *b);
void gnn_batches_stop (struct gnn_batches *b); /* NULL is fine; also in the middle */

GNN_END_DECLS

#endif
