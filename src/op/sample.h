/*
 * op/sample.h - the operations that make the blocks of a batch, behind the backend.
 *
 * Flow     train/sampler, train/block -> [sample] -> cpu/ or cuda/
 * Owns     nothing
 * Lends    nothing
 * Thread   one caller
 * Fails    GNN_EOS memory or device
 *
 * All arrays are backend memory, those of the hop's lists too. The rows of a batch are numbered by
 * a table of all vertices, which is clear between batches. Every backend gives the same numbers.
 */
#ifndef GNN_OP_SAMPLE_H
#define GNN_OP_SAMPLE_H

#include "op/hop.h"

#define GNN_NO_ROW UINT32_MAX

struct gnn_backend;

/* Destinations of a hop: their entries begin at first[i]. */
struct gnn_hop_rows {
	const uint64_t *id;    /* (dst_count) vertices */
	uint64_t        dst_count;
	uint64_t       *first; /* (dst_count + 1) */
	float          *weight; /* (entries) out, of edges: where the lists have weights, else NULL;
	                           on the CPU alone */
};

/* Vertices met for the first time get the next rows, in the order of entries. */
struct gnn_number_args {
	const uint64_t *entry;  /* (entry_count) vertices */
	uint64_t        entry_count;
	uint32_t       *table;  /* (V) */
	uint32_t       *src;    /* (entry_count) out: rows */
	uint64_t       *id;     /* (id_count + entry_count) out: of the new rows */
	uint64_t        id_count; /* in and out; with entry_count at most 2^32 - 2 */
};

/* Factors of a block's entries. */
struct gnn_weigh_args {
	struct gnn_hop_rows rows;
	const uint32_t *src;
	uint64_t        src_count;
	float          *norm;   /* (src_count) room, for GCN only */
	float          *weight; /* (entries) out; in: of edges, where the lists have weights */
};

/* Entries grouped by source, destinations ascending. */
struct gnn_turn_args {
	const uint64_t *first; /* (dst_count + 1) */
	const uint32_t *src;
	const float    *weight; /* or NULL */
	uint64_t        dst_count, src_count, entry_count;
	uint64_t       *back_first; /* (src_count + 1) */
	uint32_t       *back_dst;   /* (entry_count) */
	uint32_t       *back_entry; /* (entry_count) */
	float          *back_weight;
};

struct gnn_sample_ops {
	int (*clear) (struct gnn_backend *b, uint32_t *table, uint64_t vertices);
	/* table[id[i]] = i; or, behind a batch, all of them GNN_NO_ROW. */
	int (*enter) (struct gnn_backend *b, uint32_t *table, const uint64_t *id, uint64_t count);
	int (*forget)(struct gnn_backend *b, uint32_t *table, const uint64_t *id, uint64_t count);
	/* Sets rows->first; *entries is its last, waited for. */
	int (*count) (struct gnn_backend *b, const struct gnn_hop *h,
		const struct gnn_hop_rows *rows, uint64_t *entries);
	int (*list)  (struct gnn_backend *b, const struct gnn_hop *h,
		const struct gnn_hop_rows *rows, uint64_t *entry);
	int (*number)(struct gnn_backend *b, struct gnn_number_args *a); /* waits */
	int (*weigh) (struct gnn_backend *b, const struct gnn_hop *h,
		const struct gnn_weigh_args *a);
	int (*turn)  (struct gnn_backend *b, const struct gnn_turn_args *a);
};

extern const struct gnn_sample_ops gnn_sample_cpu;

#endif
