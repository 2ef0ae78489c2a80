/*
 * train/cache.h - rows of features that stay on a device, of the vertices needed most often.
 *
 * Flow     source, batches of the first epoch -> [cache] -> table
 * Owns     rows and places on the device, places in host memory
 * Lends    all of them, until close
 * Thread   constant once open
 * Fails    GNN_ECONFIG no room on the device; GNN_EOS memory; as source and sampler
 *
 * Which vertices: those that train/hot.h chooses. At most half of the device memory that is free
 * is taken; where that holds fewer rows, fewer are cached, which is said.
 */
#ifndef GNN_TRAIN_CACHE_H
#define GNN_TRAIN_CACHE_H

#include "train/hot.h"

struct gnn_cache {
	const uint32_t *place;  /* (V) on the device, GNN_NO_PLACE where it has no row */
	void           *rows;   /* (count, dim) on the device, in order of hotness */
	enum gnn_dtype  dtype;  /* of them: as stored, or floats where the table is in the store */
	uint64_t        count;
	struct gnn_hot *hot;    /* ids and places in host memory */

	struct gnn_backend *device; /* from here on internal */
	void               *there;
};

struct gnn_cache_opts {
	struct gnn_backend *device;
	double              ratio;   /* of all vertices, at most */
	enum gnn_hot_policy policy;
	const struct gnn_batches_opts *batches; /* of the training */
	struct gnn_comm    *comm;    /* as for train/hot.h; NULL: one rank alone */
};

GNN_BEGIN_DECLS

int  gnn_cache_open (struct gnn_cache **out, const struct gnn_cache_opts *o);
void gnn_cache_close(struct gnn_cache *c); /* NULL is fine */

GNN_END_DECLS

#endif
