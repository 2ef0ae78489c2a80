/*
 * infer/result.h - the result file: rows in import order, written as they come, or sorted first.
 *
 * Flow     finished rows -> [result] -> portion -> container
 * Owns     the container being written and its array writers
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_ECREAT, GNN_EIO; as comm
 *
 * With several ranks each gives its own rows, and they write one file (infer/portion.h); create and
 * commit are collective, and so is rows where the store is not in import order.
 */
#ifndef GNN_INFER_RESULT_H
#define GNN_INFER_RESULT_H

#include "infer/opts.h"

struct gnn_result;

GNN_BEGIN_DECLS

int  gnn_result_create (struct gnn_result **out, const struct gnn_infer_opts *o,
	const char *run_id);
/* Output rows of `layer`, in order. Rows of a hidden layer are dropped unless save_layers. */
int  gnn_result_rows   (struct gnn_result *r, uint32_t layer, uint64_t rows, const float *h);
/* All but the name: external ids of the store too. */
int  gnn_result_end    (struct gnn_result *r, const struct gnn_store *s, uint64_t *written_bytes);
/* Publishes what is ended. Sets r to NULL. */
int  gnn_result_commit (struct gnn_result **r);
void gnn_result_destroy(struct gnn_result *r); /* nothing stays under the name; NULL is fine */

GNN_END_DECLS

#endif
