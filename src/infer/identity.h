/*
 * infer/identity.h - what a run must have been started with to be gone on with.
 *
 * Flow     store, model, options -> [identity] -> manifest, result
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EDATA, GNN_ENOENT reading; GNN_ECONFIG from compare: names what changed
 */
#ifndef GNN_INFER_IDENTITY_H
#define GNN_INFER_IDENTITY_H

#include "infer/manifest.h"

enum { GNN_RUN_ID_BYTES = 17 };

GNN_BEGIN_DECLS

/* Facts: program, hashes of store and model, options that change the result. */
int  gnn_identity_collect(struct gnn_manifest *m, const struct gnn_infer_opts *o);
int  gnn_identity_compare(const struct gnn_manifest *then, const struct gnn_manifest *now);
/* Whether the options ask for the plan of then, and for its shards. */
int  gnn_identity_same_plan  (const struct gnn_manifest *then, const struct gnn_infer_opts *o);
int  gnn_identity_same_shards(const struct gnn_manifest *then, const struct gnn_infer_opts *o);
/* One number of all facts, in hexadecimal. */
void gnn_identity_id(const struct gnn_manifest *m, char id[GNN_RUN_ID_BYTES]);
/* Whether the output is there, published by a run of this identity. */
bool gnn_identity_is_done(const struct gnn_infer_opts *o, const char *id);

GNN_END_DECLS

#endif
