/*
 * train/there.h - a batch in the memory where it is computed on.
 *
 * Flow     batch -> [there] -> net, loss
 * Owns     device copies, which grow and are used again
 * Lends    the batch, until the next begin
 * Thread   one caller at a time
 * Fails    GNN_EOS device memory; what the backend fails with
 *
 * Unified backends compute on the batch as it is. Else seeds, labels and what the CPU prepared are
 * copied, and the device does what the table leaves to it: samples, gathers. It takes two parts,
 * each with a backend of its own, so that one batch is sampled while rows of another are brought.
 */
#ifndef GNN_TRAIN_THERE_H
#define GNN_TRAIN_THERE_H

#include "train/delivery.h"
#include "train/shelf.h"

enum { GNN_THERE_SEEDS = 4 /* named in messages */ };

struct gnn_there {
	struct gnn_sample  sample; /* pointers the backend reads */
	struct gnn_mix     mix;    /* of the sample, if it has one */
	const float       *x;
	bool               dropped; /* x is behind the net's dropout: who gathered applied it */
	const int64_t     *label;
	const uint8_t     *labels;
	float             *dy;     /* (seeds, classes) */
	uint64_t           step, seed_count;
	gnn_vid            seed[GNN_THERE_SEEDS];
	double             sample_s, collect_s, transfer_s;
	uint64_t           copied_bytes; /* of this batch, and read in place */
	uint64_t           cache_hits;   /* rows */
	struct gnn_onehop_counts bottom; /* all 0 unless the CPU aggregates */
	struct gnn_staleness staleness;  /* likewise, of a mix */
	double             shelf_wait_s; /* for the rows of hot vertices */

	struct gnn_batch  *batch;  /* what it is made of; from here on internal */
	struct gnn_sample  drawn;  /* on the device */
	struct gnn_mix     cut;    /* in host memory, where rows came late: no more are hot */
	bool               is_cut;
	struct gnn_sample  late;   /* one hop of all that are cold then */
	struct gnn_room    cut_words;
	struct gnn_room    room[GNN_BLOCKS_MAX * 7 + 22];
	struct gnn_room    id;     /* drawn ids in host memory */
	struct gnn_collect_room rows;
};

static inline struct gnn_net_input gnn_there_input(const struct gnn_there *t)
{
	return (struct gnn_net_input){&t->sample, t->x, t->step, t->dropped};
}

/* A shelf on the device. */
struct gnn_there_shelf {
	bool            there;
	uint64_t        index;
	struct gnn_room y, aggregate;
};

/* What batches are made with. */
struct gnn_there_maker {
	struct gnn_backend     *backend; /* that begins */
	struct gnn_backend     *bringer; /* that ends: the same, or another of the same device */
	const struct gnn_table *table;
	const struct gnn_net   *net;
	struct gnn_sampler     *sampler; /* of the device, or NULL: the batch has its sample; with
	                                    shelves of the last hop alone */
	struct gnn_onehop      *onehop;  /* likewise, where the CPU aggregates too */
	struct gnn_collect     *collect; /* where the device samples and the CPU gathers */
	struct gnn_delivery    *delivery; /* where the device gathers, or has a cache */
	struct gnn_shelves     *shelves; /* that hot rows come from, or NULL */
	struct gnn_sampler     *late;    /* draws where rows are late: of the bringer, or the CPU;
	                                    NULL: all are waited for */
	struct gnn_there_shelf  held[2]; /* this and the last, on the device */
};

GNN_BEGIN_DECLS

/* All but the rows; the batch must stay until the end. Both return when what they do is there. */
int  gnn_there_begin(struct gnn_there *t, struct gnn_there_maker *m, struct gnn_batch *b);
/* The rows, which end it. */
int  gnn_there_end (struct gnn_there *t, struct gnn_there_maker *m);
void gnn_there_fini(struct gnn_there *t, const struct gnn_there_maker *m);

GNN_END_DECLS

#endif
