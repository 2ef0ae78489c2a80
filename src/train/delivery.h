/*
 * train/delivery.h - rows of features of a batch, brought to the device by one of the gathers.
 *
 * Flow     ids, table -> [delivery] -> rows on the device
 * Owns     pinned strips in host memory, one on the device; for `both` a stream of its own
 * Lends    nothing
 * Thread   one caller, whose backend it is
 * Fails    GNN_EOS memory or device; GNN_EIO rows that are read from the store
 *
 *   resident, zero-copy   one kernel reads the table, on the device or in host memory
 *   staged                the CPU gathers strips into pinned memory while those before are copied
 *   both                  a share of the rows like zero-copy, on another stream, the rest staged
 *
 * With a cache each takes the rows that it lacks; a kernel adds those it has. Dropout falls on rows
 * where a kernel brings them, on those that are copied behind their copies; tables and cache have
 * them as they are. Whatever the way, the rows are the same.
 */
#ifndef GNN_TRAIN_DELIVERY_H
#define GNN_TRAIN_DELIVERY_H

#include "op/drop.h"
#include "train/collect.h"
#include "train/table.h"

/* Of a GPU, unless train/gauge.h finds others: each takes a multiprocessor from who computes. */
enum { GNN_IN_PLACE_BLOCKS = 16 };

enum { GNN_DELIVERY_STRIPS = 4 };

struct gnn_delivery {
	const struct gnn_table  *table;
	struct gnn_backend      *backend;
	struct gnn_backend      *own;      /* from here on internal; reads in place meanwhile */
	struct gnn_collect       collect;
	struct gnn_collect_room  strip[GNN_DELIVERY_STRIPS];
	uint64_t                 ticket[GNN_DELIVERY_STRIPS];
	bool                     busy[GNN_DELIVERY_STRIPS];
	struct gnn_room          id, missed_id, missed_row, missed_count; /* host */
	uint32_t                 threads;
	struct gnn_room          there_strip, there_row;    /* device */
	void                    *missed;   /* a counter on the device */
};

struct gnn_delivery_args {
	const gnn_vid *there;        /* (rows) on the device */
	const gnn_vid *host;         /* the same in host memory; NULL: copied where needed */
	uint64_t       rows;
	float         *to;           /* (rows, dim) on the device */
	struct gnn_drop drop;        /* falls on them by id; below 0: none does */
	uint64_t       bus_bytes;    /* out: copied, or read in place */
	uint64_t       hits;         /* out: rows that the cache had */
	double         collect_s;    /* out: the CPU gathered */
};

GNN_BEGIN_DECLS

/* Zeroed `d`; on failure fini it all the same. `threads` gather what is staged. */
int  gnn_delivery_init(struct gnn_delivery *d, const struct gnn_table *t, struct gnn_backend *b,
	uint32_t threads);
/* What was issued on the backend before is done first; returns when the rows are there. */
int  gnn_delivery_rows(struct gnn_delivery *d, struct gnn_delivery_args *a);
void gnn_delivery_fini(struct gnn_delivery *d);

GNN_END_DECLS

#endif
