/*
 * train/fetch.h - rows of a matrix by id, straight from its file, for tables past the memory.
 *
 * Flow     store, file of the bottom -> [fetch] -> batch
 * Owns     an open file, `depth` buffers
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EIO, GNN_EDATA reading; GNN_EOS memory
 *
 * The ids of a batch are sorted, and rows that lie close are read in one request, without the page
 * cache, several in flight. Single rows are not verified: a checksum covers 8 MiB.
 */
#ifndef GNN_TRAIN_FETCH_H
#define GNN_TRAIN_FETCH_H

#include "io/container.h"

struct gnn_fetch;

GNN_BEGIN_DECLS

int  gnn_fetch_open (struct gnn_fetch **out, struct gnn_container *c, const struct gnn_array *a);
/* Rows of distinct ids, widened, into `to` (count, columns). */
int  gnn_fetch_rows (struct gnn_fetch *f, const gnn_vid *id, uint64_t count, float *to);
uint64_t gnn_fetch_read_bytes(const struct gnn_fetch *f);
uint64_t gnn_fetch_bytes(const struct gnn_array *a); /* memory that open takes */
void gnn_fetch_close(struct gnn_fetch *f); /* NULL is fine */

GNN_END_DECLS

#endif
