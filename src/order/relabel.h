/*
 * order/relabel.h - a store with its vertices in another order, in bounded memory.
 *
 * Flow     store, ranks -> [relabel] -> moved, builder -> store
 * Owns     what it builds with
 * Lends    nothing
 * Thread   one caller; sorting uses all threads inside
 * Fails    GNN_EDATA of the store; GNN_EIO, GNN_ECREAT of the new one, disk full; GNN_EOS memory
 *
 * Row rank[v] of the new store is row v of the old one: topology in both directions with weights
 * and self-loops, features, labels, splits (their entries keep their places), external ids. What
 * comes out does not depend on memory and threads. original_id leads to the order of the import,
 * also when the old store was reordered itself. Features that are kept are not read: the new store
 * has feature_rank in their place, where each row of them is in it, and says where they lie.
 */
#ifndef GNN_ORDER_RELABEL_H
#define GNN_ORDER_RELABEL_H

#include "io/builder.h"
#include "io/store.h"
#include "order/journal.h"

struct gnn_relabel_opts {
	struct gnn_store *store;
	const uint64_t   *rank;      /* (V) one to one */
	bool              to_import; /* the ranks are the import's: no original_id */
	bool              keep;      /* features stay in the store that has them, in its order */
	const char       *out_path, *scratch;
	struct gnn_journal *journal; /* of the output; features that go to runs stay there */
	uint64_t          memory_bytes;
	uint32_t          threads;
	enum gnn_dio_engine    engine;
	const struct gnn_attr *attrs; /* of the new store */
	uint32_t               attr_count;
	const char            *provenance;
};

struct gnn_relabel_report {
	struct gnn_build_report build;
	uint64_t row_scratch_bytes; /* of features, labels, ids, written once and read once */
	double   rows_s;            /* reading them and sorting them into runs */
	double   edges_s;           /* reading, relabelling and sorting the edges */
	double   write_s;           /* merging, reading back, writing, publishing */
};

GNN_BEGIN_DECLS

int gnn_relabel(const struct gnn_relabel_opts *o, struct gnn_relabel_report *r);

GNN_END_DECLS

#endif
