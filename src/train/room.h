/*
 * train/room.h - a block of host memory that grows when asked for more, and is used again.
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

struct gnn_room {
	void    *data;
	uint64_t bytes;
};

/* Room for `count` items, their contents undefined; a quarter more where it grows. */
static inline int gnn_room_take(struct gnn_room *r, uint64_t count, uint64_t item_bytes)
{
	const uint64_t bytes = gnn_max_u64(count * item_bytes, 1);
	int rc;

	if (bytes <= r->bytes)
		return GNN_OK;
	gnn_mem_free(r->data);
	r->bytes = 0;
	rc = gnn_mem_pages(&r->data, bytes + bytes / 4, GNN_MEM_STATE);
	if (rc == GNN_OK)
		r->bytes = bytes + bytes / 4;
	return rc;
}

static inline void gnn_room_fini(struct gnn_room *r)
{
	gnn_mem_free(r->data);
	r->data = NULL;
	r->bytes = 0;
}

#endif
