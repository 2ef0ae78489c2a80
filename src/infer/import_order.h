/*
 * infer/import_order.h - rows that come in the order of a reordered store, in that of the import.
 *
 * Flow     finished rows -> [import_order] -> runs -> result
 * Owns     the runs of the array at hand, a cursor over the original ids
 * Lends    ranges of rows, each until the next
 * Thread   one caller
 * Fails    GNN_EDATA an original id that is no row; GNN_EOS, GNN_ECREAT, GNN_EIO of the runs
 *
 * One array after another: begin, push to the last row of the store, end, next to the end. Memory
 * for the arena is taken when it is created, so that plans count with it.
 */
#ifndef GNN_INFER_IMPORT_ORDER_H
#define GNN_INFER_IMPORT_ORDER_H

#include "infer/opts.h"
#include "io/runs.h"

struct gnn_import_order;

GNN_BEGIN_DECLS

/* For rows of `row_bytes_max`. *out is NULL when the store is in import order. */
int  gnn_import_order_create(struct gnn_import_order **out, const struct gnn_infer_opts *o,
	uint64_t row_bytes_max);
int  gnn_import_order_begin(struct gnn_import_order *m, uint64_t row_bytes);
/* With several ranks each call is one of all of them, also of those without rows. */
int  gnn_import_order_push (struct gnn_import_order *m, uint64_t rows, const void *from);
int  gnn_import_order_end  (struct gnn_import_order *m);
int  gnn_import_order_next (struct gnn_import_order *m, struct gnn_runs_range *range); /* EOF */
/* (ranks + 1) rows of the array that each rank gets; the whole where there is one. */
const uint64_t *gnn_import_order_bounds(const struct gnn_import_order *m);
void gnn_import_order_destroy(struct gnn_import_order *m); /* NULL is fine */

GNN_END_DECLS

#endif
