/*
 * train/fetch.h - rows of the features by id, straight from the store, for tables past the memory.
 *
 * Flow     store -> [fetch] -> batch
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

#include "io/store.h"

struct gnn_fetch;

GNN_BEGIN_DECLS

int  gnn_fetch_open (struct gnn_fetch **out, const struct gnn_store *s);
/* Rows of distinct ids, widened, into `to` (count, features). */
int  gnn_fetch_rows (struct gnn_fetch *f, const gnn_vid *id, uint64_t count, float *to);
uint64_t gnn_fetch_read_bytes(const struct gnn_fetch *f);
uint64_t gnn_fetch_bytes(const struct gnn_store *s); /* memory that open takes */
void gnn_fetch_close(struct gnn_fetch *f); /* NULL is fine */

GNN_END_DECLS

#endif
