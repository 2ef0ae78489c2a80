/*
 * train/sampler.h - the blocks of a batch: which in-edges of which vertices take part.
 *
 * Flow     seeds, step -> [sampler] -> ids, blocks, in memory of the backend that draws them
 * Owns     a row number a vertex, lists of the hop at work
 * Lends    nothing
 * Thread   one caller, who has the backend for himself
 * Fails    GNN_ECONFIG a batch too large for its row numbers; GNN_EOS memory
 *
 * A sample depends on (seed, global step, hop, vertex) alone: not on threads, nor on the backend,
 * nor on who asks. op/hop.h says what is drawn; with a dependency of n labor's numbers stay for n
 * steps.
 */
#ifndef GNN_TRAIN_SAMPLER_H
#define GNN_TRAIN_SAMPLER_H

#include "train/mix.h"

#define GNN_FANOUT_ALL UINT64_MAX

struct gnn_sampler_opts {
	struct gnn_backend     *backend;    /* that draws */
	const struct gnn_lists *lists;      /* as it reads them; kept by address */
	struct gnn_edge_rule    rule;
	enum gnn_sampling       sampling;
	uint64_t                dependency; /* steps, at least 1 */
	uint32_t                layers;
	const uint64_t         *fanout;     /* (layers), the seeds' hop first; copied */
	uint32_t                first_hop;  /* that the seeds' hop is drawn as; 0: they are seeds */
	bool                    bare;       /* the bottom layer's rows come aggregated: no hop */
	uint64_t                seed;
};

/* One batch. Block l is of layer l, 0 at the features; its rows are the first src_count ids. */
struct gnn_sample {
	uint32_t         layers;
	uint64_t         id_count; /* block[0].src_count */
	gnn_vid         *id;
	struct gnn_block block[GNN_BLOCKS_MAX];
	const struct gnn_mix *mix; /* in place of block[0], which is bare; NULL: none; lent */
	struct gnn_room  room;
};

struct gnn_sampler;

GNN_BEGIN_DECLS

int  gnn_sampler_create (struct gnn_sampler **out, const struct gnn_sampler_opts *o);
/* Of the last hop alone: one layer, whose seeds are the bottom's destinations. */
int  gnn_sampler_create_last(struct gnn_sampler **out, const struct gnn_sampler_opts *net);
/* Seeds are distinct. `to` is used again from draw to draw. */
int  gnn_sampler_draw   (struct gnn_sampler *s, const gnn_vid *seeds, uint64_t count,
	uint64_t step, struct gnn_sample *to);
void gnn_sampler_destroy(struct gnn_sampler *s); /* NULL is fine */
void gnn_sample_fini    (struct gnn_sample *s);

GNN_END_DECLS

#endif
