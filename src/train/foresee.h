/*
 * train/foresee.h - the memory that batches and layers will take, before the first step.
 *
 * Flow     batches, net -> [foresee] -> prepare, evaluate
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller; check is collective
 * Fails    GNN_EOS they would not fit: what is wanted, there, and would suffice; as sampler
 *
 * The first batch is drawn on the CPU, its rows and edges are counted; every array that it, those
 * prepared beside it, and a forward and backward pass take is then known, a quarter more each as
 * they grow. Fanouts, batch size, widths, depth, pipeline and super-batches are all in that. What
 * weights and moments take is not: they are allocated before.
 */
#ifndef GNN_TRAIN_FORESEE_H
#define GNN_TRAIN_FORESEE_H

#include "train/hot.h"
#include "train/net_load.h"

struct gnn_foresee_opts {
	const struct gnn_batches_opts *batches; /* as the training takes them */
	struct gnn_comm       *comm;     /* ranks that give up together; NULL: one alone */
	const struct gnn_hot  *hot;      /* of embeddings, else NULL */
	uint64_t               super_batch;
	bool                   pipeline;
	bool                   layerwise; /* the CPU aggregates the bottom layer */
	bool                   mixed;     /* embeddings of hot vertices */
	bool                   late;      /* which may be late, and are drawn then */
	bool                   samples;   /* a device may have to */
	bool                   gathers;   /* a device does, and drops what it gathers */
};

struct gnn_foreseen {
	uint64_t seeds, rows, edges; /* of the batch that was drawn */
	uint64_t batches;            /* bytes of all that are there at a time */
	uint64_t layers;             /* bytes of a step */
	uint64_t others;             /* samplers, shelves, strips, scratch, copies of the state */
	struct gnn_net_load load;    /* what `layers` is of */
};

GNN_BEGIN_DECLS

/* In the memory of the batches' backend, with so many seeds in a step of all ranks. */
int  gnn_foresee(struct gnn_foreseen *f, const struct gnn_foresee_opts *o, uint64_t batch_size);
/* The same for the batches' own size, refused where it is more than is left. */
int  gnn_foresee_check(struct gnn_foreseen *f, const struct gnn_foresee_opts *o);
/* Bytes still to be had on a device, or for a backend of host memory of the host. */
uint64_t gnn_foresee_room(const struct gnn_backend *b);

GNN_END_DECLS

static inline uint64_t gnn_foreseen_bytes(const struct gnn_foreseen *f)
{
	return f->batches + f->layers + f->others;
}

#endif
