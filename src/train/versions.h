/*
 * train/versions.h - the first layer's weights as they were after each of the last updates.
 *
 * Flow     trainer's weights -> publish -> [versions] -> read -> embeddings; -> checkpoint
 * Owns     2 n copies of the layer's weights in host memory, n the super-batch
 * Lends    nothing
 * Thread   one publishes and saves; one reads
 * Fails    GNN_EOS memory; GNN_ESTOP from wait after a cancel
 *
 * Version v is what v updates made. In super-batch k those of k - 1 and k are wanted, which is
 * what a checkpoint keeps: version v at v mod 2 n.
 */
#ifndef GNN_TRAIN_VERSIONS_H
#define GNN_TRAIN_VERSIONS_H

#include "train/net.h"

struct gnn_versions;

/* Versions [first, first + count), one behind the other. */
struct gnn_history {
	float   *data;
	uint64_t first, count, floats; /* floats of each */
};

GNN_BEGIN_DECLS

/* `last`: no later version is published. */
int  gnn_versions_create (struct gnn_versions **out, struct gnn_net *n, struct gnn_backend *b,
	uint64_t super_batch, uint64_t last);
void gnn_versions_destroy(struct gnn_versions *v); /* NULL is fine */
/* Weights of the net as version `version`, the one behind the last. */
int  gnn_versions_publish(struct gnn_versions *v, uint64_t version);
int  gnn_versions_wait   (struct gnn_versions *v, uint64_t version); /* until it is made */
/* Copies one that is into a net of the same shape on a CPU; GNN_SKIPPED: none of the last 2 n. */
int  gnn_versions_read   (struct gnn_versions *v, uint64_t version, struct gnn_net *to,
	uint64_t *is);
void gnn_versions_cancel (struct gnn_versions *v);
/* What training goes on from at `step`, without version `step` itself; freed by the caller. */
int  gnn_versions_save   (struct gnn_versions *v, uint64_t step, struct gnn_history *h);
/* Before the first publish: the reverse. GNN_EDATA not what step `step` needs. */
int  gnn_versions_load   (struct gnn_versions *v, uint64_t step, const struct gnn_history *h);

GNN_END_DECLS

#endif
