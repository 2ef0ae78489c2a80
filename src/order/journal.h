/*
 * order/journal.h - what of a reordering is sealed beside its output, to be gone on with.
 *
 * Flow     order, moved -> [journal] -> OUT.ranks, OUT.at, OUT.features -> [journal] -> relabel
 * Owns     the names of its three files, not the files
 * Lends    a path, until close
 * Thread   one caller
 * Fails    GNN_ECONFIG another reordering left it: names what changed; GNN_EDATA damaged; GNN_EIO
 *
 * OUT.ranks is written once, when the order is made: what it was made from, the report, the ranks.
 * OUT.features are the runs of features (io/runs.h), and OUT.at says how much of them is sealed.
 * Each of the first two is published by a rename.
 */
#ifndef GNN_ORDER_JOURNAL_H
#define GNN_ORDER_JOURNAL_H

#include "order/order.h"

struct gnn_journal;

/* Runs of features that are on the disk. */
struct gnn_journal_rows {
	uint64_t bytes;      /* of the file; 0: none */
	uint64_t range_rows; /* of a range */
};

GNN_BEGIN_DECLS

/*
 * The order is that of `o`, the output is to be out_path, with its features or, `keep`, without.
 */
int  gnn_journal_open (struct gnn_journal **out, const struct gnn_order_opts *o, bool keep,
	const char *out_path, const char *scratch);
void gnn_journal_close(struct gnn_journal *j); /* NULL is fine */
int  gnn_journal_begin(struct gnn_journal *j); /* nothing is kept: what others left goes */

const char *gnn_journal_id(const struct gnn_journal *j); /* of store, order and options */
bool gnn_journal_is_done(const struct gnn_journal *j);   /* the output is there, of this id */

/* The ranks (V) and the report of an earlier process; GNN_SKIPPED when it left none. */
int  gnn_journal_restore(struct gnn_journal *j, uint64_t *rank, struct gnn_order_report *r);
int  gnn_journal_keep   (struct gnn_journal *j, const uint64_t *rank,
	const struct gnn_order_report *r);
bool gnn_journal_kept   (const struct gnn_journal *j); /* there is something to go on with */

const char *gnn_journal_rows_path(const struct gnn_journal *j);
struct gnn_journal_rows gnn_journal_rows(const struct gnn_journal *j);
int  gnn_journal_seal   (struct gnn_journal *j, struct gnn_journal_rows rows);
void gnn_journal_remove (struct gnn_journal *j); /* its files; there may be none */

GNN_END_DECLS

#endif
