/*
 * infer/regroup.h - sealed layers that another number of ranks has left in its scratch folders.
 *
 * Flow     scratch of those ranks -> [regroup] -> kept rows of these
 * Owns     the manifests of those ranks
 * Lends    nothing
 * Thread   one caller: find is collective, in one order on all ranks
 * Fails    GNN_ECONFIG folders that a rank does not see, another model or options, nothing sealed
 *          that these ranks could go on from; GNN_EDATA, GNN_EIO reading
 *
 * A layer's input lies there whole while the layer is at work, cut by the ranges of those ranks.
 * Each of these copies what its own range needs into a folder of its own: what was done within the
 * layer is done once more. Folders carry the number of ranks in their names, so that those of
 * before stay until these have a manifest.
 */
#ifndef GNN_INFER_REGROUP_H
#define GNN_INFER_REGROUP_H

#include "infer/kept.h"
#include "infer/manifest.h"

struct gnn_regroup;

enum { GNN_SCRATCH_PATH_BYTES = 4096 };

GNN_BEGIN_DECLS

/* The scratch folder of rank `rank` of `ranks`; GNN_ECREAT its name is too long. */
int  gnn_regroup_folder(const struct gnn_infer_opts *o, uint32_t rank, uint32_t ranks,
	char path[GNN_SCRATCH_PATH_BYTES]);

/* NULL in *out where no other number of ranks has left anything to go on from. */
int  gnn_regroup_find(struct gnn_regroup **out, const struct gnn_infer_opts *o,
	const struct gnn_manifest *facts);
enum gnn_plan_kind gnn_regroup_plan(const struct gnn_regroup *g);
uint32_t gnn_regroup_layer(const struct gnn_regroup *g); /* the first that is not sealed */
uint64_t gnn_regroup_messages(const struct gnn_regroup *g, uint32_t layer); /* of all of them */
/* The rows of this rank's range, of those that this was there; k is new, and is finished. */
int  gnn_regroup_take(struct gnn_regroup *g, struct gnn_kept *k);
uint64_t gnn_regroup_read_bytes(const struct gnn_regroup *g);
void gnn_regroup_destroy(struct gnn_regroup *g); /* NULL is fine */

/* Folders of other numbers of ranks go. */
int  gnn_regroup_sweep(const struct gnn_infer_opts *o);

GNN_END_DECLS

#endif
