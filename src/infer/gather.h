/*
 * infer/gather.h - inference as others do it: destinations gather the rows of their in-neighbours.
 *
 * Flow     store, mapped -> blocks of a batch -> [gather] -> result, and what it cost
 * Owns     the blocks and rows of the batch at hand
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS the neighbourhood of a batch is larger than the budget; as the store
 *
 * The baseline of Taurus 2: rows are gathered through the page cache from a mapped file, and what
 * is loaded is what the disk gave. Layer-wise (DGI) computes every vertex of a layer once;
 * vertex-wise (DGL) computes the whole neighbourhood of each batch again. It computes on the CPU
 * with the operations of the product, to the same bits.
 */
#ifndef GNN_INFER_GATHER_H
#define GNN_INFER_GATHER_H

#include "infer/opts.h"

enum gnn_gather_kind { GNN_GATHER_LAYER_WISE, GNN_GATHER_VERTEX_WISE };

struct gnn_gather_opts {
	struct gnn_store    *store;
	struct gnn_model    *model;
	struct gnn_backend  *backend; /* a unified one */
	enum gnn_gather_kind kind;
	const char          *out_path; /* NULL: the result is dropped */
	const char          *scratch;  /* a folder of its own for the layers between */
	uint64_t             batch;    /* destinations at a time */
	uint64_t             batches;  /* 0: all; else so many, of layer 1 */
	bool                 verify_reads;
	const char          *provenance;
};

/* One gathering of rows: a layer, or with vertex-wise all layers. */
struct gnn_gather_report {
	uint64_t batches, batches_of; /* done, of how many there are */
	uint64_t fetches;             /* rows gathered */
	uint64_t unique;              /* vertices among them */
	double   density[3];          /* rows over the ids they span: lowest, median, highest */
	uint64_t row_bytes;
	uint64_t requested_bytes;     /* rows */
	uint64_t requested_block_bytes; /* blocks of 4 KiB that they lie in */
	uint64_t loaded_bytes;        /* that the disk gave */
	double   gather_s, compute_s, wall_s;
};

GNN_BEGIN_DECLS

/* (layers) reports, or one with vertex-wise or with `batches`; *count of them. */
int gnn_gather_run(const struct gnn_gather_opts *o, struct gnn_gather_report *report,
	uint32_t *count);

GNN_END_DECLS

#endif
