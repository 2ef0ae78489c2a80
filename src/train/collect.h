/*
 * train/collect.h - rows for a list of vertices, gathered by the CPU as floats.
 *
 * Flow     ids -> [collect] -> rows in host memory, pinned for a device
 * Owns     a CPU backend, what reads rows from the store
 * Lends    the rows, until the next into the same room
 * Thread   one caller
 * Fails    GNN_EIO reading; GNN_EOS memory
 *
 * Rows of features; over a bottom (train/bottom.h) rows of aggregates, and where the layer takes
 * them features behind all of those. They come from the table in memory, or from the files.
 */
#ifndef GNN_TRAIN_COLLECT_H
#define GNN_TRAIN_COLLECT_H

#include "train/room.h"
#include "train/source.h"

struct gnn_fetch;

struct gnn_collect {
	const struct gnn_train_source *source;
	struct gnn_backend *cpu;    /* that samples too */
	struct gnn_backend *device; /* that copies from the rows */
	struct gnn_fetch   *fetch;  /* of features that are not in memory */
	struct gnn_fetch   *bottom; /* of aggregates that are not */
};

struct gnn_collect_room {
	struct gnn_room room;
	bool            pinned;
};

GNN_BEGIN_DECLS

/* Zeroed `c`; on failure fini it all the same. */
int  gnn_collect_init(struct gnn_collect *c, const struct gnn_train_source *s,
	struct gnn_backend *device, uint32_t threads);
/* *x: (gnn_source_parts x count, dim) in the room. */
int  gnn_collect_rows(struct gnn_collect *c, const gnn_vid *id, uint64_t count,
	struct gnn_collect_room *to, float **x);
/* Room for so many floats; (count, dim) rows of features into `to`. */
int  gnn_collect_take(struct gnn_collect *c, struct gnn_collect_room *to, uint64_t floats);
int  gnn_collect_features(struct gnn_collect *c, const gnn_vid *id, uint64_t count, float *to);
void gnn_collect_free(struct gnn_collect *c, struct gnn_collect_room *room);
void gnn_collect_fini(struct gnn_collect *c);

GNN_END_DECLS

#endif
