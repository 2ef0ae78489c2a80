/*
 * train/cache.h - rows of features that stay on a device, of the vertices needed most often.
 *
 * Flow     source, batches of the first epoch -> [cache] -> table
 * Owns     rows and places on the device, places in host memory
 * Lends    all of them, until close
 * Thread   constant once open, but for settle, by who brings rows; want and room by any
 * Fails    GNN_ECONFIG no room on the device; GNN_EOS memory; as source and sampler
 *
 * A cache of a worklist begins empty: rows are sent when they are wanted, the least hot first,
 * between two batches.
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
	struct gnn_hot *hot;    /* ids and places in host memory, of those that are sent */

	struct gnn_backend *device; /* from here on internal */
	void               *there;
	const struct gnn_train_source *source;
	uint64_t            capacity;
	uint64_t            wanted; /* by atomic access */
	uint32_t            threads;
};

struct gnn_cache_opts {
	struct gnn_backend *device;
	double              ratio;   /* of all vertices, at most */
	enum gnn_hot_policy policy;
	const struct gnn_batches_opts *batches; /* of the training */
	struct gnn_comm    *comm;    /* as for train/hot.h; NULL: one rank alone */
	const struct gnn_hot *worklist; /* in place of ratio and policy; NULL: none */
	uint64_t            reserve; /* bytes of the device that batches and layers will take */
};

GNN_BEGIN_DECLS

int  gnn_cache_open (struct gnn_cache **out, const struct gnn_cache_opts *o);
/* So many of the worklist, as far as there is room. */
void gnn_cache_want  (struct gnn_cache *c, uint64_t count);
uint64_t gnn_cache_room(const struct gnn_cache *c); /* rows that may be wanted still */
/* Sends what is wanted. */
int  gnn_cache_settle(struct gnn_cache *c);
void gnn_cache_close(struct gnn_cache *c); /* NULL is fine */

GNN_END_DECLS

#endif
