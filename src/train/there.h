/*
 * train/there.h - a batch where the backend computes: lent as it is, or copied to the device.
 *
 * Flow     batch -> [there] -> net, loss
 * Owns     device copies, which grow and are used again
 * Lends    the batch, until the next put
 * Thread   one caller
 * Fails    GNN_EOS device memory; what the backend fails with
 *
 * Rows of features come with the batch, gathered by the CPU, or the device gathers them: from a
 * copy of the whole table in its memory, or from pinned host memory in place (zero-copy).
 */
#ifndef GNN_TRAIN_THERE_H
#define GNN_TRAIN_THERE_H

#include "train/batch.h"
#include "train/net_parts.h"

enum gnn_gather { GNN_GATHER_STAGED, GNN_GATHER_ZERO_COPY, GNN_GATHER_RESIDENT };

struct gnn_there {
	struct gnn_sample  sample; /* pointers the backend reads */
	const float       *x;
	const int64_t     *label;
	const uint8_t     *labels;
	float             *dy;     /* (seeds, classes) */
	uint64_t           copied_bytes; /* so far */

	struct gnn_backend      *backend; /* from here on internal */
	const struct gnn_train_source *source;
	enum gnn_gather     gather;
	const void         *table; /* that the device reads */
	void               *table_copy;
	bool                pinned;
	struct gnn_buffer   buffer[GNN_BLOCKS_MAX * 7 + 4];
};

GNN_BEGIN_DECLS

/* `wanted` holds unless is_auto; t->gather is what is done. Zeroed `t`. */
int  gnn_there_init(struct gnn_there *t, struct gnn_backend *b, const struct gnn_train_source *s,
	bool is_auto, enum gnn_gather wanted);
int  gnn_there_put (struct gnn_there *t, const struct gnn_batch *batch);
void gnn_there_fini(struct gnn_there *t);
const char *gnn_gather_name(enum gnn_gather g);

GNN_END_DECLS

#endif
