/*
 * infer/share.h - the part of the graph that one of several ranks works on.
 *
 * Flow     comm, store -> [share] -> infer and its leaves
 * Owns     the bounds of all ranks, the view of the store, the link between devices
 * Lends    them, until fini
 * Thread   one caller: its calls are collective, in one order on all ranks
 * Fails    as comm; GNN_EDATA, GNN_EIO from the offsets; GNN_ECONFIG ranks that see other files
 *
 * A rank owns a contiguous range of whole panels, as source and as destination, balanced by bytes
 * of features and lists. The engine numbers its rows from 0 on: whatever holds a row for each
 * vertex holds one for each vertex of the range.
 */
#ifndef GNN_INFER_SHARE_H
#define GNN_INFER_SHARE_H

#include "io/store.h"
#include "mpi/link.h"
#include "mpi/partition.h"
#include "op/backend.h"

struct gnn_share {
	struct gnn_comm     *comm;
	uint32_t             rank, size;
	struct gnn_partition part;
	struct gnn_store     store;    /* the rows of this rank */
	uint64_t             rows_max; /* of the largest range */
	struct gnn_backend  *backend;  /* that the link is for */
	struct gnn_link     *link;     /* between the devices; NULL: there is none */
};

GNN_BEGIN_DECLS

int  gnn_share_init(struct gnn_share *s, struct gnn_comm *c, const struct gnn_store *whole,
	uint32_t panel_rows);
void gnn_share_fini(struct gnn_share *s); /* all zero is fine */
/* Devices of ranks are linked where that can be; else their rows go through host memory. */
int  gnn_share_link(struct gnn_share *s, struct gnn_backend *b, bool may);
/* An array (V, item_bytes) of which each rank has filled its own range becomes whole. */
int  gnn_share_spread(const struct gnn_share *s, void *array, uint64_t item_bytes);
/*
 * What each rank has, one behind the other: `bytes` here become (*total) in *all, of which the
 * caller frees by gnn_comm_keep.
 */
int  gnn_share_collect(const struct gnn_share *s, const void *mine, uint64_t bytes, void **all,
	uint64_t *total);
/* GNN_ECONFIG when a rank has another text, which says what it has of `what`. */
int  gnn_share_same(struct gnn_comm *c, const char *what, const char *text);

GNN_END_DECLS

/* Rank 0 of one, where s is NULL. */
static inline uint32_t gnn_share_size(const struct gnn_share *s)
{
	return s != NULL ? s->size : 1;
}

static inline uint64_t gnn_share_rows(const struct gnn_share *s, uint32_t rank)
{
	return s->part.bound[rank + 1] - s->part.bound[rank];
}

#endif
