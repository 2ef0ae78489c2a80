/*
 * train/embed.h - rows of the first layer for a list of vertices, made by the CPU.
 *
 * Flow     ids, a version of the weights -> [embed] -> rows behind the activation, aggregates
 * Owns     a net, what draws and collects one hop
 * Lends    nothing
 * Thread   one caller
 * Fails    as sampler, collect and net; GNN_EOS memory
 *
 * The hop and the dropout are those of step `version`, so that rows depend on (seed, version, its
 * weights) alone. Dropout falls on the aggregate (gat: on every row). A gin layer normalises by its
 * running moments, and drops nothing.
 */
#ifndef GNN_TRAIN_EMBED_H
#define GNN_TRAIN_EMBED_H

#include "train/onehop.h"
#include "train/versions.h"

struct gnn_embed_opts {
	const struct gnn_train_source *source;
	struct gnn_backend  *device;       /* of the training */
	struct gnn_net_shape shape;
	double               dropout;
	struct gnn_sampler_opts sampler;   /* of the training, on lists in host memory */
	uint32_t             threads;
	bool                 aggregates;   /* wanted too: gcn and sage */
};

struct gnn_embed;

GNN_BEGIN_DECLS

int  gnn_embed_create (struct gnn_embed **out, const struct gnn_embed_opts *o);
void gnn_embed_destroy(struct gnn_embed *e); /* NULL is fine */
struct gnn_net     *gnn_embed_net    (struct gnn_embed *e); /* whose first layer is used */
struct gnn_collect *gnn_embed_collect(struct gnn_embed *e);
uint32_t gnn_embed_width(const struct gnn_embed *e);
/*
 * `count` rows into y (count, width); aggregates, where wanted, into part p's rows at
 * aggregate + p pitch. Adds to `counts`.
 */
int  gnn_embed_rows(struct gnn_embed *e, const gnn_vid *id, uint64_t count, uint64_t version,
	float *y, float *aggregate, uint64_t pitch, struct gnn_onehop_counts *counts);

GNN_END_DECLS

#endif
