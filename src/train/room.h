/*
 * train/room.h - a block of memory that grows when asked for more, and is used again.
 *
 * Flow     sampler, block, batch -> [room]
 * Owns     the block
 * Lends    the block, until the next take or fini
 * Thread   one caller
 * Fails    GNN_EOS memory
 */
#ifndef GNN_TRAIN_ROOM_H
#define GNN_TRAIN_ROOM_H

#include "base/mem.h"
#include "op/backend.h"

struct gnn_room {
	void    *data;
	uint64_t bytes;
	struct gnn_backend *backend; /* whose memory it is; NULL: the host's */
};

static inline void gnn_room_fini(struct gnn_room *r)
{
	if (r->backend != NULL)
		r->backend->ops->free(r->backend, r->data);
	else
		gnn_mem_free(r->data);
	r->data = NULL;
	r->bytes = 0;
	r->backend = NULL;
}

/* Room for `count` items of a backend, their contents undefined; a quarter more where it grows. */
static inline int gnn_room_take_on(struct gnn_room *r, struct gnn_backend *b, uint64_t count,
	uint64_t item_bytes)
{
	const uint64_t bytes = gnn_max_u64(count * item_bytes, 1), more = bytes + bytes / 4;
	int rc;

	if (bytes <= r->bytes)
		return GNN_OK;
	gnn_room_fini(r);
	rc = b != NULL ? b->ops->alloc(b, &r->data, more)
		: gnn_mem_pages(&r->data, more, GNN_MEM_STATE);
	if (rc != GNN_OK)
		return rc;
	r->bytes = more;
	r->backend = b;
	return rc;
}

static inline int gnn_room_take(struct gnn_room *r, uint64_t count, uint64_t item_bytes)
{
	return gnn_room_take_on(r, NULL, count, item_bytes);
}

#endif
