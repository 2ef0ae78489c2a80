/*
 * io/idrows.h - which row of the store a user's vertex id is.
 *
 * Flow     builder (sealed) -> [idrows] -> labels, splits
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    as row_of
 */
#ifndef GNN_IO_IDROWS_H
#define GNN_IO_IDROWS_H

#include "base/err.h"

struct gnn_idrows {
	/* With --remap. GNN_EOF when no vertex has this id. NULL: an id is its row. */
	int    (*row_of)(void *arg, uint64_t id, uint64_t *row);
	void    *arg;
	uint64_t vertices;
};

static inline int gnn_idrows_find(const struct gnn_idrows *m, uint64_t id, uint64_t *row)
{
	if (m->row_of != NULL)
		return m->row_of(m->arg, id, row);
	*row = id;
	return id < m->vertices ? GNN_OK : GNN_EOF;
}

#endif
